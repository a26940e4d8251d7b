/** Layers that a module of the script's own has around the model that it loads. */
import type { LayerSize, OwnLayer, OwnModule } from "../../../terms/own-loss";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { Scope } from "../../graph/expression";
import type { LoadedModel } from "../loaded-model";
import { withWeights } from "../more-weights";
import { operator } from "./functions";
import { NotFollowed, type Value } from "./values";

/** Rates do not decide what dropout keeps. */
const RATE = 0.1;
const OPERATORS: ReadonlyMap<string, string> = new Map([
  ["ReLU", "relu"],
  ["GELU", "gelu"],
  ["Tanh", "tanh"],
  ["Sigmoid", "sigmoid"],
]);

/** @param scope the config as its class has it: by other names than the file's, too */
function sizeOf(size: LayerSize, scope: Scope): number {
  const known = typeof size === "number" ? size : Number(scope(size.config)) * size.times;
  if (!Number.isSafeInteger(known) || known < 1) throw new NotFollowed();
  return known;
}

/** Sizes of a layer's weight, and of its bias. */
function weightsOf({ kind, sizes, bias }: OwnLayer, scope: Scope): (readonly [string, number[]])[] {
  const known = sizes.map((size) => sizeOf(size, scope));
  const [out] = known.slice(-1);
  if (out === undefined) return [];
  const weight = kind === "Linear" ? known.toReversed() : known;
  return [["weight", weight], ...(bias ? [["bias", [out]] as readonly [string, number[]]] : [])];
}

/** The loaded model with the weights of those layers, in float32 as torch makes them. */
export function withOwnLayers(
  torch: Torch,
  model: LoadedModel,
  module: OwnModule | undefined,
  scope: Scope,
): LoadedModel {
  if (module === undefined) return model;
  const own = new Map<string, Tensor>();
  for (const layer of module.layers)
    for (const [name, sizes] of weightsOf(layer, scope)) {
      const tensor = torch.empty("empty", sizes, "float32");
      tensor.requiresGradFlag = true;
      torch.ledger.relabel(tensor.storage.id, "weights");
      own.set(`${layer.path}.${name}`, tensor);
    }
  return withWeights(model, own);
}

/** Runs the layer of a path, or those of a sequence in their order; the input is borrowed. */
export function runLayers(
  torch: Torch,
  layers: readonly OwnLayer[],
  weight: (name: string) => Tensor | undefined,
  input: Tensor,
): Tensor {
  let current = input.retain();
  for (const layer of layers) {
    if (layer.kind === "Identity") continue;
    const made = layerOf(torch, layer, weight, current);
    current.release();
    current = made as Tensor;
  }
  return current;
}

function layerOf(
  torch: Torch,
  { kind, path }: OwnLayer,
  weight: (name: string) => Tensor | undefined,
  input: Tensor,
): Value {
  const own = weight(`${path}.weight`) ?? null;
  const bias = weight(`${path}.bias`) ?? null;
  if (kind === "Linear") return operator(torch, "linear", [input, own, bias]);
  if (kind === "LayerNorm") return operator(torch, "layer_norm", [input, [...(own?.sizes ?? [])], own, bias]);
  if (kind === "Dropout") return operator(torch, "dropout", [input, RATE, torch.training]);
  return operator(torch, OPERATORS.get(kind) ?? "", [input]);
}
