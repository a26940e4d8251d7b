/** `torch.compile`: the partitioner decides what is kept; the band says between what. */
import assert from "node:assert/strict";
import { estimate } from "../../src/core/estimate";
import type { Estimate } from "../../src/core/report/estimate";
import type { TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

function of(change: Partial<TrainingRun>): Estimate {
  const result = estimate(causalRun(change), graphsOf("llama"), "peaks");
  assert.ok(result.ok);
  return result.estimate;
}

describe("compiled models", () => {
  const eager = of({});
  const compiled = of({ compiled: true });
  const checkpointed = of({ checkpointing: { useReentrant: false } });

  it("peak as eager ones, the band reaching down to checkpointing", () => {
    assert.equal(compiled.allocatedPeakBytes, eager.allocatedPeakBytes);
    assert.equal(compiled.band.highBytes, eager.band.highBytes);
    const saved = eager.allocatedPeakBytes - checkpointed.allocatedPeakBytes;
    assert.ok(saved > 0);
    assert.equal(compiled.band.lowBytes, eager.band.lowBytes - saved);
  });

  it("keep the band of checkpointing where that is on", () => {
    const both = of({ compiled: true, checkpointing: { useReentrant: false } });
    assert.deepEqual(both.band, checkpointed.band);
  });
});
