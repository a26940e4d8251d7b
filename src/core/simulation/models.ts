/** The models of a run: the one that is trained, and those its trainer keeps beside it. */

import { once } from "../../terms/once";
import { say } from "../../words/message";
import type { Ledger } from "../engine/ledger";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import type { RunSizes } from "../graph/config";
import { factsOf, type ShardedEnds } from "../graph/facts";
import { initializesOnDevice } from "../training/adapters/initialization";
import { promptSizes } from "../training/adapters/prompt-sizes";
import type { LoadedModel, LoadOptions } from "../training/loaded-model";
import { packsOnTheFly } from "../training/loading";
import { loadModel } from "../training/model";
import { withOwnLayers } from "../training/own-loss/layers";
import { type ForwardUsage, type ModelEnds, type Strategy, tensorPlanOf } from "../training/parallel";
import { shardedOver } from "../training/parallel/degrees";
import { splitEmbedding } from "../training/parallel/tensor-plan/modules";
import { EMBEDDING, partOf } from "../training/parallel/tensor-plan/plan";
import { stableEmbedding } from "../training/quantization/stable-embedding";
import type { CompanionSpec, TrainingRun } from "../training/run";
import type { UnitOf } from "../training/ties";
import { hasReference } from "../training/trainers";
import { holdWeights, type Loaded, loadingOf } from "./loading";
import { companionRun, graphsOf, type Program, programOf } from "./program";
import { holdCritic, type LoadedScorer, raterOf, type Scorers, scorersOf, withHead } from "./scorers";
import type { Refusal, Setup } from "./setup";

/** The frozen model that a loss calls beside the trained one. */
export interface Reference {
  readonly model: LoadedModel;
  readonly usage: ForwardUsage | null;
}

export interface Models {
  readonly model: LoadedModel;
  readonly loadDtype: LoadOptions["loadDtype"];
  /** A copy of the trained model as it was, or another one in its place. */
  readonly reference: Reference | null;
  /** The program of another model beside the trained one; null: there is none. */
  readonly companionAt: (sizes: RunSizes) => Program | null;
  /** PPO's models of values and rewards. */
  readonly scorers: Scorers | null;
  readonly rater: LoadedScorer | null;
  /** How the model that rates is used. */
  readonly raterUsage: ForwardUsage | null;
  /** Parameters of all that may be trained, in the order of `model.parameters()`. */
  readonly parameters: readonly Tensor[];
  /** Loading with what it needs beside the weights; null where it needs nothing. */
  readonly loading: () => Ledger | null;
}

/** The model goes to the device before its parameters are spread (deepspeed/runtime/engine.py, `_configure_distributed_model`). */
export function loadsWhole({ parallel: { deepspeed } }: TrainingRun): boolean {
  return deepspeed?.zeroStage === 3 && deepspeed.loadsWhole === true;
}

/** How the trained model is loaded, but for its adapter. */
function loadingOptions({ run, program }: Setup, strategy: Strategy): Omit<LoadOptions, "adapter"> {
  return {
    ...(run.optimizer.block === undefined ? {} : { trainedLayer: run.optimizer.block }),
    loadDtype: strategy.parameterDtype ?? run.loadDtype,
    ...(strategy.keepsBuffers ? { bufferDtype: run.loadDtype } : {}),
    ...(strategy.castsBuffers ? { castsBuffers: true as const } : {}),
    ...(run.partDtypes === undefined ? {} : { partDtypes: run.partDtypes }),
    autocast: run.autocast,
    sharded: strategy.shardsParameters && !loadsWhole(run),
    quantization: run.quantization,
    float8: run.float8 ?? null,
    ...(run.prunedWeights === undefined ? {} : { prunedWeights: run.prunedWeights }),
    compiled: run.compiled !== undefined,
    architecture: run.device?.architecture ?? "unknown",
    head: program.head,
    frozenParts: run.frozenParts ?? [],
    ...(run.trained === undefined ? {} : { trained: run.trained }),
    family: run.model.family,
    promptSizes: promptSizes(program.view.scope, run.task),
    ...splitting(run),
  };
}

/** Parameters of split modules that the config says whole sizes of. */
function splitting(run: TrainingRun): Pick<LoadOptions, "splits"> {
  const plan = tensorPlanOf(run);
  if (plan === null) return {};
  const undivided = new Set(run.parallel.tensorPlan?.undivided);
  const splits: LoadOptions["splits"] = (item) =>
    undivided.has(item.pattern) ? { ...item, sizes: partOf(plan, item.name, item.sizes) } : item;
  return { splits };
}

/** The model with the forward of an embedding whose rows are spread over GPUs. */
function withSplitEmbedding(model: LoadedModel, run: TrainingRun): LoadedModel {
  const plan = tensorPlanOf(run);
  if (plan?.styleOf(EMBEDDING) !== "vocabulary" || model.embedding === null) return model;
  return {
    ...model,
    modules: new Map([...model.modules, [EMBEDDING, splitEmbedding(model.embedding.weight, plan.degree)]]),
  };
}

/** The model with another embedding in the place of its own (see `StableEmbedding`). */
function withStableEmbedding(torch: Torch, model: LoadedModel, { replacesEmbedding }: TrainingRun): LoadedModel {
  const { embedding } = model;
  if (replacesEmbedding !== true || embedding === null) return model;
  return { ...model, modules: new Map([...model.modules, [embedding.path, stableEmbedding(torch, embedding.weight)]]) };
}

/** A companion is loaded as it is, without what the run does to its own model. */
function companionOptions(
  loading: Omit<LoadOptions, "adapter">,
  { head }: Program,
  { loadDtype }: CompanionSpec,
  strategy: Strategy,
): LoadOptions {
  return {
    ...loading,
    loadDtype: strategy.parameterDtype ?? loadDtype,
    adapter: null,
    quantization: null,
    float8: null,
    frozenParts: [],
    trained: {},
    head,
  };
}

/** Copies of the weights as they are loaded, which nothing trains (`{n: p.detach().clone() for n, p in model.named_parameters()}`). */
function copyWeights(torch: Torch, which: "trained" | "all", parameters: readonly Tensor[]): void {
  for (const { sizes, dtype, requiresGradFlag } of parameters)
    if (which === "all" || requiresGradFlag)
      torch.ledger.relabel(torch.empty("clone", sizes, dtype).storage.id, "weights");
}

/** Tasks whose models have `get_output_embeddings`. */
const GENERATES: ReadonlySet<string> = new Set([
  "causal-lm",
  "masked-lm",
  "seq2seq-lm",
  "speech-seq2seq",
  "image-text-to-text",
]);

/** Units of a model whose `get_output_embeddings` is the module at `head`. */
function withOutputs(unitOf: UnitOf, head: string | null): UnitOf {
  return (item, ends) => unitOf(item, head === null ? { ...ends, head, isTied: false } : ends);
}

/** Modules at a model's ends that its weights' names do not tell. */
function saidEnds({ model, task }: TrainingRun): ShardedEnds | undefined {
  return factsOf(model.family).ends?.[task];
}

/** The modules at both ends of the trained model. */
function endsOf({ run, program }: Setup, { embedding, byName }: LoadedModel): ModelEnds {
  const head = program.head !== null && GENERATES.has(run.task) ? byName.get(`${program.head}.weight`) : undefined;
  const said = saidEnds(run);
  return {
    ...(said === undefined ? {} : { said }),
    embedding,
    head: head === undefined ? null : { path: program.head!, weight: head },
    adapted: run.adapter !== null,
    names: byName,
  };
}

/** Loads the models of a run and lets the strategy prepare them. */
export function loadModels(torch: Torch, setup: Setup, strategy: Strategy): Models | Refusal {
  const { run, family, program, spec, sizes } = setup;
  const { graph, view, head } = program;
  const loading = loadingOptions(setup, strategy);
  const outputs = GENERATES.has(run.task) ? head : null;
  const embeddings = saidEnds(run)?.embedding;
  const adapted = {
    ...loading,
    ...(strategy.unitOf === undefined ? {} : { unitOf: withOutputs(strategy.unitOf, outputs) }),
    ...(embeddings === undefined ? {} : { embeddings }),
    // What computes in a dtype of its own casts the whole module, adapters included.
    adapter: run.adapter && {
      ...run.adapter,
      dropout: spec?.disableDropout ? 0 : run.adapter.dropout,
      autocastAdapterDtype: run.adapter.autocastAdapterDtype && strategy.parameterDtype === null,
      ...(strategy.adaptersSeenAs ? { seenAs: strategy.adaptersSeenAs } : {}),
    },
  };
  const loaded = withStableEmbedding(torch, withSplitEmbedding(loadModel(torch, graph, view, adapted), run), run);
  const named = (name: string) => view.scope(Object.hasOwn(family.aliases, name) ? family.aliases[name]! : name);
  const held = withOwnLayers(torch, loaded, run.ownLoss ?? {}, named, run.trained);
  const model = withHead(torch, spec, held, head, strategy.shardsParameters);
  const companion = (spec === null ? run.beside?.runs : spec.companion) ?? null;
  const companionGraphs = companion === null ? undefined : graphsOf(family, companion.model.family);
  const companionAt = (sizes: RunSizes): Program | null =>
    companion === null || companionGraphs === undefined
      ? null
      : programOf(companionRun(run, companion), companionGraphs, sizes, false);
  const beside = companionAt(sizes);
  if (run.weightCopies !== undefined) copyWeights(torch, run.weightCopies, model.parameters);
  if (run.beside !== undefined && (spec !== null || beside === null)) holdWeights(torch, run.beside);
  if (companion !== null && beside === null && spec !== null)
    return { reason: say("engine.companion", { trainer: spec?.kind.toUpperCase() ?? "", name: companion.model.name }) };
  // A trainer says whether it has a reference; a script's own loss has what stands beside its model.
  const isAsked = spec === null ? beside !== null : hasReference(spec);
  const reference: Loaded =
    beside === null || companion === null
      ? { program, options: { ...loading, adapter: null, trained: {} } }
      : { program: beside, options: companionOptions(loading, beside, companion, strategy) };
  const frozen = isAsked ? reference : null;
  const copy = frozen && loadModel(torch, frozen.program.graph, frozen.program.view, frozen.options);
  const scorers = spec?.kind === "ppo" ? scorersOf(torch, run, family, spec, loading) : null;
  if (scorers !== null && "reason" in scorers) return scorers;
  const rater = raterOf(torch, run, family, spec, loading);
  if (rater !== null && "reason" in rater) return rater;
  const parameters = [...model.parameters, ...(scorers?.value.model.parameters ?? [])];
  // PPO's policy and value model are one engine; the larger one's layers are gathered at a time.
  const others = scorers?.value.model;
  strategy.prepare(
    torch,
    parameters,
    others !== undefined && others.elements > model.elements ? others.parameters : model.parameters,
    endsOf(setup, model),
  );
  // trl/models/utils.py: below stage 3 the reference is an engine of its own, whole on every GPU (prepare_deepspeed).
  const usage = (copy !== null && strategy.prepareFrozen?.(torch, copy.parameters, spec?.referenceOnHost)) || null;
  const rates = rater ?? scorers?.reward ?? null;
  const raterUsage = (rates !== null && strategy.prepareFrozen?.(torch, rates.model.parameters)) || null;
  const ranks = loading.sharded ? shardedOver(run.parallel) : 1;
  if (spec?.critic && !holdCritic(torch, run, family, spec.critic, loading, ranks))
    return { reason: say("engine.critic", { family: run.model.family }) };
  const whole = loadsWhole(run);
  const needsMore =
    whole || packsOnTheFly(run.quantization) || initializesOnDevice(run.adapter) || run.embeds !== undefined;
  return {
    model,
    loadDtype: loading.loadDtype,
    reference: copy && { model: copy, usage },
    companionAt,
    scorers,
    rater,
    raterUsage,
    parameters,
    loading: once(() =>
      needsMore && (whole || !strategy.shardsParameters)
        ? loadingOf([{ program, options: adapted }, ...(frozen === null ? [] : [frozen])], run, family, sizes)
        : null,
    ),
  };
}
