/** Writing into parts of tensors, complex numbers, and operators of routers and state-space models. */
import assert from "node:assert/strict";
import { type Argument, Arguments } from "../../../src/core/engine/ops/arguments";
import { add, mul, sum } from "../../../src/core/engine/ops/arithmetic";
import { polar, viewAsComplex, viewAsReal } from "../../../src/core/engine/ops/complex";
import { copyInto } from "../../../src/core/engine/ops/inplace";
import { slice } from "../../../src/core/engine/ops/layout";
import { dispatch } from "../../../src/core/engine/ops/table";
import type { Tensor } from "../../../src/core/engine/tensor";
import { type Lab, lab } from "./lab";

function run(l: Lab, operator: string, ...operands: Argument[]): Tensor[] {
  const result = dispatch(l.torch, operator, new Arguments(operands, {}));
  return result === null ? [] : Array.isArray(result) ? result : [result];
}

/** Two halves of a tensor written one after the other, as multi-head latent attention does; the bytes backward makes. */
function writeHalves(l: Lab): { whole: Tensor; backward: string[] } {
  const [first, second] = [l.leaf([64, 64]), l.leaf([64, 64])];
  const whole = l.tensor([64, 128]);
  for (const [source, start] of [
    [first, 0],
    [second, 64],
  ] as const) {
    const part = slice(l.torch, whole, 1, start, start + 64);
    copyInto(l.torch, part, source).release();
    part.release();
  }
  const out = add(l.torch, whole, 1);
  const backward = l.made(() => l.differentiate(out));
  return { whole, backward };
}

describe("writing into a part", () => {
  it("gives the owner of the storage a history and allocates nothing", () => {
    const l = lab();
    const source = l.leaf([64, 64]);
    const whole = l.tensor([64, 128]);
    const part = slice(l.torch, whole, 1, 0, 64);
    assert.deepEqual(
      l.made(() => copyInto(l.torch, part, source).release()),
      [],
    );
    assert.ok(whole.requiresGrad);
  });

  it("copies the whole gradient and clones the part, once per write", () => {
    const { backward } = writeHalves(lab());
    const [half, full] = [64 * 64 * 4, 64 * 128 * 4];
    assert.deepEqual(backward.slice(1), [
      `new_empty_strided ${full}`,
      `clone ${half}`,
      // The second write found a history in the part, which is cleared.
      `zeros_like ${half}`,
      `new_empty_strided ${full}`,
      `clone ${half}`,
    ]);
  });

  it("at positions: what was there gets a copy with zeros, the values what is picked", () => {
    const l = lab();
    const [x, values, index] = [l.leaf([64, 128]), l.leaf([4, 128]), l.tensor([4], "int64")];
    const [written] = run(l, "index_put_", mul(l.torch, x, 1), [index], values);
    const out = add(l.torch, written!, 1);
    const backward = l.made(() => l.differentiate(out));
    const [whole, rows] = [64 * 128 * 4, 4 * 128 * 4];
    assert.deepEqual(backward.slice(1, 4), [`new_zeros ${rows}`, `clone ${whole}`, `index ${rows}`]);
  });

  it("at positions of a view: its part is cloned and written, the whole copied", () => {
    const l = lab();
    const [x, index] = [l.leaf([64, 128]), l.tensor([0], "int64")];
    const whole = mul(l.torch, x, 1);
    const part = slice(l.torch, whole, 1, 0, 64);
    run(l, "index_put_", part, [index], 1)[0]!.release();
    part.release();
    const out = add(l.torch, whole, 1);
    const backward = l.made(() => l.differentiate(out));
    const [half, full] = [64 * 64 * 4, 64 * 128 * 4];
    assert.deepEqual(backward.slice(1, 4), [`new_empty_strided ${full}`, `clone ${half}`, `clone ${half}`]);
  });

  it("is seen by views made before, which look at the new history, and keep the whole for it", () => {
    const l = lab();
    const [first, second] = [l.leaf([64, 64]), l.leaf([64, 64])];
    const whole = l.tensor([64, 128]);
    const write = (of: Tensor, source: Tensor, start: number): void => {
      const part = slice(l.torch, of, 1, start, start + 64);
      copyInto(l.torch, part, source).release();
      part.release();
    };
    write(whole, first, 0);
    const view = slice(l.torch, whole, 0, 0, 64);
    whole.release();
    write(view, mul(l.torch, second, 1), 64);
    const out = mul(l.torch, view, 1);
    const backward = l.made(() => l.differentiate(out));
    assert.equal(backward.filter((made) => made.startsWith("as_strided_backward")).length, 1);
    assert.equal(backward.filter((made) => made.startsWith("new_empty_strided")).length, 2);
    assert.ok(second.grad !== null);
  });

  it("lets go of what was there before", () => {
    const l = lab();
    const { whole } = writeHalves(l);
    const before = l.live;
    whole.release();
    assert.ok(l.live < before);
  });
});

describe("complex numbers", () => {
  it("are views of pairs, and multiply by a conjugate that is a copy", () => {
    const l = lab();
    const x = l.leaf([8, 64, 16, 2]);
    const angles = l.tensor([64, 16]);
    const frequencies = polar(l.torch, angles, angles);
    let out = x;
    assert.deepEqual(
      l.made(() => {
        out = viewAsReal(l.torch, mul(l.torch, viewAsComplex(l.torch, x), frequencies));
      }),
      [`mul ${8 * 64 * 16 * 8}`],
    );
    assert.deepEqual(out.sizes, [8, 64, 16, 2]);
    assert.deepEqual(l.made(() => l.differentiate(out)).slice(1), [`clone ${64 * 16 * 8}`, `mul ${8 * 64 * 16 * 8}`]);
  });
});

describe("Fourier transforms", () => {
  it("convert to complex numbers, and hand back the real part of their gradient as a view", () => {
    const l = lab();
    const out = run(l, "real", run(l, "fft_fftn", l.leaf([8, 16, 64]))[0]!)[0]!;
    assert.deepEqual(out.strides, [2 * 16 * 64, 2 * 64, 2]);
    const bytes = 8 * 16 * 64 * 4;
    assert.deepEqual(l.made(() => l.differentiate(out)).slice(1), [
      `select_backward ${2 * bytes}`,
      `_fft_c2c ${2 * bytes}`,
      // The leaf's gradient is no view.
      `clone ${bytes}`,
    ]);
  });

  it("are refused in half precision", () => {
    const l = lab();
    assert.throws(() => run(l, "fft_fftn", l.leaf([8, 16, 64], "bfloat16")), {
      reason: { id: "engine.fourier", args: { dtype: "bfloat16" } },
    });
  });
});

describe("operators of routers", () => {
  it("topk writes its gradient into zeros", () => {
    const l = lab();
    const scores = l.leaf([64, 8]);
    const [values] = run(l, "topk", scores, 2);
    assert.deepEqual(l.made(() => l.differentiate(values!)).slice(1), [`zeros ${64 * 8 * 4}`, `scatter ${64 * 8 * 4}`]);
  });

  it("scatter_ hands what was written its gradient back", () => {
    const l = lab();
    const source = l.leaf([64, 2]);
    const [out] = run(l, "scatter_.src", l.tensor([64, 8]), 1, l.tensor([64, 2], "int64"), source);
    assert.deepEqual(l.made(() => l.differentiate(out!)).slice(1), ["gather 512"]);
    assert.ok(source.grad !== null);
  });

  it("floor has no gradient but zeros; log1p divides", () => {
    const l = lab();
    const x = l.leaf([256]);
    assert.deepEqual(l.made(() => l.differentiate(run(l, "floor", x)[0]!)).slice(2), ["zeros_like 1024"]);
    const y = l.leaf([256]);
    assert.deepEqual(l.made(() => l.differentiate(run(l, "log1p", y)[0]!)).slice(2), ["add 1024", "div 1024"]);
  });

  it("autocast_to copies where autocast is on only", () => {
    const l = lab();
    const x = l.tensor([256]);
    assert.deepEqual(
      l.made(() => run(l, "autocast_to", x)),
      [],
    );
    assert.deepEqual(
      l.autocast("bfloat16", () => l.made(() => run(l, "autocast_to", x))),
      ["_to_copy 512"],
    );
  });

  it("autocast_to of an operator's operand keeps what it makes of a weight", () => {
    const l = lab();
    const weight = l.leaf([256]);
    const once = (keywords: Record<string, Argument>): void => {
      dispatch(l.torch, "autocast_to", new Arguments([weight], keywords));
    };
    assert.deepEqual(
      l.autocast("bfloat16", () => l.made(() => [once({ cached: true }), once({ cached: true })])),
      ["_to_copy 512"],
    );
    assert.deepEqual(
      l.autocast("bfloat16", () => l.made(() => [once({}), once({})])),
      ["_to_copy 512", "_to_copy 512"],
    );
  });
});

describe("scaling in place", () => {
  it("saves what the tensor was where the other operand needs a gradient", () => {
    const l = lab();
    const [weights, total] = [l.leaf([64, 8]), l.leaf([64, 1])];
    const scaled = add(l.torch, weights, 1);
    for (const operator of ["div_.Tensor", "mul_.Tensor"])
      assert.deepEqual(
        l.made(() => run(l, operator, scaled, total)),
        ["clone 2048"],
      );
    assert.deepEqual(
      l.made(() => run(l, "mul_.Tensor", scaled, 2)),
      [],
    );
  });

  it("fills the gradient in a copy", () => {
    const l = lab();
    const x = add(l.torch, l.leaf([64, 8]), 1);
    const [out] = run(l, "masked_fill_.Scalar", x, l.tensor([64, 8], "bool"), 0);
    assert.deepEqual(l.made(() => l.differentiate(out!)).slice(1), ["masked_fill 2048"]);
  });

  it("clamp compares with each bound, and chooses between the gradient and a zero", () => {
    const l = lab();
    const [out] = run(l, "clamp", l.leaf([1024]), -1, 1);
    assert.deepEqual(l.made(() => l.differentiate(out!)).slice(1), [
      "scalar_tensor 512",
      "ge 1024",
      "le 1024",
      "where 4096",
    ]);
    const [half] = run(l, "clamp", l.leaf([1024]), 0);
    assert.deepEqual(l.made(() => l.differentiate(half!)).slice(1), ["scalar_tensor 512", "ge 1024", "where 4096"]);
  });
});

describe("gradients of routers", () => {
  it("gather scatters into zeros, and grouped products keep where groups end", () => {
    const l = lab();
    const scores = add(l.torch, l.leaf([64, 8]), 1);
    const [out] = run(l, "gather", scores, 1, l.tensor([64, 2], "int64"));
    const held = l.live;
    scores.release();
    assert.equal(l.live, held, "the input is saved");
    assert.deepEqual(l.made(() => l.differentiate(out!)).slice(1), ["new_zeros 2048", "scatter_add 2048"]);
    const ends = l.tensor([8], "int32");
    const before = l.live;
    const [rows] = run(l, "_grouped_mm", l.leaf([128, 16], "bfloat16"), l.leaf([8, 16, 16], "bfloat16"), ends);
    ends.release();
    assert.ok(l.live > before);
    rows!.release();
  });

  it("PhiMoE's multiplier scatters into a product of gates and gradient", () => {
    const l = lab();
    const scores = l.leaf([256, 8]);
    const experts = l.tensor([256, 1], "int64");
    const [out] = run(
      l,
      "phimoe_multiplier",
      scores,
      l.tensor([256, 1]),
      experts,
      l.tensor([256, 8]),
      l.tensor([256, 1]),
    );
    assert.deepEqual(l.made(() => l.differentiate(out!)).slice(1), ["mul 1024", "mul 1024", "mul 8192"]);
  });
});

describe("triangular systems", () => {
  it("are solved again in backward, whose matrix gradient passes through a product and its negative", () => {
    const l = lab();
    const [a, b] = [l.leaf([2, 64, 64]), l.leaf([2, 64, 16])];
    const [x] = run(l, "linalg_solve_triangular", a, b);
    assert.deepEqual(x!.strides, [1024, 1, 64]);
    assert.deepEqual(l.made(() => l.differentiate(x!)).slice(1, 5), [
      "linalg_solve_triangular 8192",
      "bmm 32768",
      "neg 32768",
      "tril 32768",
    ]);
  });
});

describe("sum under autocast", () => {
  it("gives float32 without copying its half-precision input", () => {
    const l = lab();
    const x = l.leaf([64, 256], "bfloat16");
    l.autocast("bfloat16", () => {
      assert.deepEqual(
        l.made(() => sum(l.torch, x, [1])),
        ["sum 512"],
      );
    });
  });
});

describe("rows put where an index says", () => {
  it("added: what was there keeps its gradient, the rows have theirs picked and are kept for it", () => {
    const l = lab();
    const [x, rows, index] = [l.leaf([64, 128]), l.leaf([4, 128]), l.tensor([4], "int64")];
    const source = mul(l.torch, rows, 2);
    const [written] = run(l, "index_add_", mul(l.torch, x, 1), 0, index, source);
    const { live } = l.torch.ledger;
    source.release();
    assert.equal(l.torch.ledger.live, live);
    const out = add(l.torch, written!, 1);
    const backward = l.made(() => l.differentiate(out));
    assert.equal(backward[1], `index_select ${4 * 128 * 4}`);
  });

  it("copied: what was there gets a copy of the gradient with zeros in their place", () => {
    const l = lab();
    const [x, rows, index] = [l.leaf([64, 128]), l.leaf([4, 128]), l.tensor([4], "int64")];
    const [written] = run(l, "index_copy_", mul(l.torch, x, 1), 0, index, mul(l.torch, rows, 2));
    const out = add(l.torch, written!, 1);
    const backward = l.made(() => l.differentiate(out));
    assert.deepEqual(backward.slice(1, 3), [`index_fill ${64 * 128 * 4}`, `index_select ${4 * 128 * 4}`]);
  });
});

describe("experts one by one", () => {
  it("have equal shares of the rows, the first ones one more", () => {
    const l = lab();
    const mask = l.tensor([2, 7], "int64");
    const shares = [0, 1, 2, 3].map((k) => run(l, "expert_rows", mask, 4, k).map((places) => places.sizes));
    assert.deepEqual(shares, [
      [[4], [4]],
      [[4], [4]],
      [[3], [3]],
      [[3], [3]],
    ]);
    assert.deepEqual(
      [0, 1, 2, 3].map((k) => run(l, "expert_slice", l.tensor([14, 5]), 4, k)[0]!.sizes),
      [4, 4, 3, 3].map((rows) => [rows, 5]),
    );
  });

  it("parts of a split have their gradients put together once", () => {
    const l = lab();
    const x = mul(l.torch, l.leaf([14, 128]), 1);
    const parts = [0, 1, 2].map((k) => run(l, "expert_part", x, 3, k)[0]!);
    const joined = parts.map((part) => run(l, "sum", part)[0]!).reduce((a, b) => add(l.torch, a, b));
    const backward = l.made(() => l.differentiate(joined));
    assert.equal(backward.filter((made) => made === `cat ${14 * 128 * 4}`).length, 1);
  });

  it("whole numbers divided with rounding stay whole", () => {
    const l = lab();
    const result = dispatch(
      l.torch,
      "div.Tensor_mode",
      new Arguments([l.tensor([8], "int64"), 2], { rounding_mode: "trunc" }),
    );
    assert.ok(result !== null && !Array.isArray(result));
    assert.equal(result.dtype, "int64");
  });

  it("places of a sort stay, its values go", () => {
    const l = lab();
    const [places] = run(l, "argsort", l.tensor([256], "int64"));
    assert.equal(places!.dtype, "int64");
    assert.equal(l.torch.ledger.live, 2 * 256 * 8);
  });
});
