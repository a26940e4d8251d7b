import assert from "node:assert/strict";
import { addcmul } from "../../../src/core/engine/ops/addcmul";
import { powers } from "../../../src/core/engine/ops/unary";
import type { Tensor } from "../../../src/core/engine/tensor";
import { type Lab, lab } from "./lab";

const backwardOf = (l: Lab, out: Tensor): string[] =>
  l.made(() => l.differentiate(out)).filter((line) => !line.startsWith("ones_like"));

describe("powers with exponents of their own and products that are added", () => {
  it("a base that is learned has its gradient, nought where the exponent is; exponents have none", () => {
    const l = lab();
    const [base, exponent] = [l.leaf([8, 1]), l.tensor([128], "int64")];
    let out = base;
    const made = l.made(() => {
      out = powers(l.torch, base, exponent);
    });
    assert.deepEqual(made, ["pow 4096"]);
    const names = [
      "sub 1024",
      "pow 4096",
      "mul 4096",
      "mul 4096",
      "scalar_tensor 512",
      "eq 512",
      "where 4096",
      "sum 512",
    ];
    assert.deepEqual(backwardOf(l, out), names);
    const learned = powers(l.torch, l.tensor([8, 1]), l.leaf([128]));
    assert.throws(() => l.differentiate(learned), { reason: { id: "engine.operator", args: { name: "pow" } } });
  });

  it("autocast adds products in the widest dtype of the three, and keeps the copies", () => {
    const l = lab();
    const [shift, scale] = [l.tensor([64], "float16"), l.tensor([64], "float16")];
    const normed = l.leaf([32, 64]);
    const before = l.live;
    const made = l.made(() => {
      l.autocast("float16", () => addcmul(l.torch, shift, normed, scale));
    });
    assert.deepEqual(made, ["_to_copy 512", "_to_copy 512", "addcmul 8192"]);
    assert.equal(l.live - before, 8192 + 512);
  });
});
