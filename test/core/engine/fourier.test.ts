import assert from "node:assert/strict";
import { mul } from "../../../src/core/engine/ops/arithmetic";
import { conjugate, fromFrequencies, toFrequencies } from "../../../src/core/engine/ops/fourier";
import type { Tensor } from "../../../src/core/engine/tensor";
import { lab, rounded } from "./lab";

describe("Fourier transforms of real numbers", () => {
  it("half the frequencies are kept, zeros stand behind shorter inputs, and a conjugate is copied where it is read", () => {
    const l = lab();
    const [input, filter] = [l.leaf([2, 100, 16]), l.leaf([100, 16])];
    const [padded, one] = [2 * 250 * 16 * 4, 250 * 16 * 4];
    const [half, oneHalf] = [2 * 126 * 16 * 8, rounded(126 * 16 * 8)];
    let out: Tensor | undefined;
    const made = l.made(() => {
      const a = toFrequencies(l.torch, input, 250, -2);
      const b = toFrequencies(l.torch, filter, 250, -2);
      const c = conjugate(l.torch, b);
      const product = mul(l.torch, a, c);
      out = fromFrequencies(l.torch, product, 250, -2);
      for (const done of [a, b, c, product]) done.release();
    });
    const sizes = (bytes: number): number => rounded(bytes);
    assert.deepEqual(made, [
      `constant_pad_nd ${sizes(padded)}`,
      `_fft_r2c ${sizes(half)}`,
      `constant_pad_nd ${sizes(one)}`,
      `_fft_r2c ${oneHalf}`,
      `clone ${oneHalf}`,
      `mul ${sizes(half)}`,
      `_fft_c2r ${sizes(padded)}`,
    ]);
    assert.deepEqual(out?.sizes, [2, 250, 16]);
    const back = l.made(() => l.differentiate(out as Tensor)).filter((line) => !line.startsWith("ones_like"));
    assert.deepEqual(back, [
      `_fft_r2c ${sizes(half)}`,
      `clone ${sizes(half)}`,
      `mul ${sizes(half)}`,
      `mul ${sizes(half)}`,
      `sum ${oneHalf}`,
      `clone ${oneHalf}`,
      `new_zeros ${sizes(one * 2)}`,
      `_fft_c2c ${sizes(one * 2)}`,
      `constant_pad_nd ${rounded(100 * 16 * 4)}`,
      `clone ${rounded(100 * 16 * 4)}`,
      `new_zeros ${sizes(padded * 2)}`,
      `_fft_c2c ${sizes(padded * 2)}`,
      `constant_pad_nd ${rounded(2 * 100 * 16 * 4)}`,
      `clone ${rounded(2 * 100 * 16 * 4)}`,
    ]);
  });

  it("of all frequencies there are twice as many numbers less two, and none of half precision", () => {
    const l = lab();
    const back = fromFrequencies(l.torch, l.tensor([4, 65], "complex64"), undefined, -1);
    assert.deepEqual(back.sizes, [4, 128]);
    assert.throws(() => toFrequencies(l.torch, l.tensor([4, 100], "bfloat16"), undefined, -1), {
      reason: { id: "engine.fourier", args: { dtype: "bfloat16" } },
    });
    assert.throws(() => toFrequencies(l.torch, l.tensor([4, 100]), -3, -1));
    assert.throws(() => toFrequencies(l.torch, l.tensor([4, 100]), 3, 7));
  });
});
