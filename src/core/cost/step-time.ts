/**
 * Step time by roofline: what the step's kernels, optimizer and transfers ask (operators.ts, work.ts) over what the card
 * gives (rates.ts), as a range. Not a benchmark: it tells what binds and which change costs how much; waiting for data,
 * evaluation and compilation are left out.
 */
import { DEVICES_PER_MACHINE, deviceOf, findDevice, usableBytes } from "../hardware/devices";
import type { Device } from "../hardware/types";
import type { Estimate } from "../report/estimate";
import type { Operators } from "../report/operators";
import { dataParallelSize } from "../training/parallel/degrees";
import type { Links, TrainingRun } from "../training/run";
import { inPieces } from "../training/trainers";
import { type End, kernelSeconds, type Modes, productsSeconds } from "./kernels";
import {
  BACKWARD_LAUNCH,
  BANDWIDTH,
  FORWARD_LAUNCH,
  HOST_ADAM_SECONDS,
  HOST_LINK,
  LOOP_SECONDS,
  linkOf,
  NVME,
  network,
  type Range,
} from "./rates";
import { tokensPerSample } from "./shape";
import { speedOf, trafficOf } from "./traffic";
import { type Counts, workOf } from "./work";

const BOUNDS = ["compute", "memory", "interconnect", "host"] as const;
export type Bound = (typeof BOUNDS)[number];

/** Ways that bytes take in a step. */
const ROADS = ["memory", "interconnect", "host"] as const;
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
  /** Waiting for other GPUs takes more than half of the step, at either end of the range. */
  readonly waits: boolean;
  /** Where a middling step spends its seconds; parts that overlap others are counted by what shows. */
  readonly parts: Readonly<Record<Bound, number>>;
  /** Tokens (image patches) per second over all devices, at the middle of the range. */
  readonly tokensPerSecond: number;
  /** Bandwidth that the config demands; roads that nothing takes are left out. */
  readonly demands: readonly Demand[];
}

/** What an estimate knows of a run; without operators there is no time. */
export type Measured = Pick<Estimate, "operators" | "usedPeakBytes" | "host" | keyof Counts>;

type Bytes = Readonly<Record<Road, number>>;

interface Seconds {
  readonly compute: number;
  readonly memory: number;
  readonly interconnect: number;
  readonly host: number;
}

const at = (range: Range, end: End): number => range[end];
const work = (bounds: readonly [number, number], end: End): number => bounds[1 - end]!;

/** Peak of the links that the run's collectives cross, bytes per second. */
function linkPeak(run: TrainingRun, device: Device, links: Links | undefined): number {
  const { worldSize } = run.parallel;
  const { peak } = linkOf(device, Math.min(worldSize, DEVICES_PER_MACHINE), links);
  return worldSize > DEVICES_PER_MACHINE ? Math.min(peak, links?.machines ?? network(device)[1]) : peak;
}

/**
 * Seconds of what is sent; the fast end hides gradients and parameters behind backward as far as there is any, and nothing else
 * overlaps anything.
 */
function interconnect(
  run: TrainingRun,
  counts: Counts,
  device: Device,
  end: End,
  hides: number,
): { readonly seconds: number; readonly bytes: number } {
  const sent = { seconds: 0, bytes: 0 };
  for (const row of trafficOf(run, counts)) {
    const seconds = row.bytes / at(speedOf(row, device, run.device?.links), end);
    const overlapped = end === 1 ? Math.max(0, seconds - 0.9 * hides) : Math.max(0.35 * seconds, seconds - 0.5 * hides);
    // DeepSpeed communicates beside the computation only when told to (`overlap_comm`).
    const hidden = row.sender === "states" && run.parallel.deepspeed?.overlapComm !== false;
    sent.seconds += hidden ? overlapped : seconds;
    sent.bytes += row.bytes;
  }
  return sent;
}

/** Bytes of paged optimizer states that find no room on the card. */
function spilled(run: TrainingRun, { usedPeakBytes, host }: Measured, device: Device): number {
  if (!run.optimizer.name.startsWith("paged")) return 0;
  const over = usedPeakBytes + host.pageableBytes - usableBytes(device);
  return Math.min(Math.max(0, over), host.pageableBytes);
}

/** Seconds that host memory, its processors, NVMe and PCIe add, and the bytes that cross PCIe. */
function hostPart(
  run: TrainingRun,
  counts: Measured,
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
    // Gradients out, parameters back; with accumulation the sum comes and goes with every micro-batch (deepspeed/runtime/
    // zero/stage_1_and_2.py, async_accumulate_grad_in_cpu_via_gpu). Every card of a machine shares its processors.
    const crossed = 4 * mine * (deepspeed === null ? 1 : Math.max(1, run.gradientAccumulationSteps));
    bytes += crossed;
    seconds += ((mine * cards) / 1e9) * at(HOST_ADAM_SECONDS, end) + crossed / link;
    if (deepspeed?.offloadOptimizer === "nvme") seconds += (24 * mine * cards) / at(NVME, end);
  }
  if ((deepspeed !== null && deepspeed.offloadParam !== "none") || fsdp?.cpuOffload === true) {
    const fetched = (2 * 2 * counts.parameters * run.gradientAccumulationSteps) / worldSize;
    bytes += fetched;
    seconds += fetched / (deepspeed?.offloadParam === "nvme" ? Math.min(link, at(NVME, end) / cards) : link);
  }
  // Paged states cross twice a step where the card has no room for them beside the rest.
  const paged = 2 * spilled(run, counts, device);
  bytes += paged;
  seconds += paged / link;
  return { seconds, bytes };
}

/** What the kernels of all micro-batches of a step take on the card, and the host to launch them. */
interface PassSeconds {
  readonly compute: number;
  readonly memory: number;
  readonly bytes: number;
  readonly launched: number;
}

function passesAt(run: TrainingRun, operators: Operators, device: Device, end: End): PassSeconds | null {
  const modes: Modes = { tf32: run.tf32 === true, ownCode: run.ownCode === true };
  const micro = Math.max(1, run.gradientAccumulationSteps);
  const every = Math.max(1, run.trainer?.rollout?.every ?? 1);
  // What is recomputed is the model's Python code again, in the middle of backward.
  const again = run.checkpointing === null ? 0 : operators.forward.kernels / Math.max(1, operators.backward.kernels);
  const passes = [
    { pass: operators.forward, count: micro, python: 1 },
    { pass: operators.backward, count: micro, python: Math.min(1, again) },
    { pass: operators.scoring, count: micro / every, python: 1 },
  ];
  const sum = { compute: 0, memory: 0, bytes: 0, launched: 0 };
  for (const { pass, count, python } of passes) {
    if (pass === null) continue;
    const found = kernelSeconds(pass, device, end, modes);
    if (found === null) return null;
    sum.compute += count * found.compute;
    sum.memory += count * found.memory;
    sum.bytes += count * found.bytes;
    const launch = python * at(FORWARD_LAUNCH, end) + (1 - python) * at(BACKWARD_LAUNCH, end);
    sum.launched += count * found.launches * launch;
  }
  sum.compute += offCard(run, productsSeconds(operators.stepping, device, end, modes));
  return sum;
}

interface Spent {
  readonly seconds: Seconds;
  readonly bytes: Bytes;
}

function spentAt(
  run: TrainingRun,
  counts: Measured & { readonly operators: Operators },
  device: Device,
  end: End,
): Spent | null {
  const { operators } = counts;
  const passes = passesAt(run, operators, device, end);
  if (passes === null) return null;
  const asked = workOf(run, counts, operators);
  const bandwidth = device.bandwidth * at(BANDWIDTH, end);
  const micro = Math.max(1, run.gradientAccumulationSteps);
  const stepped = offCard(run, work(asked.optimizerBytes, end));
  const clipped = offCard(run, asked.gradientBytes);
  const stepping = stepped / bandwidth;
  const beside = asked.accumulatedBytes + work(asked.unpackedBytes, end);
  const memory = passes.memory + (beside + clipped) / bandwidth + stepping;
  const busy = passes.compute + memory - stepping;
  const launched =
    passes.launched +
    work(asked.hookSeconds, end) +
    work(asked.launches, end) * at(BACKWARD_LAUNCH, end) +
    micro * at(LOOP_SECONDS, end);
  const launchedStep = work(asked.optimizerLaunches, end) * at(BACKWARD_LAUNCH, end);
  // Launches run ahead of the card: only what exceeds its own work is seen. After clipping and unscaling the host waits
  // for the card, and the optimizer's step begins with nothing in the queue.
  const waiting = Math.max(0, launched - busy) + Math.max(0, launchedStep - stepping);
  const links = interconnect(run, counts, device, end, (2 / 3) * (passes.compute + memory));
  const host = hostPart(run, counts, device, end);
  const sent = micro * (2 * operators.offloadedBytes + operators.inputBytes);
  // Copies run beside the computation; what takes longer than that is waited for.
  const copied = sent / (device.hostBandwidth * at(HOST_LINK, end));
  const late = Math.max(0, copied - (end === 1 ? 0.9 : 0.5) * (passes.compute + memory));
  // Stages of a pipeline wait while it fills and drains (arXiv 2104.04473, 2.2).
  const others = run.parallel.pipelineParallel - 1;
  const bubble = 1 + (run.parallel.oneAtATime ? others : others / micro);
  return {
    seconds: {
      compute: passes.compute * bubble,
      memory: (memory - stepping) * bubble + stepping,
      interconnect: links.seconds,
      host: waiting * bubble + host.seconds + late,
    },
    bytes: {
      memory: passes.bytes + beside + clipped + stepped,
      interconnect: links.bytes,
      host: host.bytes + sent,
    },
  };
}

/** What the optimizer does is the host's when its states are there. */
function offCard(run: TrainingRun, work: number): number {
  const { deepspeed, fsdp } = run.parallel;
  return (deepspeed !== null && deepspeed.offloadOptimizer !== "none") || fsdp?.cpuOffload === true ? 0 : work;
}

/** Share of a road's peak below which nothing is said of it. */
const NOTICED = 1e-3;

const total = ({ compute, memory, interconnect, host }: Seconds): number => compute + memory + interconnect + host;
const middle = (low: number, high: number): number => Math.sqrt(Math.max(low, 0) * Math.max(high, 0));

/**
 * Seconds of one optimizer step on `device` (the run's own by default); null when its kernels or the card's rates are
 * unknown.
 *
 * @param counts of the run's estimate
 */
export function stepTime(whole: TrainingRun, counts: Measured, device?: Device): StepTime | null {
  // What is said of the links is said of the run's own machines.
  const elsewhere = device !== undefined && device.name !== whole.device?.name;
  const run = inPieces(elsewhere ? unlinked(whole) : whole);
  const card = device ?? (run.device === null ? undefined : deviceOf(run.device));
  const { operators } = counts;
  if (card === undefined || operators === null) return null;
  const slowest = spentAt(run, { ...counts, operators }, card, 0);
  const fastest = spentAt(run, { ...counts, operators }, card, 1);
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
  const peaks: Bytes = {
    memory: card.bandwidth,
    interconnect: linkPeak(run, card, run.device?.links),
    host: card.hostBandwidth,
  };
  const demands = ROADS.flatMap((road): Demand[] => {
    const bytes = (fastest.bytes[road] + slowest.bytes[road]) / 2;
    const asked = bytes / middle(low, high);
    // Token ids cross to the card too; what nobody would notice is not listed.
    return asked < NOTICED * peaks[road] ? [] : [{ road, bytes, asked, available: peaks[road] }];
  });
  const waits = [fast, slow].every((seconds) => seconds.interconnect > total(seconds) / 2);
  return { low, high, bound, waits, parts, tokensPerSecond: tokens / middle(low, high), demands };
}

function unlinked(run: TrainingRun): TrainingRun {
  if (run.device?.links === undefined) return run;
  const { links: _, ...device } = run.device;
  return { ...run, device };
}

/** Card that stands in when a run's own is unknown: factors between two runs hardly depend on it. */
const REFERENCE = "NVIDIA A100-SXM4-80GB";

/**
 * How many times longer `changed` takes for the same tokens (image patches) than `base`; 1 when it cannot be told. Where
 * the global batch and the sequence stay, that is step time over step time.
 */
export function stepTimeFactor(
  base: { readonly run: TrainingRun; readonly counts: Measured },
  changed: { readonly run: TrainingRun; readonly counts: Measured },
): number {
  const own = base.run.device === null ? undefined : deviceOf(base.run.device);
  const device = own?.peak == null ? findDevice(REFERENCE)?.device : own;
  const before = stepTime(base.run, base.counts, device);
  const after = stepTime(changed.run, changed.counts, device);
  const factor = before === null || after === null ? 1 : before.tokensPerSecond / after.tokensPerSecond;
  return Number.isFinite(factor) && factor > 0 ? factor : 1;
}
