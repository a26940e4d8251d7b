/** Layers that a script takes out of a model: how formats say it and how a config is made of it. */
import { type Bound, indexOf } from "./weights";

/** A slice of a list of layers, with Python's bounds and step, or some by their indices, and whether they are what stays or what goes. */
export type LayerCut = { readonly keeps: boolean } & (
  | { readonly from: Bound; readonly to: Bound | null; readonly step?: number }
  | { readonly at: readonly number[] }
);

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
  return cuts.reduce<readonly number[]>((left, cut) => {
    const chosen =
      "at" in cut
        ? cut.at.flatMap((index) => left.at(index) ?? [])
        : left
            .slice(indexOf(cut.from, left.length), cut.to === null ? undefined : indexOf(cut.to, left.length))
            .filter((_, k) => k % (cut.step ?? 1) === 0);
    const gone = new Set(chosen);
    return cut.keeps ? chosen : left.filter((layer) => !gone.has(layer));
  }, all);
}
