/** Steps that find the pool as they found it before are left out of a replay, and nothing is another by it. */
import assert from "node:assert/strict";
import { expandablePeak } from "../../../src/core/allocator/expandable";
import { type ClosedStep, Repeated } from "../../../src/core/allocator/repeated";
import { type EventStream, pressedPool, reservedPeak } from "../../../src/core/allocator/replay";

const MIB = 2 ** 20;

/** Numbers in [0, 1), the same for one seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

/** Blocks that stay, then steps of a few lengths that free all they allocate, some emptying the cache on the way. */
function drawn(seed: number): Required<Pick<EventStream, "steps">> & EventStream {
  const next = random(seed);
  const events: number[] = [];
  const bytes: number[] = [];
  const emptied: number[] = [];
  const steps: ClosedStep[] = [];
  const allocate = (size: number): number => {
    events.push(bytes.push(size) - 1);
    return bytes.length - 1;
  };
  const stay = Array.from({ length: 20 }, () => allocate(Math.ceil(8 * MIB * next() ** 4)));
  for (const id of stay) if (next() < 0.4) events.push(~id);
  const shape = Array.from({ length: 30 }, () => ({ size: 6 * MIB * next() ** 3, freed: next() }));
  const empties = seed % 3 === 0;
  for (let step = 0; step < 12; step++) {
    const length = 1 + Math.floor(4 * next());
    const from = events.length;
    const alive: number[] = [];
    for (const { size, freed } of shape) {
      alive.push(allocate(Math.ceil(size * length)));
      if (freed < 0.6) events.push(~alive.splice(Math.floor(freed * alive.length), 1)[0]!);
    }
    const isEmptied = empties && step % 4 === 1;
    if (isEmptied) emptied.push(events.length);
    for (const id of alive) events.push(~id);
    if (!isEmptied) steps.push({ from, to: events.length, length });
  }
  return { events, bytes, emptied, steps };
}

describe("repeated steps", () => {
  it("change no peak where they are left out", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { steps, ...whole } = drawn(seed);
      const stream = { ...whole, steps };
      const peak = reservedPeak(whole);
      assert.equal(reservedPeak(stream), peak, `seed ${seed}`);
      assert.equal(expandablePeak(stream), expandablePeak(whole), `seed ${seed}, expandable`);
      for (const limit of [peak - 2 * MIB, 0.9 * peak])
        assert.deepEqual(pressedPool(stream, 0, {}, limit), pressedPool(whole, 0, {}, limit), `seed ${seed}, pressed`);
    }
  });

  it("are left out when they were played since the pool changed last", () => {
    const repeated = new Repeated([
      { from: 1, to: 3, length: 8 },
      { from: 3, to: 5, length: 8 },
      { from: 5, to: 7, length: 8 },
      { from: 9, to: 11, length: 8 },
    ]);
    assert.deepEqual(
      [0, 1].map((k) => repeated.skipped(k)),
      [0, 1],
    );
    repeated.changed();
    // The first one changed the pool, so that the second may find another.
    assert.deepEqual(
      [2, 3, 4].map((k) => repeated.skipped(k)),
      [2, 3, 4],
    );
    assert.equal(repeated.skipped(5), 7);
    assert.deepEqual(
      [7, 8].map((k) => repeated.skipped(k)),
      [7, 8],
    );
    assert.equal(repeated.skipped(9), 11);
  });
});
