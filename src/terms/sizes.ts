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

/** Bytes of a size such as `1.5GiB` or `800 MB`; a bare number counts GiB. 0 for what is none. */
export function sizeIn(text: string | undefined): number {
  const found = /^(\d+(?:\.\d+)?)\s{0,9}([gm])?(i)?b?$/i.exec((text ?? "").trim());
  if (found === null) return 0;
  const [, number, unit, binary] = found;
  const power = unit?.toLowerCase() === "m" ? 2 : 3;
  return Math.round(Number(number) * (unit !== undefined && binary === undefined ? 1000 : 1024) ** power);
}
