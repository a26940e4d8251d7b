/** A run as its fullest GPU carries it out: one simulation, or one per pipeline stage that may be the fullest. */

import { say } from "../words/message";
import type { Ledger } from "./engine/ledger";
import { configView } from "./graph/config";
import { DIMENSIONS } from "./graph/dimensions";
import type { FamilyGraphs } from "./graph/types";
import { type Simulation, type SimulationResult, simulate } from "./simulate";
import { countParameters } from "./simulation/parameters";
import { localRun, type SplitUncertainty, splitsModel } from "./training/parallel/local";
import { stagesOf } from "./training/parallel/pipeline";
import type { TrainingRun } from "./training/run";

export type FullestResult =
  | { readonly ok: true; readonly simulation: Simulation; readonly uncertain: readonly SplitUncertainty[] }
  | Extract<SimulationResult, { ok: false }>;

/** Simulates `run` on its fullest GPU. Throws `NotModelled` as `simulate` does. */
export function simulateFullest(run: TrainingRun, graphs: FamilyGraphs): FullestResult {
  if (!splitsModel(run)) return withUncertain(simulate(run, graphs), []);
  const split = localRun(run, graphs);
  if ("reason" in split) return { ok: false, code: "not-modelled", reason: split.reason };
  const { scope } = configView(graphs, run.model.config, NO_SIZES);
  const layers = Number(DIMENSIONS.layers.map(scope).find((value) => value !== null && value !== undefined) ?? 0);
  const family = split.family ?? graphs;
  let fullest: SimulationResult | undefined;
  let uncertain = split.uncertain;
  for (const stage of stagesOf(split.run, graphs, layers)) {
    const alone = simulate(stage.run, family);
    if (!alone.ok) return alone;
    const waiting = stage.waiting * keptBytes(alone.simulation.ledger);
    const result = waiting > 0 ? simulate(stage.run, family, true, waiting) : alone;
    if (!result.ok) return result;
    if (fullest?.ok === true && result.simulation.ledger.peak <= fullest.simulation.ledger.peak) continue;
    fullest = result;
    uncertain = split.uncertain.map((one) => (one.settleWith === "pipeline_parallel" ? scheduled(one, waiting) : one));
  }
  if (fullest?.ok !== true) return { ok: false, code: "invalid-config", reason: say("engine.no-stage") };
  // Parameters are counted over the whole model, whatever part of it one GPU holds.
  return withUncertain({ ok: true, simulation: { ...fullest.simulation, ...countParameters(run, graphs) } }, uncertain);
}

const NO_SIZES = { B: 1, S: 1, T: 1, I: 1, A: 1 };

/** Interleaved schedules keep up to as much again, schedules that split the backward less. */
function scheduled(one: SplitUncertainty, waitingBytes: number): SplitUncertainty {
  return { ...one, moreBytes: waitingBytes, lessBytes: waitingBytes / 2 };
}

function withUncertain(result: SimulationResult, uncertain: readonly SplitUncertainty[]): FullestResult {
  return result.ok ? { ...result, uncertain } : result;
}

/** Bytes that the first micro-batch's forward leaves for its backward. */
function keptBytes(ledger: Ledger): number {
  const forward = ledger.phaseList.findIndex(({ phase, step }) => phase === "forward" && step === 1);
  const [start, end] = [ledger.phaseList[forward], ledger.phaseList[forward + 1]];
  return start === undefined || end === undefined ? 0 : end.before - start.before;
}
