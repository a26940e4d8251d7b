/** Sizes as people write them. */

/** Bytes of a size such as `1.5GiB` or `800 MB`; a bare number counts GiB. 0 for what is none. */
export function sizeIn(text: string | undefined): number {
  const found = /^(\d+(?:\.\d+)?)\s{0,9}([gm])?(i)?b?$/i.exec((text ?? "").trim());
  if (found === null) return 0;
  const [, number, unit, binary] = found;
  const power = unit?.toLowerCase() === "m" ? 2 : 3;
  return Math.round(Number(number) * (unit !== undefined && binary === undefined ? 1000 : 1024) ** power);
}
