import assert from "node:assert/strict";
import { gatedLinearUnit } from "../../../src/core/engine/ops/nonlinear";
import { ctcLoss, weightNorm } from "../../../src/core/engine/ops/sound";
import type { Tensor } from "../../../src/core/engine/tensor";
import { type Lab, lab } from "./lab";

const backwardOf = (l: Lab, out: Tensor): string[] =>
  l.made(() => l.differentiate(out)).filter((line) => !line.startsWith("ones_like"));

describe("operators of encoders of sound", () => {
  it("weight norm keeps its norms in float32 and gives both factors their gradients", () => {
    const l = lab();
    const [direction, magnitude] = [l.leaf([64, 8, 128], "bfloat16"), l.leaf([1, 1, 128], "bfloat16")];
    let out = direction;
    const made = l.made(() => {
      out = weightNorm(l.torch, direction, magnitude);
    });
    assert.deepEqual(made, [`_weight_norm_interface ${64 * 8 * 128 * 2}`, `_weight_norm_interface ${128 * 4}`]);
    assert.deepEqual(backwardOf(l, out), [
      `_weight_norm_interface_backward ${64 * 8 * 128 * 2}`,
      "_weight_norm_interface_backward 512",
    ]);
  });

  it("a gated linear unit halves its dimension and keeps its input", () => {
    const l = lab();
    const input = l.leaf([2, 8, 128]);
    const before = l.live;
    const out = gatedLinearUnit(l.torch, input, 1);
    assert.deepEqual(out.sizes, [2, 4, 128]);
    assert.equal(l.live - before, 2 * 4 * 128 * 4);
    assert.deepEqual(backwardOf(l, out), [`glu_backward ${2 * 8 * 128 * 4}`]);
  });

  it("the loss over alignments holds two states a label for every frame, forward and backward", () => {
    const l = lab();
    const [logs, targets] = [l.leaf([100, 4, 32]), l.tensor([4 * 10], "int64")];
    let out = logs;
    const made = l.made(() => {
      out = ctcLoss(l.torch, logs, targets);
    });
    const states = 4 * 100 * 21 * 4;
    const rounded = Math.ceil(states / 512) * 512;
    assert.deepEqual(made, [`_ctc_loss ${rounded}`, "_ctc_loss 512", "sum 512"]);
    assert.deepEqual(backwardOf(l, out), [`_ctc_loss_backward ${rounded}`, `_ctc_loss_backward ${100 * 4 * 32 * 4}`]);
  });
});
