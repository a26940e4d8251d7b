/** What torchtitan's selective checkpointing keeps (`torchtitan/distributed/activation_checkpoint.py`). */
import { strict as assert } from "node:assert";
import { simulate } from "../../../src/core/simulate";
import type { TrainingRun } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";

/** Bytes at the peak. */
function peak(change: Partial<TrainingRun>): number {
  const result = simulate(causalRun({ autocast: "bfloat16", ...change }), graphsOf("llama"));
  assert.ok(result.ok);
  return result.simulation.ledger.peak;
}

const FLOAT8 = { backend: "torchao", recipe: "tensorwise", keeps: "head", cachesWeights: false } as const;

describe("selective checkpointing", () => {
  it("keeps products in 8 bits as it keeps others", () => {
    const sizes = { microBatchSize: 4, sequenceLength: 512 } as const;
    const kept = (change: Partial<TrainingRun>): number =>
      peak({ ...sizes, ...change, checkpointing: { useReentrant: false, selective: { recomputes: [] } } }) -
      peak({ ...sizes, ...change, checkpointing: { useReentrant: false } });
    const [usual, eight] = [kept({}), kept({ float8: FLOAT8 })];
    assert.ok(usual > 0);
    assert.ok(Math.abs(eight / usual - 1) < 0.1, `${usual} and ${eight}`);
  });
});
