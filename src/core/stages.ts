/** A run as its fullest GPU carries it out: one simulation, or one per pipeline stage that may be the fullest. */

import { say } from "../words/message";
import { SMALL_LIMIT_BYTES } from "./allocator/segment";
import type { Ledger } from "./engine/ledger";
import { configView } from "./graph/config";
import { DIMENSIONS } from "./graph/dimensions";
import type { FamilyGraphs } from "./graph/types";
import { type ParameterBlock, type Simulation, type SimulationResult, simulate, type WaitingBytes } from "./simulate";
import { countParameters } from "./simulation/parameters";
import type { Kept } from "./training/parallel/interleaved";
import { localRun, type SplitUncertainty, splitsModel } from "./training/parallel/local";
import { type Role, type Several, stagesOf, type Waiting } from "./training/parallel/pipeline";
import type { TrainingRun } from "./training/run";
import { inPieces } from "./training/trainers";

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
export function simulateFullest(whole: TrainingRun, graphs: FamilyGraphs): FullestResult {
  const run = inPieces(whole);
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
    known.set(run, {
      ...keptBytes(ledger),
      gradients: gradientBytes(ledger),
      room: backwardRoom(ledger),
      ...splitBytes(run, alone.simulation),
    });
  }
  const each = runs.map((run) => known.get(run)!);
  const own = keptBytes(whole);
  const room = backwardRoom(whole);
  // Half a backward frees nothing of what forward saved; the first stage has no inputs that need gradients.
  const beside = ({ stage, does }: Kept): number => {
    const { half, weights, split, room: backward } = each[stage]!;
    if (does === "backward") return backward - room;
    const halves = does === "input" ? half : weights;
    return (split !== 0 ? halves : does === "weight" ? backward : 0) - room;
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
  const first = begin === undefined ? 0 : Math.max(0, total(begin, "bytes") + beside(begin));
  const later = rest.reduce((most, one) => Math.max(most, total(one, "bytes") + beside(one) - missing(one)), 0);
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
  /** What a whole backward needs beside what forward left. */
  readonly room: number;
  /** What is there besides once its inputs have gradients and its weights have none. */
  readonly split: number;
  /** The gradient of its inputs. */
  readonly input: number;
  /** The most that half a backward has of what it makes. */
  readonly half: number;
  /** The most that the other half has of what it makes, beyond what it has let go. */
  readonly weights: number;
}

const NOTHING_SPLIT = { split: 0, input: 0, half: 0, weights: 0 };

/** What a whole backward needs beside what forward left. */
function backwardRoom({ phaseList }: Ledger): number {
  const backward = phaseList.findLast(({ phase, step }) => phase === "backward" && step === 1);
  return backward === undefined ? 0 : Math.max(0, backward.peak - backward.before);
}

/** The events of the first of a step's phases of a kind: of its backwards the one that makes gradients. */
function firstOf({ phaseList }: Ledger, kind: "forward" | "backward"): readonly [from: number, to: number] | null {
  const at = phaseList.findIndex(({ phase, step }) => phase === kind && step === 1);
  const [start, end] = [phaseList[at], phaseList[at + 1]];
  return start === undefined || end === undefined ? null : [start.firstEvent, end.firstEvent];
}

/**
 * Half a backward: gradients of what modules with parameters give wait for those of the parameters, and what forward saved waits with
 * them, but for the loss; the input's gradient stays (torch/distributed/pipelining/_backward.py, stage_backward_input). The first stage's
 * inputs have none: its whole backward waits.
 */
function splitBytes(
  { parallel: { stage } }: TrainingRun,
  { ledger, parameterBlocks }: Simulation,
): Pick<StageBytes, "split" | "input" | "half" | "weights"> {
  const [forward, backward] = [firstOf(ledger, "forward"), firstOf(ledger, "backward")];
  if (forward === null || backward === null || stage?.first === true) return NOTHING_SPLIT;
  const owners = new Set(parameterBlocks().map(({ name }) => name.slice(0, name.lastIndexOf("."))));
  const given = new Map<string, number[]>();
  const loss = new Set<number>();
  let [scope, most, split] = ["", 0, 0];
  for (let at = forward[0]; at < forward[1]; at++) {
    const event = ledger.events[at]!;
    if (event < 0) {
      loss.delete(~event);
      continue;
    }
    const { scope: own, kind } = ledger.labelOf(event);
    if (stage?.last === true && kind === "logits-and-loss") loss.add(event);
    const visits = given.get(own) ?? [];
    if (own !== scope && owners.has(own)) given.set(own, [...visits, 0]);
    if (own !== scope) [scope, most] = [own, 0];
    if (!owners.has(own)) continue;
    const size = ledger.bytes[event]!;
    most = Math.max(most, size);
    // Means and deviations of a norm come after what it gives.
    if (4 * size > most) given.get(own)!.splice(-1, 1, size);
  }
  for (const visits of given.values()) for (const bytes of visits) split += bytes;
  for (const block of loss) split -= ledger.bytes[block]!;
  const received = ledger.events.find((event) => event >= 0 && ledger.labelOf(event).operator === "recv");
  const input = received === undefined ? 0 : ledger.bytes[received]!;
  const weights = weightsPeak(ledger, parameterBlocks(), given);
  return { split, input, half: halfPeak(ledger, backward, given), weights };
}

/**
 * The most that gradients of weights need, one module after another in the order of `parameters()`: what waits is summed into a block of
 * its own before its product, and goes with it (stage_backward_weight; `sum` begins with zero).
 */
function weightsPeak(
  ledger: Ledger,
  parameters: readonly ParameterBlock[],
  given: ReadonlyMap<string, readonly number[]>,
): number {
  let [past, most] = [0, 0];
  for (const { name, block } of parameters) {
    const waiting = given.get(name.slice(0, name.lastIndexOf(".")))?.[0] ?? 0;
    most = Math.max(most, waiting + (ledger.bytes[block] ?? 0) - past);
    past += waiting;
  }
  return most;
}

/** The most that half a backward has of blocks that it makes: what modules have given it stays once it is past them. */
function halfPeak(ledger: Ledger, [from, to]: readonly [number, number], given: Map<string, number[]>): number {
  const live = new Set<number>();
  let [scope, sum, most] = ["", 0, 0];
  for (let k = from; k < to; k++) {
    const event = ledger.events[k]!;
    if (event < 0) {
      sum -= live.delete(~event) ? ledger.bytes[~event]! : 0;
      continue;
    }
    const { scope: own, kind } = ledger.labelOf(event);
    if (own !== scope) {
      sum += given.get(scope)?.pop() ?? 0;
      scope = own;
    }
    if (kind === "gradients") continue;
    live.add(event);
    sum += ledger.bytes[event]!;
    most = Math.max(most, sum);
  }
  return most;
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
