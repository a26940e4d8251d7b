/**
 * Pipeline parallelism: the stages that may be the fullest, each as a run of its own. In the 1F1B schedule a stage runs as many
 * forwards before its first backward as there are stages from it on. Source:
 * megatron/core/pipeline_parallel/schedules.py; torch/distributed/pipelining/schedules.py (`Schedule1F1B`).
 */
import { say } from "../../../words/message";
import { SMALL_LIMIT_BYTES } from "../../allocator/segment";
import type { DType } from "../../engine/dtype";
import { NotModelled } from "../../engine/not-modelled";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { StageEnds } from "../../graph/stage";
import type { FamilyGraphs } from "../../graph/types";
import type { FsdpSpec, StageSpec, TrainingRun } from "../run";
import type { EndLayers } from "../specs/parallel";
import { chooseStrategy } from ".";
import { type Kept, keptOf, MOST_STAGES } from "./interleaved";
import { stagesOfRank } from "./schedules";
import { reserveWhole, type Strategy } from "./strategy";
import { withSizes } from "./with-sizes";

/** A rank's part in a run: all of them alike, or an end of the pipeline, or between them. */
export type Role = "any" | "first" | "middle" | "last";

/** One rank's stages, with the micro-batches whose activations wait there while another one is run. */
export interface Stage {
  readonly role: Role;
  readonly run: TrainingRun;
  readonly waiting: Waiting;
  /** Of several stages, one after the other in `run`: each by itself, and what is kept of them. */
  readonly several?: Several;
}

/** A rank's several stages, and what they hold as backwards of a step begin: the first one's first. */
export interface Several {
  /** Those of alike stages are one object. */
  readonly runs: readonly TrainingRun[];
  readonly kept: readonly Kept[];
  /** The second of them takes what the first gives, in place of a buffer of its own (`set_local_fwd_input`, `set_local_bwd_input`). */
  readonly handsOver: boolean;
}

/** How many wait while a step's first micro-batch goes through backward, and while later ones do. */
export interface Waiting {
  readonly first: number;
  readonly later: number;
}

const NONE: Waiting = { first: 0, later: 0 };

/** Nothing at a pipeline's ends counts as a layer. */
const EVEN: EndLayers = { first: 0, last: 0 };

/**
 * Layers of a stage: the first ones have one more where they do not divide. The ends may count as some
 * (torchtitan/distributed/pipeline_parallel.py, generate_llm_fqn_per_model_part).
 *
 * @param index of the stage
 */
export function layersOf(
  layers: number,
  stages: number,
  index: number,
  { first, last }: EndLayers = EVEN,
): readonly [from: number, to: number] {
  const all = layers + first + last;
  const each = Math.floor(all / stages);
  const more = all - each * stages;
  const from = index * each + Math.min(index, more);
  const to = from + each + (index < more ? 1 : 0);
  const within = (at: number): number => Math.min(layers, Math.max(0, at - first));
  return [within(from), within(to)];
}

/** What waits on a stage with so many from it on. Once no forward is left to run, one less waits with every backward. */
function waitingOn({ gradientAccumulationSteps: all, parallel }: TrainingRun, ahead: number): Waiting {
  const inFlight = parallel.pipelineSchedule === "gpipe" ? all : Math.min(ahead, all);
  return { first: inFlight - 1, later: all > inFlight ? inFlight - 1 : Math.max(0, inFlight - 2) };
}

/** The run with micro-batches as the pipeline cuts them (`Schedule.step`: `n_microbatches` pieces of the local batch). */
function inMicroBatches(run: TrainingRun): TrainingRun {
  const size = Math.min(run.microBatchSize, run.parallel.pipelineMicroBatch ?? run.microBatchSize);
  const pieces = Math.ceil(run.microBatchSize / size);
  return {
    ...run,
    microBatchSize: size,
    gradientAccumulationSteps: run.gradientAccumulationSteps * pieces,
  };
}

/**
 * Both ends and the first stage between them, where more micro-batches wait than in those behind it; the run itself without a
 * pipeline.
 */
export function stagesOf(whole: TrainingRun, family: FamilyGraphs, layers: number): readonly Stage[] {
  const { pipelineParallel: count, oneAtATime } = whole.parallel;
  if (count <= 1) return [{ role: "any", run: whole, waiting: NONE }];
  const run = inMicroBatches(whole);
  const dtype = chooseStrategy({ ...run, parallel: { ...run.parallel, pipelineParallel: 1 } }).parameterDtype;
  const plan: StagePlan = { run, family, layers, states: dtype ?? run.loadDtype };
  const roles: readonly (readonly [Role, number])[] = [
    ["first", 0],
    ...(count > 2 ? ([["middle", 1]] as const) : []),
    ["last", count - 1],
  ];
  return roles.map(([role, index]) => {
    const several = oneAtATime ? null : interleaved(plan, index);
    if (several !== null) return { role, ...several };
    const waiting = oneAtATime ? NONE : waitingOn(run, count - index);
    return { role, run: partOf(plan, [index], count, waiting), waiting };
  });
}

/** A pipeline's run, its layers, and the dtype of the states between its stages. */
interface StagePlan {
  readonly run: TrainingRun;
  readonly family: FamilyGraphs;
  readonly layers: number;
  readonly states: DType;
}

/** The run of a rank with some of so many stages, whose layers follow one another here. */
function partOf({ run, family, layers, states }: StagePlan, which: readonly number[], of: number, waiting: Waiting) {
  const { config } = run.model;
  const { layer_types: types } = config as { readonly layer_types?: unknown };
  const ranges = which.map((index) => layersOf(layers, of, index, run.parallel.pipelineEnds));
  const own = ranges.reduce((all, [from, to]) => all + to - from, 0);
  const kinds = Array.isArray(types) ? { layer_types: ranges.flatMap(([from, to]) => types.slice(from, to)) } : {};
  const model = { ...run.model, config: { ...withSizes(config, family, { num_hidden_layers: own }), ...kinds } };
  const ends = { first: which.includes(0), last: which.includes(of - 1), states };
  const stage = { ...ends, ...buffersOf(run, ends, { waiting, stages: which.length }) };
  return { ...run, model, parallel: { ...run.parallel, pipelineParallel: 1, stage, fsdp: fsdpOf(run) } };
}

/** Runs of which those that say the same are one. */
function alikeOnce(runs: readonly TrainingRun[]): readonly TrainingRun[] {
  const known = new Map<string, TrainingRun>();
  return runs.map((run) => {
    const text = JSON.stringify(run);
    const first = known.get(text) ?? run;
    known.set(text, first);
    return first;
  });
}

/** A rank's several stages; null: it has one, or torch refuses the number of micro-batches. */
function interleaved(plan: StagePlan, rank: number): Omit<Stage, "role"> | null {
  const { parallel, gradientAccumulationSteps: microBatches } = plan.run;
  const { pipelineParallel: ranks, stagesPerRank: stages = 1, pipelineSchedule: schedule = "interleaved" } = parallel;
  if (schedule === "1f1b" || schedule === "gpipe" || stages < 2 || stages * ranks > plan.layers) return null;
  if (stages > MOST_STAGES) throw new NotModelled(say("engine.many-stages", { stages, most: MOST_STAGES }));
  const place = { rank, ranks, stages, microBatches, schedule };
  const kept = keptOf(place);
  if (kept === null) return null;
  const which = stagesOfRank(place);
  const of = ranks * stages;
  return {
    run: partOf(plan, which, of, NONE),
    waiting: { first: 1, later: 1 },
    several: {
      runs: alikeOnce(which.map((index) => partOf(plan, [index], of, NONE))),
      kept,
      handsOver: which[1] === rank + 1,
    },
  };
}

/**
 * Under torch's schedules parameters are not sharded between forward and backward, as torchtitan has it by default
 * (torchtitan/models/llama3/infra/parallelize.py), and gradients are reduced when the last backward is done
 * (torch/distributed/pipelining/stage.py, backward_maybe_with_nosync).
 */
function fsdpOf({ parallel: { fsdp, pipelineSchedule } }: TrainingRun): FsdpSpec | null {
  if (fsdp === null || fsdp.version === 1 || pipelineSchedule === undefined) return fsdp;
  const { reducesEach: _, ...rest } = fsdp;
  return { ...rest, reshardAfterForward: false, inPipeline: true };
}

/** Sizes of one micro-batch's states. */
export interface StatesSize {
  readonly tokens: number;
  readonly width: number;
}

/**
 * Micro-batches with buffers of their own. torch makes all of a step's before the first (torch/distributed/pipelining/stage.py,
 * _prepare_forward_infra, _create_grad_recv_info); others hold what is in flight (megatron/core/pipeline_parallel/schedules.py).
 */
function buffersOf(
  { parallel, gradientAccumulationSteps: all }: TrainingRun,
  { first, last }: StageEnds,
  { waiting, stages }: { readonly waiting: Waiting; readonly stages: number },
): Omit<StageSpec, keyof StageEnds> {
  const { pipelineSchedule, oneAtATime } = parallel;
  const each = oneAtATime ? 0 : pipelineSchedule === undefined ? 1 : all;
  return {
    received: (first ? stages - 1 : stages) * Math.max(each, each && waiting.first + 1),
    gradients: (last ? stages - 1 : stages) * each,
    // GPipe's loop lets go of it before the next backward.
    sent: first || all < 2 || oneAtATime || pipelineSchedule === "gpipe" ? 0 : 1,
    batches: first || last ? Math.max(1, each) : 0,
  };
}

/** The strategy of a stage, with its buffers. */
export function withBuffers(strategy: Strategy, stage: StageSpec, { tokens, width }: StatesSize): Strategy {
  return Object.create(strategy, {
    prepare: {
      value(torch: Torch, ...rest: Rest<Parameters<Strategy["prepare"]>>): void {
        strategy.prepare(torch, ...rest);
        for (let k = 0; k < stage.received + stage.gradients; k++)
          reserveWhole(torch, "recv", tokens * width, stage.states, "communication");
        if (stage.batches > 0) reserveWhole(torch, "zeros", stage.batches * tokens, "int64", "inputs");
      },
    },
  });
}

type Rest<T extends readonly unknown[]> = T extends readonly [unknown, ...infer R] ? R : never;

/**
 * The strategy with so many bytes of other micro-batches kept while a step's first one is run, and while later ones are.
 *
 * @param small share of them in blocks of the allocator's small segments; the others are one block here
 */
export function whileWaiting(strategy: Strategy, { first, later }: Waiting, small: number): Strategy {
  let kept: Tensor[] = [];
  let trained: readonly Tensor[] = [];
  return Object.create(strategy, {
    variesByPass: { value: first !== later },
    prepare: {
      value(torch: Torch, parameters: readonly Tensor[], ...rest: Later): void {
        trained = parameters;
        strategy.prepare(torch, parameters, ...rest);
      },
    },
    beginPass: {
      value(torch: Torch): void {
        const accumulates = strategy.accumulates ?? trained.some(({ grad }) => grad !== null);
        const bytes = accumulates ? later : first;
        kept = piecesOf(bytes, small).map((piece) =>
          reserveWhole(torch, "waiting_micro_batches", piece, "uint8", "activations"),
        );
        strategy.beginPass?.(torch);
      },
    },
    endPass: {
      value(torch: Torch): void {
        // Nothing waits any more where the last backward is followed by more.
        for (const block of kept) block.release();
        kept = [];
        strategy.endPass?.(torch);
      },
    },
  });
}

/** Small blocks that are told apart; segments of 2 MiB are a trifle beside more. */
const MOST_PIECES = 4096;

/** Blocks that stand for so many bytes: small ones for the share that is in such, and one for the rest. */
function piecesOf(bytes: number, small: number): number[] {
  const shared = Math.min(Math.floor(bytes * small), MOST_PIECES * SMALL_LIMIT_BYTES);
  const pieces = Array.from({ length: Math.ceil(shared / SMALL_LIMIT_BYTES) }, (_, k) =>
    Math.min(SMALL_LIMIT_BYTES, shared - k * SMALL_LIMIT_BYTES),
  );
  return shared < bytes ? [...pieces, bytes - shared] : pieces;
}

type Later = Rest<Rest<Parameters<Strategy["prepare"]>>>;
