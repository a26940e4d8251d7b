/** What other tools left of a run: the Trainer's memory metrics, nvidia-smi's log, an export of wandb's system metrics. */

import { jsonOf } from "../../terms/json";
import { printedSize } from "../log/sizes";

/** Peaks that another tool measured. Bytes; null: it does not say. */
export interface Measured {
  readonly tool: "trainer" | "nvidia-smi" | "wandb";
  readonly allocatedBytes: number | null;
  /** What the driver shows of the card. */
  readonly usedBytes: number | null;
  /** The card as the tool calls it. */
  readonly card: string | null;
  readonly totalBytes: number | null;
}

type Dictionary = Readonly<Record<string, unknown>>;

function isDictionary(value: unknown): value is Dictionary {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Stages of the Trainer whose memory is told one after another. */
const STAGES = ["init", "train", "evaluate", "eval", "predict", "test"];

/**
 * The highest figure of `TrainerMemoryTracker` (transformers/trainer_utils.py): each stage says by how much it ended above its
 * beginning, and by how much it had been above its end; a stage begins where the one before ended.
 */
function trainerPeak(metrics: Dictionary): number | null {
  let at = number(metrics["before_init_mem_gpu"]) ?? 0;
  let peak: number | null = null;
  for (const stage of STAGES) {
    const delta = number(metrics[`${stage}_mem_gpu_alloc_delta`]);
    if (delta === undefined) continue;
    at += delta;
    peak = Math.max(peak ?? 0, at + (number(metrics[`${stage}_mem_gpu_peaked_delta`]) ?? 0));
  }
  return peak;
}

/** `train_results.json`, `all_results.json`, and the log history of `trainer_state.json`. */
function ofTrainer(value: unknown): Measured | null {
  if (!isDictionary(value)) return null;
  const history = value["log_history"];
  const metrics = Array.isArray(history) ? Object.assign({}, ...history.filter(isDictionary)) : value;
  const allocatedBytes = trainerPeak(metrics as Dictionary);
  return allocatedBytes === null
    ? null
    : { tool: "trainer", allocatedBytes, usedBytes: null, card: null, totalBytes: null };
}

/** Rows of a CSV without quotes inside of quotes, which these tools do not write. */
function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .split(/\r?\n/)
    .slice(0, MOST_ROWS)
    .map((line) => line.split(",").map((cell) => cell.trim().replace(/^"|"$/g, "")));
}

const MOST_ROWS = 500_000;

/** `24564 MiB`, or a bare number of the header's unit. */
function cellBytes(cell: string | undefined, header: string): number | undefined {
  if (cell === undefined || cell === "") return undefined;
  const [digits = "", unit] = cell.split(/\s+/);
  const stated = unit ?? /\[(\w+)\]/.exec(header)?.[1] ?? "MiB";
  return printedSize(digits, stated)?.bytes;
}

function most(values: readonly (number | undefined)[]): number | null {
  let best: number | null = null;
  for (const value of values) if (value !== undefined && value > (best ?? -1)) best = value;
  return best;
}

/** `nvidia-smi --query-gpu=timestamp,name,memory.used,memory.total --format=csv -l 1`. */
function ofNvidia([head = [], ...rows]: readonly (readonly string[])[]): Measured | null {
  const column = (name: string): number => head.findIndex((cell) => cell.toLowerCase().startsWith(name));
  const used = column("memory.used");
  if (used < 0) return null;
  const [name, total] = [column("name"), column("memory.total")];
  const usedBytes = most(rows.map((row) => cellBytes(row[used], head[used] ?? "")));
  if (usedBytes === null) return null;
  return {
    tool: "nvidia-smi",
    allocatedBytes: null,
    usedBytes,
    card: name < 0 ? null : (rows[0]?.[name] ?? null),
    totalBytes: total < 0 ? null : most(rows.map((row) => cellBytes(row[total], head[total] ?? ""))),
  };
}

/** wandb's export of a chart: `…gpu.0.memoryAllocatedBytes`, in bytes, of the driver (wandb/sdk, gpu_nvidia). */
function ofWandb([head = [], ...rows]: readonly (readonly string[])[]): Measured | null {
  const columns = head.flatMap((cell, index) => (/gpu\.\d+\.memoryAllocatedBytes$/.test(cell) ? [index] : []));
  if (columns.length === 0) return null;
  const values = rows.flatMap((row) => columns.map((column) => number(Number(row[column] || Number.NaN))));
  const usedBytes = most(values);
  return usedBytes === null ? null : { tool: "wandb", allocatedBytes: null, usedBytes, card: null, totalBytes: null };
}

/** Reads a file of another tool; null where it has no memory of a GPU in it. Never throws. */
export function readOthers(text: string): Measured | null {
  const value = jsonOf(text);
  if (value !== undefined) return ofTrainer(value);
  const rows = rowsOf(text);
  return ofNvidia(rows) ?? ofWandb(rows);
}
