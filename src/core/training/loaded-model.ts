/** A model that is loaded, what loading is told, and what it works on. */

import type { DType } from "../engine/dtype";
import type { ModuleForward, ParameterWrapper } from "../engine/interpreter/options";
import type { Settling } from "../engine/settling";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import type { Unpack } from "./adapters/experts";
import type { PromptSizes } from "./adapters/prompt-sizes";
import type { PromptEncoder } from "./adapters/prompts";
import type { Part } from "./parts";
import { isTable, type PlacedTensor } from "./placed";
import type { PackedWeight } from "./quantization/bitsandbytes";
import type { AdapterSpec, Float8Spec, QuantizationSpec, TrainedSpec, TrainingRun } from "./run";
import type { UnitOf } from "./ties";

export interface LoadedModel {
  /** In the order of `model.parameters()`, tied ones once. */
  readonly parameters: readonly Tensor[];
  /** Parameters and buffers by every name they go by. */
  readonly byName: ReadonlyMap<string, Tensor>;
  readonly modules: ReadonlyMap<string, ModuleForward>;
  /** Modules whose parameters an adapter stands for while they run. */
  readonly parametrized: ReadonlyMap<string, ParameterWrapper>;
  /** The input embeddings, or null where they are no table. */
  readonly embedding: { readonly path: string; readonly weight: Tensor } | null;
  /** Trained vectors before the inputs, or null. */
  readonly prompt: PromptEncoder | null;
  /** Factors that a term of the loss keeps orthogonal. */
  readonly regularised: readonly Tensor[];
  /** Buffers that the first forward converts for good; absent where there are none. */
  readonly settling?: Settling;
  /** The same as they are with the adapters disabled; absent without adapters. */
  readonly base?: {
    readonly byName: ReadonlyMap<string, Tensor>;
    readonly modules: ReadonlyMap<string, ModuleForward>;
  };
  /** What the optimizer is given; absent: all that is trained. */
  readonly stepped?: ReadonlySet<Tensor>;
  /** Elements of all parameters, and of those that are trained. */
  readonly elements: number;
  readonly trainableElements: number;
}

export interface LoadOptions {
  readonly loadDtype: DType;
  /** Dtype of buffers that follow the model's; absent: `loadDtype`. */
  readonly bufferDtype?: DType;
  /** Buffers of floating point are cast to the parameters' dtype. */
  readonly castsBuffers?: true;
  /** Dtypes of models that stand below a name of their own, where they are others. */
  readonly partDtypes?: TrainingRun["partDtypes"];
  /** Dtype that linear layers compute in, where it is not that of the weights. */
  readonly autocast?: DType | null;
  readonly adapter: AdapterSpec | null;
  readonly quantization: QuantizationSpec | null;
  readonly float8?: Float8Spec | null;
  readonly prunedWeights?: readonly string[];
  readonly compiled?: boolean;
  /** Generation of the card, which decides what 8-bit products need. */
  readonly architecture?: string;
  readonly frozenParts: readonly Part[];
  readonly trained?: TrainedSpec;
  /** The only layer that is trained; every one when absent. */
  readonly trainedLayer?: number;
  /** Parameters are sharded: the strategy books their bytes. */
  readonly sharded: boolean;
  /** Module path of the output head, which `all-linear` and quantization leave out. */
  readonly head: string | null;
  /** `model_type` of the run's model. */
  readonly family: string;
  readonly promptSizes: PromptSizes;
  /** The weights come one by one from a checkpoint and are packed on the device (see `loading.ts`). */
  readonly packsOnTheFly?: boolean;
  /** A parameter as one GPU loads its part of it, where GPUs share one model. */
  readonly splits?: (parameter: PlacedTensor) => PlacedTensor;
  /** Which unit of a sharded model a weight's module is in; absent: a weight of several names is one. */
  readonly unitOf?: UnitOf;
  /** Path of the input embeddings, where they are not the model's first table. */
  readonly embeddings?: string;
  /** Adapters are made from the weights with what that takes (see `adapters/initialization.ts`). */
  readonly initializes?: boolean;
}

/** What loading works on. */
export interface Loading {
  readonly torch: Torch;
  readonly options: LoadOptions;
  readonly byName: Map<string, Tensor>;
  readonly modules: Map<string, ModuleForward>;
  readonly packed: Map<string, PackedWeight>;
  /** Stacked experts that a parametrization unpacks, by name. */
  readonly unpacked: Map<string, Unpack>;
}

/** Replaces a parameter by its cast (`p.data = p.data.to(dtype)`). */
export function recast({ torch, byName }: Loading, item: PlacedTensor, dtype: DType, trained = false): void {
  const old = byName.get(item.name)!;
  const cast = made(torch, "weights", "_to_copy", old.sizes, dtype);
  old.release();
  byName.set(item.name, describe(cast, item, trained));
}

/** A tensor with what its place in the model makes of it. */
export function describe(tensor: Tensor, item: PlacedTensor, trained: boolean): Tensor {
  tensor.name = item.name;
  tensor.moduleKind = item.module;
  tensor.isTable = isTable(item);
  tensor.pattern = item.pattern;
  tensor.layer = item.index;
  tensor.requiresGradFlag = trained && !item.frozen;
  return tensor;
}

/** A tensor of a kind, which decides how tensor parallelism splits it. */
export function made(torch: Torch, kind: "weights" | "buffers", ...tensor: Parameters<Torch["empty"]>): Tensor {
  const before = torch.kind;
  torch.kind = kind;
  const whole = torch.empty(...tensor);
  torch.kind = before;
  return whole;
}
