/** What one optimizer step asks besides the kernels of its passes: hooks, accumulation, clipping, the optimizer. */

import { optimizerRow, USUAL_STEP } from "../../terms/optimizers";
import type { Operators } from "../report/operators";
import type { TrainingRun } from "../training/run";
import { shapeOf } from "./shape";

/** `[least, most]` of a count. */
export type Bounds = readonly [least: number, most: number];

/** Per device and step. */
export interface Work {
  /** What library code around the kernels costs the host, in launches. */
  readonly launches: Bounds;
  /** … and in seconds. */
  readonly hookSeconds: Bounds;
  /** Bytes that adding up gradients moves. */
  readonly accumulatedBytes: number;
  /** Bytes that unpacking weights moves beside reading and writing them once. */
  readonly unpackedBytes: Bounds;
  /** Bytes that unscaling and clipping the gradients move, after which the host waits for the card. */
  readonly gradientBytes: number;
  /** Bytes that the optimizer moves. */
  readonly optimizerBytes: Bounds;
  /** Kernels that the optimizer's step launches. */
  readonly optimizerLaunches: Bounds;
}

export interface Counts {
  readonly parameters: number;
  readonly trainableParameters: number;
}

const scale = ([least, most]: Bounds, by: number): Bounds => [least * by, most * by];
const add = (a: Bounds, b: Bounds): Bounds => [a[0] + b[0], a[1] + b[1]];

export function bytesOf(run: TrainingRun): number {
  return run.loadDtype === "float32" ? 4 : 2;
}

/** Whether matrix products run in 16 bits. */
export function halfPrecision(run: TrainingRun): boolean {
  return run.autocast !== null || run.loadDtype !== "float32" || (run.parallel.deepspeed?.engineDtype ?? null) !== null;
}

/**
 * ZeRO-3 hooks the modules of a layer before and after every pass (deepspeed/runtime/zero/parameter_offload.py): a dozen of
 * them, each looking up what to fetch next, waiting for it and letting go. Seconds of one hook; assumed.
 */
const HOOKED_MODULES = 12;
const HOOK_SECONDS: Bounds = [20e-6, 150e-6];
/**
 * Bytes a weight that unpacking moves beside reading and writing it: none in one kernel (Triton's), but in plain PyTorch
 * shifted words of four bytes, what is masked and cast, and scales and zeros spread over their groups, each written and read
 * (gptqmodel/nn_modules/qlinear/torch.py, dequantize_weight).
 */
const UNPACKING: Bounds = [0, 20];

/** Pre-quantized formats are unpacked by one package or another; bitsandbytes' have a kernel. */
function unpacksInSteps({ quantization }: TrainingRun): boolean {
  return quantization !== null && !["nf4", "fp4", "int8"].includes(quantization.type);
}

/** Saving and restoring the random states around a checkpointed layer (torch/utils/checkpoint.py), in launches. */
const CHECKPOINT_LAUNCHES: Bounds = [10, 60];

/** Norm and scaling of float32 gradients, bytes a parameter. */
const CLIP_TRAFFIC = 12;
/** Looking for infinities while dividing by the loss's scale (torch/amp/grad_scaler.py, _unscale_grads_). */
const UNSCALE_TRAFFIC = 8;

export function workOf(run: TrainingRun, counts: Counts, operators: Operators): Work {
  const split = run.parallel.tensorParallel * run.parallel.pipelineParallel;
  const micro = Math.max(1, run.gradientAccumulationSteps);
  const layers = (shapeOf(run)?.layers ?? 0) / run.parallel.pipelineParallel;
  const passes = run.checkpointing === null ? 2 : 3;
  const hooks = run.parallel.deepspeed?.zeroStage === 3 ? 2 * HOOKED_MODULES * passes : 0;
  const kept: Bounds = run.checkpointing === null ? [0, 0] : CHECKPOINT_LAUNCHES;
  const trained = (counts.trainableParameters / split) * ownShare(run);
  // A gradient that is there already is read, added to and written: one kernel per tensor.
  const again = micro - 1;
  const accumulated = 3 * bytesOf(run) * (counts.trainableParameters / split) * again;
  return {
    launches: add(scale(kept, layers * micro), [operators.tensors * again, operators.tensors * again]),
    hookSeconds: scale(HOOK_SECONDS, hooks * layers * micro),
    accumulatedBytes: accumulated,
    unpackedBytes: unpacksInSteps(run) ? scale(UNPACKING, (counts.parameters / split) * passes * micro) : [0, 0],
    gradientBytes: gradientTraffic(run) * trained,
    optimizerBytes: scale(stepOf(run).traffic, trained),
    optimizerLaunches: optimizerLaunches(run, operators.tensors),
  };
}

/** How the run's optimizer steps, as its row says. */
function stepOf({ optimizer }: TrainingRun): { readonly launches: Bounds; readonly traffic: Bounds } {
  return optimizerRow(optimizer.name)?.step ?? USUAL_STEP;
}

/** Kernels of the step; ZeRO steps on a few flat partitions. */
function optimizerLaunches(run: TrainingRun, tensors: number): Bounds {
  return scale(stepOf(run).launches, run.parallel.deepspeed === null ? tensors : 1);
}

function gradientTraffic(run: TrainingRun): number {
  return (run.maxGradNorm > 0 ? CLIP_TRAFFIC : 0) + (run.autocast === "float16" ? UNSCALE_TRAFFIC : 0);
}

/** Share of the trained parameters that one device steps on; those of half precision are half as many bytes. */
function ownShare(run: TrainingRun): number {
  const { deepspeed, fsdp, worldSize } = run.parallel;
  const sharded = (deepspeed !== null && deepspeed.zeroStage >= 1) || fsdp !== null;
  const width = run.adapter !== null || run.loadDtype === "float32" || sharded ? 1 : 0.5;
  return width / (sharded ? worldSize : 1);
}
