/** EfficientNet, whose graph is written from its config, against PyTorch (`capture/truth/efficientnet_receipts.py`). */
import { strict as assert } from "node:assert";
import { efficientnetGraphs } from "../../src/core/networks/efficientnet";
import { simulate } from "../../src/core/simulate";
import { rowsOf } from "../rows";
import { runOf, type VerifiedCase } from "./verified-case";

describe("EfficientNet", () => {
  for (const { case: c, truth } of rowsOf<{ case: VerifiedCase; truth: number }>(__dirname, "efficientnet.jsonl")) {
    it(`${c.id} in ${c.dtype}`, () => {
      const graphs = efficientnetGraphs(c.model);
      assert.ok(graphs !== null);
      const result = simulate(runOf(c), graphs);
      assert.ok(result.ok);
      assert.equal(result.simulation.ledger.peak, truth);
    });
  }

  it("is not written from lists that make no network", () => {
    assert.equal(efficientnetGraphs({ strides: "two" }), null);
  });
});
