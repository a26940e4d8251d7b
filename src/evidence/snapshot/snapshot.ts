/**
 * `torch.cuda.memory._dump_snapshot`: its dictionaries to columns. The structure is that of torch/cuda/memory.py, `_snapshot`
 * (2.11), and of torch/csrc/cuda/memory_snapshot.cpp; 1.13's blocks have a `history` in place of `frames`.
 */
import { type PickleValue, readPickle } from "../pickle/read";
import { Stacks } from "./stacks";
import { ACTIONS, type Action, type Block, emptyTrace, type RecordingRead, type Segment, type Trace } from "./types";

/** Entries of all devices together that are read. */
const MOST_ENTRIES = 20_000_000;

type Dictionary = { readonly [key: string]: PickleValue };

function dictionaries(value: unknown): readonly Dictionary[] {
  return Array.isArray(value)
    ? value.filter(
        (one) => typeof one === "object" && one !== null && !Array.isArray(one) && !(one instanceof Uint8Array),
      )
    : [];
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** Bytes of a block; what no block can have (a negative size, one without an end) is none, as is what is no number. */
function bytesOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** What the allocator calls its actions. `free_completed` is when the block can be used again, `free_requested` when it was let go. */
const NAMED: ReadonlyMap<unknown, Action> = new Map<unknown, Action>([
  ["alloc", "alloc"],
  ["free_requested", "other"],
  ["free_completed", "free"],
  ["free", "free"],
  ["segment_alloc", "segment-alloc"],
  ["segment_map", "segment-alloc"],
  ["segment_free", "segment-free"],
  ["segment_unmap", "segment-free"],
  ["oom", "oom"],
  ["snapshot", "snapshot"],
]);

const NUMBERS: ReadonlyMap<Action, number> = new Map(ACTIONS.map((action, index) => [action, index]));

function traceOf(entries: readonly Dictionary[], device: number, stacks: Stacks): Trace {
  const { length } = entries;
  const trace = emptyTrace(device, length);
  for (let k = 0; k < length; k++) {
    const entry = entries[k]!;
    const action = NAMED.get(entry["action"]) ?? "other";
    trace.actions[k] = NUMBERS.get(action)!;
    trace.addresses[k] = number(entry["addr"] ?? entry["device_free"]);
    trace.sizes[k] = bytesOf(entry["size"]);
    trace.stacks[k] = stacks.of(entry["frames"]);
    const time = entry["time_us"];
    trace.times[k] = typeof time === "number" ? time : Number.NaN;
  }
  return trace;
}

const STATES: ReadonlyMap<unknown, Block["state"]> = new Map<unknown, Block["state"]>([
  ["active_allocated", "allocated"],
  ["active_awaiting_free", "awaiting-free"],
  ["active_pending_free", "awaiting-free"],
]);

function blocksOf(segment: Dictionary, stacks: Stacks): Block[] {
  let address = number(segment["address"]);
  return dictionaries(segment["blocks"]).map((block) => {
    const [history] = dictionaries(block["history"]);
    const size = bytesOf(block["size"]);
    const at = block["address"] === undefined ? address : number(block["address"]);
    address = at + size;
    return {
      address: at,
      size,
      requested: bytesOf(block["requested_size"] ?? history?.["real_size"]),
      state: STATES.get(block["state"]) ?? "free",
      stack: stacks.of(block["frames"] ?? history?.["frames"]),
    };
  });
}

function segmentOf(segment: Dictionary, stacks: Stacks): Segment {
  return {
    device: number(segment["device"]),
    address: number(segment["address"]),
    size: bytesOf(segment["total_size"]),
    stream: number(segment["stream"]),
    small: segment["segment_type"] === "small",
    expandable: segment["is_expandable"] === true,
    blocks: blocksOf(segment, stacks),
  };
}

function settingsOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(
    Object.entries(value as Dictionary).flatMap(([name, one]) =>
      typeof one === "string" || typeof one === "number" || typeof one === "boolean" ? [[name, String(one)]] : [],
    ),
  );
}

/** Reads a snapshot's file; never throws, and executes nothing of it. */
export function readSnapshot(bytes: Uint8Array): RecordingRead {
  const read = readPickle(bytes);
  if (!read.ok) return read;
  const { value } = read;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array)
    return { ok: false, why: "other", what: "", at: 0 };
  // 1.13 dumped the segments alone.
  if (Array.isArray(value) && value.length > 0 && !dictionaries(value).some(({ blocks }) => blocks !== undefined))
    return { ok: false, why: "other", what: "", at: 0 };
  const whole: Dictionary = Array.isArray(value) ? { segments: value } : value;
  if (!Array.isArray(whole["segments"]) && !Array.isArray(whole["device_traces"]))
    return { ok: false, why: "other", what: Object.keys(whole).slice(0, 4).join(", "), at: 0 };
  const stacks = new Stacks();
  const lists = Array.isArray(whole["device_traces"]) ? whole["device_traces"].map(dictionaries) : [];
  if (lists.reduce((sum, list) => sum + list.length, 0) > MOST_ENTRIES)
    return { ok: false, why: "large", what: "device_traces", at: 0 };
  const traces = lists.map((list, device) => traceOf(list, device, stacks));
  const segments = dictionaries(whole["segments"]).map((segment) => segmentOf(segment, stacks));
  const settings = settingsOf(whole["allocator_settings"]);
  const { places, stacks: all } = stacks;
  return { ok: true, recording: { kind: "snapshot", places, stacks: all, traces, segments, settings } };
}
