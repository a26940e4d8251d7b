import assert from "node:assert/strict";
import { Arguments } from "../../../src/core/engine/ops/arguments";
import { isTensor } from "../../../src/core/engine/ops/arithmetic";
import { dispatch } from "../../../src/core/engine/ops/table";
import type { Tensor } from "../../../src/core/engine/tensor";
import { lab, rounded } from "./lab";

const PICTURE = [2, 3, 16, 16] as const;
const BYTES = 2 * 3 * 16 * 16 * 4;

/** Runs one operator on a leaf that is trained; what was allocated forward and backward. */
function train(
  operator: string,
  ...rest: (number | boolean | readonly number[])[]
): { out: Tensor; made: string[]; back: string[] } {
  return trainOn(PICTURE, operator, ...rest);
}

function trainOn(
  sizes: readonly number[],
  operator: string,
  ...rest: (number | boolean | readonly number[])[]
): { out: Tensor; made: string[]; back: string[] } {
  const l = lab();
  const input = l.leaf(sizes);
  let out = input;
  const made = l.made(() => {
    const result = dispatch(l.torch, operator, new Arguments([input, ...rest], {}));
    assert.ok(isTensor(result));
    out = result;
  });
  const shape = out.sizes;
  const back = l.made(() => l.differentiate(out.retain()));
  return {
    out: Object.assign(out, { sizes: shape }),
    made,
    back: back.filter((line) => !line.startsWith("ones_like")),
  };
}

describe("operators of convolutional networks", () => {
  it("max_pool2d keeps where its maxima were", () => {
    const { out, made, back } = train("max_pool2d", [3, 3], [2, 2], [1, 1]);
    assert.deepEqual(out.sizes, [2, 3, 8, 8]);
    assert.deepEqual(made, [
      `max_pool2d_with_indices ${rounded(2 * 3 * 8 * 8 * 4)}`,
      `max_pool2d_with_indices ${rounded(2 * 3 * 8 * 8 * 8)}`,
    ]);
    assert.deepEqual(back, [`max_pool2d_with_indices_backward ${BYTES}`]);
  });

  it("pad with the picture's own values keeps the picture, as one with a constant does not", () => {
    const kept = (mode: string): number => {
      const l = lab();
      const input = l.tensor([1, 4, 256]);
      const leaf = l.leaf([1, 4, 256]);
      const x = dispatch(l.torch, "mul", new Arguments([input, leaf], {})) as Tensor;
      const out = dispatch(l.torch, "pad", new Arguments([x, [1, 1], mode], {})) as Tensor;
      assert.deepEqual(out.sizes, [1, 4, 258]);
      const before = l.live;
      x.release();
      return before - l.live;
    };
    assert.deepEqual([kept("reflect"), kept("replicate"), kept("constant")], [0, 0, 4096]);
  });

  it("conv_transpose1d raises rows by its stride, in groups; tile repeats the last dimensions", () => {
    const l = lab();
    const [x, weight] = [l.leaf([2, 8, 16]), l.leaf([8, 3, 4])];
    const out = dispatch(l.torch, "conv_transpose1d", new Arguments([x, weight, null, [2], [1], [0], 2, [1]], {}));
    assert.ok(isTensor(out));
    assert.deepEqual(out.sizes, [2, 6, 32]);
    const tiled = dispatch(l.torch, "tile", new Arguments([x, [3]], {}));
    assert.ok(isTensor(tiled));
    assert.deepEqual(tiled.sizes, [2, 8, 48]);
  });

  it("linspace writes its values at once, and ger is a column times a row", () => {
    const l = lab();
    const run = (operator: string, ...given: (Tensor | number)[]): string[] =>
      l.made(() => void dispatch(l.torch, operator, new Arguments(given, {})));
    assert.deepEqual(run("linspace", -1, 1, 1024), ["linspace 4096"]);
    const [column, row] = [l.leaf([32]), l.leaf([64])];
    assert.deepEqual(run("ger", column, row), [`mul ${32 * 64 * 4}`]);
    const given = new Arguments([l.leaf([8, 64]), l.leaf([8, 64]), 1, "float16"], {});
    const made = l.made(() => void dispatch(l.torch, "_softmax_backward_data", given));
    assert.deepEqual(made, ["_softmax_backward_data 1024"]);
  });

  it("feature_dropout draws one factor for a channel and keeps it", () => {
    const { made, back } = train("feature_dropout", 0.1, true);
    assert.deepEqual(made, [`empty ${rounded(2 * 3 * 4)}`, `mul ${BYTES}`]);
    assert.deepEqual(back, [`mul ${BYTES}`]);
  });

  it("ceil_mode leaves out a window that would start in the padding", () => {
    assert.deepEqual(train("max_pool2d", [2, 2], [2, 2], [0, 0], [1, 1], true).out.sizes, [2, 3, 8, 8]);
    assert.deepEqual(train("avg_pool2d", [3, 3], [2, 2], [0, 0], true).out.sizes, [2, 3, 8, 8]);
  });

  it("avg_pool1d pools a picture of one row", () => {
    const { out, made, back } = trainOn([2, 3, 256], "avg_pool1d", [2], [2]);
    assert.deepEqual(out.sizes, [2, 3, 128]);
    assert.deepEqual(made, [`avg_pool2d ${2 * 3 * 128 * 4}`]);
    assert.deepEqual(back, [`avg_pool2d_backward ${2 * 3 * 256 * 4}`]);
  });

  it("max_pool1d pools a picture of one row, and keeps its input and the places", () => {
    const { out, made, back } = trainOn([2, 3, 256], "max_pool1d", [2], [2], [0], [1], false);
    assert.deepEqual(out.sizes, [2, 3, 128]);
    assert.deepEqual(made, [
      `max_pool2d_with_indices ${2 * 3 * 128 * 4}`,
      `max_pool2d_with_indices ${2 * 3 * 128 * 8}`,
    ]);
    assert.deepEqual(back, [`max_pool2d_with_indices_backward ${2 * 3 * 256 * 4}`]);
  });

  it("im2col writes every window's values out, and adds them up without the input", () => {
    const { out, made, back } = train("im2col", [3, 1], [1, 1], [1, 0], [1, 1]);
    assert.deepEqual(out.sizes, [2, 9, 256]);
    assert.deepEqual(made, [`im2col ${2 * 9 * 256 * 4}`]);
    assert.deepEqual(back, [`col2im ${BYTES}`]);
  });

  it("adaptive_avg_pool2d to one value is a mean", () => {
    const { out, made } = train("adaptive_avg_pool2d", [1, 1]);
    assert.deepEqual(out.sizes, [2, 3, 1, 1]);
    assert.deepEqual(made, ["mean 512"]);
    assert.deepEqual(train("adaptive_avg_pool2d", [4, 4]).made, [`_adaptive_avg_pool2d ${rounded(2 * 3 * 16 * 4)}`]);
  });

  it("dropout_ multiplies by noise that backward uses again", () => {
    const { made, back } = train("dropout_", 0.5, true);
    assert.deepEqual(made, [`empty_like ${BYTES}`]);
    assert.deepEqual(back, [`mul ${BYTES}`]);
  });

  it("relu_ allocates nothing forward", () => {
    const { made, back } = train("relu_");
    assert.deepEqual(made, []);
    assert.deepEqual(back, [`threshold_backward ${BYTES}`]);
  });

  it("the norm of a vector is differentiated through its own value", () => {
    const { out, made, back } = train("linalg_vector_norm", 2, [2, 3], true);
    assert.deepEqual(out.sizes, [2, 3, 1, 1]);
    assert.deepEqual(made, ["linalg_vector_norm 512"]);
    assert.deepEqual(back, [`div ${BYTES}`, "eq 512", `mul ${BYTES}`]);
  });

  it("pixel_shuffle copies channels into a larger picture, and back", () => {
    const l = lab();
    const input = l.leaf([2, 12, 8, 8]);
    const made = l.made(() => {
      const out = dispatch(l.torch, "pixel_shuffle", new Arguments([input, 2], {}));
      assert.ok(isTensor(out));
      assert.deepEqual(out.sizes, [2, 3, 16, 16]);
    });
    assert.deepEqual(made, [`pixel_shuffle ${BYTES}`]);
  });

  it("pixel_unshuffle copies points into channels, and back", () => {
    const { out, made, back } = train("pixel_unshuffle", 2);
    assert.deepEqual(out.sizes, [2, 12, 8, 8]);
    assert.deepEqual(made, [`pixel_unshuffle ${BYTES}`]);
    assert.deepEqual(back, [`pixel_shuffle ${BYTES}`]);
  });

  it("roll gives its gradient back rolled", () => {
    const { made, back } = train("roll", [1], [2]);
    assert.deepEqual(made, [`roll ${BYTES}`]);
    assert.deepEqual(back, [`roll ${BYTES}`]);
  });
});
