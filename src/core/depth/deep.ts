/**
 * The estimate of a deep model out of those of three depths. Bytes that are allocated are those of the whole run, to the byte: what
 * is alive at every moment of the three streams grows alike with each layer, or the run is followed as it is. What the pool holds
 * beside them is not known as well.
 */

import { say } from "../../words/message";
import type { Ledger } from "../engine/ledger";
import type { FamilyGraphs } from "../graph/types";
import { timelineBetween } from "../reading";
import type { Estimate, ModuleShare, StepTimeline } from "../report/estimate";
import type { Simulation } from "../simulate";
import { type FullestResult, simulateFullest } from "../stages";
import { standIn } from "../stand-in";
import type { TrainingRun } from "../training/run";
import { extended, Unlike } from "./extended";
import { type Followed, highestOf, type Moments, momentsOf, placePeaks } from "./moments";
import { type Shallow, shallowRuns } from "./shallow";

type Result = Extract<FullestResult, { ok: true }>;

/** How an estimate is read off a simulation. */
export interface DepthReader {
  /** Without the timeline, and without what loading needs beside the weights. */
  readonly read: (run: TrainingRun, result: Result) => Estimate;
  /** As `poolOf`. */
  readonly pool: (run: TrainingRun, ledger: Ledger, loaded: number) => number;
  /** Share of the pool that its bound is above it. */
  readonly margin: number;
  readonly timed: boolean;
}

/** How many times wider the bound of a pool is that was not replayed: in 22 runs of 3,000 layers it was up to 7 % larger. */
const WIDER = 4;

/** Null where the run is not deep, or does not grow alike with every layer. */
export function deepEstimate(run: TrainingRun, graphs: FamilyGraphs, reader: DepthReader): Estimate | null {
  const shallow = shallowRuns(run, graphs);
  if (shallow === null) return null;
  const results = shallow.runs.flatMap((one) => {
    const result = simulateFullest(standIn(one, graphs), graphs);
    return result.ok ? [result] : [];
  });
  const [one, two, three] = results;
  if (one === undefined || two === undefined || three === undefined) return null;
  try {
    return between(shallow, [one, two, three], reader);
  } catch (error) {
    if (error instanceof Unlike) return null;
    throw error;
  }
}

type Three<T> = readonly [T, T, T];

function between(
  { layers, depths, runs, times }: Shallow,
  results: Three<Result>,
  reader: DepthReader,
): Estimate | null {
  const followed: Three<Simulation> = [results[0].simulation, results[1].simulation, results[2].simulation];
  const moments = momentsOf(followed, times);
  if (moments === null) return null;
  const loading = loadingOf(followed, times);
  if (loading === null || loading.peak > highestOf(moments, times)) return null;
  placePeaks(followed, moments, times);
  const [near, far] = [reader.read(runs[1], results[1]), reader.read(runs[2], results[2])];
  const found = extended(byName(near), byName(far), times);
  // The pool grows in whole segments: between what it grew by from depth to depth and what it grows by in proportion.
  const { ledger, loadedEvents } = results[2].simulation;
  const pool = Math.max(reader.pool(runs[2], ledger, loadedEvents), ledger.peak);
  const proportional = (pool / ledger.peak) * found.allocatedPeakBytes;
  const steps = (proportional + Math.max(found.reservedPeakBytes, found.allocatedPeakBytes)) / 2;
  const load = loading.last === null ? 0 : (reader.pool(runs[2], loading.last, 0) / loading.last.peak) * loading.peak;
  const reserved = Math.ceil(Math.max(steps, load));
  const more = reserved - found.reservedPeakBytes;
  const wider = Math.round(WIDER * reader.margin * reserved);
  return {
    ...found,
    reservedPeakBytes: reserved,
    usedPeakBytes: found.usedPeakBytes + more,
    band: { ...found.band, highBytes: found.band.highBytes + Math.round((1 + reader.margin) * more) + wider },
    modules: inOrder(found.modules, far.modules),
    phases: found.phases.map((one) =>
      one.phase === "load" ? { ...one, peakBytes: Math.max(one.peakBytes, loading.peak) } : one,
    ),
    timeline: reader.timed ? timelineOf(followed, moments, times) : found.timeline,
    assumptions: [
      ...found.assumptions,
      { what: say("engine.deep", { layers, most: depths[2] }), settleWith: "num_hidden_layers", effectBytes: wider },
    ],
    effort: results.reduce((sum, { simulation }) => sum + simulation.ledger.effort, 0),
  };
}

interface Loading {
  /** The most that is alive in the whole run while it loads; 0 where that needs nothing beside the weights. */
  readonly peak: number;
  /** The stream of the last depth. */
  readonly last: Ledger | null;
}

/** What loading comes to; null where it does not grow alike. */
function loadingOf(followed: Three<Simulation>, times: number): Loading | null {
  const [one, two, three] = followed.map(({ loading }) => loading());
  if (!(one && two && three)) return one || two || three ? null : { peak: 0, last: null };
  const streams = [one, two, three].map(
    (ledger): Followed => ({ ledger, loadedEvents: 0, trainableTensors: Number.NaN }),
  );
  const moments = momentsOf([streams[0]!, streams[1]!, streams[2]!], times);
  return moments && { peak: highestOf(moments, times), last: three };
}

function timelineOf([, near, far]: Three<Simulation>, { near: nearOf }: Moments, times: number): StepTimeline {
  return timelineBetween(
    near.ledger,
    far.ledger,
    (event) => nearOf[event] ?? -1,
    (one, other) => other + times * (other - one),
  );
}

const nameOf = ({ module, kind }: ModuleShare): string => `${kind} ${module}`;

/** The estimate with its modules by their names: which of them holds more may change with the depth. */
function byName(estimate: Estimate): Estimate {
  const modules = estimate.modules.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  return { ...estimate, modules };
}

/** Modules that hold the most first, those that hold as much in the order that they had before. */
function inOrder(modules: readonly ModuleShare[], before: readonly ModuleShare[]): ModuleShare[] {
  const places = new Map(before.map((share, place) => [nameOf(share), place]));
  const placeOf = (share: ModuleShare): number => places.get(nameOf(share)) ?? 0;
  return modules.toSorted((a, b) => b.bytes - a.bytes || placeOf(a) - placeOf(b));
}
