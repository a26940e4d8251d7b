/** Puts an adapter on a loaded model: new parameters, the forwards that use them, what is trained besides. */
import type { ModuleForward, ParameterWrapper } from "../../engine/interpreter/options";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { PlacedTensor } from "../placed";
import type { PackedWeight } from "../quantization/bitsandbytes";
import type { AdapterSpec } from "../run";
import { adalora } from "./adalora";
import { miss } from "./blocks";
import { boft } from "./butterfly";
import { isDepthwise, loraConvolution } from "./convolution";
import { byModule, convertTargets, type ParameterLora, parameterLora, type Unpack } from "./experts";
import { loha, lokr } from "./factored";
import { canInitialize, initialize } from "./initialization";
import { type AdapterLayer, type BaseLayer, baseLayer, buffer, raised } from "./layer";
import { lora, loraEmbedding } from "./lora";
import { applyModulesToSave, savedModule } from "./modules-to-save";
import type { PromptSizes } from "./prompt-sizes";
import { type PromptEncoder, promptEncoder, virtualTokens } from "./prompts";
import { rankOf } from "./ranks";
import { road } from "./road";
import { oft, oftConvolution } from "./rotation";
import { ia3, vera, veraProjections } from "./scaling";
import { isAdapted, isConvolution, named } from "./targets";
import { trainedTokens } from "./tokens";
import { fourierft, hra, randlora, randomBases } from "./whole-weights";

/** A loaded model as adapters see it. */
export interface AdaptedModel {
  readonly byName: Map<string, Tensor>;
  readonly modules: Map<string, ModuleForward>;
  readonly packed: ReadonlyMap<string, PackedWeight>;
  /** Stacked experts that a parametrization unpacks, by name. */
  readonly unpacked: ReadonlyMap<string, Unpack>;
  /** Parameters in the order of `model.parameters()`, tied ones once. */
  readonly placed: readonly PlacedTensor[];
  /** Parameters that are another one, by name. */
  readonly tied: ReadonlyMap<string, string>;
  /** `model_type`, by which peft converts targets. */
  readonly family: string;
  readonly head: string | null;
  /** The input embeddings, of which peft trains rows (peft/utils/other.py, `_get_input_embeddings_name`). */
  readonly table: PlacedTensor | undefined;
  readonly promptSizes: PromptSizes;
  /** Whether the trainer leaves the part of the model alone that a module belongs to. */
  readonly isFrozen: (path: string) => boolean;
  /** Factors are made from the weights as the library makes them, with what that takes; no step can be run afterwards. */
  readonly initializes?: boolean;
}

export interface Adapted {
  /** All parameters of the model with its adapter, in the order of `parameters()`. */
  readonly parameters: readonly Tensor[];
  readonly prompt: PromptEncoder | null;
  /** Modules whose parameters an adapter stands for while they run. */
  readonly parametrized: ReadonlyMap<string, ParameterWrapper>;
  /** Factors that a term of the loss keeps orthogonal (AdaLoRA). */
  readonly regularised: readonly Tensor[];
}

type MakeAdapter = (torch: Torch, adapter: AdapterSpec, base: BaseLayer) => AdapterLayer;

/** Types that replace the forward of single linear layers, VeRA and RandLoRA aside, whose layers share their matrices. */
const LAYER_ADAPTERS: Readonly<Partial<Record<AdapterSpec["type"], MakeAdapter>>> = {
  lora,
  dora: lora,
  ia3,
  adalora,
  loha,
  lokr,
  oft,
  boft,
  hra,
  miss,
  road,
  fourierft,
};

/** The name of a parameter without what it is to its module. */
function withoutEnd(name: string): string {
  for (const end of [".weight", ".bias"]) if (name.endsWith(end)) return name.slice(0, -end.length);
  return name;
}

const pathOf = (item: PlacedTensor | undefined): string | undefined => item && withoutEnd(item.name);

/** Adapters as they are while peft makes them. */
function uncast({ castTo: _, ...adapter }: AdapterSpec): AdapterSpec {
  return { ...adapter, autocastAdapterDtype: false };
}

export function adapt(torch: Torch, given: AdapterSpec, model: AdaptedModel): Adapted {
  const { placed, byName, head } = model;
  const converted = convertTargets(given, model.family, placed, head);
  // Factors are made in the dtype of their weight, and raised when all are there (PeftModel.__init__).
  const adapter = model.initializes ? uncast(converted.adapter) : converted.adapter;
  const onParameters: ParameterLora[] = [];
  const parameters: Tensor[] = [];
  const regularised: Tensor[] = [];
  const made: Tensor[] = [];
  const make = makerOf(torch, adapter, model);
  const tokens = adapter.trainableTokens === undefined ? undefined : model.table;
  const whole = (parameter: string): string | undefined => {
    const path = parameter.replace(/\.[^.]+$/, "");
    if (adapter.type === "ln-tuning" && named(adapter.targetModules, path)) return path;
    return savedModule(adapter.modulesToSave, parameter);
  };
  const add = (item: PlacedTensor, path: string, added: readonly Tensor[]): void => {
    for (const tensor of added) {
      tensor.layer = item.index;
      if (tensor.name !== null) tensor.pattern = `${withoutEnd(item.pattern)}${tensor.name.slice(path.length)}`;
      if (adapter.type === "adalora" && /\.lora_[AB]$/.test(tensor.name!)) regularised.push(tensor);
    }
    parameters.push(...added);
    if (model.initializes) made.push(...added);
  };
  placed.forEach((item, k) => {
    const path = pathOf(item)!;
    if (item.sharedWith === null) parameters.push(byName.get(item.name)!);
    if (whole(item.name) !== undefined) {
      applyModulesToSave(torch, item, byName, parameters, adapter.castTo);
      return;
    }
    if (model.isFrozen(path)) return;
    // peft appends an adapted module's own parameters after the base layer's.
    if (pathOf(placed[k + 1]) === path) return;
    const adapts = isAdapted(adapter, path, item.module, head);
    const added = adapts ? make(path, item) : [];
    const rank =
      converted.parameters.size === 0
        ? undefined
        : [...converted.parameters].find(([end]) => item.name.endsWith(`.${end}`))?.[1];
    if (rank !== undefined) {
      const lora = parameterLora(torch, adapter, rank, item.name, byName.get(item.name)!, model);
      onParameters.push(lora);
      added.push(lora.a, lora.b);
    }
    if (item === tokens) added.push(trainTokens(torch, adapter, model, path, item.module));
    add(item, path, added);
    if (adapts && adapter.bias === "lora_only") trainBias(byName.get(`${path}.bias`));
  });
  for (const [name, to] of model.tied) {
    const shared = placed.find((one) => one.name === to);
    if (shared === undefined) continue;
    // Where the head stands before the embedding among the parameters, the embedding is the other name.
    const other = to === `${head}.weight` ? "Embedding" : shared.module;
    const module = name === `${head}.weight` ? "Linear" : other;
    const item = { ...shared, name, module, pattern: name };
    const path = pathOf(item)!;
    // A module with a tied parameter gets a copy of its own, tied to nothing but what was copied with it (copy.deepcopy).
    if (whole(name) !== undefined) {
      if (whole(name) === whole(to)) byName.set(name, byName.get(to)!);
      else applyModulesToSave(torch, item, byName, parameters, adapter.castTo);
    } else if (name.endsWith(".weight") && !model.isFrozen(path) && isAdapted(adapter, path, module, head)) {
      // Its weight stays the shared one, its factors are its own (peft/tuners/tuners_utils.py, _check_tied_modules only warns).
      add(item, path, make(path, item));
    }
  }
  if (adapter.bias === "all") for (const { name } of placed) if (/bias/.test(name)) trainBias(byName.get(name));
  if (given.autocastAdapterDtype) for (const tensor of made) raised(torch, tensor);
  const prompt = virtualTokens(adapter) > 0 ? promptEncoder(torch, adapter, model.promptSizes) : null;
  return {
    parameters: prompt === null ? parameters : [...parameters, ...prompt.parameters],
    prompt,
    parametrized: byModule(onParameters, model.unpacked),
    regularised,
  };
}

function trainBias(bias: Tensor | undefined): void {
  if (bias !== undefined) bias.requiresGradFlag = true;
}

/** A layer whose own mode is training. */
function inTraining(forward: ModuleForward): ModuleForward {
  return (torch, input, rest) => {
    const { training } = torch;
    torch.training = true;
    const result = forward(torch, input, rest);
    torch.training = training;
    return result;
  };
}

/** Makes the adapter's parameters on the module of an item and puts its forward in place. */
function makerOf(
  torch: Torch,
  adapter: AdapterSpec,
  model: AdaptedModel,
): (path: string, item: PlacedTensor) => Tensor[] {
  const { placed, byName, modules, packed, head } = model;
  const base = (path: string, module: string): BaseLayer | null =>
    baseLayer(adapter, { path, module, byName, modules, packed });
  const put = (path: string, layer: AdapterLayer): Tensor[] => {
    modules.set(path, adapter.drops ? inTraining(layer.forward) : layer.forward);
    return [...layer.parameters];
  };
  if (adapter.type === "vera" || adapter.type === "randlora") {
    const targets = placed.filter(
      (item) => item.name.endsWith(".weight") && isAdapted(adapter, pathOf(item)!, item.module, head),
    );
    const layers = targets.map((item) => base(pathOf(item)!, item.module)).filter((layer) => layer !== null);
    const matrices = adapter.type === "vera" ? veraProjections : randomBases;
    const onLayer = adapter.type === "vera" ? vera : randlora;
    const shared = matrices(torch, adapter, layers);
    return (path, item) => {
      const layer = base(path, item.module);
      return layer === null ? [] : put(path, onLayer(torch, adapter, layer, shared));
    };
  }
  const make = LAYER_ADAPTERS[adapter.type];
  return (path, item) => {
    if (item.module === "Embedding")
      return put(path, loraEmbedding(torch, adapter, path, byName.get(`${path}.weight`)!));
    if (isConvolution(item.module)) {
      const base = { path, weight: byName.get(`${path}.weight`)!, bias: byName.get(`${path}.bias`) ?? null };
      if (adapter.type === "oft") return put(path, oftConvolution(torch, adapter, base));
      return isDepthwise(base.weight) ? [] : put(path, loraConvolution(torch, adapter, base));
    }
    const layer = make === undefined ? null : base(path, item.module);
    if (layer === null || make === undefined) return [];
    return (
      (model.initializes && initializedLayer(torch, adapter, model, layer)) || put(path, make(torch, adapter, layer))
    );
  };
}

/** The factors of a layer as peft makes them from its weight, which is replaced; null where they are drawn. */
function initializedLayer(
  torch: Torch,
  adapter: AdapterSpec,
  { byName, packed }: AdaptedModel,
  { path, inputs, outputs, dtype }: BaseLayer,
): Tensor[] | null {
  const { initialization: spec } = adapter;
  const stored = packed.get(path);
  if (spec === undefined || !canInitialize(spec, stored)) return null;
  const weight = byName.get(`${path}.weight`)!;
  const base = { weight, packed: stored, inputs, outputs, rank: rankOf(adapter, path) };
  const { a, b, residual } = initialize(torch, spec, base, dtype);
  if (residual !== null) byName.set(`${path}.weight`, residual);
  const vectors = Number(adapter.loraBias === true) + Number(adapter.type === "dora");
  return [a, b, ...Array.from({ length: vectors }, () => buffer(torch, [outputs], dtype))];
}

/**
 * Trains rows of the embedding. Every module that shares the table makes a copy of its own with them: the embeddings of both
 * stacks of an encoder-decoder, an output head (peft/utils/other.py, _get_module_names_tied_with_embedding).
 */
function trainTokens(torch: Torch, adapter: AdapterSpec, model: AdaptedModel, path: string, module: string): Tensor {
  const { byName, modules, head, tied } = model;
  const name = `${path}.weight`;
  // A scale that is no buffer is a number of Python's.
  const scaled = module.endsWith("ScaledWordEmbedding") && !byName.has(`${path}.embed_scale`);
  const tokens = trainedTokens(torch, adapter, path, byName.get(name)!, scaled);
  const shared = [...tied].filter(([, to]) => to === name).map(([other]) => other);
  for (const other of [name, ...shared])
    modules.set(withoutEnd(other), withoutEnd(other) === head ? tokens.head : tokens.embed);
  return tokens.parameter;
}
