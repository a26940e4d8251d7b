/** Code other than what was captured: recomputed in part, compiled, or another's that stands in. */
import { type Message, say } from "../../words/message";
import type { FamilyGraphs } from "../graph/types";
import type { Estimate } from "../report/estimate";
import { unmetConditions } from "../simulation/program";
import { simulateFullest } from "../stages";
import { isOwnCode } from "../stand-in";
import { splitsModel } from "../training/parallel/local";
import type { TrainingRun } from "../training/run";
import type { BandRule } from "./types";

/**
 * How far an architecture may be from the one that stands in for it: activations of a block differ by up to about half
 * between families of the same dimensions, weights by the gate of the feed-forward (a third).
 */
const STAND_IN_LOW = 0.7;
const STAND_IN_HIGH = 1.5;

const STANDS_IN =
  "graph/relatives.ts: families of the same dimensions differ by a gate (a third of the weights) and by what a block keeps";

/** The estimate of something else that stands in, which the assumption says. */
function widened(estimate: Estimate, what: Message): Estimate {
  const { band } = estimate;
  const effectBytes = Math.round(estimate.usedPeakBytes * (STAND_IN_HIGH - 1));
  return {
    ...estimate,
    band: {
      ...band,
      lowBytes: Math.round(band.lowBytes * STAND_IN_LOW),
      highBytes: Math.round(band.highBytes * STAND_IN_HIGH),
    },
    assumptions: [...estimate.assumptions, { what, settleWith: "model", effectBytes }],
  };
}

/** Recomputing some modules of a layer keeps no more than recomputing none, and no less than recomputing all of it. */
const RECOMPUTED: BandRule = {
  id: "recomputed-modules",
  source: "megatron/core/transformer/transformer_block.py, _checkpointed_forward (`recompute_granularity: selective`)",
  widened: (estimate, { run, graphs }) => {
    if (!run.recomputesModules || run.checkpointing !== null) return null;
    const least = simulateFullest({ ...run, checkpointing: { useReentrant: false } }, graphs);
    if (!least.ok) return null;
    const saved = Math.max(0, estimate.allocatedPeakBytes - least.simulation.ledger.peak);
    return { ...estimate, band: { ...estimate.band, lowBytes: estimate.band.lowBytes - saved } };
  },
};

/** Share of what a step adds to what stays that inductor's choices move (measured against its generated code, see tests). */
const FUSION = 0.06;

/**
 * The number is that of one graph for all that is compiled, but in a script's own loop, where it is eager code's and the band reaches
 * down to that of one graph under the Trainer's loop. Where tracing breaks off, code runs eagerly, at most all of it:
 * the band reaches up to eager's peak. Down it leaves room for fusions that the rules do not follow.
 */
const COMPILED: BandRule = {
  id: "compiled",
  source: "torch/_inductor/scheduler.py, can_fuse; measured in test/core/compiled",
  widened: (estimate, { run, graphs }) => {
    const { compiled, ...eagerRun } = run;
    if (compiled === undefined) return null;
    if (run.loop !== undefined) return loweredToGraph(estimate, run, graphs);
    const eager = simulateFullest(eagerRun, graphs);
    const step = Math.max(0, estimate.allocatedPeakBytes - estimate.residentBytes);
    const more = eager.ok ? Math.max(0, eager.simulation.ledger.peak - estimate.allocatedPeakBytes) : 0;
    const { band } = estimate;
    return {
      ...estimate,
      band: {
        ...band,
        lowBytes: Math.round(band.lowBytes - FUSION * step),
        highBytes: Math.round(band.highBytes + Math.max(more, FUSION * step)),
      },
    };
  },
};

/** The band of a loop whose code is counted as eager: what one graph would take is less. */
function loweredToGraph(estimate: Estimate, { loop: _, ...run }: TrainingRun, graphs: FamilyGraphs): Estimate {
  const graph = simulateFullest(run, graphs);
  const less = graph.ok ? Math.max(0, estimate.allocatedPeakBytes - graph.simulation.ledger.peak) : 0;
  return { ...estimate, band: { ...estimate.band, lowBytes: Math.round(estimate.band.lowBytes - less) } };
}

const RELATIVE: BandRule = {
  id: "relative",
  source: STANDS_IN,
  widened: (estimate, { run, graphs }) =>
    isOwnCode(run, graphs)
      ? null
      : widened(estimate, say("engine.relative", { family: run.model.family, relative: graphs.family })),
};

const BRANCH: BandRule = {
  id: "branch",
  source: STANDS_IN,
  widened: (estimate, { run, graphs }) => {
    const unmet = unmetConditions(run, graphs);
    return unmet.length === 0
      ? null
      : widened(estimate, say("engine.branch", { family: run.model.family, conditions: unmet.join(" and ") }));
  },
};

/** Other code of the same dimensions: everything that lives on between steps is the same, the rest is not. */
const OWN_CODE: BandRule = {
  id: "own-code",
  source: STANDS_IN,
  widened: (estimate, { run }) => {
    if (run.standsFor === undefined && run.trainer?.standIn !== true && !splitsModel(run)) return null;
    const { band, residentBytes } = estimate;
    const scaled = (bytes: number, factor: number): number =>
      Math.round(residentBytes + Math.max(0, bytes - residentBytes) * factor);
    return {
      ...estimate,
      band: {
        ...band,
        lowBytes: scaled(band.lowBytes, STAND_IN_LOW),
        highBytes: scaled(band.highBytes, STAND_IN_HIGH),
      },
    };
  },
};

/** Each of these applies. */
export const REWRITTEN: readonly BandRule[] = [RECOMPUTED, COMPILED];
/** The first of these that does. */
export const ANOTHER: readonly BandRule[] = [RELATIVE, BRANCH, OWN_CODE];
