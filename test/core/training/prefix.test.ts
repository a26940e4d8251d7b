/** Prefix tuning: what its attention needs. The bytes are those of receipts (`ways/adapters`). */
import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import type { TrainingRun } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun, loraSpec } from "../runs";

const peakOf = (change: Partial<TrainingRun>): number => {
  const adapter = loraSpec({ type: "prefix-tuning", targetModules: [], virtualTokens: 16 });
  const result = simulate(causalRun({ adapter, autocast: "bfloat16", ...change }), graphsOf("llama"));
  assert.ok(result.ok);
  return result.simulation.ledger.peak;
};

describe("prefix tuning", () => {
  it("builds a mask unless the kernel takes causality as an argument", () => {
    assert.ok(peakOf({ sequenceLength: 512 }) > peakOf({ sequenceLength: 512, attention: "flash_attention_2" }));
  });

  it("counts as part of the sequence where attention is not fused, and its gradient comes through all layers", () => {
    const adapter = loraSpec({ type: "prefix-tuning", targetModules: [], virtualTokens: 16 });
    const run = causalRun({ adapter, autocast: "bfloat16", attention: "eager" });
    const result = simulate(run, graphsOf("llama"));
    assert.ok(result.ok);
    const { ledger } = result.simulation;
    assert.equal(ledger.phaseList[ledger.peakPhase]?.phase, "backward");
  });
});
