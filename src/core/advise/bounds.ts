/**
 * What is known of a run from estimates of others, to the byte: what forward and backward need above what lives between
 * steps does not depend on the optimizer, and what lives between steps and what the optimizer's step needs do not depend
 * on batch, sequence, checkpointing, attention or loss. `test/core/advise/bounds.test.ts` checks it on the engine.
 */
import { optimizerRow } from "../../terms/optimizers";
import type { Estimate, Phase } from "../report/estimate";
import type { TrainingRun } from "../training/run";

/** Phases whose memory is activations above what lives between steps. */
const PASS: ReadonlySet<Phase> = new Set(["forward", "loss", "backward"]);

/** Whether a phase of the step needs less than before: what others need more, other changes may take off. */
export function lowersAny(changed: Estimate, before: Estimate): boolean {
  return changed.phases.some(
    ({ phase, peakBytes }) =>
      (PASS.has(phase) || phase === "optimizer") &&
      peakBytes < (before.phases.find((other) => other.phase === phase)?.peakBytes ?? 0),
  );
}

/** Whether the optimizer steps inside backward: there the two are not apart. */
function stepsInside({ optimizer }: TrainingRun): boolean {
  return optimizerRow(optimizer.name)?.inBackward === true;
}

/** The parts that a peak is made of, in bytes. */
export interface PeakParts {
  /** Forward and backward above what lives between steps. */
  readonly pass: number;
  /** Alive between steps. */
  readonly resident: number;
  /** The optimizer's step, everything alive included. */
  readonly optimizer: number;
  /** Context and libraries. */
  readonly overhead: number;
}

export function partsOf({ phases, residentBytes, usedPeakBytes, reservedPeakBytes }: Estimate): PeakParts {
  const peak = (of: (phase: Phase) => boolean): number =>
    Math.max(0, ...phases.filter(({ phase }) => of(phase)).map(({ peakBytes }) => peakBytes));
  return {
    pass: peak((phase) => PASS.has(phase)) - residentBytes,
    resident: residentBytes,
    optimizer: peak((phase) => phase === "optimizer"),
    overhead: usedPeakBytes - reservedPeakBytes,
  };
}

export function peakOf({ pass, resident, optimizer, overhead }: PeakParts): number {
  return Math.max(resident + pass, optimizer) + overhead;
}

/**
 * Peak after several changes, from each of them alone: resident bytes shrink by the product of their factors, what a
 * phase has above them by something between the product (changes of the same tensors) and the sum (of different ones).
 * A prediction: it may order what is tried, it must not decide.
 */
export function predictedPeak(base: Estimate, singles: readonly Estimate[]): number {
  const product = (whole: number, parts: readonly number[]): number =>
    whole <= 0 ? 0 : parts.reduce((bytes, part) => (bytes * part) / whole, whole);
  const resident = product(
    base.residentBytes,
    singles.map(({ residentBytes }) => residentBytes),
  );
  const above = (estimate: Estimate, phase: Phase): number =>
    Math.max(0, (estimate.phases.find((other) => other.phase === phase)?.peakBytes ?? 0) - estimate.residentBytes);
  const peaks = base.phases
    .filter(({ phase }) => PASS.has(phase) || phase === "optimizer")
    .map(({ phase }) => {
      const whole = above(base, phase);
      const parts = singles.map((single) => above(single, phase));
      const sum = parts.reduce((bytes, part) => bytes + part - whole, whole);
      return resident + (product(whole, parts) + Math.max(0, sum)) / 2;
    });
  return Math.max(0, ...peaks) + base.usedPeakBytes - base.reservedPeakBytes;
}

/** Whether two runs need the same in every phase, and between them. */
export function sameMemory(a: Estimate, b: Estimate): boolean {
  return (
    a.usedPeakBytes === b.usedPeakBytes &&
    a.residentBytes === b.residentBytes &&
    a.phases.length === b.phases.length &&
    a.phases.every(
      ({ phase, peakBytes }, index) => b.phases[index]?.phase === phase && b.phases[index].peakBytes === peakBytes,
    )
  );
}

/** Remembers estimates by what their parts depend on. */
export class PeakBounds {
  private readonly passes = new Map<string, PeakParts>();
  private readonly steps = new Map<string, PeakParts>();
  private readonly overheads = new Map<string, PeakParts>();
  /** Weights and gradients together, whatever the optimizer. */
  private readonly trained = new Map<string, number>();

  learn(run: TrainingRun, estimate: Estimate): void {
    if (stepsInside(run)) return;
    const parts = partsOf(estimate);
    this.passes.set(passKey(run), parts);
    this.steps.set(stepKey(run), parts);
    this.overheads.set(overheadKey(run), parts);
    this.trained.set(trainedKey(run), estimate.trainedBytes);
  }

  /** Bytes that the run needs at least; 0 when nothing is known of it. */
  atLeast(run: TrainingRun): number {
    if (stepsInside(run)) return 0;
    const overhead = this.overheads.get(overheadKey(run))?.overhead ?? 0;
    const step = this.steps.get(stepKey(run));
    if (step === undefined) {
      const trained = this.trained.get(trainedKey(run));
      return trained === undefined ? 0 : trained + overhead;
    }
    const pass = this.passes.get(passKey(run))?.pass ?? 0;
    return peakOf({ ...step, pass, overhead });
  }
}

/** All but the optimizer, and but what only the step's arithmetic depends on. */
function passKey({ optimizer: _, model: __, ...rest }: TrainingRun): string {
  return JSON.stringify(rest);
}

function stepKey(run: TrainingRun): string {
  return `${JSON.stringify(run.optimizer)} ${trainedKey(run)}`;
}

/** What weights and gradients depend on. */
function trainedKey({ loadDtype, adapter, quantization, parallel, autocast }: TrainingRun): string {
  // Sharded parameters are kept in float32 when autocast is on (accelerate), whatever they were loaded in.
  const wide = parallel.worldSize > 1 ? autocast : null;
  return JSON.stringify([loadDtype, adapter, quantization, parallel, wide]);
}

function overheadKey({ device, parallel }: TrainingRun): string {
  return `${device?.architecture} ${parallel.worldSize}`;
}
