/** State-space layers as `mamba_ssm` runs them (`src/core/graph/state-space.ts`, `engine/ops/state-space.ts`). */
import assert from "node:assert/strict";
import { withCalledProjections } from "../../src/core/graph/packed-projections";
import { stateSpaceProducts, withStateSpaceKernels } from "../../src/core/graph/state-space";
import type { Instruction } from "../../src/core/graph/types";
import { simulate } from "../../src/core/simulate";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const FUSED = "mamba_split_conv1d_scan_combined";
const CONFIG = {
  model_type: "mamba2",
  hidden_size: 64,
  num_heads: 8,
  head_dim: 16,
  expand: 2,
  n_groups: 2,
  state_size: 16,
  chunk_size: 16,
  conv_kernel: 4,
  num_hidden_layers: 4,
  vocab_size: 500,
  use_conv_bias: true,
  use_bias: false,
  tie_word_embeddings: false,
  hidden_act: "silu",
};

const MAMBA = {
  model_type: "mamba",
  hidden_size: 64,
  intermediate_size: 128,
  state_size: 8,
  num_hidden_layers: 2,
  vocab_size: 500,
  expand: 2,
  conv_kernel: 4,
  time_step_rank: 4,
};

function peakOf(stateSpaceKernels: boolean, layers: number): number {
  const model = {
    name: "tiny",
    family: "mamba2",
    source: "config.json",
    config: { ...CONFIG, num_hidden_layers: layers },
  } as const;
  const run = causalRun({ model, attention: "eager", loadDtype: "float32", stateSpaceKernels });
  const simulated = simulate(run, graphsOf("mamba2"));
  assert.ok(simulated.ok);
  const [forward] = simulated.simulation.ledger.phaseList.filter(
    ({ phase, step }) => phase === "forward" && step === 2,
  );
  assert.ok(forward);
  return forward.peak;
}

const called = (body: readonly Instruction[], op: string): number =>
  body.filter((one) => "op" in one && one.op.startsWith(op)).length;

describe("state-space layers", () => {
  for (const family of ["mamba2", "bamba", "falcon_h1", "granitemoehybrid", "nemotron_h", "zamba2"])
    it(`of ${family} are one function each, and nothing of the written-out scan stays`, () => {
      const [graph] = graphsOf(family).graphs;
      assert.ok(graph && stateSpaceProducts(graph).length > 0);
      const blocks = withStateSpaceKernels(graph).blocks.filter(({ body }) => called(body, FUSED) > 0);
      assert.ok(blocks.length > 0);
      for (const { body } of blocks) assert.equal(called(body, "softplus") + called(body, "conv1d"), 0);
    });

  for (const family of ["mamba", "falcon_mamba"])
    it(`of ${family} are the function of Mamba 1, whose scan has a product more`, () => {
      const [graph] = graphsOf(family).graphs;
      assert.ok(graph && stateSpaceProducts(graph).length > 0);
      const blocks = withStateSpaceKernels(graph).blocks.filter(({ body }) => called(body, "mamba_inner") > 0);
      assert.ok(blocks.length > 0);
      for (const { body } of blocks) {
        assert.equal(called(body, "softplus") + called(body, "conv1d"), 0);
        assert.ok(!body.some((one) => "repeat" in one));
      }
    });

  it("of Jamba, which calls convolution and scan one by one, are left as they are", () => {
    for (const family of ["jamba", "llama"]) assert.deepEqual(graphsOf(family).graphs.flatMap(stateSpaceProducts), []);
  });

  it("of a quantized model call the projection of the time steps where the code has a branch for it, and have no estimate where it has none", () => {
    for (const family of ["jamba", "falcon_mamba"]) {
      const [graph] = graphsOf(family).graphs;
      assert.ok(graph);
      const bodies = withCalledProjections(graph).blocks.map(({ body }) => body);
      const whole = bodies
        .flat()
        .filter((one) => "op" in one && one.op === "matmul" && /dt_proj/.test(String(one.in[0])));
      const made = bodies.flat().filter((one) => "call" in one && one.path.endsWith(".dt_proj"));
      assert.deepEqual([whole.length, made.length > 0], [0, true], family);
    }
    const model = { name: "tiny", family: "mamba", source: "config.json", config: MAMBA } as const;
    const quantization = { type: "nf4", double: true, prepareForKbit: false, computeDtype: "bfloat16" } as const;
    const run = causalRun({ model, attention: "eager", quantization, loadDtype: "bfloat16" });
    const plain = causalRun({ model, attention: "eager", loadDtype: "bfloat16" });
    assert.ok(simulate(plain, graphsOf("mamba")).ok);
    assert.throws(() => simulate(run, graphsOf("mamba")));
  });

  it("keep the first product, the scan's result and a number a row, besides the norm's and what follows", () => {
    const [one, two] = [peakOf(true, 4), peakOf(true, 5)];
    const rows = 4 * 64;
    const [inner, convolved, heads] = [128, 128 + 2 * 2 * 16, 8];
    // The product, the scan; the norm before reads the states and keeps three tensors of their width at most.
    const kept = rows * (inner + convolved + heads + inner + 2) * 4;
    const weights = 64 * (inner + convolved + heads + inner) * 4 + 8192;
    const more = two - one;
    assert.ok(
      more >= kept + 3 * weights && more <= kept + 4 * weights + 5 * rows * 64 * 4,
      `${more} of ${kept}, ${weights}`,
    );
    assert.ok(peakOf(false, 4) > 2 * one);
  });
});
