/** Tensors of a device's trace from birth to death, and what was alive at every moment. */
import { ACTIONS, type Recording, type Trace } from "./types";

/** Tensors by number, in the order they were allocated; those that were there before the trace began come first. */
export interface Lifetimes {
  readonly sizes: Float64Array;
  readonly addresses: Float64Array;
  readonly stacks: Int32Array;
  /** Entry of the trace; -1: before it began. */
  readonly births: Int32Array;
  /** Entry of the trace; its length: alive at the end. */
  readonly deaths: Int32Array;
  /** Bytes alive after each entry. */
  readonly alive: Float64Array;
  /** Bytes reserved after each entry; of a recording that has no segments, empty. */
  readonly reserved: Float64Array;
  /** The entry after which most was alive; -1 for a trace without entries. */
  readonly peakAt: number;
  readonly peakBytes: number;
}

const ALLOC = ACTIONS.indexOf("alloc");
const FREE = ACTIONS.indexOf("free");
const SEGMENT_ALLOC = ACTIONS.indexOf("segment-alloc");
const SEGMENT_FREE = ACTIONS.indexOf("segment-free");

/** What the snapshot has at its end for a device, by address. */
function atEnd({ segments }: Recording, device: number): Map<number, { size: number; stack: number }> {
  const blocks = new Map<number, { size: number; stack: number }>();
  for (const segment of segments) {
    if (segment.device !== device) continue;
    for (const { state, address, size, stack } of segment.blocks)
      if (state !== "free") blocks.set(address, { size, stack });
  }
  return blocks;
}

/** Rows as they are found; turned into columns at the end. */
class Rows {
  readonly sizes: number[] = [];
  readonly addresses: number[] = [];
  readonly stacks: number[] = [];
  readonly births: number[] = [];
  readonly deaths: number[] = [];

  add(size: number, address: number, stack: number, birth: number, death: number): number {
    this.addresses.push(address);
    this.stacks.push(stack);
    this.births.push(birth);
    this.deaths.push(death);
    return this.sizes.push(size) - 1;
  }
}

/** Follows a trace: what is freed without having been allocated, and what the end has without either, was there before. */
export function lifetimesOf(recording: Recording, trace: Trace): Lifetimes {
  const { actions, addresses, sizes, stacks } = trace;
  const { length } = actions;
  const before = new Rows();
  const during = new Rows();
  const open = new Map<number, number>();
  for (let k = 0; k < length; k++) {
    const address = addresses[k]!;
    if (actions[k] === ALLOC) open.set(address, during.add(sizes[k]!, address, stacks[k]!, k, length));
    else if (actions[k] === FREE) {
      const id = open.get(address);
      if (id === undefined) before.add(sizes[k]!, address, 0, -1, k);
      else during.deaths[id] = k;
      open.delete(address);
    }
  }
  for (const [address, { size, stack }] of atEnd(recording, trace.device))
    if (!open.has(address)) before.add(size, address, stack, -1, length);
  const joined = (name: "sizes" | "addresses" | "stacks" | "births" | "deaths"): number[] =>
    before[name].concat(during[name]);
  const all = {
    sizes: Float64Array.from(joined("sizes")),
    addresses: Float64Array.from(joined("addresses")),
    stacks: Int32Array.from(joined("stacks")),
    births: Int32Array.from(joined("births")),
    deaths: Int32Array.from(joined("deaths")),
  };
  const alive = aliveAfter(all, length);
  let peakAt = length === 0 ? -1 : 0;
  for (let k = 1; k < length; k++) if (alive[k]! > alive[peakAt]!) peakAt = k;
  return {
    ...all,
    alive,
    reserved: reservedAfter(recording, trace),
    peakAt,
    peakBytes: peakAt < 0 ? all.sizes.reduce((sum, size) => sum + size, 0) : alive[peakAt]!,
  };
}

function aliveAfter(
  { sizes, births, deaths }: Pick<Lifetimes, "sizes" | "births" | "deaths">,
  length: number,
): Float64Array {
  const change = new Float64Array(length + 1);
  for (let id = 0; id < sizes.length; id++) {
    change[Math.max(0, births[id]!)]! += sizes[id]!;
    change[deaths[id]!]! -= sizes[id]!;
  }
  const alive = new Float64Array(length);
  let now = 0;
  for (let k = 0; k < length; k++) {
    now += change[k]!;
    alive[k] = now;
  }
  return alive;
}

/** Reserved bytes run back from the end, where the segments are known. */
function reservedAfter({ segments, kind }: Recording, { actions, sizes, device }: Trace): Float64Array {
  if (kind === "profile") return new Float64Array(0);
  const reserved = new Float64Array(actions.length);
  let now = segments.filter((one) => one.device === device).reduce((sum, { size }) => sum + size, 0);
  for (let k = actions.length - 1; k >= 0; k--) {
    reserved[k] = now;
    if (actions[k] === SEGMENT_ALLOC) now -= sizes[k]!;
    else if (actions[k] === SEGMENT_FREE) now += sizes[k]!;
  }
  return reserved;
}

/** Tensors alive after an entry, in the order they were allocated. */
export function aliveAt({ births, deaths }: Lifetimes, entry: number): Int32Array {
  const ids: number[] = [];
  for (let id = 0; id < births.length; id++) if (births[id]! <= entry && deaths[id]! > entry) ids.push(id);
  return Int32Array.from(ids);
}
