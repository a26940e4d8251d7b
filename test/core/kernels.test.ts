/** Where a package of fused kernels is missing, the estimate says so and its lower bound allows for it. */
import assert from "node:assert/strict";
import { estimate } from "../../src/core/estimate";
import { english } from "../english";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

describe("missing kernels", () => {
  it("are an assumption, and the band reaches down by what their modules hold", () => {
    const graphs = graphsOf("llama");
    const plain = estimate(causalRun({}), graphs);
    const slow = estimate(causalRun({}), { ...graphs, kernels: { packages: ["fused"], module: "self_attn" } });
    assert.ok(plain.ok && slow.ok);
    const [assumption] = slow.estimate.assumptions;
    assert.match(english(assumption!.what), /fused/);
    assert.equal(slow.estimate.band.lowBytes, plain.estimate.band.lowBytes - assumption!.effectBytes);
    assert.ok(assumption!.effectBytes > 0);
    assert.equal(slow.estimate.allocatedPeakBytes, plain.estimate.allocatedPeakBytes);
  });
});
