/** Sizes and counts as people read them. */
import { difference, gib } from "../../terms/sizes";

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** `41.2 GiB`; below 0.1 GiB in MiB, so that small things are not called zero. */
export function size(bytes: number): string {
  const magnitude = Math.abs(bytes);
  if (magnitude === 0) return "0 GiB";
  if (magnitude >= 0.095 * GIB) return `${gib(bytes)} GiB`;
  return magnitude >= MIB ? `${(bytes / MIB).toFixed(0)} MiB` : `${Math.ceil(bytes / 1024)} KiB`;
}

/** What two sizes differ by, as both are shown; exactly where that is too little to be seen there. */
export function sizeBetween(a: number, b: number): string {
  const shown = Math.abs(difference(a, b));
  return size(shown === 0 || Math.abs(a - b) < 0.095 * GIB ? Math.abs(a - b) : shown);
}

/** With the digits that tell tensors apart: `785.3 MiB`, `2.32 GiB`. */
export function exact(bytes: number): string {
  if (bytes >= GIB) return `${(bytes / GIB).toFixed(2)} GiB`;
  return bytes >= MIB ? `${(bytes / MIB).toFixed(1)} MiB` : `${Math.ceil(bytes / 1024)} KiB`;
}
