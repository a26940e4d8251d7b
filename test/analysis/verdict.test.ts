/** What the verdict is by where the device lies in the band. */
import { strict as assert } from "node:assert";
import { verdictOf } from "../../src/analysis/estimate/verdict";
import type { Estimate } from "../../src/core/report/estimate";

const estimate = { usedPeakBytes: 20, band: { lowBytes: 15, highBytes: 25, coverage: 0.99 } } as Estimate;

describe("analysis: the verdict", () => {
  it("is red only where even the low end of the band does not fit", () => {
    assert.equal(verdictOf(estimate, 14), "does-not-fit");
    assert.equal(verdictOf(estimate, 15), "tight");
    assert.equal(verdictOf(estimate, 24), "tight");
    assert.equal(verdictOf(estimate, 25), "fits");
  });

  it("is not known without an estimate or a device", () => {
    assert.equal(verdictOf(undefined, 14), "unknown");
    assert.equal(verdictOf(estimate, null), "unknown");
  });
});
