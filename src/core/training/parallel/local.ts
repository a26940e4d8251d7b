/**
 * Degrees that split the model or its sequences, as a smaller run of one device: a context-parallel rank has its share
 * of the tokens, an expert-parallel one its share of the experts and as many tokens for them as before. What tensor
 * parallelism divides is divided where it is allocated (`tensor.ts`), and a pipeline is a run per stage (`pipeline.ts`).
 *
 * Sources: transformers/models/llama/configuration_llama.py (`base_model_tp_plan`), torch/distributed/tensor/experimental/_attention.py (`context_parallel`: buffers
 * sharded along the sequence, keys and values gathered), deepspeed/sequence/layer.py (Ulysses),
 * deepspeed/moe/layer.py (`num_local_experts`).
 */

import { type Message, say } from "../../../words/message";
import { ELEMENT_BYTES } from "../../engine/dtype";
import { type ConfigView, configView, hiddenSize, parametersGraph, sizesOf } from "../../graph/config";
import { DIMENSIONS } from "../../graph/dimensions";
import { groupsExperts } from "../../graph/dispatch";
import type { FamilyGraphs, TensorSpec } from "../../graph/types";
import type { ParallelSpec, TrainingRun } from "../run";
import { expertParallelSize, expertShare, modelParallelSize, processesOf } from "./degrees";
import { byPlan } from "./tensor-plan/local";
import { withSizes } from "./with-sizes";

/** What is not known of a split run, in bytes of one device. */
export interface SplitUncertainty {
  readonly what: Message;
  readonly settleWith: string;
  /** Buffers of collectives that may come on top. */
  readonly moreBytes: number;
  /** What may be spread, and is counted whole. */
  readonly lessBytes: number;
}

export interface LocalRun {
  readonly run: TrainingRun;
  /** The family as the run's config is read with it; absent: as it was. */
  readonly family?: FamilyGraphs;
  readonly uncertain: readonly SplitUncertainty[];
}

const EXPERTS = /Experts$/;

/** Whether the run is spread by more than data parallelism. */
export function splitsModel({ parallel }: TrainingRun): boolean {
  const { tensorParallel, pipelineParallel, contextParallel, expertParallel } = parallel;
  return Math.max(tensorParallel, pipelineParallel, contextParallel, expertParallel) > 1;
}

/** Whether one GPU holds a part of the model only, all the time or between uses. */
export function isSharded(run: TrainingRun): boolean {
  const { fsdp, deepspeed, tensorPlan } = run.parallel;
  return fsdp !== null || deepspeed?.zeroStage === 3 || tensorPlan !== undefined || splitsModel(run);
}

/** The run of one device, its tensor and pipeline degrees left to the simulation; or why a degree is not followed. */
export function localRun(run: TrainingRun, family: FamilyGraphs): LocalRun | { readonly reason: Message } {
  const { tensorParallel, pipelineParallel, worldSize } = run.parallel;
  const degree = undividedDegree(run.parallel);
  if (worldSize > 1 && degree !== undefined) return { reason: say("engine.degrees", { degree, devices: worldSize }) };
  const uncertain: SplitUncertainty[] = [];
  let local = run;
  let read = family;
  for (const step of [byTensor, byContext, byExperts, byStages]) {
    const found = step(local, read);
    if ("reason" in found) return found;
    local = found.run;
    read = found.family ?? read;
    uncertain.push(...found.uncertain);
  }
  const parallel: ParallelSpec = {
    ...local.parallel,
    // Context-parallel ranks hold different tokens of one sample; parameters are sharded over them, too (accelerate's
    // `dp_shard_cp` mesh, DeepSpeed's sequence-data-parallel group, Megatron's data-parallel group with context).
    worldSize: Math.max(1, Math.floor(worldSize / (tensorParallel * pipelineParallel))),
    contextParallel: 1,
  };
  return { run: { ...local, parallel, ...gatheredEvaluation(local, run.parallel) }, family: read, uncertain };
}

/** A product of degrees that does not divide the ranks; Megatron's experts have one of their own (`initialize_model_parallel`). */
function undividedDegree(parallel: ParallelSpec): number | undefined {
  const experts = parallel.mainParameters === undefined ? 1 : expertParallelSize(parallel) * parallel.pipelineParallel;
  return [modelParallelSize(parallel), experts].find((degree) => parallel.worldSize % degree !== 0);
}

/** Ranks that share a model gather what they predict from all ranks, too (accelerate/utils/operations.py, gather). */
function gatheredEvaluation({ evaluation }: TrainingRun, parallel: ParallelSpec): Pick<TrainingRun, "evaluation"> {
  return evaluation == null ? {} : { evaluation: { ...evaluation, processes: processesOf(parallel) } };
}

function viewOf(run: TrainingRun, family: FamilyGraphs): ConfigView {
  return configView(family, run.model.config, sizesOf(run));
}

/** Sizes that the config has, divided; null when one does not divide. */
function divided(names: readonly string[], degree: number, view: ConfigView): Record<string, number> | null {
  const sizes: Record<string, number> = {};
  for (const name of names) {
    const value = view.scope(name);
    if (typeof value !== "number" || value <= 0) continue;
    if (!Number.isInteger(value / degree)) return null;
    sizes[name] = value / degree;
  }
  return sizes;
}

function byTensor(run: TrainingRun, family: FamilyGraphs): LocalRun | { readonly reason: Message } {
  const degree = run.parallel.tensorParallel;
  if (degree <= 1) return { run, uncertain: [] };
  const planned = byPlan(run, family);
  if (planned !== null) return { ...planned, uncertain: [] };
  if (run.parallel.sharesExperts === true)
    return { run: { ...run, parallel: { ...run.parallel, tensorParallel: 1, expertParallel: degree } }, uncertain: [] };
  const view = viewOf(run, family);
  const heads = view.scope("num_attention_heads");
  if (typeof heads === "number" && heads % degree !== 0)
    return { reason: say("engine.tensor-heads", { degree, heads }) };
  const hidden = hiddenSize(run.model.config) ?? 0;
  const width = computeBytes(run);
  const states = run.adapter === null ? 2 * width + 8 : width;
  // The plans of transformers leave the embedding whole (`base_model_tp_plan`), those of the frameworks split it.
  const whole = run.ownCode === undefined ? hidden * Number(view.scope("vocab_size") ?? 0) * (1 - 1 / degree) : 0;
  const followed = run.parallel.sequencePlan !== undefined && run.parallel.sequenceParallel === true;
  return {
    run,
    uncertain: [
      {
        what: say(followed ? "engine.tensor-sequences" : "engine.tensor-parallel", { degree }),
        settleWith: "tensor_parallel",
        moreBytes: followed ? 0 : 2 * run.microBatchSize * run.sequenceLength * hidden * width + whole * states,
        lessBytes: 0,
      },
    ],
  };
}

/** What schedules are called (`get_schedule_class`). */
const SCHEDULE_NAMES = {
  "1f1b": "1F1B",
  gpipe: "GPipe",
  interleaved: "interleaved 1F1B",
  "looped-bfs": "LoopedBFS",
  "interleaved-zero-bubble": "InterleavedZeroBubble",
  "zbv-zero-bubble": "ZBVZeroBubble",
  "dual-pipe-v": "DualPipeV",
} as const;

/** Layers are divided over the stages later, one simulation for each that may be the fullest. */
function byStages(run: TrainingRun): LocalRun | { readonly reason: Message } {
  const degree = run.parallel.pipelineParallel;
  if (degree <= 1) return { run, uncertain: [] };
  if (run.task === "seq2seq-lm") return { reason: say("engine.pipeline-decoder", { degree }) };
  const placed = run.parallel.oneAtATime === true;
  const { pipelineSchedule, stagesPerRank = 1 } = run.parallel;
  const schedule = SCHEDULE_NAMES[pipelineSchedule ?? (stagesPerRank > 1 ? "interleaved" : "1f1b")];
  const what = placed ? say("engine.placed-layers", { degree }) : say("engine.pipeline-parallel", { degree, schedule });
  const settleWith = placed ? "device_map" : "pipeline_parallel";
  return { run, uncertain: [{ what, settleWith, moreBytes: 0, lessBytes: 0 }] };
}

/** Evaluation splits its tokens as training does. */
function evaluationShare({ evaluation }: TrainingRun, degree: number): Pick<TrainingRun, "evaluation"> {
  if (evaluation == null) return {};
  return { evaluation: { ...evaluation, sequenceLength: Math.ceil(evaluation.sequenceLength / degree) } };
}

/** Of a completion a rank has its part, as of the prompt before it. */
function trainerShare({ trainer }: TrainingRun, degree: number, tokens: number): Partial<Pick<TrainingRun, "trainer">> {
  if (trainer == null || trainer.promptLength + trainer.completionLength === 0) return {};
  const completionLength = Math.ceil(trainer.completionLength / degree);
  const scoredTokens = Math.ceil(trainer.scoredTokens / degree);
  return {
    trainer: { ...trainer, scoredTokens, completionLength, promptLength: Math.max(0, tokens - completionLength) },
  };
}

function byContext(run: TrainingRun, family: FamilyGraphs): LocalRun | { readonly reason: Message } {
  const degree = run.parallel.contextParallel;
  if (degree <= 1) return { run, uncertain: [] };
  if (degree > run.sequenceLength)
    return { reason: say("engine.degrees", { degree, devices: run.parallel.worldSize }) };
  if (run.attention === "eager" || run.task !== "causal-lm")
    return { reason: say("engine.context-attention", { degree, attention: run.attention, task: run.task }) };
  const { contextRotation: rotation, ring } = run.parallel;
  if (rotation !== undefined) {
    if (run.attention !== "sdpa")
      return { reason: say("engine.context-attention", { degree, attention: run.attention, task: run.task }) };
    // Heads and tails of the sequence go to every rank: it is padded to pieces for both.
    const parallel = { ...run.parallel, ring: { degree, rank: ring?.rank ?? 0, rotation } };
    return {
      run: {
        ...run,
        parallel,
        sequenceLength: 2 * Math.ceil(run.sequenceLength / (2 * degree)),
        ...evaluationShare(run, degree),
      },
      uncertain: [],
    };
  }
  const view = viewOf(run, family);
  const [heads, groups] = ["num_attention_heads", "num_key_value_heads"].map((name) => view.scope(name));
  const share = typeof heads === "number" && typeof groups === "number" ? groups / heads : 1;
  const width = hiddenSize(run.model.config) ?? 0;
  const gathered = 2 * run.microBatchSize * run.sequenceLength * width * share * computeBytes(run);
  const sequenceLength = Math.ceil(run.sequenceLength / degree);
  const own = { ...run, sequenceLength, ...trainerShare(run, degree, sequenceLength), ...evaluationShare(run, degree) };
  if (run.parallel.exchangesHeads === true)
    return { run: { ...own, parallel: { ...run.parallel, headExchange: degree } }, uncertain: [] };
  return {
    run: own,
    uncertain: [
      {
        what: say("engine.context-parallel", { degree }),
        settleWith: "context_parallel",
        moreBytes: gathered,
        lessBytes: 0,
      },
    ],
  };
}

/**
 * Experts are chosen among groups of them (transformers/models/deepseek_v3/modeling_deepseek_v3.py, `n_group`); a rank's share
 * without as many of each is taken for one group.
 */
function groupsOf(experts: Readonly<Record<string, number>>, view: ConfigView): Record<string, number> {
  const groups = view.scope("n_group");
  const whole = typeof groups !== "number" || Object.values(experts).every((count) => count % groups === 0);
  return whole ? {} : { n_group: 1, topk_group: 1 };
}

/** The key by which a graph of a framework's own code knows over how many ranks its experts are spread. */
const DISPATCHED = "expert_parallel_degree";

/** Experts of a graph that sends rows to their ranks itself: the rest is sharded over all ranks, they over those with the same ones. */
function byDispatch(run: TrainingRun, family: FamilyGraphs): LocalRun | { readonly reason: Message } {
  const { expertParallel: degree, tensorParallel, fsdp } = run.parallel;
  if (tensorParallel > 1 || fsdp === null) return { reason: say("engine.experts-sharded", { degree }) };
  if (divided(DIMENSIONS.experts, degree, viewOf(run, family)) === null)
    return { reason: say("engine.experts-divide", { degree, family: run.model.family }) };
  const config = withSizes(run.model.config, family, { [DISPATCHED]: degree });
  const parallel = { ...run.parallel, fsdp: { ...fsdp, expertDegree: degree } };
  return { run: { ...run, model: { ...run.model, config }, parallel }, uncertain: [] };
}

/**
 * A rank's experts. What tensor parallelism divides later is given to it that many times larger where experts are split by
 * less: as many bytes, of parts of more experts.
 */
function byExperts(run: TrainingRun, family: FamilyGraphs): LocalRun | { readonly reason: Message } {
  const { expertParallel: degree, deepspeed, fsdp, mainParameters } = run.parallel;
  const share = expertShare(run.parallel);
  if (degree <= 1 && share === 1) return { run, uncertain: [] };
  const { family: name } = run.model;
  if (DISPATCHED in family.derived) return byDispatch(run, family);
  if (mainParameters === undefined && ((deepspeed?.zeroStage ?? 0) > 0 || fsdp !== null))
    return { reason: say("engine.experts-sharded", { degree }) };
  const view = viewOf(run, family);
  const sizes = divided(DIMENSIONS.experts, share, view);
  // A model without experts has none to split otherwise.
  if (degree <= 1 && sizes !== null && Object.keys(sizes).length === 0) return { run, uncertain: [] };
  const chosen = Number(view.scope("num_experts_per_tok") ?? 1);
  if (sizes === null || Object.keys(sizes).length === 0)
    return { reason: say("engine.experts-divide", { degree, family: name }) };
  const local = {
    ...run,
    quirks: { ...run.quirks, sharesExperts: true as const },
    model: { ...run.model, config: withSizes(run.model.config, family, { ...sizes, ...groupsOf(sizes, view) }) },
  };
  const kept = ({ module, name }: TensorSpec): boolean =>
    EXPERTS.test(module) || /\.(?:gate|router)\.weight$/.test(name);
  if (!splits(run, local, family, share, kept)) return { reason: say("engine.experts-none", { degree, family: name }) };
  const hidden = Number(view.scope("hidden_size") ?? 0);
  const sent = run.microBatchSize * run.sequenceLength * chosen * hidden * computeBytes(run);
  if (degree <= 1) return { run: local, uncertain: [] };
  if (mainParameters !== undefined && groupsExperts(family)) {
    const sorts = Object.values(sizes).some((own) => own > 1);
    const uncertain = dispatchedOtherwise(run, hidden, sent);
    return { run: { ...local, parallel: { ...local.parallel, dispatch: { sorts } } }, uncertain };
  }
  return {
    run: local,
    uncertain: [
      {
        what: say("engine.expert-parallel", { degree }),
        settleWith: "expert_parallel",
        moreBytes: 4 * sent,
        lessBytes: 0,
      },
    ],
  };
}

/**
 * Rows counted as `alltoall` sends them, where another dispatcher runs: `allgather` holds the tokens of all ranks that share experts
 * before and behind them, the latter in the router's float32, and no copy of what was sent
 * (megatron/core/transformer/moe/token_dispatcher.py, MoEAllGatherTokenDispatcher).
 *
 * @param hidden elements of a token
 * @param sent bytes of the rows that a rank sends
 */
function dispatchedOtherwise(run: TrainingRun, hidden: number, sent: number): readonly SplitUncertainty[] {
  const { otherDispatcher: dispatcher, expertParallel, tensorParallel, sequenceParallel } = run.parallel;
  if (dispatcher === undefined) return [];
  const tokens = run.microBatchSize * run.sequenceLength * expertParallel;
  const ranks = expertParallel * (sequenceParallel === true ? tensorParallel : 1);
  return [
    {
      what: say("engine.token-dispatcher", { dispatcher, ranks }),
      settleWith: "token_dispatcher",
      moreBytes: tokens * hidden * (computeBytes(run) + ELEMENT_BYTES.float32),
      lessBytes: 2 * sent,
    },
  ];
}

/** Bytes of an activation's element. */
function computeBytes(run: TrainingRun): number {
  return ELEMENT_BYTES[run.autocast ?? run.parallel.deepspeed?.engineDtype ?? run.loadDtype];
}

/**
 * Whether the layers' matrices that `chosen` names are `degree` times smaller in `local`, at least one of them, and the
 * others equal: the graph then has the sizes that the split changes as sizes of their own.
 */
function splits(
  run: TrainingRun,
  local: TrainingRun,
  family: FamilyGraphs,
  degree: number,
  chosen: (spec: TensorSpec) => boolean,
): boolean {
  const [whole, part] = [matricesOf(run, family), matricesOf(local, family)];
  if (whole === null || part === null) return false;
  const after = new Map(part.map(({ spec, size }) => [spec.name, size]));
  const all = whole.every(({ spec, size }) => (after.get(spec.name) ?? 0) * (chosen(spec) ? degree : 1) === size);
  return all && whole.some(({ spec }) => chosen(spec));
}

/** Matrices of a layer with their elements; null when the run has no graph. */
function matricesOf(run: TrainingRun, family: FamilyGraphs): { spec: TensorSpec; size: number }[] | null {
  const { scope, expressions } = viewOf(run, family);
  const graph = parametersGraph(family, run.task, run.attention, scope);
  if (graph === undefined) return null;
  const first = (name: string) => (name === "i" ? 0 : scope(name));
  return graph.parameters
    .filter(({ layers, shape }) => layers !== undefined && shape.length > 1)
    .map((spec) => ({
      spec,
      size: spec.shape.reduce((all, size) => all * Number(expressions.evaluate(size, first)), 1),
    }));
}
