import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";

function resident(prunedWeights?: readonly string[]): number {
  const result = simulate(causalRun(prunedWeights === undefined ? {} : { prunedWeights }), graphsOf("llama"));
  assert.ok(result.ok);
  return result.simulation.ledger.phaseList[0]!.peak;
}

const LAYERS = 12;

describe("pruned weights", () => {
  it("stay dense, and have a mask of a byte per element where they are named", () => {
    const dense = resident();
    assert.equal(resident(["re:.*q_proj.weight"]) - dense, LAYERS * 64 * 64);
    assert.equal(resident(["re:.*q_proj.weight", "re:.*down_proj.weight"]) - dense, LAYERS * (64 * 64 + 64 * 176));
    const linear = LAYERS * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 176);
    assert.equal(resident(["__ALL_PRUNABLE__"]) - dense, linear + 1000 * 64);
    assert.equal(resident(["re:("]) - dense, 0);
  });
});
