/** LoRA's factors made from the weights against peft itself (`capture/truth/adapter_initialization.py`). */
import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import { graphsOf, receiptsOf, runOf } from "../receipts/case";

describe("factors made from the weights", () => {
  const receipts = receiptsOf("ways/initializations");

  it("needs what peft holds while it takes each weight apart", () => {
    const wrong = receipts.flatMap(({ case: c, result }) => {
      const run = runOf(c);
      if (run.adapter?.initialization === undefined) return [];
      const simulated = simulate(run, graphsOf(run.model.family));
      assert.ok(simulated.ok, c.id);
      const loading = simulated.simulation.loading();
      const expected = result.phase_peaks["load"];
      // A base that is packed while it is loaded needs more before.
      const peak = Math.max(...(loading?.phaseList ?? []).map(({ peak }) => peak));
      return peak === expected ? [] : [`${c.id}: ${peak} instead of ${expected}`];
    });
    assert.deepEqual(wrong, []);
  });
});
