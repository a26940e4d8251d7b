/**
 * The model after loading: parameters and buffers on the device, and what adapters and quantization put in place of
 * leaf modules.
 */

import { once } from "../../terms/once";
import { quantizerOf } from "../../terms/quantizers";
import { type DType, ELEMENT_BYTES } from "../engine/dtype";
import type { ModuleForward, ParameterWrapper } from "../engine/interpreter/options";
import { view as viewed } from "../engine/ops/layout";
import { Settling } from "../engine/settling";
import { hostTensor, Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import type { ConfigView } from "../graph/config";
import { truthy } from "../graph/expression";
import { factsOf } from "../graph/facts";
import type { ArchitectureGraph } from "../graph/types";

import { adapt, embeddingOf } from "./adapters";
import { byModule, type Unpack } from "./adapters/experts";
import { canInitialize, REPACKED_FROM } from "./adapters/initialization";
import type { PromptSizes } from "./adapters/prompt-sizes";
import type { PromptEncoder } from "./adapters/prompts";
import { isAdapted } from "./adapters/targets";
import { wrappedNames } from "./adapters/wrapped-names";
import { inKeyOrder, warmUp, whilePacking, withPieces } from "./loading";
import { type Part, partOf } from "./parts";
import { isTable, type PlacedTensor, placeTensors } from "./placed";
import { dequantize, linear4bit, type PackedWeight, packWeight } from "./quantization/bitsandbytes";
import { float8Linear } from "./quantization/float8";
import { linearGrouped, packGrouped } from "./quantization/grouped";
import { linear8bit, packInt8 } from "./quantization/int8";
import { isSkipped, staysWhole } from "./quantization/skipped";
import { engineLinear, engineWorkspace } from "./quantization/transformer-engine";
import type { AdapterSpec, Float8Spec, QuantizationSpec, TrainingRun } from "./run";
import type { TrainedSpec } from "./specs/trained";
import { regrade, steppedOf, withTrained } from "./trained";

export interface LoadedModel {
  /** In the order of `model.parameters()`, tied ones once. */
  readonly parameters: readonly Tensor[];
  /** Parameters and buffers by every name they go by. */
  readonly byName: ReadonlyMap<string, Tensor>;
  readonly modules: ReadonlyMap<string, ModuleForward>;
  /** Modules whose parameters an adapter stands for while they run. */
  readonly parametrized: ReadonlyMap<string, ParameterWrapper>;
  /** Weight of the input embedding, or null. */
  readonly embedding: Tensor | null;
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
  /** Adapters are made from the weights with what that takes (see `adapters/initialization.ts`). */
  readonly initializes?: boolean;
}

const moduleOf = (name: string): string => name.replace(/\.weight$/, "");

/** The tensors as loaded, with the uses of other layers' between them, whose modules get adapters of their own. */
function withShared(found: readonly PlacedTensor[], placed: readonly PlacedTensor[]): readonly PlacedTensor[] {
  if (found.every(({ sharedWith }) => sharedWith === null)) return placed;
  const loaded = new Map(placed.map((item) => [item.name, item]));
  return found.flatMap((item) => (item.sharedWith === null ? (loaded.get(item.name) ?? []) : item));
}

/** What loading works on. */
interface Loading {
  readonly torch: Torch;
  readonly options: LoadOptions;
  readonly byName: Map<string, Tensor>;
  readonly modules: Map<string, ModuleForward>;
  readonly packed: Map<string, PackedWeight>;
  /** Stacked experts that a parametrization unpacks, by name. */
  readonly unpacked: Map<string, Unpack>;
}

/** Loads the model: weights, buffers, quantization, adapters. Allocations are booked on the phase in force. */
export function loadModel(torch: Torch, graph: ArchitectureGraph, view: ConfigView, options: LoadOptions): LoadedModel {
  const loading: Loading = {
    torch,
    options,
    byName: new Map(),
    modules: new Map(),
    packed: new Map(),
    unpacked: new Map(),
  };
  const { byName } = loading;
  const tied = new Map(
    graph.tied
      .filter((tie) => truthy(view.expressions.evaluate(tie.when, view.scope)))
      .map((tie) => [tie.name, tie.to] as const),
  );
  const whole = inParts(options, placeTensors(graph.parameters, view, options.loadDtype));
  const found = options.splits === undefined ? whole : whole.map(options.splits);
  for (const { name, sharedWith } of found) if (sharedWith !== null) tied.set(name, sharedWith);
  const own = found.filter(({ name }) => !tied.has(name));
  const isLeft = (item: PlacedTensor): boolean => isFrozen(options, item.name) || isIdle(options, item);
  const placed = withTrained(options.trained, own, view.scope, tied)
    .map((item) => asKept(loading, asLinear(loading, item)))
    .map((item) => (isLeft(item) ? { ...item, frozen: true } : item));
  if (options.packsOnTheFly) {
    warmUp(torch, placed, (item) => isPacked(loading, item), options.quantization);
    for (const item of inKeyOrder(placed)) byName.set(item.name, arrive(loading, item));
  } else for (const item of placed) byName.set(item.name, loadParameter(loading, item));
  const states = options.autocast ?? options.loadDtype;
  const settling = new Map<string, DType>();
  for (const item of inParts(options, placeTensors(graph.buffers, view, options.bufferDtype ?? options.loadDtype))) {
    if (item.settles && item.dtype !== states) settling.set(item.name, states);
    byName.set(item.name, made(torch, "buffers", "empty", item.sizes, item.dtype));
  }
  if (options.quantization?.prepareForKbit && !KEEPS_HALF_PRECISION.has(options.quantization.type))
    raiseHalfPrecision(loading, placed);
  raiseTrained(loading, placed);
  const tables = new Set(graph.parameters.filter(isTable).map(({ name }) => name));
  for (const [name, to] of tied) {
    const target = byName.get(to);
    if (target !== undefined) byName.set(name, target);
    if (target !== undefined && tables.has(name)) target.isTable = true;
    const weight = loading.packed.get(moduleOf(to));
    if (weight !== undefined) loading.packed.set(moduleOf(name), weight);
  }
  if (options.adapter !== null) repackedTargets(loading, placed, options.adapter);
  quantizedForwards(loading, placed);
  if (options.prunedWeights !== undefined) maskPruned(torch, placed, options.prunedWeights);
  if (options.float8) float8Forwards(loading, placed, options.float8);
  const base = options.adapter === null ? undefined : { byName: new Map(byName), modules: new Map(loading.modules) };
  const adapted =
    options.adapter === null
      ? null
      : adapt(torch, options.adapter, {
          ...loading,
          placed: withShared(found, placed),
          tied,
          family: options.family,
          head: options.head,
          promptSizes: options.promptSizes,
          ...(options.initializes ? { initializes: true } : {}),
          isFrozen: (path) => isFrozen(options, path),
        });
  const beside = options.trained?.besideAdapter ?? [];
  const wrapped = once(() => adapted && wrappedNames(adapted.parameters, placed));
  if (adapted !== null && beside.length > 0) regrade(beside, wrapped() ?? []);
  const named = () => wrapped() ?? placed.map((item) => ({ tensor: byName.get(item.name)!, item }));
  const stepped = steppedOf(options.trained ?? {}, named, adapted === null ? tied : new Map());
  const parameters = adapted?.parameters ?? placed.map(({ name }) => byName.get(name)!);
  const packedElements = [...loading.packed.values()].reduce(
    (sum, weight) => sum + weight.outputs * weight.inputs - weight.packed.elements,
    0,
  );
  return {
    parameters,
    byName,
    modules: loading.modules,
    parametrized: adapted?.parametrized ?? byModule([], loading.unpacked),
    embedding: byName.get(embeddingOf(placed)?.name ?? "") ?? null,
    prompt: adapted?.prompt ?? null,
    regularised: adapted?.regularised ?? [],
    ...(settling.size > 0 ? { settling: new Settling(byName, settling) } : {}),
    ...(base && { base }),
    ...(stepped && { stepped }),
    elements: total(parameters) + packedElements,
    trainableElements: total(parameters.filter((tensor) => tensor.requiresGradFlag)),
  };
}

/** The tensors in the dtypes of the models that they are of. */
function inParts({ partDtypes, loadDtype }: LoadOptions, placed: readonly PlacedTensor[]): readonly PlacedTensor[] {
  if (partDtypes === undefined) return placed;
  const dtypes = new Map(Object.entries(partDtypes));
  return placed.map((item) => {
    const dtype = dtypes.get(item.name.slice(0, item.name.indexOf(".")));
    return dtype === undefined || item.dtype !== loadDtype ? item : { ...item, dtype };
  });
}

/** OLoRA packs 4-bit weights anew from a float32 residual: they are unpacked to that from then on. */
function repackedTargets({ packed, options }: Loading, placed: readonly PlacedTensor[], adapter: AdapterSpec): void {
  if (adapter.initialization?.kind !== "olora" || options.initializes) return;
  for (const { name, module } of placed) {
    const path = moduleOf(name);
    const weight = packed.get(path);
    if (
      weight !== undefined &&
      canInitialize(adapter.initialization, weight) &&
      isAdapted(adapter, path, module, options.head)
    )
      packed.set(path, { ...weight, dtype: REPACKED_FROM });
  }
}

/** Whether the trainer leaves the part of the model alone that a parameter or module belongs to. */
function isFrozen({ frozenParts }: LoadOptions, path: string): boolean {
  const part = frozenParts.length === 0 ? null : partOf(path);
  return part !== null && frozenParts.includes(part);
}

/** Whether another layer is the one that is trained. */
function isIdle({ trainedLayer }: LoadOptions, { index }: PlacedTensor): boolean {
  return trainedLayer !== undefined && index !== trainedLayer;
}

/** Formats of bitsandbytes: they take transformers' Conv1D for a linear layer. */
const BITSANDBYTES: ReadonlySet<QuantizationSpec["type"]> = new Set(["nf4", "fp4", "int8"]);

/** A Conv1D that is packed becomes a linear layer, its weight transposed (replace_with_bnb_linear). */
function asLinear(loading: Loading, item: PlacedTensor): PlacedTensor {
  return item.module === "Conv1D" && isPacked(loading, item)
    ? { ...item, module: "Linear", sizes: [...item.sizes].reverse() }
    : item;
}

/** Whether a format packs modules of a class: the very `nn.Linear`, its subclass before transformers 5, Conv1D. */
function packs({ type, packsSubclasses }: QuantizationSpec, module: string): boolean {
  if (module === "Conv1D") return BITSANDBYTES.has(type);
  return module === "Linear" || (module === "FalconLinear" && packsSubclasses === true);
}

/**
 * Whether a weight is stored packed: every linear layer but, as transformers has it, the head, and what the config leaves out
 * (transformers/integrations/bitsandbytes.py).
 */
function isPacked({ options }: Loading, item: PlacedTensor): boolean {
  const { quantization, head } = options;
  if (isPackedExperts(quantization, item)) return true;
  if (
    quantization === null ||
    quantization.packsOnlyExperts === true ||
    !item.name.endsWith(".weight") ||
    !packs(quantization, item.module)
  )
    return false;
  const path = item.name.slice(0, -".weight".length);
  if ((path === head && quantization.packsHead !== true) || staysWhole(quantization, path)) return false;
  return !(factsOf(options.family).keptInFloat32 ?? []).some((pattern) => isSkipped(path, pattern));
}

/** Weights of stacked experts, where they are packed (unsloth_zoo/temporary_patches/{gpt_oss,moe_utils_bnb4bit}.py). */
function isPackedExperts(quantization: QuantizationSpec | null, { name, sizes }: PlacedTensor): boolean {
  return quantization?.packsExperts === true && sizes.length === 3 && /\.experts\./.test(name);
}

/** A linear layer of a packed model in float16 whose class keeps it in float32. */
function asKept({ options }: Loading, item: PlacedTensor): PlacedTensor {
  if (options.quantization === null || item.dtype !== "float16" || item.module !== "Linear") return item;
  return (factsOf(options.family).keptInFloat32 ?? []).some((pattern) =>
    isSkipped(item.name.replace(/\.[^.]+$/, ""), pattern),
  )
    ? { ...item, dtype: "float32" }
    : item;
}

function pack(torch: Torch, spec: QuantizationSpec, { sizes, dtype }: PlacedTensor): PackedWeight {
  const { type, double } = spec;
  const [outputs, inputs] = sizes as [number, number];
  switch (type) {
    case "int8":
      return packInt8(torch, outputs, inputs, dtype);
    case "nf4":
    case "fp4":
      return { ...packWeight(torch, outputs, inputs, dtype, double), computeDtype: spec.computeDtype };
    default:
      return packGrouped(torch, type, outputs, inputs, dtype, spec);
  }
}

function loadParameter(loading: Loading, item: PlacedTensor): Tensor {
  const { torch, options } = loading;
  if (isPackedExperts(options.quantization, item)) {
    const [count = 1, ...rest] = item.sizes;
    const one = { ...item, sizes: [count * (rest[0] ?? 1), rest[1] ?? 1] };
    const whole = pack(torch, options.quantization!, one);
    const { packed } = whole;
    if (options.quantization?.unpacksExperts === true)
      loading.unpacked.set(item.name, (torch) => {
        const flat = dequantize(torch, whole);
        const stacked = viewed(torch, flat, item.sizes);
        flat.release();
        return stacked;
      });
    // The layer's operators see the weights as they are.
    const seen = new Tensor(torch.ledger, packed.storage, item.sizes, null, item.dtype);
    return describe(seen, item, false);
  }
  if (isPacked(loading, item)) {
    const whole = pack(torch, options.quantization!, item);
    const weight = options.sharded ? storedForSharding(torch, whole, options.loadDtype) : whole;
    loading.packed.set(item.name.slice(0, -".weight".length), weight);
    return describe(weight.packed, item, false);
  }
  const tensor = options.sharded
    ? hostTensor(torch.ledger, item.sizes, item.dtype)
    : made(torch, "weights", "empty", item.sizes, item.dtype);
  return describe(tensor, item, options.adapter === null && options.quantization === null);
}

/** A parameter as it comes from a checkpoint, with what exists only while it is packed or merged. */
function arrive(loading: Loading, item: PlacedTensor): Tensor {
  const { torch, options } = loading;
  if (!isPacked(loading, item)) return withPieces(torch, item, () => loadParameter(loading, item));
  return whilePacking(torch, item, options.quantization!, () => loadParameter(loading, item));
}

/**
 * Packed weights are sharded like others when they are stored as the dtype of the rest (`bnb_4bit_quant_storage`), which
 * sharding asks for: several in one element. Their constants are no parameters and stay whole on every rank
 * (bitsandbytes/nn/modules.py, Params4bit; transformers/integrations/fsdp.py).
 */
function storedForSharding(torch: Torch, whole: PackedWeight, storage: DType): PackedWeight {
  const bytes = whole.packed.elements * ELEMENT_BYTES[whole.packed.dtype];
  whole.packed.release();
  return { ...whole, packed: hostTensor(torch.ledger, [Math.ceil(bytes / ELEMENT_BYTES[storage])], storage) };
}

function describe(tensor: Tensor, item: PlacedTensor, trained: boolean): Tensor {
  tensor.name = item.name;
  tensor.moduleKind = item.module;
  tensor.isTable = isTable(item);
  tensor.pattern = item.pattern;
  tensor.layer = item.index;
  tensor.requiresGradFlag = trained && !item.frozen;
  return tensor;
}

/** Formats that `prepare_model_for_kbit_training` only freezes (peft/utils/other.py). */
const KEEPS_HALF_PRECISION: ReadonlySet<QuantizationSpec["type"]> = new Set(["gptq", "hqq", "aqlm", "eetq", "torchao"]);

/** `prepare_model_for_kbit_training`: half-precision parameters that were not packed become float32 (peft/utils/other.py). */
function raiseHalfPrecision(loading: Loading, placed: readonly PlacedTensor[]): void {
  for (const item of placed) {
    const { dtype } = loading.byName.get(item.name)!;
    if (dtype === "float16" || dtype === "bfloat16") recast(loading, item, "float32");
  }
}

/** Trained weights in a dtype of their own. */
function raiseTrained(loading: Loading, placed: readonly PlacedTensor[]): void {
  const dtype = loading.options.trained?.dtype;
  if (dtype === undefined) return;
  for (const item of placed) {
    const tensor = loading.byName.get(item.name)!;
    if (tensor.requiresGradFlag && tensor.dtype !== dtype) recast(loading, item, dtype, true);
  }
}

/** Replaces a parameter by its cast (`p.data = p.data.to(dtype)`). */
function recast({ torch, byName }: Loading, item: PlacedTensor, dtype: DType, trained = false): void {
  const old = byName.get(item.name)!;
  const cast = made(torch, "weights", "_to_copy", old.sizes, dtype);
  old.release();
  byName.set(item.name, describe(cast, item, trained));
}

/**
 * Puts the quantized forwards in place. The first 4-bit one leaves the bias in the compute dtype for good
 * (bitsandbytes/nn/modules.py, Linear4bit.forward), which is done here, before the first step.
 */
function quantizedForwards(loading: Loading, placed: readonly PlacedTensor[]): void {
  const { byName, modules, packed, options } = loading;
  if (options.quantization === null) return;
  const { computeDtype, type, keepsInputs = false } = options.quantization;
  const bits = quantizerOf(type)?.bits;
  if (bits !== 4) {
    const forward = bits === 8 ? linear8bit : linearGrouped;
    for (const [path, weight] of packed) modules.set(path, forward(weight, byName.get(`${path}.bias`) ?? null));
    return;
  }
  for (const item of placed) {
    if (!item.name.endsWith(".bias") || !packed.has(item.name.slice(0, -".bias".length))) continue;
    if (byName.get(item.name)!.dtype !== computeDtype) recast(loading, item, computeDtype);
  }
  for (const [path, weight] of packed)
    modules.set(path, linear4bit(weight, byName.get(`${path}.bias`) ?? null, computeDtype, keepsInputs));
}

/** llmcompressor's word for every weight it can prune. */
const PRUNABLE = "__ALL_PRUNABLE__";

/**
 * Pruned weights stay dense while they are trained; a mask of as many bytes keeps their zeros
 * (llmcompressor/modifiers/pruning/utils/pytorch/layer_mask.py, LayerParamMasking.add_mask).
 */
function maskPruned(torch: Torch, placed: readonly PlacedTensor[], targets: readonly string[]): void {
  const matches = ({ name, module }: PlacedTensor): boolean =>
    targets.some((target) => {
      if (target === PRUNABLE || target === module) return module === "Linear" && name.endsWith(".weight");
      return target.startsWith("re:") ? isSkipped(name, target) : name === target;
    });
  for (const item of placed) if (matches(item)) made(torch, "buffers", "ones_like", item.sizes, "bool");
}

/** What 8-bit products take sizes in multiples of (accelerate/utils/ao.py, transformer_engine.py). */
const FLOAT8_ALIGNMENT = 16;

/** Linear layers that multiply in 8 bits, by path; parameters come in the order of `named_modules`, a tied head last. */
function float8Paths({ byName, options }: Loading, placed: readonly PlacedTensor[], { keeps }: Float8Spec): string[] {
  const { head } = options;
  const own = placed
    .filter(({ name, module }) => module === "Linear" && name.endsWith(".weight"))
    .map(({ name }) => name.slice(0, -".weight".length));
  const linear = head === null || own.includes(head) ? own : [...own, head];
  const left = new Set(keeps === "first-and-last" ? [linear[0], linear.at(-1)] : keeps === "head" ? [head] : []);
  return linear.filter((path) => {
    const { sizes = [] } = byName.get(`${path}.weight`) ?? {};
    return !left.has(path) && sizes.length === 2 && sizes.every((size) => size % FLOAT8_ALIGNMENT === 0);
  });
}

/** Puts layers that multiply in 8 bits in place (convert_model_to_fp8_ao, convert_model of accelerate). */
function float8Forwards(loading: Loading, placed: readonly PlacedTensor[], spec: Float8Spec): void {
  const { torch, byName, modules, options } = loading;
  const { architecture = "unknown" } = options;
  if (spec.backend === "transformer-engine") engineWorkspace(torch, architecture);
  for (const path of float8Paths(loading, placed, spec)) {
    const weight = byName.get(`${path}.weight`);
    if (weight === undefined || modules.has(path)) continue;
    const bias = byName.get(`${path}.bias`) ?? null;
    const forward =
      spec.backend === "torchao"
        ? float8Linear(weight, bias, spec.recipe, options.compiled === true, spec.gathers === true && options.sharded)
        : engineLinear(torch, weight, bias, {
            transposes: architecture !== "blackwell",
            cachesWeights: spec.cachesWeights,
          });
    modules.set(path, forward);
  }
}

/** A tensor of a kind, which decides how tensor parallelism splits it. */
function made(torch: Torch, kind: "weights" | "buffers", ...tensor: Parameters<Torch["empty"]>): Tensor {
  const before = torch.kind;
  torch.kind = kind;
  const whole = torch.empty(...tensor);
  torch.kind = before;
  return whole;
}

function total(tensors: readonly Tensor[]): number {
  return tensors.reduce((sum, tensor) => sum + tensor.elements, 0);
}
