/** The same run on other cards, on slices of its card, and on several of it: what fits, how much, and how fast. */
import { stepTime } from "../cost/step-time";
import { DEVICES, type Device, deviceOf, deviceSpec, findDevice, usableBytes } from "../hardware/devices";
import type { Estimate } from "../report/estimate";
import { modelParallelSize } from "../training/parallel/degrees";
import type { TrainingRun } from "../training/run";
import { isSharded, largestMicroBatch } from "./inverse";
import type { EstimateFunction } from "./types";

/** Cards people rent or own, across sizes; the run's own is added to them. */
const COMPARED: readonly string[] = [
  "NVIDIA GeForce RTX 4060",
  "NVIDIA GeForce RTX 3060",
  "Tesla T4",
  "NVIDIA GeForce RTX 4080",
  "NVIDIA A10G",
  "NVIDIA L4",
  "NVIDIA GeForce RTX 4090",
  "NVIDIA GeForce RTX 5090",
  "NVIDIA A100-SXM4-40GB",
  "NVIDIA L40S",
  "NVIDIA A100-SXM4-80GB",
  "NVIDIA H100 80GB HBM3",
  "NVIDIA H200",
  "NVIDIA B200",
  "AMD Instinct MI300X",
];

/** Numbers of cards that are compared; machines have up to eight, and two of them sixteen. */
const COUNTS: readonly number[] = [1, 2, 4, 8, 16];

/** One line of the comparison. */
export interface ComparedDevice {
  readonly device: Device;
  readonly count: number;
  /** What sets the line apart from the run's own card. */
  readonly kind: "card" | "slice" | "several";
  readonly usedPeakBytes: number;
  /** Where the band begins. */
  readonly lowBytes: number;
  readonly usableBytes: number;
  /** As the verdict would say it: the whole band is within what is usable. */
  readonly fits: boolean;
  /** Largest micro-batch that fits with everything else as it is; null when not even one sample does. */
  readonly largestBatch: number | null;
  /** Tokens (or images) per second over all the line's cards, middle of the model's range; null when it cannot be told. */
  readonly samplesRate: number | null;
}

/**
 * Compares cards, smallest first; then slices of the run's own card; then several of it. Estimates depend on a card only
 * through its architecture, so those of one architecture share them.
 */
export function compareForRun(run: TrainingRun, estimate: EstimateFunction): readonly ComparedDevice[] {
  const shared = sharedEstimates(estimate);
  const own = run.device === null ? null : deviceOf(run.device);
  const listed = DEVICES.filter(({ name }) => COMPARED.includes(name));
  const cards = own === null || listed.some(({ name }) => name === own.name) ? listed : [...listed, own];
  const line = (device: Device, count: number, kind: ComparedDevice["kind"]): readonly ComparedDevice[] => {
    const moved = onDevices(run, device, count);
    const found = moved === null ? null : shared(moved);
    if (moved === null || found === null) return [];
    const usable = usableBytes(device);
    return [
      {
        device,
        count,
        kind,
        usedPeakBytes: found.usedPeakBytes,
        lowBytes: found.band.lowBytes,
        usableBytes: usable,
        fits: found.band.highBytes <= usable,
        largestBatch: largestMicroBatch(moved, shared, usable)?.value ?? null,
        samplesRate: stepTime(moved, found, device)?.tokensPerSecond ?? null,
      },
    ];
  };
  const now = run.parallel.worldSize;
  const slices = now > 1 ? [] : (own?.mig ?? []);
  return [
    ...cards.flatMap((device) => line(device, now, "card")).sort((a, b) => a.usableBytes - b.usableBytes),
    ...slices.flatMap(({ name }) => {
      const slice = findDevice(`${own?.name} MIG ${name}`)?.device;
      return slice === undefined ? [] : line(slice, 1, "slice");
    }),
    ...(own === null ? [] : COUNTS.filter((count) => count !== now).flatMap((count) => line(own, count, "several"))),
  ];
}

/** The run on `count` of a card; null where its parallel degrees do not divide them, or sharding needs more than one. */
function onDevices(run: TrainingRun, device: Device, count: number): TrainingRun | null {
  const { parallel } = run;
  const degree = modelParallelSize(parallel);
  if (count % degree !== 0 || count % parallel.expertParallel !== 0) return null;
  if (count < 2 && parallel.worldSize > 1 && parallel.fsdp !== null && isSharded(run)) return null;
  return { ...run, device: deviceSpec({ device, count }), parallel: { ...parallel, worldSize: count } };
}

/** Estimates that a card's name and size do not take part in. */
function sharedEstimates(estimate: EstimateFunction): EstimateFunction {
  const known = new Map<string, Estimate | null>();
  return (run) => {
    const { worldSize } = run.parallel;
    const key = `${run.device?.architecture ?? ""} ${run.device?.count ?? 0} ${worldSize} ${run.microBatchSize}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const fresh = estimate(run);
    known.set(key, fresh);
    return fresh;
  };
}
