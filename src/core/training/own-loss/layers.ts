/** Layers of a script's own, around the model that it loads or beside it. */
import { ACTIVATIONS, type LayerSize, type OwnLayer, type OwnLoss } from "../../../terms/own-loss";
import { say } from "../../../words/message";
import { ImpossibleSizes } from "../../engine/not-modelled";
import { refuseWindows } from "../../engine/ops/convolution";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { Scope } from "../../graph/expression";
import { type LoadedModel, made } from "../loaded-model";
import { withWeights } from "../more-weights";
import type { TrainedSpec } from "../specs/trained";
import { decidedFor, type OwnWeight } from "../trained";
import { dropout, maxOfRow, operator } from "./calling";
import { NotFollowed, type Value } from "./values";

/**
 * @param scope the config as its class has it: by other names than the file's, too
 * @param path of the layer, for the message where the script gives a size that torch refuses (c10/core/TensorImpl, "negative dimension")
 */
function sizeOf(size: LayerSize, scope: Scope, path: string): number {
  const known = typeof size === "number" ? size : Number(scope(size.config)) * size.times;
  if (typeof size === "number" && !(Number.isSafeInteger(size) && size >= 0))
    throw new ImpossibleSizes(say("engine.layer-size", { name: path, size: String(size) }));
  if (!Number.isSafeInteger(known) || known < 1) throw new NotFollowed();
  return known;
}

/** Convolutions by the operator that each calls, and over how many dimensions they go (torch/nn/modules/conv.py). */
const CONVOLUTIONS: ReadonlyMap<string, { readonly name: string; readonly dimensions: number }> = new Map([
  ["Conv1d", { name: "conv1d", dimensions: 1 }],
  ["Conv2d", { name: "conv2d", dimensions: 2 }],
]);

/** Sizes of a layer's weight, and of its bias. */
function weightsOf({ kind, path, sizes, bias, options }: OwnLayer, scope: Scope): (readonly [string, number[]])[] {
  // Before the loss runs: what it does with a layer's result may be of sizes that are not known, this is the script's own.
  const [stride = 1, padding = 0, dilation = 1] = options ?? [];
  if (CONVOLUTIONS.has(kind)) refuseWindows([[stride], [padding], [dilation]]);
  const known = sizes.map((size) => sizeOf(size, scope, path));
  if (kind === "Parameter") return [["", known]];
  const out = CONVOLUTIONS.has(kind) ? known[0] : known.at(-1);
  if (out === undefined) return [];
  const weight = kind === "Linear" ? known.toReversed() : known;
  return [[".weight", weight], ...(bias ? [[".bias", [out]] as readonly [string, number[]]] : [])];
}

/** What a layer holds that nothing trains (torch/nn/modules/batchnorm.py: running statistics, and how many batches made them). */
function buffersOf(torch: Torch, { kind, path, sizes }: OwnLayer, scope: Scope): (readonly [string, Tensor])[] {
  if (kind !== "BatchNorm1d") return [];
  const known = sizes.map((size) => sizeOf(size, scope, path));
  return [
    [`${path}.running_mean`, made(torch, "buffers", "empty", known, "float32")],
    [`${path}.running_var`, made(torch, "buffers", "empty", known, "float32")],
    [`${path}.num_batches_tracked`, made(torch, "buffers", "empty", [], "int64")],
  ];
}

/** The name of a module beside the model that a layer is in; undefined: it is in the module around that. */
const besideOf = (path: string): string | undefined => (path.startsWith(SELF) ? undefined : path.split(".", 1)[0]);
const SELF = "self.";

/** The loaded model with the weights of a script's own layers, in float32 as torch makes them; what rules say of them holds. */
export function withOwnLayers(
  torch: Torch,
  model: LoadedModel,
  { module, beside }: Pick<OwnLoss, "module" | "beside">,
  scope: Scope,
  trained: TrainedSpec | undefined,
): LoadedModel {
  const layers = [...(module?.layers ?? []), ...(beside?.layers ?? [])];
  const own: OwnWeight[] = [];
  const byName = new Map<string, Tensor>();
  for (const layer of layers)
    for (const [name, sizes] of weightsOf(layer, scope)) {
      const tensor = torch.empty("empty", sizes, "float32");
      tensor.requiresGradFlag = true;
      torch.ledger.relabel(tensor.storage.id, "weights");
      const { path, kind } = layer;
      byName.set(`${path}${name}`, tensor);
      const within = besideOf(path);
      const item = { name: `${path.replace(/^self\./, "")}${name}`, module: kind, index: null };
      own.push({ tensor, item, ...(within !== undefined && { beside: within }) });
    }
  if (own.length === 0) return model;
  const isTrained = decidedFor(trained?.rules ?? [], own);
  for (const weight of own) weight.tensor.requiresGradFlag = isTrained(weight) ?? true;
  const buffers = layers.flatMap((layer) => buffersOf(torch, layer, scope));
  const whole = withWeights(model, byName);
  const held = { ...whole, byName: new Map([...whole.byName, ...buffers]) };
  if (model.stepped === undefined) return held;
  const isStepped = decidedFor(trained?.stepped ?? [], own);
  const given = own.filter((weight) => isStepped(weight) !== false).map(({ tensor }) => tensor);
  return { ...held, stepped: new Set([...model.stepped, ...given]) };
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
    const next = layerOf(torch, layer, weight, current);
    current.release();
    current = next as Tensor;
  }
  return current;
}

function layerOf(
  torch: Torch,
  { kind, path, options = [] }: OwnLayer,
  weight: (name: string) => Tensor | undefined,
  input: Tensor,
): Value {
  const own = weight(`${path}.weight`) ?? null;
  const bias = weight(`${path}.bias`) ?? null;
  if (kind === "Embedding") return operator(torch, "embedding", [own, input]);
  if (kind === "Linear") return operator(torch, "linear", [input, own, bias]);
  const convolution = CONVOLUTIONS.get(kind);
  if (convolution !== undefined) {
    const { name, dimensions } = convolution;
    const [stride, padding, dilation] = options.map((one) => Array.from({ length: dimensions }, () => one));
    return operator(torch, name, [input, own, bias, stride!, padding!, dilation!]);
  }
  if (kind === "AdaptiveAvgPool1d") return operator(torch, "adaptive_avg_pool1d", [input, [1]]);
  if (kind === "AdaptiveMaxPool1d") return maxOfRow(torch, input);
  if (kind === "BatchNorm1d") return operator(torch, "batch_norm", [input, own, bias]);
  if (kind === "LayerNorm") return operator(torch, "layer_norm", [input, [...(own?.sizes ?? [])], own, bias]);
  if (kind === "Dropout") return dropout(torch, input, torch.training);
  return operator(torch, ACTIVATIONS.get(kind) ?? "", [input]);
}
