/** Liger's kernels as graph rewrites: what is fused, and what it saves. */
import { strict as assert } from "node:assert";
import { withLiger } from "../../src/core/graph/liger";
import { simulate } from "../../src/core/simulate";
import { headOf } from "../../src/core/simulation/program";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const llama = graphsOf("llama");

describe("liger kernels", () => {
  const graph = llama.graphs.find(({ task, attention }) => task === "causal-lm" && attention === "sdpa")!;
  const fused = withLiger(graph, headOf(graph), { loss: true, norms: true, gates: true });
  const operators = (body: readonly object[]): string[] =>
    body.flatMap((step) => ("op" in step ? [String(step.op)] : []));

  it("puts one operator in place of head, float copy and cross-entropy", () => {
    const names = operators(fused.main.body);
    assert.ok(names.includes("liger_fused_linear_cross_entropy"));
    assert.ok(!names.includes("cross_entropy_loss"));
    assert.ok(!fused.main.body.some((step) => "call" in step && step.path === "lm_head"));
    assert.equal(fused.main.outputs.length, 1, "no logits come out");
  });

  it("fuses both norms and the gate of a layer", () => {
    const names = operators(fused.blocks[0]!.body);
    assert.equal(names.filter((name) => name === "liger_rms_norm").length, 2);
    assert.equal(names.filter((name) => name === "liger_gated_product").length, 1);
    assert.ok(!names.includes("rsqrt"));
  });

  it("can fuse the loss alone, as TRL's chunked loss does", () => {
    const loss = withLiger(graph, headOf(graph), { loss: true, norms: false, gates: false });
    assert.ok(operators(loss.main.body).includes("liger_fused_linear_cross_entropy"));
    assert.ok(!operators(loss.blocks[0]!.body).includes("liger_rms_norm"));
  });

  it("cuts its loss into four pieces, or a multiple, where the logits of one would be too large", () => {
    const logits = 4 * 64 * 1000 * 4;
    const size = (fusedPieceBytes: number): number => {
      const result = simulate(causalRun({ fusedLoss: true, fusedLayers: false, fusedPieceBytes }), llama);
      assert.ok(result.ok);
      return result.simulation.ledger.peak;
    };
    assert.ok(size(logits) - size(logits - 1) >= 0.7 * logits, "one piece, then four");
    assert.equal(size(logits / 2), size(logits / 4), "four pieces");
    assert.ok(size(logits / 4) > size(logits / 4 - 1), "eight");
  });

  it("saves the logits and what norms and gates kept, and leaks nothing", () => {
    const plain = simulate(causalRun({}), llama);
    const liger = simulate(causalRun({ fusedLoss: true }), llama);
    assert.ok(plain.ok && liger.ok);
    const logits = 4 * 64 * 1000 * 4;
    assert.ok(plain.simulation.ledger.peak - liger.simulation.ledger.peak > 2 * logits);
    assert.equal(liger.simulation.ledger.live, plain.simulation.ledger.live);
  });
});
