/** Layers of a script's own, around the model that it loads or beside it. */
import type { LayerSize, OwnLayer, OwnLoss } from "../../../terms/own-loss";
import { say } from "../../../words/message";
import { ImpossibleSizes } from "../../engine/not-modelled";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { Scope } from "../../graph/expression";
import { type LoadedModel, made } from "../loaded-model";
import { withWeights } from "../more-weights";
import type { TrainedSpec } from "../specs/trained";
import { decidedFor, type OwnWeight } from "../trained";
import { dropout, maxOfRow, operator } from "./calling";
import { NotFollowed, type Value } from "./values";

const OPERATORS: ReadonlyMap<string, string> = new Map([
  ["ReLU", "relu"],
  ["LeakyReLU", "leaky_relu"],
  ["GELU", "gelu"],
  ["Tanh", "tanh"],
  ["Sigmoid", "sigmoid"],
  ["SiLU", "silu"],
]);

/**
 * @param scope the config as its class has it: by other names than the file's, too
 * @param path of the layer, for the message where the script gives a size that torch refuses (c10/core/TensorImpl, "negative dimension")
 */
function sizeOf(size: LayerSize, scope: Scope, path: string): number {
  const known = typeof size === "number" ? size : Number(scope(size.config)) * size.times;
  if (typeof size === "number" && !(Number.isSafeInteger(size) && size >= 0)) refuseLayer(path, size);
  if (!Number.isSafeInteger(known) || known < 1) throw new NotFollowed();
  return known;
}

/** Its place among the options of a convolution, after the stride. */
const PADDING = 1;

function refuseLayer(path: string, size: number): never {
  throw new ImpossibleSizes(say("engine.layer-size", { name: path, size: String(size) }));
}

/** Sizes of a layer's weight, and of its bias. */
function weightsOf({ kind, path, sizes, bias, options = [] }: OwnLayer, scope: Scope): (readonly [string, number[]])[] {
  // "non-positive stride is not supported", "negative padding …" (aten/src/ATen/native/Convolution.cpp, check_shape_forward).
  for (const [k, one] of options.entries()) if (!(one >= (k === PADDING ? 0 : 1))) refuseLayer(path, one);
  const known = sizes.map((size) => sizeOf(size, scope, path));
  if (kind === "Parameter") return [["", known]];
  const out = kind === "Conv1d" ? known[0] : known.at(-1);
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
  if (kind === "Conv1d") {
    const [stride, padding, dilation] = options.map((one) => [one]);
    return operator(torch, "conv1d", [input, own, bias, stride!, padding!, dilation!]);
  }
  if (kind === "AdaptiveAvgPool1d") return operator(torch, "adaptive_avg_pool1d", [input, [1]]);
  if (kind === "AdaptiveMaxPool1d") return maxOfRow(torch, input);
  if (kind === "BatchNorm1d") return operator(torch, "batch_norm", [input, own, bias]);
  if (kind === "LayerNorm") return operator(torch, "layer_norm", [input, [...(own?.sizes ?? [])], own, bias]);
  if (kind === "Dropout") return dropout(torch, input, torch.training);
  return operator(torch, OPERATORS.get(kind) ?? "", [input]);
}
