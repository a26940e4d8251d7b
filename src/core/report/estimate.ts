/**
 * What the engine says of a run. All sizes are integer bytes on the busiest device unless said otherwise.
 */

import type { ComponentKind } from "../../terms/names";
import type { Message } from "../../words/message";
import type { Operators } from "./operators";

export { COMPONENT_KINDS, type ComponentKind } from "../../terms/names";

/** Phases of the simulated steps, in the order they run. */
export const PHASES = [
  "load",
  "data",
  "forward",
  "loss",
  "backward",
  "clip",
  "optimizer",
  "zero",
  "evaluation",
  "generation",
  "saving",
] as const;
export type Phase = (typeof PHASES)[number];

export interface Component {
  readonly kind: ComponentKind;
  readonly bytes: number;
}

/** Memory alive at the peak under one module path (`model.layers.*.mlp`), with its component kind. */
export interface ModuleShare {
  readonly module: string;
  readonly kind: ComponentKind;
  readonly bytes: number;
}

/** One sample of the step's timeline: allocated bytes after an event, `at` running from 0 to 1 over the step. */
export interface TimelinePoint {
  readonly at: number;
  readonly phase: Phase;
  readonly allocatedBytes: number;
  /** The same bytes by kind, in the order of `COMPONENT_KINDS`. */
  readonly alive: number[];
  /** The same bytes by module, in the order of the timeline's modules; what is missing belongs to none of them. */
  readonly modules: number[];
}

/** The step as it goes on. */
export interface StepTimeline {
  readonly points: readonly TimelinePoint[];
  /** Paths of the modules that hold the most at some point (`model.layers.*.mlp`), largest first. */
  readonly modules: readonly string[];
}

export interface HostMemory {
  readonly pinnedBytes: number;
  readonly pageableBytes: number;
  readonly nvmeBytes: number;
}

/** Something the run does not say and the estimate had to suppose. */
export interface Assumption {
  readonly what: Message;
  /** Key (of `.vramlens.yaml` or the config) that would settle it. */
  readonly settleWith: string;
  /** How many bytes the answer could move the peak by; 0 when unknown. */
  readonly effectBytes: number;
}

/** Whether it is enough to know of a run that it needs at least so many bytes. */
export type Enough = (usedPeakBytes: number) => boolean;

export interface Estimate {
  readonly parameters: number;
  readonly trainableParameters: number;
  /** Maximum of `torch.cuda.max_memory_allocated`, library workspaces excluded. */
  readonly allocatedPeakBytes: number;
  /** `torch.cuda.max_memory_reserved`. */
  readonly reservedPeakBytes: number;
  /** What the driver shows: reserved + context + libraries. */
  readonly usedPeakBytes: number;
  /** All that was asked for is that the run needs so many bytes: what is reserved is what is allocated, and more is not known. */
  readonly isAtLeast?: true;
  /**
   * Present where a pool that grows freely takes more than the device has, and the run goes through all the same: times that
   * the allocator gives its unused segments back in two steps.
   */
  readonly releases?: number;
  readonly band: { readonly lowBytes: number; readonly highBytes: number; readonly coverage: number };
  readonly peakPhase: Phase;
  /** Alive between the first step and the second: weights, optimizer states, and gradients that are kept. */
  readonly residentBytes: number;
  /** Weights and gradients alive when the optimizer steps for the first time: whatever it is, the run holds as much at once. */
  readonly trainedBytes: number;
  /** Adds up to `allocatedPeakBytes` exactly; kinds with zero bytes are left out. */
  readonly components: readonly Component[];
  /** Same bytes as `components`, by module path; largest first. */
  readonly modules: readonly ModuleShare[];
  readonly phases: readonly { readonly phase: Phase; readonly peakBytes: number }[];
  readonly timeline: StepTimeline;
  readonly host: HostMemory;
  /** Key-value cache of the text that the run generates, at its longest; absent where it generates none. */
  readonly cacheBytes?: number;
  readonly assumptions: readonly Assumption[];
  /** What a micro-batch computes; null where the engine did not follow it. */
  readonly operators: Operators | null;
  /** Length of the event stream it was read off. */
  readonly events: number;
  /** What the estimate took: events that take as long to play as it took to simulate. */
  readonly effort: number;
}
