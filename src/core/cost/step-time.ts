/**
 * Step time by roofline: what the step asks (work.ts) over what the card gives (rates.ts), as a range. Not a benchmark:
 * it tells what binds and which change costs how much; data loading, evaluation and compilation are left out.
 */
import { DEVICES_PER_MACHINE, deviceOf, findDevice } from "../hardware/devices";
import type { Device } from "../hardware/types";
import { dataParallelSize } from "../training/parallel/degrees";
import type { TrainingRun } from "../training/run";
import {
  achieved,
  BANDWIDTH,
  FLOAT32_MATRIX,
  HOST_ADAM_SECONDS,
  HOST_LINK,
  LAUNCH_SECONDS,
  LINK,
  LOOP_SECONDS,
  NVME,
  network,
  type Range,
} from "./rates";
import { type ModelShape, shapeOf, tokensPerSample } from "./shape";
import { bytesOf, type Counts, halfPrecision, offloadedBytes, type Work, workOf } from "./work";

export const BOUNDS = ["compute", "memory", "interconnect", "host"] as const;
export type Bound = (typeof BOUNDS)[number];

/** Ways that bytes take in a step. */
export const ROADS = ["memory", "interconnect", "host"] as const;
export type Road = (typeof ROADS)[number];

/** What a step asks of one road, against what the card has. */
export interface Demand {
  readonly road: Road;
  /** Bytes per step of one card, at the middle of the range. */
  readonly bytes: number;
  /** Those bytes over the step's middle time, per second. */
  readonly asked: number;
  /** Peak of the road, bytes per second. */
  readonly available: number;
}

/** Seconds of one optimizer step, all micro-batches included. */
export interface StepTime {
  readonly low: number;
  readonly high: number;
  /** What takes the largest part. */
  readonly bound: Bound;
  /** Where a middling step spends its seconds; parts that overlap others are counted by what shows. */
  readonly parts: Readonly<Record<Bound, number>>;
  /** Tokens (image patches) per second over all devices, at the middle of the range. */
  readonly tokensPerSecond: number;
  /** Bandwidth that the config demands; roads that nothing takes are left out. */
  readonly demands: readonly Demand[];
}

type Bytes = Readonly<Record<Road, number>>;

interface Seconds {
  readonly compute: number;
  readonly memory: number;
  readonly interconnect: number;
  readonly host: number;
}

/** Of the rates' ranges: 0 takes the slow end and the most work, 1 the fast end and the least. */
type End = 0 | 1;

const at = (range: Range, end: End): number => range[end];
const work = (bounds: readonly [number, number], end: End): number => bounds[1 - end]!;

/** FLOP per second of 16-bit or float32 matrix products, and of attention. */
export function matrixRates(run: TrainingRun, device: Device, end: End): { matrix: number; attention: number } | null {
  const { peak } = device;
  if (peak === null) return null;
  const share = achieved(device);
  if (!halfPrecision(run)) {
    const matrix = peak.float32 * at(FLOAT32_MATRIX, end);
    return { matrix, attention: matrix * 0.6 };
  }
  const asked = run.autocast ?? run.parallel.deepspeed?.engineDtype ?? run.loadDtype;
  const rate = asked === "float16" ? peak.float16 : peak.bfloat16;
  // Without bfloat16 units the product runs in float32, and slower for the conversions.
  if (rate === null) return { matrix: peak.float32 * (end === 1 ? 0.8 : 0.3), attention: peak.float32 * 0.3 };
  return { matrix: rate * at(share.matrix, end), attention: rate * at(share.attention, end) };
}

/** Bytes each rank sends for the gradients and parameters of a step, and how often per step. */
function collectiveBytes(run: TrainingRun, counts: Counts): { perMicroBatch: number; perStep: number } {
  const { worldSize, deepspeed, fsdp, tensorParallel, pipelineParallel } = run.parallel;
  const ranks = Math.max(1, worldSize / (tensorParallel * pipelineParallel));
  if (ranks <= 1) return { perMicroBatch: 0, perStep: 0 };
  const ring = (ranks - 1) / ranks;
  const held = 1 / (tensorParallel * pipelineParallel);
  const trained = counts.trainableParameters * held;
  const all = counts.parameters * held;
  const half = halfPrecision(run) ? 2 : 4;
  const stage = deepspeed?.zeroStage ?? 0;
  if (fsdp !== null || stage === 3) {
    const stored = run.quantization === null ? half : 0.55;
    return { perMicroBatch: ring * (2 * all * stored + trained * half), perStep: 0 };
  }
  if (stage === 2) return { perMicroBatch: ring * trained * half, perStep: ring * trained * half };
  const gradient = deepspeed === null && run.adapter === null ? bytesOf(run) : half;
  return { perMicroBatch: 0, perStep: 2 * ring * trained * gradient };
}

/** Bytes that tensor parallelism sends: two sums of a layer's output in forward and two in backward. */
function tensorBytes({ parallel, ...run }: TrainingRun, shape: ModelShape): number {
  const { tensorParallel } = parallel;
  if (tensorParallel <= 1) return 0;
  const tokens = run.microBatchSize * tokensPerSample({ parallel, ...run }) * run.gradientAccumulationSteps;
  const ring = (2 * (tensorParallel - 1)) / tensorParallel;
  return 4 * shape.layers * tokens * shape.hidden * 2 * ring;
}

/** Peak of the links that the run's collectives cross, bytes per second. */
function linkPeak(run: TrainingRun, device: Device): number {
  return run.parallel.worldSize > DEVICES_PER_MACHINE
    ? Math.min(device.peerBandwidth, network(device)[1])
    : device.peerBandwidth;
}

/** Seconds of collectives; the fast end hides them behind backward as far as there is any. */
function interconnect(
  run: TrainingRun,
  counts: Counts,
  shape: ModelShape,
  device: Device,
  end: End,
  hides: number,
): { readonly seconds: number; readonly bytes: number } {
  const wide = run.parallel.worldSize > DEVICES_PER_MACHINE;
  const within = device.peerBandwidth * at(LINK, end);
  const speed = wide ? Math.min(within, at(network(device), end)) : within;
  const { perMicroBatch, perStep } = collectiveBytes(run, counts);
  const bytes = perMicroBatch * run.gradientAccumulationSteps + perStep;
  const seconds = bytes / speed;
  const shows = end === 1 ? Math.max(0, seconds - 0.9 * hides) : Math.max(0.35 * seconds, seconds - 0.5 * hides);
  // None of tensor parallelism's sums overlaps anything.
  const split = tensorBytes(run, shape);
  return { seconds: shows + split / within, bytes: bytes + split };
}

/** Seconds that host memory, its processors, NVMe and PCIe add, and the bytes that cross PCIe. */
function hostPart(
  run: TrainingRun,
  counts: Counts,
  device: Device,
  end: End,
): { readonly seconds: number; readonly bytes: number } {
  const { deepspeed, fsdp, worldSize } = run.parallel;
  const link = device.hostBandwidth * at(HOST_LINK, end);
  const cards = Math.min(worldSize, DEVICES_PER_MACHINE);
  const mine = counts.trainableParameters / worldSize;
  let seconds = 0;
  let bytes = 0;
  if ((deepspeed !== null && deepspeed.offloadOptimizer !== "none") || fsdp?.cpuOffload === true) {
    // Gradients out, parameters back; every card of a machine shares its processors.
    bytes += 4 * mine;
    seconds += ((mine * cards) / 1e9) * at(HOST_ADAM_SECONDS, end) + (4 * mine) / link;
    if (deepspeed?.offloadOptimizer === "nvme") seconds += (24 * mine * cards) / at(NVME, end);
  }
  if ((deepspeed !== null && deepspeed.offloadParam !== "none") || fsdp?.cpuOffload === true) {
    const fetched = (2 * 2 * counts.parameters * run.gradientAccumulationSteps) / worldSize;
    bytes += fetched;
    seconds += fetched / (deepspeed?.offloadParam === "nvme" ? Math.min(link, at(NVME, end) / cards) : link);
  }
  if (run.optimizer.name.startsWith("paged") && end === 0) {
    bytes += 4 * mine;
    seconds += (4 * mine) / link;
  }
  return { seconds, bytes };
}

interface Spent {
  readonly seconds: Seconds;
  readonly bytes: Bytes;
}

function spentAt(run: TrainingRun, counts: Counts, shape: ModelShape, device: Device, end: End): Spent | null {
  const rates = matrixRates(run, device, end);
  if (rates === null || device.bandwidth <= 0) return null;
  const asked: Work = workOf(run, shape, counts);
  const bandwidth = device.bandwidth * at(BANDWIDTH, end);
  const micro = Math.max(1, run.gradientAccumulationSteps);
  const compute =
    micro * (work(asked.matrixFlops, end) / rates.matrix + work(asked.attentionFlops, end) / rates.attention);
  const moved =
    micro * (work(asked.elementBytes, end) + work(asked.weightBytes, end)) +
    offCard(run, work(asked.optimizerBytes, end));
  const memory = moved / bandwidth;
  const stepping = offCard(run, work(asked.optimizerBytes, end)) / bandwidth;
  const launched = micro * (work(asked.launches, end) * at(LAUNCH_SECONDS, end) + at(LOOP_SECONDS, end));
  const stepped = work(asked.optimizerLaunches, end) * at(LAUNCH_SECONDS, end);
  // Launches run ahead of the card: only what exceeds its own work is seen. Clipping and the scaler wait for the card
  // before the optimizer's step, which so begins with nothing in the queue.
  const waiting = Math.max(0, launched - compute - (memory - stepping)) + Math.max(0, stepped - stepping);
  const links = interconnect(run, counts, shape, device, end, (2 / 3) * (compute + memory));
  const host = hostPart(run, counts, device, end);
  const sent = micro * work(offloadedBytes(run, shape), end);
  // Copies run beside the computation; what takes longer than that is waited for.
  const copied = sent / (device.hostBandwidth * at(HOST_LINK, end));
  const late = Math.max(0, copied - (end === 1 ? 0.9 : 0.5) * (compute + memory));
  return {
    seconds: { compute, memory, interconnect: links.seconds, host: waiting + host.seconds + late },
    bytes: { memory: moved, interconnect: links.bytes, host: host.bytes + sent },
  };
}

/** The optimizer's traffic is the host's when its states are there. */
function offCard(run: TrainingRun, bytes: number): number {
  const { deepspeed, fsdp } = run.parallel;
  return (deepspeed !== null && deepspeed.offloadOptimizer !== "none") || fsdp?.cpuOffload === true ? 0 : bytes;
}

const total = ({ compute, memory, interconnect, host }: Seconds): number => compute + memory + interconnect + host;
const middle = (low: number, high: number): number => Math.sqrt(Math.max(low, 0) * Math.max(high, 0));

/**
 * Seconds of one optimizer step on `device` (the run's own by default); null when the model's sizes or the card's rates
 * are unknown.
 *
 * @param counts parameters in the model and trained, adapters included
 */
export function stepTime(run: TrainingRun, counts: Counts, device?: Device): StepTime | null {
  const card = device ?? (run.device === null ? undefined : deviceOf(run.device));
  const shape = shapeOf(run);
  if (card === undefined || shape === null) return null;
  const slowest = spentAt(run, counts, shape, card, 0);
  const fastest = spentAt(run, counts, shape, card, 1);
  if (slowest === null || fastest === null) return null;
  const { seconds: slow } = slowest;
  const { seconds: fast } = fastest;
  const low = total(fast);
  const high = total(slow);
  if (!Number.isFinite(high) || low <= 0) return null;
  const parts: Record<Bound, number> = {
    compute: middle(fast.compute, slow.compute),
    memory: middle(fast.memory, slow.memory),
    interconnect: (fast.interconnect + slow.interconnect) / 2,
    host: (fast.host + slow.host) / 2,
  };
  const bound = [...BOUNDS].sort((a, b) => parts[b] - parts[a])[0]!;
  const replicas = dataParallelSize(run.parallel);
  const tokens = run.microBatchSize * tokensPerSample(run) * run.gradientAccumulationSteps * replicas;
  const peaks: Bytes = { memory: card.bandwidth, interconnect: linkPeak(run, card), host: card.hostBandwidth };
  const demands = ROADS.flatMap((road): Demand[] => {
    const bytes = (fastest.bytes[road] + slowest.bytes[road]) / 2;
    return bytes <= 0 ? [] : [{ road, bytes, asked: bytes / middle(low, high), available: peaks[road] }];
  });
  return { low, high, bound, parts, tokensPerSecond: tokens / middle(low, high), demands };
}

/** Card that stands in when a run's own is unknown: factors between two runs hardly depend on it. */
const REFERENCE = "NVIDIA A100-SXM4-80GB";

/**
 * How many times longer `changed` takes for the same tokens (image patches) than `base`; 1 when it cannot be told. Where
 * the global batch and the sequence stay, that is step time over step time.
 */
export function stepTimeFactor(
  base: { readonly run: TrainingRun; readonly counts: Counts },
  changed: { readonly run: TrainingRun; readonly counts: Counts },
): number {
  const own = base.run.device === null ? undefined : deviceOf(base.run.device);
  const device = own?.peak == null ? findDevice(REFERENCE)?.device : own;
  const before = stepTime(base.run, base.counts, device);
  const after = stepTime(changed.run, changed.counts, device);
  const factor = before === null || after === null ? 1 : before.tokensPerSecond / after.tokensPerSecond;
  return Number.isFinite(factor) && factor > 0 ? factor : 1;
}
