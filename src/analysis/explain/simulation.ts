/** The event stream behind a run's estimate, for what is matched with it. */
import type { Simulation } from "../../core/simulate";
import { simulateFullest } from "../../core/stages";
import { standIn } from "../../core/stand-in";
import type { RunAnalysis } from "../estimate/run-analysis";

/** The simulation of the run as its files state it; undefined where it has no estimate. */
export function simulationOf({ base, inputs: { graphs } }: RunAnalysis): Simulation | undefined {
  const { run } = base.resolution;
  if (run === null || graphs === undefined || base.estimate === undefined) return undefined;
  const result = simulateFullest(standIn(run, graphs), graphs);
  return result.ok ? result.simulation : undefined;
}
