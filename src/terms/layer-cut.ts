/** Layers that a script takes out of a model: how formats say it and how a config is made of it. */

/** A slice of a list of layers, with Python's bounds, and whether it is what stays or what goes. */
export interface LayerCut {
  readonly from: number;
  readonly to: number | null;
  readonly keeps: boolean;
}

/** A cut as settings carry it, JSON; undefined: it is none. */
export function layerCut(text: string): LayerCut | undefined {
  try {
    return JSON.parse(text) as LayerCut;
  } catch {
    return undefined;
  }
}

/** Which of so many layers are left, by their first index. */
export function leftLayers(count: number, cuts: readonly LayerCut[]): readonly number[] {
  const all = Array.from({ length: count }, (_, k) => k);
  return cuts.reduce<readonly number[]>((left, { from, to, keeps }) => {
    const slice = left.slice(from, to ?? undefined);
    const start = slice[0] === undefined ? left.length : left.indexOf(slice[0]);
    return keeps ? slice : left.toSpliced(start, slice.length);
  }, all);
}
