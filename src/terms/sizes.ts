/** Sizes as people write them, and as every surface says them. */

const GIB = 2 ** 30;
const THOUSANDS = /\B(?=(?:\d{3})+(?!\d))/g;

/** A whole number with commas at its thousands: `16,384`. */
export function grouped(value: number | string): string {
  return String(value).replace(THOUSANDS, ",");
}

/** Bytes in GiB with one decimal, without the unit: `41.2`, `1,350.3`. */
export function gib(bytes: number): string {
  const [whole = "", decimal] = (bytes / GIB).toFixed(1).split(".");
  return `${grouped(whole)}.${decimal}`;
}

const tenths = (bytes: number): number => Math.round(Number((bytes / GIB).toFixed(1)) * 10);

/** Bytes between two sizes as both are shown: who subtracts what is on the screen gets the difference that stands beside it. */
export function difference(bytes: number, from: number): number {
  return ((tenths(bytes) - tenths(from)) * GIB) / 10;
}

interface Freeing {
  readonly freesBytes: number;
}

/**
 * What each change of a plan in stages frees, made in order from a peak on: together what the peaks before and after differ by,
 * as they are shown.
 */
export function freedBy(
  stages: readonly { readonly items: readonly Freeing[] }[],
  peak: number,
): (item: Freeing) => number {
  const freed = new Map<Freeing, number>();
  let now = peak;
  for (const item of stages.flatMap(({ items }) => items)) {
    freed.set(item, difference(now, now - item.freesBytes));
    now -= item.freesBytes;
  }
  return (item) => freed.get(item) ?? item.freesBytes;
}

/** Bytes per second of a speed such as `50GB/s`, `400 Gbit/s` or `100Gbps`; 0 for what is none, or without end. */
export function speedIn(text: string | undefined): number {
  const found = /^(\d+(?:\.\d+)?)\s{0,9}([gmt])(i?b\/s|bit\/s|bps)$/i.exec((text ?? "").trim());
  if (found === null) return 0;
  const [, number, unit = "", kind = ""] = found;
  const power = { m: 2, g: 3, t: 4 }[unit.toLowerCase()] ?? 3;
  // A large B is a byte, a small one a bit.
  const bits = /^bit/i.test(kind) || kind.startsWith("b");
  const speed = (Number(number) * 1000 ** power) / (bits ? 8 : 1);
  return Number.isFinite(speed) ? speed : 0;
}

/** Bytes of a size such as `1.5GiB` or `800 MB`; a bare number counts GiB. 0 for what is none. */
export function sizeIn(text: string | undefined): number {
  const found = /^(\d+(?:\.\d+)?)\s{0,9}([gm])?(i)?b?$/i.exec((text ?? "").trim());
  if (found === null) return 0;
  const [, number, unit, binary] = found;
  const power = unit?.toLowerCase() === "m" ? 2 : 3;
  return Math.round(Number(number) * (unit !== undefined && binary === undefined ? 1000 : 1024) ** power);
}
