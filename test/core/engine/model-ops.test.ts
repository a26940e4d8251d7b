import assert from "node:assert/strict";
import type { DType } from "../../../src/core/engine/dtype";
import { attention } from "../../../src/core/engine/ops/attention";
import { convolution } from "../../../src/core/engine/ops/convolution";
import { embedding, gatherLike } from "../../../src/core/engine/ops/gathering";
import { slice } from "../../../src/core/engine/ops/layout";
import { crossEntropy } from "../../../src/core/engine/ops/losses";
import type { Tensor } from "../../../src/core/engine/tensor";
import { type Lab, lab, rounded } from "./lab";

interface Heads {
  readonly dtype?: DType;
  readonly width?: number;
  readonly keyHeads?: number;
  readonly mask?: "bool" | "additive";
  readonly causal?: boolean;
}

/** Runs attention over 2 sequences of 64 tokens and 4 heads; which operators ran, and the laboratory. */
function attend({ dtype = "float32", width = 64, keyHeads = 4, mask, causal = false }: Heads): [string[], Lab, Tensor] {
  const l = lab();
  const query = l.leaf([2, 4, 64, width], dtype);
  const [key, value] = [l.leaf([2, keyHeads, 64, width], dtype), l.leaf([2, keyHeads, 64, width], dtype)];
  const bias = mask === undefined ? null : l.tensor([2, 1, 64, 64], mask === "bool" ? "bool" : dtype);
  let out = query;
  const made = l.made(() => {
    out = attention(l.torch, { query, key, value, mask: bias, dropout: 0, causal, groupedQuery: keyHeads !== 4 });
  });
  return [made, l, out];
}

const names = (made: readonly string[]): string[] => made.map((line) => line.split(" ")[0]!);

describe("which attention kernel runs", () => {
  it("flash for half precision without a mask", () => {
    const [made] = attend({ dtype: "bfloat16" });
    assert.deepEqual(
      made.map((line) => line.replace("_scaled_dot_product_flash_attention", "flash")),
      [`flash ${2 * 4 * 64 * 64 * 2}`, `flash ${2 * 4 * 64 * 4}`, "flash 512", "flash 512"],
    );
  });

  it("flash pads heads to a multiple of 8 and cuts the result", () => {
    const [made, , out] = attend({ dtype: "float16", width: 60 });
    assert.deepEqual(names(made).slice(0, 3), ["constant_pad_nd", "constant_pad_nd", "constant_pad_nd"]);
    assert.deepEqual(out.sizes, [2, 4, 64, 60]);
  });

  it("flash takes grouped queries, and heads up to 256", () => {
    assert.ok(names(attend({ dtype: "bfloat16", keyHeads: 2 })[0]).every((name) => name.includes("flash")));
    assert.ok(!names(attend({ dtype: "bfloat16", width: 264 })[0]).some((name) => name.includes("flash")));
  });

  it("memory-efficient for float32 and for masks", () => {
    assert.ok(names(attend({})[0]).every((name) => name.includes("efficient")));
    assert.ok(names(attend({ dtype: "bfloat16", mask: "additive" })[0]).some((name) => name.includes("efficient")));
  });

  it("makes a boolean mask additive and pads it to 16 columns only when needed", () => {
    assert.deepEqual(names(attend({ dtype: "bfloat16", mask: "bool" })[0]).slice(0, 2), ["zeros_like", "logical_not"]);
  });

  it("math for grouped queries in float32 and for unaligned heads", () => {
    assert.ok(names(attend({ keyHeads: 2 })[0]).includes("bmm"));
    assert.ok(names(attend({ width: 6 })[0]).includes("bmm"));
    assert.ok(names(attend({ width: 12 })[0]).every((name) => name.includes("efficient")));
  });

  it("math computes half precision in float32 and gives the result back in half", () => {
    const [made, , out] = attend({ dtype: "bfloat16", width: 12, mask: "bool" });
    assert.deepEqual(names(made), [
      ...["scalar_tensor", "scalar_tensor", "where"],
      ...["_to_copy", "_to_copy", "_to_copy", "mul", "mul", "bmm", "add", "_softmax", "_to_copy", "bmm", "_to_copy"],
    ]);
    assert.equal(out.dtype, "bfloat16");
    assert.ok(made.includes(`bmm ${2 * 4 * 64 * 64 * 4}`));
  });

  it("a causal math path makes its own mask", () => {
    assert.deepEqual(names(attend({ keyHeads: 2, causal: true })[0]).slice(1, 6), [
      ...["ones", "tril", "scalar_tensor", "scalar_tensor", "where"],
    ]);
  });
});

describe("attention's backward", () => {
  it("of flash makes the three gradients and nothing else", () => {
    const [, l, out] = attend({ dtype: "bfloat16", keyHeads: 2 });
    assert.deepEqual(
      l
        .made(() => l.differentiate(out))
        .slice(1)
        .map((line) => Number(line.split(" ")[1])),
      [2 * 4 * 64 * 64 * 2, 2 * 2 * 64 * 64 * 2, 2 * 2 * 64 * 64 * 2],
    );
  });

  it("keeps the log-sum-exp of the efficient kernel in rows of 32", () => {
    const l = lab();
    const heads = (): Tensor => l.leaf([1, 2, 33, 8]);
    const [query, key, value] = [heads(), heads(), heads()];
    const made = l.made(() =>
      attention(l.torch, { query, key, value, mask: null, dropout: 0, causal: true, groupedQuery: false }),
    );
    assert.equal(made[1], `_scaled_dot_product_efficient_attention ${rounded(2 * 64 * 4)}`);
  });

  it("the math path with three and with five dimensions, whose scores stand in memory", () => {
    for (const sizes of [
      [2, 64, 32],
      [2, 4, 3, 64, 32],
    ]) {
      const l = lab();
      const [query, key, value] = [l.leaf(sizes), l.leaf(sizes), l.leaf(sizes)];
      let out = query;
      const made = l.made(() => {
        out = attention(l.torch, { query, key, value, mask: null, dropout: 0, causal: true, groupedQuery: false });
      });
      assert.deepEqual(out.sizes, sizes);
      assert.ok(made.every((line) => !line.includes("efficient")));
      const scores = sizes.slice(0, -2).reduce((a, b) => a * b, 64 * 64 * 4);
      assert.ok(made.includes(`_softmax ${scores}`), made.join());
      assert.equal(
        made.find((line) => line.startsWith("tril")),
        `tril ${64 * 64}`,
      );
    }
  });
});

describe("losses", () => {
  it("cross-entropy keeps the log-probabilities and makes one gradient as large", () => {
    const { torch, leaf, tensor, made, differentiate, ledger } = lab();
    const logits = leaf([64, 1000]);
    const target = tensor([64], "int64");
    const before = ledger.live;
    const loss = crossEntropy(torch, logits, target, "mean", 0);
    assert.equal(ledger.live, before + 64 * 1000 * 4 + 2 * 512);
    assert.deepEqual(
      made(() => differentiate(loss)),
      ["ones_like 512", `nll_loss_backward ${64 * 1000 * 4}`, `_log_softmax_backward_data ${64 * 1000 * 4}`],
    );
    loss.release();
    assert.equal(ledger.live, before + 64 * 1000 * 4);
  });

  it("classes in the middle have labels that are a part of longer ones copied, and keep the copy", () => {
    const { torch, leaf, tensor, made } = lab();
    const labels = slice(torch, tensor([4, 1025], "int64"), 1, 1, 1025);
    const [logits, loss] = [leaf([4, 16, 1024]), "nll_loss2d_forward"];
    const of = made(() => crossEntropy(torch, logits, labels, "mean", 0)).slice(1);
    assert.deepEqual(of, [`clone ${4 * 1024 * 8}`, `${loss} 512`, `${loss} 512`]);
  });
});

describe("lookups", () => {
  it("an embedding's gradient is dense, in the weight's size", () => {
    const { torch, leaf, tensor, made, differentiate } = lab();
    const weight = leaf([1000, 64], "bfloat16");
    const out = embedding(torch, weight, tensor([2, 8], "int64"));
    assert.deepEqual(out.sizes, [2, 8, 64]);
    assert.deepEqual(
      made(() => differentiate(out)),
      ["ones_like 2048", "embedding_dense_backward 128000"],
    );
  });

  it("indexing writes its gradient into zeros", () => {
    const { torch, leaf, tensor, made, differentiate } = lab();
    const x = leaf([16, 256]);
    const out = gatherLike(torch, "index", x, [tensor([4], "int64")], [4, 256]);
    const ran = made(() => differentiate(out));
    assert.equal(ran[1], "new_zeros 16384");
  });
});

describe("convolution", () => {
  it("gives the output's sizes and the gradients that are needed", () => {
    const { torch, leaf, tensor, made, differentiate } = lab();
    const y = convolution(torch, tensor([2, 3, 32, 32]), leaf([8, 3, 4, 4]), leaf([8]), [
      [4, 4],
      [0, 0],
      [1, 1],
    ]);
    assert.deepEqual(y.sizes, [2, 8, 8, 8]);
    assert.deepEqual(made(() => differentiate(y)).slice(1), [
      `convolution_backward ${rounded(8 * 3 * 16 * 4)}`,
      "convolution_backward 512",
    ]);
    assert.deepEqual(
      convolution(torch, tensor([1, 1, 9, 9]), leaf([1, 1, 3, 3]), null, [
        [2, 2],
        [1, 1],
        [2, 2],
      ]).sizes,
      [1, 1, 4, 4],
    );
  });
});
