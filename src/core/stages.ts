/** A run as its fullest GPU carries it out: one simulation, or one per pipeline stage that may be the fullest. */

import { say } from "../words/message";
import { SMALL_LIMIT_BYTES } from "./allocator/segment";
import type { Ledger } from "./engine/ledger";
import { configView } from "./graph/config";
import { DIMENSIONS } from "./graph/dimensions";
import type { FamilyGraphs } from "./graph/types";
import { type Simulation, type SimulationResult, simulate, type WaitingBytes } from "./simulate";
import { countParameters } from "./simulation/parameters";
import type { Kept } from "./training/parallel/interleaved";
import { localRun, type SplitUncertainty, splitsModel } from "./training/parallel/local";
import { type Role, type Several, stagesOf, type Waiting } from "./training/parallel/pipeline";
import type { TrainingRun } from "./training/run";

export type FullestResult =
  | { readonly ok: true; readonly simulation: Simulation; readonly uncertain: readonly SplitUncertainty[] }
  | Extract<SimulationResult, { ok: false }>;

/** What one of the ranks with a role holds. */
export interface RoleSimulation {
  readonly role: Role;
  readonly simulation: Simulation;
  readonly uncertain: readonly SplitUncertainty[];
}

type Failure = Extract<SimulationResult, { ok: false }>;

/** Simulates `run` on its fullest GPU. Throws `NotModelled` as `simulate` does. */
export function simulateFullest(run: TrainingRun, graphs: FamilyGraphs): FullestResult {
  if (!splitsModel(run)) return withUncertain(simulate(run, graphs), []);
  const found = simulateRoles(run, graphs);
  if (!Array.isArray(found)) return found;
  const [fullest] = found.toSorted((a, b) => b.simulation.ledger.peak - a.simulation.ledger.peak);
  if (fullest === undefined) return { ok: false, code: "invalid-config", reason: say("engine.no-stage") };
  return { ok: true, simulation: fullest.simulation, uncertain: fullest.uncertain };
}

/** Simulates one rank of each role, each role once however many ranks have it. Throws `NotModelled` as `simulate` does. */
export function simulateRoles(run: TrainingRun, graphs: FamilyGraphs): RoleSimulation[] | Failure {
  const split = localRun(run, graphs);
  if ("reason" in split) return { ok: false, code: "not-modelled", reason: split.reason };
  const { scope } = configView(graphs, run.model.config, NO_SIZES);
  const layers = Number(DIMENSIONS.layers.map(scope).find((value) => value !== null && value !== undefined) ?? 0);
  const family = split.family ?? graphs;
  const roles: RoleSimulation[] = [];
  for (const stage of stagesOf(split.run, graphs, layers)) {
    const alone = simulate(stage.run, family);
    if (!alone.ok) return alone;
    const { waiting } = stage;
    const { ledger } = alone.simulation;
    const kept = stage.several === undefined ? waitingOf(waiting, ledger) : keptOfStages(stage.several, ledger, family);
    if ("ok" in kept) return kept;
    const { bytes } = kept;
    const result = bytes > 0 ? simulate(stage.run, family, true, kept) : alone;
    if (!result.ok) return result;
    // Parameters are counted over the whole model, whatever part of it one GPU holds.
    roles.push({
      role: stage.role,
      simulation: { ...result.simulation, ...countParameters(run, graphs) },
      uncertain: split.uncertain.map((one) =>
        one.settleWith === "pipeline_parallel" ? scheduled(one, run, kept.waiting.first * bytes) : one,
      ),
    });
  }
  return roles;
}

const NO_SIZES = { B: 1, S: 1, T: 1, I: 1, A: 1 };

/** Where the schedule is not known: interleaved ones keep up to as much again, those that split the backward less. */
function scheduled(one: SplitUncertainty, { parallel }: TrainingRun, waitingBytes: number): SplitUncertainty {
  if (parallel.pipelineSchedule !== undefined) return one;
  return { ...one, moreBytes: waitingBytes, lessBytes: waitingBytes / 2 };
}

function withUncertain(result: SimulationResult, uncertain: readonly SplitUncertainty[]): FullestResult {
  return result.ok ? { ...result, uncertain } : result;
}

const NOTHING_KEPT = { bytes: 0, small: 0 };

function waitingOf(waiting: Waiting, ledger: Ledger): WaitingBytes {
  return { waiting, ...(waiting.first === 0 ? NOTHING_KEPT : keptBytes(ledger)) };
}

/**
 * What waits of a rank's several stages beside the micro-batch that goes through all of them in the run of the rank. Later ones of
 * these find all gradients there, those of stages that have none yet are taken off.
 */
function keptOfStages({ runs, kept, handsOver }: Several, whole: Ledger, family: FamilyGraphs): WaitingBytes | Failure {
  const known = new Map<TrainingRun, StageBytes>();
  for (const run of new Set(runs)) {
    const alone = simulate(run, family);
    if (!alone.ok) return alone;
    const { ledger } = alone.simulation;
    known.set(run, { ...keptBytes(ledger), gradients: gradientBytes(ledger), ...splitBytes(run, alone.simulation) });
  }
  const each = runs.map((run) => known.get(run)!);
  const own = keptBytes(whole);
  const room = backwardRoom(whole);
  // Half a backward frees nothing of what forward saved.
  const halved = (one: Kept): number => {
    const { halving } = one;
    const stage = halving === null ? undefined : each[halving];
    return halving === null || stage === undefined || stage.split === 0
      ? 0
      : total(one, "bytes") + stage.split + stage.transient - room;
  };
  const halves = ({ counts, split, inputs }: Kept): number =>
    each.reduce((all, stage, k) => {
      // Gradients and states that are handed over lie where a buffer was counted.
      const left = handsOver
        ? k === 0
          ? inputs[0]! * stage.input
          : -(counts[0]! + split[0]!) * stage.input
        : inputs[k]! * stage.input;
      return all + split[k]! * stage.split + left;
    }, 0);
  const total = (one: Kept, of: "bytes" | "small"): number =>
    each.reduce(
      (all, stage, k) => all + (one.counts[k]! + one.split[k]!) * stage[of],
      (of === "bytes" ? halves(one) : 0) - own[of],
    );
  const missing = ({ trained }: Kept): number =>
    each.reduce((all, { gradients }, k) => all + (trained[k] ? 0 : gradients), 0);
  const [begin, ...rest] = kept;
  const first = begin === undefined ? 0 : Math.max(0, total(begin, "bytes"), halved(begin));
  const later = rest.reduce(
    (most, one) => Math.max(most, Math.max(total(one, "bytes"), halved(one)) - missing(one)),
    0,
  );
  const bytes = Math.max(first, later);
  if (bytes === 0 || begin === undefined) return { waiting: { first: 0, later: 0 }, ...NOTHING_KEPT };
  const small = Math.max(0, Math.min(total(begin, "small"), bytes));
  return { waiting: { first: first / bytes, later: later / bytes }, bytes, small };
}

/** What one of a rank's stages keeps of a micro-batch, and its gradients. */
interface StageBytes {
  readonly bytes: number;
  readonly small: number;
  readonly gradients: number;
  /** What is there besides once its inputs have gradients and its weights have none. */
  readonly split: number;
  /** The gradient of its inputs. */
  readonly input: number;
  /** What its backward makes and lets go. */
  readonly transient: number;
}

const NOTHING_SPLIT = { split: 0, input: 0, transient: 0 };

/** What a whole backward needs beside what forward left. */
function backwardRoom({ phaseList }: Ledger): number {
  const backward = phaseList.findLast(({ phase, step }) => phase === "backward" && step === 1);
  return backward === undefined ? 0 : Math.max(0, backward.peak - backward.before);
}

/** The most of blocks that a backward makes and that are no gradients of weights. */
function transientOf(ledger: Ledger): number {
  const { phaseList, events, bytes } = ledger;
  const at = phaseList.findLastIndex(({ phase, step }) => phase === "backward" && step === 1);
  const [start, end] = [phaseList[at], phaseList[at + 1]];
  if (start === undefined || end === undefined) return 0;
  const live = new Set<number>();
  let [sum, most] = [0, 0];
  for (let k = start.firstEvent; k < end.firstEvent; k++) {
    const event = events[k]!;
    if (event < 0) sum -= live.delete(~event) ? bytes[~event]! : 0;
    else if (ledger.labelOf(event).kind !== "gradients") {
      live.add(event);
      sum += bytes[event]!;
      most = Math.max(most, sum);
    }
  }
  return most;
}

/**
 * What half a backward leaves: gradients of what modules with parameters give wait for those of the parameters, and what forward saved
 * waits with them, but for the loss; the input's gradient stays (torch/distributed/pipelining/_backward.py, stage_backward_input). The first
 * stage's inputs have none: its whole backward waits.
 */
function splitBytes(
  { parallel: { stage } }: TrainingRun,
  { ledger, parameterBlocks }: Simulation,
): Pick<StageBytes, "split" | "input" | "transient"> {
  const forward = ledger.phaseList.findLastIndex(({ phase, step }) => phase === "forward" && step === 1);
  const [start, end] = [ledger.phaseList[forward], ledger.phaseList[forward + 1]];
  if (start === undefined || end === undefined || stage?.first === true) return NOTHING_SPLIT;
  const owners = new Set(parameterBlocks().map(({ name }) => name.slice(0, name.lastIndexOf("."))));
  const live = new Set<number>();
  let [scope, given, most, split] = ["", 0, 0, 0];
  for (let at = start.firstEvent; at < end.firstEvent; at++) {
    const event = ledger.events[at]!;
    if (event < 0) {
      live.delete(~event);
      continue;
    }
    const { scope: own, kind } = ledger.labelOf(event);
    if (stage?.last === true && kind === "logits-and-loss") live.add(event);
    if (own !== scope) {
      split += given;
      [scope, given, most] = [own, 0, 0];
    }
    if (!owners.has(own)) continue;
    const size = ledger.bytes[event]!;
    most = Math.max(most, size);
    // Means and deviations of a norm come after what it gives.
    if (4 * size > most) given = size;
  }
  split += given;
  for (const block of live) split -= ledger.bytes[block]!;
  const received = ledger.events.find((event) => event >= 0 && ledger.labelOf(event).operator === "recv");
  return { split, input: received === undefined ? 0 : ledger.bytes[received]!, transient: transientOf(ledger) };
}

/** Bytes that a step's backwards leave. */
function gradientBytes({ phaseList }: Ledger): number {
  const begin = phaseList.find(({ phase, step }) => phase === "data" && step === 1);
  const end = phaseList.find(({ phase, step }) => step === 1 && (phase === "clip" || phase === "optimizer"));
  return begin === undefined || end === undefined ? 0 : Math.max(0, end.before - begin.before);
}

/** Bytes that a micro-batch's forward leaves for its backward: the last one's of a step, before which parameters were gathered. */
function keptBytes(ledger: Ledger): Pick<WaitingBytes, "bytes" | "small"> {
  const forward = ledger.phaseList.findLastIndex(({ phase, step }) => phase === "forward" && step === 1);
  const [start, end] = [ledger.phaseList[forward], ledger.phaseList[forward + 1]];
  if (start === undefined || end === undefined) return NOTHING_KEPT;
  const bytes = end.before - start.before;
  const { events, bytes: sizes } = ledger;
  const kept = new Set<number>();
  for (let at = start.firstEvent; at < end.firstEvent; at++) {
    const event = events[at]!;
    if (event >= 0) kept.add(event);
    else kept.delete(~event);
  }
  const small = [...kept].reduce((sum, id) => sum + (sizes[id]! <= SMALL_LIMIT_BYTES ? sizes[id]! : 0), 0);
  return { bytes, small: Math.min(small, bytes) };
}
