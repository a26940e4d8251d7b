/**
 * Which models a trainer keeps and which loss it runs. Sources: trl/trainer/{dpo,kto,grpo}_trainer.py (`__init__`:
 * the reference model is loaded like the policy and put in evaluation mode; with adapters it is the policy with them
 * disabled), trl/models/utils.py (disable_gradient_checkpointing).
 */

import { say } from "../../../words/message";
import type { InterpreterOptions } from "../../engine/interpreter/options";
import { NotModelled } from "../../engine/not-modelled";
import type { Torch } from "../../engine/torch";
import type { Scope } from "../../graph/expression";
import type { ArchitectureGraph, FamilyGraphs, TrainerGraph } from "../../graph/types";
import type { SimulatedCache } from "../generation/cache";
import type { LoadedModel } from "../loaded-model";
import type { ForwardUsage } from "../parallel";
import type { TrainerKind, TrainerSpec, TrainingRun } from "../run";
import { KeptCache } from "./kept-cache";
import { statesOfBody, takesMedia, untilHidden, untilLogits, untilStates } from "./models";
import { type CalledModel, TrainerPass } from "./pass";
import { sequencesOf } from "./sequences";
import { withValueHead } from "./value-head";

export { mediaOf, untilLogits, untilStates } from "./models";
export { isOnline } from "./online";
export type { Pass } from "./pass";
export { inPieces } from "./pieces";
export { runPpo } from "./ppo";
export { type PpoGraphs, type PpoOptions, ppoGraphs } from "./ppo-parts";
export { Rollout, vllmBlock } from "./rollout";
export { sequencesOf, sequencesPerSample } from "./sequences";
export { valueHead } from "./value-head";
export { syncWeights } from "./weight-sync";

/** Whether a loss asks its models for logits; others multiply hidden states with the head themselves. */
export function asksForLogits({ main }: TrainerGraph): boolean {
  return main.body.some((instruction) => "call" in instruction && instruction.call === "Model");
}

/** Whether a loss asks its models for the states between layers: DPO of 0.19 to 0.28 did, and used none (trl/trainer/dpo_trainer.py, concatenated_forward). */
function givesStates({ main }: TrainerGraph): boolean {
  return main.body.some((instruction) => "call" in instruction && instruction.out.length > 1);
}

/** Whether a trainer has a reference model of its own beside the trained one, not the base under an adapter. */
export function hasReference(trainer: TrainerSpec | null | undefined): boolean {
  return trainer?.variant["reference"] === "model";
}

/** The run's trainer as it is with the run's adapter: whose base is the reference then, whatever stood beside it before. */
export function trainerOf({ trainer, adapter }: Pick<TrainingRun, "trainer" | "adapter">): TrainerSpec | null {
  if (trainer == null) return null;
  const other = trainer.referenceApart === true || trainer.companion !== undefined;
  const copied = hasReference(trainer) && adapter !== null && !other;
  return copied ? { ...trainer, variant: { ...trainer.variant, reference: "adapter" } } : trainer;
}

/** The loss of a trainer, by the branch that says the most of it, or undefined when it was not captured. */
export function lossOf(family: FamilyGraphs, { kind, variant }: TrainerSpec): TrainerGraph | undefined {
  let best: TrainerGraph | undefined;
  let said = -1;
  for (const graph of family.trainers ?? [])
    for (const branch of graph.trainer === kind ? graph.when : []) {
      const terms = Object.entries(branch);
      if (terms.length <= said || terms.some(([key, value]) => variant[key] !== value)) continue;
      best = graph;
      said = terms.length;
    }
  return best;
}

/** The passes over completions before the steps that learn from them: under the policy, under its reference. */
export function scoringOf(family: FamilyGraphs, { variant, rollout }: TrainerSpec): TrainerGraph[] {
  const reference = variant["reference"] ?? "none";
  const wanted = [
    ...(rollout?.scores ? [{ model: "policy", reference: "none" }] : []),
    ...(reference === "none" ? [] : [{ model: "reference", reference }]),
  ];
  return wanted.flatMap(
    ({ model, reference }) =>
      family.trainers?.find(
        ({ trainer, when }) =>
          trainer === "score" && when.some((branch) => branch["model"] === model && branch["reference"] === reference),
      ) ?? [],
  );
}

/** Trainers whose model has a value head. */
const VALUED: ReadonlySet<TrainerKind> = new Set(["rm"]);

/** Whether a trainer puts a value head on its model. */
export function hasValueHead(spec: TrainerSpec | null): boolean {
  return spec !== null && VALUED.has(spec.kind);
}

/** Losses that hand pictures on to their models (`_is_vlm` of trl/trainer/{sft,dpo,kto,grpo,rloo}_trainer.py), and what scores for them. */
const SEES: ReadonlySet<string> = new Set(["sft", "dpo", "kto", "grpo", "rloo", "score"]);

/** The graph of the models the loss calls; null when the capture cannot be cut there, or takes more than the loss hands on. */
export function calledGraph(
  loss: TrainerGraph,
  graph: ArchitectureGraph,
  head: string | null,
  kept = 0,
): ArchitectureGraph | null {
  if (!SEES.has(loss.trainer) && takesMedia(graph)) return null;
  if (loss.trainer === "rm") return withValueHead(graph, head);
  if (loss.trainer === "embedding") return statesOfBody(graph);
  return asksForLogits(loss) ? untilLogits(graph, head, kept) : untilHidden(graph, head);
}

/** Rows of the output head, and elements of a token's state. */
export interface ModelWidths {
  readonly vocabulary: number;
  readonly hidden: number;
}

/** Names the loss's numbers go by. */
export function lossScope(
  spec: TrainerSpec,
  samples: number,
  sequence: number,
  { vocabulary, hidden }: ModelWidths,
): Scope {
  const sizes: Readonly<Record<string, number>> = {
    B: samples,
    S: sequence,
    P: spec.promptLength,
    T: spec.completionLength,
    V: vocabulary,
    C: samples * sequencesOf(spec) * spec.scoredTokens,
    K: spec.candidates ?? 0,
    H: hidden,
  };
  return (name) => sizes[name];
}

export interface TrainerParts {
  readonly spec: TrainerSpec;
  readonly loss: TrainerGraph;
  /** Graph of the called models, which the loss may call (`calledGraph`). */
  readonly graph: ArchitectureGraph;
  readonly scope: Scope;
  readonly policy: LoadedModel;
  /** The copy kept beside the policy, where there is one. */
  readonly copy: LoadedModel | null;
  /** What gathers the copy's shards. */
  readonly copyUsage: ForwardUsage | null;
  readonly options: InterpreterOptions;
  /** Names of what the batch has for the models alone, behind the loss's own tensors. */
  readonly media?: readonly string[];
  /** The copy's own graph and options, where it is another model; with the cache its outputs keep. */
  readonly companion: {
    readonly graph: ArchitectureGraph;
    readonly options: InterpreterOptions;
    readonly cache?: () => SimulatedCache;
  } | null;
  /** The cache that the outputs of a copy of the policy keep. */
  readonly copyCache?: () => SimulatedCache;
  /** The model that rates completions, and what gathers its shards. */
  readonly rater?: { readonly model: RunnableModel; readonly usage: ForwardUsage | null } | null;
}

/** A model as the engine runs it, with its graph. */
export interface RunnableModel {
  readonly model: Pick<LoadedModel, "byName" | "modules"> & Partial<Pick<LoadedModel, "parametrized">>;
  readonly graph: ArchitectureGraph;
  readonly options: InterpreterOptions;
  /** Heads of keys and values, of which its outputs keep a cache. */
  readonly heads: number;
}

/** The models of PPO by the names its loop gives them. */
export type PpoModels = Readonly<Record<"policy" | "value_model" | "reference" | "reward", RunnableModel>>;

/**
 * One pass of a part of PPO's loop. The models are asked for the states between their layers; what trains and what is
 * asked for logits keeps a cache, too (trl/experimental/utils.py, get_reward: `use_cache=False`). Nothing is checkpointed: the
 * loop is not the Trainer's, which would switch that on.
 */
export function ppoPass(
  torch: Torch,
  loss: TrainerGraph,
  scope: Scope,
  models: PpoModels,
  usages: Readonly<Partial<Record<keyof PpoModels, ForwardUsage | null>>> = {},
): TrainerPass {
  const trains = loss.carried !== undefined;
  const called = (name: keyof PpoModels): CalledModel => {
    const whole = name === "policy" || name === "reference";
    const own = askedForStates(models[name], whole);
    const usage = usages[name] ?? null;
    return { ...own, usage, ...(whole || trains ? { cache: () => new KeptCache(models[name].heads) } : {}) };
  };
  const names = ["policy", "value_model", "reference", "reward"] as const;
  const { expressions } = models.policy.options;
  return new TrainerPass(
    torch,
    loss,
    { scope, expressions },
    Object.fromEntries(names.map((name) => [name, called(name)])),
  );
}

/** A model asked for the states between its layers, up to its logits (`whole`) or to what its head takes. */
function askedForStates({ model, graph, options }: RunnableModel, whole: boolean): CalledModel {
  const cut = whole ? untilLogits(graph, options.head) : untilStates(graph, options.head);
  if (cut === null) throw new NotModelled(say("engine.no-states"));
  return {
    graphOf: () => cut,
    options: {
      ...options,
      parameters: model.byName,
      modules: model.modules,
      parametrized: model.parametrized ?? new Map(),
      checkpointing: null,
      noDropout: true,
    },
    whole,
    evaluates: false,
    states: "given",
    heads: { "score.weight": model.byName.get(`${options.head}.weight`) ?? null },
  };
}

/**
 * The model that rates completions: online DPO asks it for its logits, whose outputs keep a cache, the others for its states
 * (trl/experimental/online_dpo/online_dpo_trainer.py, trl/experimental/utils.py, get_reward).
 */
function ratingModel(
  loss: TrainerGraph,
  { model, usage }: { readonly model: RunnableModel; readonly usage: ForwardUsage | null },
): CalledModel {
  const asked = loss.main.body.some((instruction) => "call" in instruction && instruction.path === "reward.base_model");
  if (!asked) return { ...askedForStates(model, false), evaluates: true, usage };
  const { states: _, ...own } = askedForStates(model, true);
  return { ...own, evaluates: true, usage, cache: () => new KeptCache(model.heads) };
}

/** One pass of the trainer. */
export function trainerPass(torch: Torch, parts: TrainerParts): TrainerPass {
  const { spec, companion } = parts;
  const noDropout = spec.disableDropout;
  const called = (
    model: Pick<LoadedModel, "byName" | "modules"> & Partial<Pick<LoadedModel, "parametrized">>,
    own: Partial<InterpreterOptions>,
    { graph, options }: Pick<TrainerParts, "graph" | "options"> = parts,
  ): CalledModel => {
    const graphs = new Map<number, ArchitectureGraph>();
    const graphOf = (kept: number): ArchitectureGraph => {
      const found = graphs.get(kept) ?? calledGraph(parts.loss, graph, options.head, kept) ?? graph;
      graphs.set(kept, found);
      return found;
    };
    return {
      graphOf,
      options: {
        ...options,
        parameters: model.byName,
        modules: model.modules,
        parametrized: model.parametrized ?? new Map(),
        ...own,
      },
      whole: asksForLogits(parts.loss),
      evaluates: false,
      ...(givesStates(parts.loss) ? { states: "returned" } : hasValueHead(spec) ? { states: "inside" } : {}),
      heads: {
        "head.weight": model.byName.get(`${options.head}.weight`) ?? null,
        "head.bias": model.byName.get(`${options.head}.bias`) ?? null,
      },
    };
  };
  const { policy, copy } = parts;
  const reference =
    copy !== null
      ? {
          ...called(copy, { checkpointing: null, hooks: undefined }, companion ?? parts),
          evaluates: true,
          usage: parts.copyUsage,
          ...keptBy(companion?.cache ?? parts.copyCache),
        }
      : spec.variant["reference"] === "adapter"
        ? called(policy.base ?? policy, { checkpointing: null, noDropout })
        : null;
  const reward = parts.rater ? ratingModel(parts.loss, parts.rater) : null;
  const { scope, loss } = parts;
  const { expressions } = parts.options;
  return new TrainerPass(
    torch,
    loss,
    { scope, expressions },
    { policy: called(policy, { noDropout }), reference, reward },
    parts.media,
  );
}

/** The cache that a model's outputs keep, where there is one. */
function keptBy(cache: (() => SimulatedCache) | undefined): Pick<CalledModel, "cache"> {
  return cache === undefined ? {} : { cache };
}
