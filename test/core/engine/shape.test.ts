import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import {
  broadcast,
  contiguousStrides,
  elementwiseStrides,
  inferSize,
  isContiguous,
  isDense,
  preservedStrides,
  viewStrides,
} from "../../../src/core/engine/shape";

describe("strides", () => {
  it("are row-major, with empty dimensions counted as one", () => {
    assert.deepEqual(contiguousStrides([2, 3, 4]), [12, 4, 1]);
    assert.deepEqual(contiguousStrides([2, 0, 4]), [4, 4, 1]);
    assert.deepEqual(contiguousStrides([]), []);
  });

  it("of one-element dimensions do not matter for contiguity", () => {
    assert.equal(isContiguous([3, 1, 4], [4, 99, 1]), true);
    assert.equal(isContiguous([3, 2, 4], [8, 1, 2]), false);
    assert.equal(isContiguous([0, 5], [1, 1]), true);
  });

  it("are dense when some order of the dimensions fills memory", () => {
    assert.equal(isDense([2, 3, 4], [3, 1, 6]), true);
    assert.equal(isDense([2, 3], [4, 1]), false);
    assert.equal(isDense([2, 3], [0, 1]), false);
  });
});

describe("view", () => {
  it("splits and joins what lies together", () => {
    assert.deepEqual(viewStrides([6, 4], [4, 1], [2, 3, 4]), [12, 4, 1]);
    assert.deepEqual(viewStrides([2, 3, 4], [12, 4, 1], [6, 4]), [4, 1]);
    assert.deepEqual(viewStrides([2, 3, 4], [12, 4, 1], [2, 1, 12]), [12, 12, 1]);
  });

  it("keeps a transposed dimension but cannot join it", () => {
    assert.deepEqual(viewStrides([4, 6], [1, 4], [4, 2, 3]), [1, 12, 4]);
    assert.equal(viewStrides([4, 6], [1, 4], [24]), null);
    // attention: (batch, heads, tokens, width) turned to tokens first cannot be flattened
    assert.equal(viewStrides([2, 5, 3, 8], [120, 8, 40, 1], [2, 5, 24]), null);
  });

  it("infers the one missing size", () => {
    assert.deepEqual(inferSize([-1, 4], 24), [6, 4]);
    assert.deepEqual(inferSize([2, 3], 6), [2, 3]);
  });
});

describe("broadcasting", () => {
  it("repeats dimensions of one element from the right", () => {
    assert.deepEqual(broadcast([3, 1], [2, 1, 5]), [2, 3, 5]);
    assert.deepEqual(broadcast([], [4]), [4]);
  });

  it("lays the result out as the operand that has every dimension", () => {
    // a tokens-first tensor times a row of rotary factors, in either order
    const tensor = { sizes: [2, 4, 3, 8], strides: [96, 8, 32, 1] };
    const row = { sizes: [1, 1, 3, 8], strides: [24, 24, 8, 1] };
    assert.deepEqual(elementwiseStrides([2, 4, 3, 8], [tensor, row]), [96, 8, 32, 1]);
    assert.deepEqual(elementwiseStrides([2, 4, 3, 8], [row, tensor]), [96, 8, 32, 1]);
  });

  it("keeps equal dense strides and packs strided ones in their order", () => {
    const turned = { sizes: [4, 6], strides: [1, 4] };
    assert.deepEqual(elementwiseStrides([4, 6], [turned, turned]), [1, 4]);
    assert.deepEqual(preservedStrides([4, 6], [1, 8]), [1, 4]);
    assert.deepEqual(preservedStrides([4, 6], [6, 1]), [6, 1]);
  });
});

type Layout = readonly [sizes: number[], strides: number[]];

/** Strides as PyTorch gave them (`capture/truth/strides.py`). */
interface Recorded {
  readonly a: Layout;
  readonly b: Layout;
  readonly like: number[];
  readonly sizes: number[];
  readonly view: number[] | null;
  readonly ab: number[];
  readonly ba: number[];
}

describe("strides recorded from PyTorch", () => {
  const recorded = JSON.parse(readFileSync(path.join(__dirname, "strides.json"), "utf8")) as Recorded[];

  it("of views, or that there is none", () => {
    for (const { a, sizes, view } of recorded) assert.deepEqual(viewStrides(a[0], a[1], sizes), view);
  });

  it("of copies", () => {
    for (const { a, like } of recorded) assert.deepEqual(preservedStrides(a[0], a[1]), like);
  });

  it("of elementwise results, whichever operand comes first", () => {
    for (const { a, b, ab, ba } of recorded) {
      const [left, right] = [a, b].map(([sizes, strides]) => ({ sizes, strides })) as [
        { sizes: number[]; strides: number[] },
        { sizes: number[]; strides: number[] },
      ];
      const shape = broadcast(a[0], b[0]);
      // What lies row by row has none written out.
      assert.deepEqual(elementwiseStrides(shape, [left, right]) ?? contiguousStrides(shape), ab);
      assert.deepEqual(elementwiseStrides(shape, [right, left]) ?? contiguousStrides(shape), ba);
    }
  });
});
