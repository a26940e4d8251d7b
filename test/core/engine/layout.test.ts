import assert from "node:assert/strict";
import { Arguments } from "../../../src/core/engine/ops/arguments";
import { mul } from "../../../src/core/engine/ops/arithmetic";
import {
  cat,
  clone,
  contiguous,
  expand,
  permute,
  reshape,
  slice,
  split,
  stack,
  transpose,
  view,
} from "../../../src/core/engine/ops/layout";
import { asStrided } from "../../../src/core/engine/ops/strided";
import { dispatch } from "../../../src/core/engine/ops/table";
import type { Tensor } from "../../../src/core/engine/tensor";
import { lab } from "./lab";

describe("views and copies", () => {
  it("a view allocates nothing and keeps the storage alive", () => {
    const { torch, tensor, made, ledger } = lab();
    const x = tensor([4, 256]);
    const before = ledger.live;
    const made1 = made(() => {
      const y = view(torch, x, [2, 512]);
      x.release();
      assert.equal(ledger.live, before);
      y.release();
      assert.equal(ledger.live, 0);
    });
    assert.deepEqual(made1, []);
  });

  it("axes that are moved stand where they are sent, the others in their order", () => {
    const { torch, tensor } = lab();
    const moved = (from: number | number[], to: number | number[]) =>
      (dispatch(torch, "movedim.int", new Arguments([tensor([2, 3, 4, 5]), from, to], {})) as Tensor).sizes;
    assert.deepEqual(moved(1, -1), [2, 4, 5, 3]);
    assert.deepEqual(moved([0, 1], [3, 0]), [3, 4, 5, 2]);
    assert.deepEqual(moved(-1, 0), [5, 2, 3, 4]);
  });

  it("a grid is views of what it is made of, by rows or by columns first", () => {
    const { torch, tensor, made } = lab();
    const [x, y] = [tensor([3]), tensor([5])];
    const sizes = (indexing: string) =>
      (dispatch(torch, "meshgrid.indexing", new Arguments([[x, y]], { indexing })) as Tensor[]).map((one) => {
        const { sizes: of } = one;
        one.release();
        return of;
      });
    assert.deepEqual(
      made(() => {
        assert.deepEqual(sizes("ij"), [
          [3, 5],
          [3, 5],
        ]);
        assert.deepEqual(sizes("xy"), [
          [5, 3],
          [5, 3],
        ]);
      }),
      [],
    );
  });

  it("noise of channels is drawn for each of them where it is multiplied in", () => {
    const { torch, tensor, made } = lab();
    const x = tensor([2, 128, 4, 4]);
    assert.deepEqual(
      made(() => (dispatch(torch, "feature_dropout_", new Arguments([x, 0.5, true], {})) as Tensor).release()),
      ["empty 1024"],
    );
  });

  it("the half of a matrix that is left is written over it", () => {
    const { torch, tensor, made } = lab();
    const x = tensor([16, 16]);
    for (const name of ["triu_", "tril_"])
      assert.deepEqual(
        made(() => (dispatch(torch, name, new Arguments([x, 1], {})) as Tensor).release()),
        [],
      );
  });

  it("reshape copies a transposed tensor, and only that", () => {
    const { torch, tensor, made } = lab();
    const x = tensor([4, 256]);
    assert.deepEqual(
      made(() => reshape(torch, x, [1024]).release()),
      [],
    );
    const t = transpose(torch, x, 0, 1);
    assert.deepEqual(
      made(() => reshape(torch, t, [1024]).release()),
      ["clone 4096"],
    );
    assert.deepEqual(
      made(() => contiguous(torch, t).release()),
      ["clone 4096"],
    );
    assert.deepEqual(
      made(() => contiguous(torch, x).release()),
      [],
    );
  });

  it("a clone keeps the strides of a dense tensor", () => {
    const { torch, tensor } = lab();
    const t = transpose(torch, tensor([4, 256]), 0, 1);
    assert.deepEqual(clone(torch, t).strides, [1, 256]);
  });

  it("expand repeats with stride 0 and its gradient is summed when it is delivered", () => {
    const { torch, leaf, made, differentiate } = lab();
    const x = leaf([1, 256]);
    const wide = expand(torch, x, [8, 256]);
    assert.deepEqual(wide.strides, [0, 1]);
    assert.deepEqual(
      made(() => differentiate(wide)),
      ["ones_like 8192", "sum 1024"],
    );
    assert.deepEqual(x.grad?.sizes, [1, 256]);
  });

  it("permute is undone on the gradient without a copy, and the leaf takes a strided gradient as a copy", () => {
    const { torch, leaf, made, differentiate } = lab();
    const x = leaf([4, 256]);
    const y = permute(torch, x, [1, 0]);
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 4096", "clone 4096"],
    );
  });
});

describe("slices and joins", () => {
  it("the gradient of a slice is a whole tensor of zeros", () => {
    const { torch, leaf, made, differentiate } = lab();
    const x = leaf([4, 256]);
    const y = slice(torch, x, 1, 0, 128);
    assert.deepEqual(y.sizes, [4, 128]);
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 2048", "slice_backward 4096"],
    );
  });

  it("wraps and clamps the bounds of a slice", () => {
    const { torch, tensor } = lab();
    const x = tensor([10, 2]);
    assert.deepEqual(slice(torch, x, 0, -3, null).sizes, [3, 2]);
    assert.deepEqual(slice(torch, x, 0, 2, 99, 3).sizes, [3, 2]);
    assert.deepEqual(slice(torch, x, 0, 5, 2).sizes, [0, 2]);
  });

  it("split joins the gradients of its parts, with zeros for the unused ones", () => {
    const { torch, leaf, made, differentiate } = lab();
    const x = leaf([4, 256]);
    const [a, b] = split(torch, x, [128, 128], 1);
    const y = mul(torch, a!, 2);
    b!.release();
    a!.release();
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 2048", "mul 2048", "zeros 2048", "cat 4096"],
    );
  });

  it("cat promotes, and gives views of its gradient back", () => {
    const { torch, leaf, made, differentiate } = lab();
    const [a, b] = [leaf([2, 256], "bfloat16"), leaf([2, 256])];
    const y = cat(torch, [a, b], 0);
    assert.equal(y.dtype, "float32");
    assert.deepEqual(y.sizes, [4, 256]);
    // The view for `a` is cast to its dtype; `b` takes its view over, and with it the whole storage.
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 4096", "_to_copy 1024"],
    );
  });

  it("stack adds a dimension", () => {
    const { torch, tensor } = lab();
    assert.deepEqual(stack(torch, [tensor([3, 2]), tensor([3, 2])], -1).sizes, [3, 2, 2]);
  });

  it("elements seen more than once gather their gradients by number, those seen once are put back", () => {
    const gradient = (strides: number[], count: number): string[] => {
      const { torch, leaf, made, differentiate } = lab();
      const windows = asStrided(torch, leaf([8, 128]), [7, 2, 128], strides);
      return made(() => differentiate(mul(torch, windows, 2))).slice(-count);
    };
    const [all, seen] = [8 * 128, 7 * 2 * 128];
    assert.deepEqual(gradient([128, 128, 1], 3), [`new_zeros ${all * 4}`, `arange ${all * 8}`, `clone ${seen * 8}`]);
    assert.deepEqual(gradient([256, 128, 1], 1), [`new_zeros ${seen * 4}`]);
  });
});
