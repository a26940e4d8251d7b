/** What a recording comes to, device by device. Sizes are bytes. */
import type { Part } from "../log/phase-rules";
import { aliveAt, type Lifetimes, lifetimesOf } from "./lifetimes";
import { entryParts, ownPlace, PARTS, partsOf, placeText, tensorParts } from "./parts";
import { ACTIONS, type Place, type Recording, type Segment, type Trace } from "./types";

export interface Share {
  readonly name: string;
  readonly bytes: number;
  readonly count: number;
}

export interface LineShare extends Share {
  /** null: no line of source is known. */
  readonly place: Place | null;
}

/** The pool at the end. */
export interface PoolState {
  readonly reservedBytes: number;
  readonly allocatedBytes: number;
  /** In segments that tensors lie in: nothing but a fitting request can use it. */
  readonly gapBytes: number;
  /** In segments that nothing lies in: they go back to the driver when it is asked for more. */
  readonly cachedBytes: number;
  readonly largestGapBytes: number;
  readonly segments: number;
  /** What blocks have more than their tensors asked for. */
  readonly roundingBytes: number;
}

export interface OutOfMemory {
  readonly entry: number;
  readonly requestedBytes: number;
  readonly freeBytes: number;
  readonly aliveBytes: number;
  readonly part: Part | null;
  readonly place: Place | null;
}

export interface DeviceSummary {
  readonly device: number;
  readonly entries: number;
  readonly tensors: number;
  readonly peakBytes: number;
  /** Entry of the peak; -1: the recording has no trace. */
  readonly peakAt: number;
  readonly peakPart: Part | null;
  readonly peakReservedBytes: number;
  /** Alive at the peak by the part of the run that allocated it, largest first. */
  readonly parts: readonly (Share & { readonly part: Part | null })[];
  /** The same by line of source; the largest ones. */
  readonly lines: readonly LineShare[];
  readonly pool: PoolState | null;
  readonly failures: readonly OutOfMemory[];
}

/** Lines of source that are listed. */
const MOST_LINES = 20;
const OOM = ACTIONS.indexOf("oom");

function poolOf(segments: readonly Segment[]): PoolState | null {
  if (segments.length === 0) return null;
  const state = {
    reservedBytes: 0,
    allocatedBytes: 0,
    gapBytes: 0,
    cachedBytes: 0,
    largestGapBytes: 0,
    roundingBytes: 0,
  };
  for (const { size, blocks } of segments) {
    const used = blocks.filter((block) => block.state !== "free");
    const taken = used.reduce((sum, block) => sum + block.size, 0);
    state.reservedBytes += size;
    state.allocatedBytes += taken;
    for (const block of used) if (block.requested > 0) state.roundingBytes += Math.max(0, block.size - block.requested);
    if (used.length === 0) state.cachedBytes += size;
    else state.gapBytes += size - taken;
    for (const block of blocks)
      if (block.state === "free" && used.length > 0)
        state.largestGapBytes = Math.max(state.largestGapBytes, block.size);
  }
  return { ...state, segments: segments.length };
}

/** Sums by what each tensor is, largest first. */
function shared<Key>(
  ids: Int32Array,
  { sizes }: Lifetimes,
  keyOf: (id: number) => Key,
): readonly { key: Key; bytes: number; count: number }[] {
  const sums = new Map<Key, { key: Key; bytes: number; count: number }>();
  for (const id of ids) {
    const key = keyOf(id);
    const sum = sums.get(key) ?? { key, bytes: 0, count: 0 };
    sum.bytes += sizes[id]!;
    sum.count++;
    sums.set(key, sum);
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}

function failuresOf(recording: Recording, trace: Trace, { alive }: Lifetimes, parts: Uint8Array): OutOfMemory[] {
  const found: OutOfMemory[] = [];
  for (let entry = 0; entry < trace.actions.length; entry++) {
    if (trace.actions[entry] !== OOM) continue;
    const stack = trace.stacks[entry]!;
    const own = ownPlace(recording.stacks[stack]!, recording.places);
    found.push({
      entry,
      requestedBytes: trace.sizes[entry]!,
      freeBytes: trace.addresses[entry]!,
      aliveBytes: alive[entry]!,
      part: partAt(recording, stack, parts[entry]!),
      place: own < 0 ? null : recording.places[own]!,
    });
  }
  return found;
}

/** The part that a failed request was made in: by its own stack, else by what went on before it. */
function partAt(recording: Recording, stack: number, otherwise: number): Part | null {
  const own = stack === 0 ? null : partsOf(recording)[stack];
  return own ?? PARTS[otherwise] ?? null;
}

function summaryOf(recording: Recording, trace: Trace): DeviceSummary {
  const { places, stacks } = recording;
  const lifetimes = lifetimesOf(recording, trace);
  const { peakAt, peakBytes, reserved } = lifetimes;
  const ids = aliveAt(lifetimes, Math.max(0, peakAt));
  const own = stacks.map((stack) => ownPlace(stack, places));
  const ofEntries = entryParts(recording, trace);
  const ofTensors = tensorParts(recording, trace, lifetimes);
  return {
    device: trace.device,
    entries: trace.actions.length,
    tensors: lifetimes.sizes.length,
    peakBytes,
    peakAt,
    peakPart: peakAt < 0 ? null : (PARTS[ofEntries[peakAt]!] ?? null),
    peakReservedBytes: reserved.reduce((most, bytes) => Math.max(most, bytes), 0),
    parts: shared(ids, lifetimes, (id) => PARTS[ofTensors[id]!] ?? null).map(({ key, bytes, count }) => ({
      part: key,
      name: key ?? "",
      bytes,
      count,
    })),
    lines: shared(ids, lifetimes, (id) => own[lifetimes.stacks[id]!]!)
      .slice(0, MOST_LINES)
      .map(({ key, bytes, count }) => {
        const place = key < 0 ? null : places[key]!;
        return { place, name: place === null ? "" : placeText(place), bytes, count };
      }),
    pool: poolOf(recording.segments.filter((segment) => segment.device === trace.device)),
    failures: failuresOf(recording, trace, lifetimes, ofEntries),
  };
}

/** Devices that something is recorded of; a snapshot without history has its segments alone. */
export function tracesOf({ traces, segments }: Recording): readonly Trace[] {
  const devices = new Set(
    [...traces.filter(({ actions }) => actions.length > 0), ...segments].map(({ device }) => device),
  );
  const empty = (device: number): Trace => ({
    device,
    actions: new Uint8Array(0),
    addresses: new Float64Array(0),
    sizes: new Float64Array(0),
    stacks: new Int32Array(0),
    times: new Float64Array(0),
  });
  return [...devices]
    .sort((a, b) => a - b)
    .map((device) => traces.find((one) => one.device === device) ?? empty(device));
}

export function summarise(recording: Recording): readonly DeviceSummary[] {
  return tracesOf(recording).map((trace) => summaryOf(recording, trace));
}
