/**
 * The events of a micro-batch as compiled code has them. Loops run inside the operators that read them, so that only these
 * blocks remain: results of operators with buffers of their own and what such operators read, what the partitioner keeps for
 * backward, parameters' gradients, and what is handed out. A block goes after its last reader (generated code deletes
 * every buffer there), and a loop writes over an operand of the same size that goes with it. Sources: torch/_inductor/
 * {scheduler.py,codegen/wrapper.py} (fusion, `free_buffers`, `AllocateLine.plan`), torch/_functorch/_aot_autograd/
 * runtime_wrappers.py (gradients of parameters appear when the whole backward has run).
 */

import { NO_LAYER } from "../folding/label";
import type { Ledger, LedgerState } from "../ledger";
import { isLoopOperator } from "./operators";
import { keptBlocks } from "./partition";
import type { Operation, Tape } from "./tape";

/** Where an event stands among the eager ones: frees go right before the eager event of their place. */
const BEFORE = 0.5;
/** A block that is written over goes right before the one that takes its place. */
const OVERWRITTEN = 0.25;
/** A layer or phase that begins at an eager event has the frees before it behind it. */
const MARKED = 0.3;

interface Life {
  /** Eager events that allocate and free it; `Infinity` where it stays. */
  readonly from: number;
  to: number;
}

/** Rewrites the events since `state`. A model that is one function hands its gradients over when all of its backward has run. */
export function compileEvents(ledger: Ledger, state: LedgerState, tape: Tape): void {
  const { whole } = tape.parts;
  tape.finish();
  const lives = livesOf(ledger, state);
  // Views and writes in place make no block.
  const operations = tape.operations.filter(({ loop, makes }) => !loop || makes.length > 0);
  const firstBackward = operations.findIndex(({ backward }) => backward);
  const start = firstBackward < 0 ? operations.length : firstBackward;
  const bytesOf = (id: number): number | null => (id < state.ids ? null : ledger.bytes[id]!);
  const kept = keptBlocks({
    operations: operations.slice(0, start),
    bytesOf,
    needed: neededBy(operations, start),
  });
  const made = new Set(operations.flatMap(({ makes, eager }) => (eager ? [] : makes)));
  const readAtAll = new Set(operations.flatMap(({ reads }) => reads));
  const layers = layersOf(ledger, state);
  const inside = insideOwn(operations);
  const real = realBlocks(operations, kept, tape, lives, bytesOf);
  for (const [id, { from, to }] of lives) {
    if (real.has(id) || made.has(id) || tape.same.has(id)) continue;
    // What no operation of the tape made: code without gradients, or temporaries inside an operator.
    const { operator, kind } = ledger.labelOf(id);
    const compiled = tape.compiles(layers.at(from), kind === "logits-and-loss");
    // What an operator with buffers of its own makes for itself is there (8-bit copies of what it multiplies).
    if (!compiled || inside(from) || readAtAll.has(id) || !isLoopOperator(operator) || to === Number.POSITIVE_INFINITY)
      real.add(id);
  }
  setEnds(operations, start, lives, { real, kept, made }, tape);
  if (whole) for (const id of tape.gradients) handOver(lives.get(id), ledger.eventCount);
  emit(ledger, state, lives, real, operations);
  if (whole) for (const takeover of ledger.takeovers.slice(state.takeovers)) takeover.event = ledger.eventCount;
}

/** Whether an event lies inside an operator with buffers of its own; asked for in order. */
function insideOwn(operations: readonly Operation[]): (event: number) => boolean {
  const own = operations.filter(({ loop, begin, end }) => !loop && end > begin);
  own.sort((a, b) => a.begin - b.begin);
  let k = 0;
  return (event) => {
    while (k < own.length && own[k]!.end <= event) k++;
    return k < own.length && own[k]!.begin <= event;
  };
}

/** The layer in force at each event. */
function layersOf({ marks }: Ledger, state: LedgerState): { at(event: number): number } {
  let k = state.marks - 1;
  return {
    // Asked for in order.
    at(event) {
      while (k + 1 < marks.length && marks[k + 1]!.event <= event) k++;
      return k < state.marks ? NO_LAYER : marks[k]!.label;
    },
  };
}

function handOver(life: Life | undefined, end: number): void {
  if (life !== undefined) life.to = end;
}

/** When each block of the micro-batch is allocated and freed. */
function livesOf(ledger: Ledger, state: LedgerState): Map<number, Life> {
  const lives = new Map<number, Life>();
  const { events } = ledger;
  for (let k = state.events; k < events.length; k++) {
    const event = events[k]!;
    if (event >= 0) lives.set(event, { from: k, to: Number.POSITIVE_INFINITY });
    else {
      const life = lives.get(~event);
      if (life !== undefined) life.to = k;
    }
  }
  return lives;
}

/** Blocks of forward that backward reads, and whether an operator with buffers of its own is among the readers. */
function neededBy(operations: readonly Operation[], start: number): Map<number, boolean> {
  const before = new Set(operations.slice(0, start).flatMap(({ makes, reads }) => [...makes, ...reads]));
  const needed = new Map<number, boolean>();
  for (const { reads, loop } of operations.slice(start))
    for (const id of reads) if (before.has(id)) needed.set(id, needed.get(id) === true || !loop);
  return needed;
}

/** Blocks of operations that exist in compiled code. */
function realBlocks(
  operations: readonly Operation[],
  kept: ReadonlySet<number>,
  { returned, gradients }: Tape,
  lives: ReadonlyMap<number, Life>,
  bytesOf: (id: number) => number | null,
): Set<number> {
  const real = new Set<number>([...kept, ...returned, ...gradients]);
  const makers = new Set<number>();
  for (const { loop, reads, makes } of operations) {
    for (const id of makes) {
      // Written by two operations, or alive when the micro-batch is over (a gradient).
      if (!loop || makers.has(id) || lives.get(id)?.to === Number.POSITIVE_INFINITY) real.add(id);
      makers.add(id);
    }
    if (!loop) for (const id of reads) real.add(id);
  }
  realize(operations, real, bytesOf);
  return real;
}

/** Loops that read so many buffers are given one of their own, or so many where several operators read the result. */
const READS = 8;
const READS_SHARED = 4;
/** A result so many times smaller than what it reads is a reduction, which always has a buffer. */
const REDUCTION = 4;

/** Adds the loops that inductor does not run inside their readers (torch/_inductor/ir.py, StorageBox.should_realize_on_reuse). */
function realize(operations: readonly Operation[], real: Set<number>, bytesOf: (id: number) => number | null): void {
  const readers = new Map<number, number>();
  for (const { reads } of operations) for (const id of reads) readers.set(id, (readers.get(id) ?? 0) + 1);
  const loads = new Map<number, ReadonlySet<number>>();
  for (const { loop, reads, makes } of operations) {
    if (!loop) continue;
    const buffers = new Set(reads.flatMap((id) => (real.has(id) ? [id] : [...(loads.get(id) ?? [id])])));
    const bytes = reads.reduce((sum, id) => sum + (bytesOf(id) ?? 0), 0);
    for (const id of makes) {
      if (real.has(id)) continue;
      loads.set(id, buffers);
      const shared = (readers.get(id) ?? 0) > 1;
      if (buffers.size > (shared ? READS_SHARED : READS) || (bytesOf(id) ?? 0) * REDUCTION < bytes) real.add(id);
    }
  }
}

/** Blocks that are there, that forward keeps, and that compiled code makes. */
interface Blocks {
  readonly real: ReadonlySet<number>;
  readonly kept: ReadonlySet<number>;
  readonly made: ReadonlySet<number>;
}

/** Moves the end of every block that is there to its last reader, directly or through loops that run inside it. */
function setEnds(
  operations: readonly Operation[],
  start: number,
  lives: ReadonlyMap<number, Life>,
  { real, kept, made }: Blocks,
  { returned }: Tape,
): void {
  const last = new Map<number, number>();
  /** Blocks of forward that are there but not kept: backward computes them again from what they were computed from. */
  const again = new Map<number, number>();
  const startsAt = operations[start]?.end ?? Number.POSITIVE_INFINITY;
  const later = (map: Map<number, number>, id: number, at: number): void => {
    if (at > (map.get(id) ?? -1)) map.set(id, at);
  };
  const bornBefore = new Set(operations.slice(0, start).flatMap(({ makes }) => makes));
  for (let k = operations.length - 1; k >= 0; k--) {
    const operation = operations[k]!;
    const { loop, reads, makes, end } = operation;
    const runs = !loop || makes.some((id) => real.has(id));
    let at = runs ? end : -1;
    for (const id of makes) at = Math.max(at, real.has(id) ? (again.get(id) ?? -1) : (last.get(id) ?? -1));
    if (at < 0) continue;
    for (const id of reads) {
      const inForward = bornBefore.has(id) && real.has(id) && !kept.has(id);
      if (inForward && at >= startsAt) {
        later(again, id, at);
        if (runs && end < startsAt) later(last, id, end);
      } else later(last, id, at);
    }
  }
  for (const [id, life] of lives) {
    if (!real.has(id) || life.to === Number.POSITIVE_INFINITY) continue;
    const at = last.get(id);
    if (returned.has(id)) life.to = Math.max(life.to, at ?? 0);
    else if (!made.has(id)) life.to = Math.max(life.to, at ?? 0);
    else life.to = Math.max(at ?? life.from + 1, life.from + 1);
  }
}

/** Writes the events anew; marks, phases and hand-overs move with them. */
function emit(
  ledger: Ledger,
  state: LedgerState,
  lives: ReadonlyMap<number, Life>,
  real: ReadonlySet<number>,
  operations: readonly Operation[],
): void {
  const overwritten = overwrites(ledger, lives, real, operations);
  const stream: { readonly at: number; readonly event: number }[] = [];
  for (const [id, { from, to }] of lives) {
    if (!real.has(id)) continue;
    stream.push({ at: from, event: id });
    if (to !== Number.POSITIVE_INFINITY) stream.push({ at: overwritten.get(id) ?? to - BEFORE, event: ~id });
  }
  // Blocks of before that go meanwhile.
  const { events } = ledger;
  for (let k = state.events; k < events.length; k++)
    if (events[k]! < 0 && !lives.has(~events[k]!)) stream.push({ at: k, event: events[k]! });
  stream.sort((a, b) => a.at - b.at);
  const places = stream.map(({ at }) => at);
  ledger.replaceEvents(
    state,
    stream.map(({ event }) => event),
    (eager) => state.events + countBelow(places, eager - MARKED),
  );
}

/** How many of the ascending numbers lie below a limit. */
function countBelow(numbers: readonly number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where blocks go whose place another of the same size takes: right before that one. */
function overwrites(
  ledger: Ledger,
  lives: ReadonlyMap<number, Life>,
  real: ReadonlySet<number>,
  operations: readonly Operation[],
): Map<number, number> {
  const ending = new Map<number, number[]>();
  for (const [id, { to }] of lives) {
    if (!real.has(id) || to === Number.POSITIVE_INFINITY) continue;
    const list = ending.get(to);
    if (list === undefined) ending.set(to, [id]);
    else list.push(id);
  }
  const places = new Map<number, number>();
  for (const { loop, makes, end } of operations) {
    if (!loop) continue;
    for (const id of makes) {
      if (!real.has(id)) continue;
      const going = ending
        .get(end)
        ?.find((old) => !places.has(old) && old !== id && ledger.bytes[old] === ledger.bytes[id]);
      const from = lives.get(id)?.from;
      if (going === undefined || from === undefined || lives.get(going)!.from >= from) continue;
      places.set(going, from - OVERWRITTEN);
    }
  }
  return places;
}
