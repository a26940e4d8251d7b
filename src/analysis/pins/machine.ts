/** A machine's own memory, as people state it. */
import type { Machine } from "../../core/cost/host-memory";
import type { Links } from "../../core/training/run";
import { sizeIn, speedIn } from "../../terms/sizes";
import type { Settings } from "../frameworks/settings";

/** `prefetch_factor` of a loader with processes of its own, where nobody says it (torch/utils/data/dataloader.py). */
const PREFETCHED = 2;

/** What the pins say of a machine's memory, and the loader of what waits in it. */
export function machineOf(settings: Settings): Machine {
  const memoryBytes = sizeIn(settings.string("host_memory"));
  const cxlBytes = sizeIn(settings.string("cxl_memory"));
  return {
    memoryBytes: memoryBytes > 0 ? memoryBytes : null,
    numaNodes: settings.number("numa_nodes") ?? 1,
    cxlBytes,
    skipped: settings.find("device_map") !== undefined,
    batchesAhead: (settings.number("loader_workers") ?? 0) * (settings.number("loader_prefetch") ?? PREFETCHED),
  };
}

/** What a machine has beside its GPUs, in bytes; 0 where its RAM is not said. */
export function hostRoom(settings: Settings): number {
  const { memoryBytes, cxlBytes } = machineOf(settings);
  return memoryBytes === null ? 0 : memoryBytes + cxlBytes;
}

/** Links that are said by name. */
const NAMED: ReadonlyMap<string, Links["gpus"]> = new Map([
  ["pcie", "host"],
  ["nvlink", "linked"],
  ["nvswitch", "linked"],
  ["infinity fabric", "linked"],
]);

/** What connects the machine's GPUs, and it with others; undefined where nothing says it. */
export function linksOf(settings: Settings): Links | undefined {
  const between = settings.string("gpu_link");
  const gpus = NAMED.get(between?.trim().toLowerCase() ?? "") ?? speedIn(between);
  const machines = speedIn(settings.string("machine_link"));
  const told: Links = { ...(gpus === 0 ? {} : { gpus }), ...(machines > 0 ? { machines } : {}) };
  return Object.keys(told).length > 0 ? told : undefined;
}
