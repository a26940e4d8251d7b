import assert from "node:assert/strict";
import type { DType } from "../../../src/core/engine/dtype";
import { add, mul } from "../../../src/core/engine/ops/arithmetic";
import type { Tensor } from "../../../src/core/engine/tensor";
import { findOptimizer } from "../../../src/core/training/optimizers";
import { type Lab, lab, rounded } from "../engine/lab";

const ROWS = 512;
const COLUMNS = 256;
const ELEMENTS = ROWS * COLUMNS;

interface Outcome {
  /** Bytes of states after the first step. */
  readonly states: number;
  /** Highest bytes above the steady state during the second step. */
  readonly transient: number;
}

/** Two steps over `count` matrices of 512 × 256 (linear weights) with gradients. */
function step(name: string, dtype: DType = "float32", args: Record<string, string> = {}, count = 1): Outcome {
  const l: Lab = lab();
  const parameters = Array.from({ length: count }, (_, k) => {
    const parameter = l.leaf([ROWS, COLUMNS], dtype);
    parameter.name = `model.layers.${k}.mlp.up_proj.weight`;
    parameter.moduleKind = "Linear";
    return parameter;
  });
  const base = l.live;
  const optimizer = findOptimizer(name)!(l.torch, [parameters], args);
  const gradients = (): void => {
    for (const parameter of parameters) parameter.grad = l.tensor(parameter.sizes, dtype);
  };
  const release = (): void => {
    for (const parameter of parameters) {
      parameter.grad?.release();
      parameter.grad = null;
    }
  };
  gradients();
  optimizer.step(l.torch);
  release();
  const states = l.live - base;
  gradients();
  const before = l.live;
  l.ledger.enter("optimizer", 2);
  optimizer.step(l.torch);
  const transient = l.ledger.phaseList[l.ledger.phaseList.length - 1]!.peak - before;
  release();
  assert.equal(l.live - base, states, "nothing is left behind");
  return { states, transient };
}

describe("optimizers", () => {
  it("are known by every name transformers has for a GPU", () => {
    const names = [
      ...[
        "adamw_torch",
        "adamw_torch_fused",
        "adafactor",
        "adamw_anyprecision",
        "adamw_torch_4bit",
        "adamw_torch_8bit",
      ],
      ...["ademamix", "sgd", "adagrad", "adamw_bnb_8bit", "adamw_8bit", "ademamix_8bit", "lion_8bit", "lion_32bit"],
      ...["paged_adamw_32bit", "paged_adamw_8bit", "paged_ademamix_32bit", "paged_ademamix_8bit", "paged_lion_32bit"],
      ...["paged_lion_8bit", "rmsprop", "rmsprop_bnb", "rmsprop_bnb_8bit", "rmsprop_bnb_32bit", "galore_adamw"],
      ...["galore_adamw_8bit", "galore_adafactor", "galore_adamw_layerwise", "galore_adamw_8bit_layerwise"],
      ...["galore_adafactor_layerwise", "lomo", "adalomo", "grokadamw", "schedule_free_radam", "schedule_free_adamw"],
      ...["schedule_free_sgd", "apollo_adamw", "apollo_adamw_layerwise", "stable_adamw"],
    ];
    assert.deepEqual(
      names.filter((name) => findOptimizer(name) === undefined),
      [],
    );
    assert.equal(findOptimizer("toString"), undefined);
  });

  it("of torch keep states in the parameter's dtype", () => {
    assert.equal(step("adamw_torch").states, 8 * ELEMENTS);
    assert.equal(step("adamw_torch", "bfloat16").states, 4 * ELEMENTS);
    assert.equal(step("adamw_torch", "float32", { amsgrad: "true" }).states, 12 * ELEMENTS);
    assert.equal(step("adamw_torch_fused").states, 8 * ELEMENTS + 512);
    assert.equal(step("sgd").states, 0);
    assert.equal(step("sgd", "float32", { momentum: "0.9" }).states, 4 * ELEMENTS);
    assert.equal(step("rmsprop").states, 4 * ELEMENTS);
    assert.equal(step("rmsprop", "float32", { momentum: "0.9", centered: "true" }).states, 12 * ELEMENTS);
    assert.equal(step("adagrad").states, 4 * ELEMENTS);
  });

  it("of torch differ in the temporaries of a step", () => {
    // foreach: one list as large as the parameters; for-loop: two tensors and the last one's; fused: none
    assert.equal(step("adamw_torch", "float32", {}, 4).transient, 4 * 4 * ELEMENTS);
    assert.equal(step("adamw_for_loop", "float32", {}, 4).transient, 3 * 4 * ELEMENTS);
    assert.equal(step("adamw_torch_fused", "float32", {}, 4).transient, 0);
    // torch 2.0 adds epsilon to a list of its own
    assert.equal(step("adamw_torch", "float32", { denominator_apart: "True" }, 4).transient, 2 * 4 * 4 * ELEMENTS);
  });

  it("of bitsandbytes keep bytes per block of 256, and float32 below 4096 elements", () => {
    assert.equal(step("adamw_bnb_8bit").states, 2 * (ELEMENTS + (ELEMENTS / 256) * 4 + 1024));
    assert.equal(step("adamw_bnb_8bit", "bfloat16").states, step("adamw_bnb_8bit").states);
    assert.equal(step("lion_8bit").states, ELEMENTS + (ELEMENTS / 256) * 4 + 1024);
    assert.equal(step("ademamix").states, 12 * ELEMENTS);
  });

  it("of torchao keep codes, scales and a table", () => {
    assert.equal(step("adamw_torch_8bit").states, 2 * (ELEMENTS + (ELEMENTS / 256) * 4 + 1024));
    assert.equal(step("adamw_torch_4bit").states, 2 * (ELEMENTS / 2 + (ELEMENTS / 256) * 4 + 512));
  });

  it("any precision: dtypes of the moments as asked", () => {
    assert.equal(step("adamw_anyprecision", "bfloat16").states, 8 * ELEMENTS);
    const args = { momentum_dtype: "bfloat16", variance_dtype: "bfloat16", use_kahan_summation: "True" };
    assert.equal(step("adamw_anyprecision", "bfloat16", args).states, 6 * ELEMENTS);
  });

  it("schedule-free: z and a second moment, or z alone", () => {
    assert.equal(step("schedule_free_adamw").states, 8 * ELEMENTS);
    assert.equal(step("schedule_free_adamw", "float32", {}, 3).transient, 3 * 4 * ELEMENTS);
    assert.equal(step("schedule_free_sgd").states, 4 * ELEMENTS);
    assert.equal(step("schedule_free_sgd").transient, 0);
  });

  it("transformers' own AdamW: two moments, and one root of one parameter at a time", () => {
    assert.deepEqual(step("adamw_hf", "float32", {}, 3), { states: 3 * 8 * ELEMENTS, transient: 2 * 4 * ELEMENTS });
    assert.deepEqual(step("adamw_hf"), { states: 8 * ELEMENTS, transient: 4 * ELEMENTS });
  });

  it("stable AdamW compensates half precision", () => {
    assert.equal(step("stable_adamw").states, 8 * ELEMENTS + 3 * 512);
    assert.equal(step("stable_adamw", "bfloat16").states, 6 * ELEMENTS + 2 * 512);
    assert.equal(step("stable_adamw").transient, 0);
  });

  it("GrokAdamW keeps its states on the host", () => {
    assert.equal(step("grokadamw").states, 0);
    assert.ok(step("grokadamw").transient >= 4 * 4 * ELEMENTS);
  });

  it("Adafactor keeps a row and a column", () => {
    assert.ok(step("adafactor").states <= 4 * (ROWS + COLUMNS) + 3 * 512);
    assert.ok(step("adafactor", "bfloat16").transient > step("adafactor").transient);
  });

  it("GaLore keeps low-rank moments, and in float32 the whole singular factor", () => {
    const rank = { rank: "32" };
    assert.equal(step("galore_adamw", "bfloat16", rank).states, 2 * (32 * COLUMNS + 2 * 32 * ROWS));
    assert.equal(step("galore_adamw", "float32", rank).states, 4 * (COLUMNS * COLUMNS + 2 * 32 * ROWS));
    assert.equal(
      step("galore_adamw_8bit", "bfloat16", rank).states,
      2 * 32 * COLUMNS + 2 * (32 * ROWS + rounded((32 * ROWS * 4) / 256)) + 2 * 1024,
    );
    assert.equal(step("galore_adamw", "float32", { optim_target_modules: "attn" }).states, 8 * ELEMENTS);
  });

  it("APOLLO draws its projection", () => {
    assert.equal(step("apollo_adamw", "float32", { rank: "32" }).states, 4 * (32 * COLUMNS + 2 * 32 * ROWS) + 512);
    // the scaled gradient, twice while it is limited
    assert.ok(step("apollo_adamw", "float32", { rank: "32" }).transient >= 8 * ELEMENTS);
  });
});

describe("L-BFGS", () => {
  const vector = ROWS * COLUMNS * 4;
  const scalar = 512;

  it("remembers two vectors a pair, the direction and the gradient before", () => {
    const { states, transient } = step("lbfgs", "float32", { history_size: "3", max_iter: "1" });
    assert.equal(states, (2 * 3 + 2) * vector + 2 * 3 * scalar);
    // The gradient, a pair that is not remembered, `q`, the new direction (torch/optim/lbfgs.py, step).
    assert.equal(transient, 5 * vector);
  });

  it("names what it has made while the pass runs again inside of a step, and a line search five gradients more", () => {
    const beside = (args: Record<string, string>): number => {
      const l = lab();
      const parameter = l.leaf([ROWS, COLUMNS], "float32");
      const before = l.live;
      findOptimizer("lbfgs")!(l.torch, [[parameter]], { history_size: "3", ...args }).step(l.torch);
      return (l.live - before - 2 * 3 * scalar) / vector - (2 * 3 + 2);
    };
    assert.equal(beside({ max_iter: "1" }), 0);
    assert.equal(beside({}), 5);
    assert.equal(beside({ line_search_fn: "strong_wolfe" }), 5 + 1 + 5);
  });
});

describe("updates in backward", () => {
  /** Differentiates a sum of three scaled matrices with the optimizer's hook in place; the gradients' highest bytes. */
  function backwardWith(name: string): { peak: number; left: number; states: number } {
    const l = lab();
    const parameters = [0, 1, 2].map((k) => {
      const leaf = l.leaf([ROWS, COLUMNS], "bfloat16");
      leaf.name = `layers.${k}.proj.weight`;
      leaf.moduleKind = "Linear";
      return leaf;
    });
    const base = l.live;
    const optimizer = findOptimizer(name)!(l.torch, [parameters], { rank: "32" });
    const states = l.live - base;
    l.torch.leafHook = (leaf, torch) => optimizer.afterAccumulate?.(leaf, torch);
    let sum: Tensor = mul(l.torch, parameters[0]!, 2);
    for (const parameter of parameters.slice(1)) {
      const scaled = mul(l.torch, parameter, 2);
      const next = add(l.torch, sum, scaled);
      scaled.release();
      sum.release();
      sum = next;
    }
    const before = l.live;
    l.ledger.enter("backward", 1);
    l.differentiate(sum);
    optimizer.afterBackward?.(l.torch);
    const { peak } = l.ledger.phaseList[l.ledger.phaseList.length - 1]!;
    const left = l.live - before;
    assert.ok(parameters.every(({ grad }) => grad === null));
    optimizer.step(l.torch);
    return { peak: peak - before, left, states };
  }

  it("LOMO leaves no gradient and keeps no state", () => {
    const { left, states } = backwardWith("lomo");
    assert.equal(left, 0);
    assert.equal(states, 0);
  });

  it("AdaLomo keeps a row and a column per matrix", () => {
    const { left, states } = backwardWith("adalomo");
    assert.equal(left, 0);
    assert.equal(states, 3 * (rounded(4 * ROWS) + rounded(4 * COLUMNS)));
  });

  it("layer-wise GaLore and APOLLO free each gradient at once", () => {
    for (const name of ["galore_adamw_layerwise", "galore_adafactor_layerwise", "apollo_adamw_layerwise"])
      assert.equal(backwardWith(name).left, 0, name);
  });
});
