/** The parameters of a model's layers, compared with one another. */
import { sameSizes } from "../engine/shape";
import type { Tensor } from "../engine/tensor";

/** Parameters by layer, in their order. */
function byLayer(parameters: readonly Tensor[]): Map<number, Tensor[]> {
  const layers = new Map<number, Tensor[]>();
  for (const tensor of parameters) {
    if (tensor.layer === null) continue;
    const own = layers.get(tensor.layer);
    if (own === undefined) layers.set(tensor.layer, [tensor]);
    else own.push(tensor);
  }
  return layers;
}

function alike(one: readonly Tensor[], other: readonly Tensor[]): boolean {
  if (one.length !== other.length) return false;
  for (let k = 0; k < one.length; k++) {
    const [a, b] = [one[k]!, other[k]!];
    if (a.dtype !== b.dtype || a.requiresGradFlag !== b.requiresGradFlag) return false;
    if (a.pattern !== b.pattern || !sameSizes(a.sizes, b.sizes)) return false;
  }
  return true;
}

/** For each layer index, what tells its parameters apart from another layer's. */
export function layerSignatures(parameters: readonly Tensor[]): (index: number) => string {
  const sorts: (readonly Tensor[])[] = [];
  const signatures = new Map<number, string>();
  for (const [layer, own] of byLayer(parameters)) {
    const known = sorts.findIndex((sort) => alike(sort, own));
    signatures.set(layer, String(known < 0 ? sorts.push(own) - 1 : known));
  }
  return (index) => signatures.get(index) ?? "";
}

/** Finds parameters by pattern and layer. */
export function counterparts(parameters: readonly Tensor[]): (leaf: Tensor, layer: number) => Tensor | undefined {
  const found = new Map<string | null, Map<number, Tensor>>();
  for (const tensor of parameters) {
    if (tensor.layer === null) continue;
    const layers = found.get(tensor.pattern);
    if (layers === undefined) found.set(tensor.pattern, new Map([[tensor.layer, tensor]]));
    else layers.set(tensor.layer, tensor);
  }
  return (leaf, layer) => found.get(leaf.pattern)?.get(layer);
}
