import assert from "node:assert/strict";
import { add, div, elementwise, mul, sub, sum } from "../../../src/core/engine/ops/arithmetic";
import { transpose } from "../../../src/core/engine/ops/layout";
import { bmmOperator, linear, matmul } from "../../../src/core/engine/ops/linear";
import { pow, powers, unary } from "../../../src/core/engine/ops/unary";
import { lab, turned } from "./lab";

describe("autograd", () => {
  it("saves only what the gradients that are needed need", () => {
    const { torch, leaf, tensor, ledger } = lab();
    const weight = leaf([256]);
    const x = tensor([4, 256]);
    const y = mul(torch, x, weight);
    x.release();
    // the weight's gradient needs x
    assert.equal(ledger.live, 1024 + 4096 + 4096);
    y.release();
    assert.equal(ledger.live, 1024);
    const frozen = tensor([256]);
    const z = leaf([4, 256]);
    const w = mul(torch, z, 2);
    frozen.release();
    w.release();
    assert.equal(ledger.live, 1024 + 4096);
  });

  it("records nothing without gradient mode or without an input that requires grad", () => {
    const { torch, leaf, tensor } = lab();
    assert.equal(mul(torch, tensor([4]), tensor([4])).node, null);
    torch.gradEnabled = false;
    assert.equal(mul(torch, leaf([4]), 2).node, null);
  });

  it("runs the latest node first and sums gradients where they meet", () => {
    const { torch, leaf, made, differentiate } = lab();
    const x = leaf([256]);
    const a = unary(torch, "exp", x);
    const b = unary(torch, "sin", x);
    const y = add(torch, a, b);
    a.release();
    b.release();
    assert.deepEqual(
      made(() => differentiate(y)),
      // sin's node is newer: its gradient comes first, exp's is added to it
      ["ones_like 1024", "cos 1024", "mul 1024", "mul 1024", "add 1024"],
    );
    assert.ok(x.grad);
  });

  it("sums a broadcast operand's gradient and casts it to the operand's dtype", () => {
    const { torch, leaf, tensor, made, differentiate } = lab();
    const bias = leaf([256], "bfloat16");
    const y = add(torch, tensor([8, 256]), bias);
    assert.equal(y.dtype, "float32");
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 8192", "sum 1024", "_to_copy 512"],
    );
    assert.equal(bias.grad?.dtype, "bfloat16");
  });

  it("takes the first gradient over when nobody else holds it, and adds later ones in place", () => {
    const { torch, leaf, made, differentiate, ledger } = lab();
    const x = leaf([256]);
    const first = mul(torch, x, 3);
    assert.deepEqual(
      made(() => differentiate(first)),
      ["ones_like 1024", "mul 1024"],
    );
    first.release();
    const live = ledger.live;
    const second = mul(torch, x, 3);
    differentiate(second);
    second.release();
    assert.equal(ledger.live, live);
  });

  it("copies a gradient that somebody else holds", () => {
    const { torch, leaf, made, differentiate } = lab();
    const x = leaf([256]);
    const y = add(torch, x, 1);
    // AddBackward passes the caller's own gradient on
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 1024", "clone 1024"],
    );
  });

  it("copies a gradient whose layout is not the parameter's", () => {
    const { torch, leaf, tensor, made, differentiate } = lab();
    const x = leaf([4, 256]);
    const other = turned(tensor([256, 4]));
    const y = transpose(torch, x, 0, 1);
    const z = mul(torch, y, transpose(torch, other, 0, 1));
    const made1 = made(() => differentiate(z));
    assert.equal(made1[made1.length - 1], "clone 4096");
  });

  it("frees what a node saved as soon as the node is done", () => {
    const { torch, leaf, tensor, differentiate, ledger } = lab();
    const x = leaf([1024]);
    const big = tensor([1024]);
    const y = mul(torch, x, big);
    big.release();
    const z = unary(torch, "exp", y);
    y.release();
    differentiate(z);
    z.release();
    // x and its gradient
    assert.equal(ledger.live, 2 * 4096);
  });

  it("walks a deep graph without recursion", () => {
    const { torch, leaf, differentiate, ledger } = lab();
    const x = leaf([4]);
    let y = mul(torch, x, 2);
    for (let k = 0; k < 20_000; k++) {
      const next = mul(torch, y, 2);
      y.release();
      y = next;
    }
    differentiate(y);
    y.release();
    assert.equal(ledger.live, 2 * 512);
  });
});

describe("derivatives", () => {
  const gradient = (build: (l: ReturnType<typeof lab>) => Parameters<ReturnType<typeof lab>["differentiate"]>[0]) => {
    const l = lab();
    const y = build(l);
    return l.made(() => l.differentiate(y)).slice(1);
  };

  it("of arithmetic", () => {
    assert.deepEqual(
      gradient((l) => div(l.torch, l.leaf([256]), l.leaf([256]))),
      ["neg 1024", "div 1024", "div 1024", "mul 1024", "div 1024"],
    );
    assert.deepEqual(
      gradient((l) => sub(l.torch, l.tensor([256]), l.leaf([256]))),
      ["neg 1024"],
    );
    assert.deepEqual(
      gradient((l) => pow(l.torch, l.leaf([256]), 2)),
      ["pow 1024", "mul 1024", "mul 1024"],
    );
    assert.deepEqual(
      gradient((l) => unary(l.torch, "rsqrt", l.leaf([256]))),
      ["mul 1024", "pow 1024", "mul 1024"],
    );
    assert.deepEqual(
      gradient((l) => unary(l.torch, "silu", l.leaf([256]))),
      ["silu_backward 1024"],
    );
  });

  it("of sum is a view, copied by the leaf that keeps it", () => {
    assert.deepEqual(
      gradient((l) => sum(l.torch, l.leaf([4, 256]), [1])),
      ["clone 4096"],
    );
  });

  it("of a linear layer: weight first, then input, and the weight's keeps its layout", () => {
    const l = lab();
    const [x, weight, bias] = [l.leaf([2, 8, 256]), l.leaf([128, 256]), l.leaf([128])];
    const y = linear(l.torch, x, weight, bias);
    assert.deepEqual(y.sizes, [2, 8, 128]);
    const made = l.made(() => l.differentiate(y));
    assert.deepEqual([...made].sort(), ["mm 131072", "mm 16384", "ones_like 8192", "sum 512"].sort());
    assert.deepEqual(weight.grad?.strides, [256, 1]);
  });

  it("of a frozen linear layer needs the weight, not the input", () => {
    const l = lab();
    const x = l.leaf([16, 256]);
    const scaled = mul(l.torch, x, 2);
    const weight = l.tensor([128, 256]);
    const y = linear(l.torch, scaled, weight, null);
    const live = l.live;
    scaled.release();
    assert.equal(l.live, live - 16 * 256 * 4);
    assert.deepEqual(
      l.made(() => l.differentiate(y)),
      ["ones_like 8192", "mm 16384", "mul 16384"],
    );
  });

  it("of batched products", () => {
    assert.deepEqual(
      gradient((l) => bmmOperator(l.torch, l.leaf([2, 8, 64]), l.leaf([2, 64, 16]))),
      ["bmm 8192", "bmm 4096"],
    );
  });
});

describe("factors of different dtypes", () => {
  it("are noted, as PyTorch refuses them; a batch of products goes on in the dtype of the second", () => {
    const { torch, tensor } = lab();
    assert.equal(bmmOperator(torch, tensor([2, 8, 64]), tensor([2, 64, 16])).dtype, "float32");
    assert.equal(torch.noticed.has("mixed-dtypes"), false);
    assert.equal(bmmOperator(torch, tensor([2, 8, 64]), tensor([2, 64, 16], "bfloat16")).dtype, "bfloat16");
    assert.equal(torch.noticed.has("mixed-dtypes"), true);
  });
});

describe("matmul", () => {
  it("folds leading dimensions into rows when the other factor is a matrix", () => {
    const { torch, tensor, made } = lab();
    assert.deepEqual(made(() => matmul(torch, tensor([2, 8, 64]), tensor([64, 16]))).slice(2), ["mm 1024"]);
  });

  it("copies expanded or turned factors of a batched product", () => {
    const { torch, tensor, made } = lab();
    const key = tensor([2, 8, 4, 64]);
    const heads = transpose(torch, key, 1, 2);
    const query = tensor([2, 4, 8, 64]);
    assert.deepEqual(
      made(() => matmul(torch, query, transpose(torch, heads, -1, -2)).release()),
      ["clone 16384", "bmm 2048"],
    );
  });
});

describe("elementwise results", () => {
  it("have the promoted dtype and the broadcast shape", () => {
    const { torch, tensor } = lab();
    const out = elementwise(torch, "mul", [tensor([3, 1], "float16"), tensor([4])]);
    assert.deepEqual([out.dtype, out.sizes], ["float32", [3, 4]]);
  });
});

describe("powers", () => {
  it("of one base by many exponents have the exponents' shape", () => {
    const { torch, tensor } = lab();
    const out = powers(torch, tensor([]), tensor([16], "int32"));
    assert.deepEqual([out.sizes, out.dtype], [[16], "float32"]);
  });
});
