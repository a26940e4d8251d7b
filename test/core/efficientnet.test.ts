/** EfficientNet, whose graph is written from its config, against PyTorch (`capture/truth/efficientnet_receipts.py`). */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { efficientnetGraphs } from "../../src/core/networks/efficientnet";
import { simulate } from "../../src/core/simulate";
import { runOf, type VerifiedCase } from "./verified-case";

describe("EfficientNet", () => {
  const lines = readFileSync(join(__dirname, "efficientnet.jsonl"), "utf8").trim().split("\n");
  for (const { case: c, truth } of lines.map((line) => JSON.parse(line) as { case: VerifiedCase; truth: number })) {
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
