/**
 * A machine's own memory under a run: what its ranks keep there, and on which tier it lies. A process gets pages of its own NUMA node
 * first, then of the others, then of nodes without processors, which is what CXL memory is (Linux, Documentation/mm/numa.rst and
 * Documentation/admin-guide/mm/numaperf.rst).
 */

import { table } from "../../terms/table";
import { type DType, ELEMENT_BYTES } from "../engine/dtype";
import { DEVICES_PER_MACHINE } from "../hardware/devices";
import type { Estimate } from "../report/estimate";
import { processesOf } from "../training/parallel/degrees";
import type { TrainingRun } from "../training/run";

/** What a machine has, in bytes; null where nobody said it. */
export interface Machine {
  readonly memoryBytes: number | null;
  readonly numaNodes: number;
  readonly cxlBytes: number;
  /** Weights go straight to a GPU as they are loaded (`device_map`). */
  readonly skipped: boolean;
  /** Batches that the loader's processes of one rank make ahead (torch/utils/data/dataloader.py: `prefetch_factor * num_workers`). */
  readonly batchesAhead: number;
}

export const TIERS = ["near", "far", "cxl", "beyond"] as const;
export type Tier = (typeof TIERS)[number];

export interface MachineMemory {
  /** Ranks of one machine. */
  readonly ranks: number;
  /** What all of them keep while they train. */
  readonly trainingBytes: number;
  /** Of that, batches that wait in shared memory until they are asked for. */
  readonly loaderBytes: number;
  /** Copies that all of them make while weights are loaded; null where that is not known. */
  readonly loadingBytes: number | null;
  /** Files of weights, mapped once for all; the system takes their pages back when it needs them. */
  readonly mappedBytes: number;
  /** Where the larger of both lies, tiers with something of it; empty without the machine's memory. */
  readonly tiers: readonly { readonly tier: Tier; readonly bytes: number }[];
}

const DTYPES: Readonly<Record<string, DType>> = table({ float32: "float32", float16: "float16", bfloat16: "bfloat16" });

/**
 * What every rank copies of a checkpoint: nothing where it is loaded in the dtype it is stored in, as CPU tensors are views of the
 * mapped file then (safetensors, bindings/python/src/lib.rs: `UntypedStorage.from_file`).
 */
function copied({ parallel, quantization, ownCode, model, loadDtype }: TrainingRun, parameters: number): number | null {
  const { deepspeed, fsdp } = parallel;
  if (deepspeed?.zeroStage === 3 || fsdp !== null || quantization !== null || ownCode === true) return null;
  const stored = DTYPES[String(model.config["dtype"] ?? model.config["torch_dtype"])];
  if (stored === undefined) return null;
  return stored === loadDtype ? 0 : parameters * ELEMENT_BYTES[loadDtype];
}

/** Fills tiers in order. */
function filled(bytes: number, ranks: number, { memoryBytes, numaNodes, cxlBytes }: Machine): MachineMemory["tiers"] {
  if (memoryBytes === null) return [];
  const nodes = Math.max(1, numaNodes);
  const near = (memoryBytes / nodes) * Math.min(nodes, ranks);
  const room: Record<Tier, number> = {
    near,
    far: memoryBytes - near,
    cxl: cxlBytes,
    beyond: Number.POSITIVE_INFINITY,
  };
  let left = bytes;
  return TIERS.flatMap((tier) => {
    const here = Math.floor(Math.min(left, room[tier]));
    left -= here;
    return here > 0 ? [{ tier, bytes: here }] : [];
  });
}

export function machineMemory(
  run: TrainingRun,
  { host, parameters, operators }: Pick<Estimate, "host" | "parameters" | "operators">,
  machine: Machine,
): MachineMemory {
  const ranks = Math.min(run.parallel.inOneProcess === undefined ? processesOf(run.parallel) : 1, DEVICES_PER_MACHINE);
  const loaderBytes = Math.round(ranks * machine.batchesAhead * (operators?.inputBytes ?? 0));
  const trainingBytes = ranks * (host.pinnedBytes + host.pageableBytes) + loaderBytes;
  const own = machine.skipped ? null : copied(run, parameters);
  const loadingBytes = own === null ? null : ranks * own;
  const stored = DTYPES[String(run.model.config["dtype"] ?? run.model.config["torch_dtype"])];
  return {
    ranks,
    trainingBytes,
    loaderBytes,
    loadingBytes,
    mappedBytes: stored === undefined ? 0 : parameters * ELEMENT_BYTES[stored],
    tiers: filled(Math.max(trainingBytes, loadingBytes ?? 0), ranks, machine),
  };
}
