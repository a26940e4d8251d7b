/** Ranks of DeepSpeed's own engine (`capture/truth/deepspeed.py`): allocated peaks agree within a few KiB. */
import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import { rowsOf } from "../../rows";
import { graphsOf } from "../receipts/case";
import { runOf, type ZeroCase } from "./case";

interface Receipt {
  readonly case: ZeroCase;
  readonly peak: number;
  /** … while its weights are put together for a checkpoint. */
  readonly saving?: number;
}

/** Scalars that no rule counts (norms, counters, the loss divided by the steps it is accumulated over), in bytes. */
const SCALARS = 64 * 1024;

/** Stages with what a trainer sets; DeepSpeed's other options (`capture/truth/deepspeed_options.py`); other families (`deepspeed_families.py`). */
const receipts = ["receipts.jsonl", "options.jsonl", "saved.jsonl", "near.jsonl", "families.jsonl"].flatMap((name) =>
  rowsOf<Receipt>(__dirname, name),
);

describe("frozen weights that are gathered to recompute layers, with 0.19.8 and 0.19.2", () => {
  for (const { case: c, peak } of rowsOf<Receipt>(__dirname, "recomputed.jsonl"))
    it(c.id, () => {
      const result = simulate(runOf(c), graphsOf(c.model.model_type));
      assert.ok(result.ok);
      const off = result.simulation.ledger.peak / peak - 1;
      assert.ok(Math.abs(off) < 0.003, `${c.id}: ${off}`);
    });
});

describe("ranks of DeepSpeed's own engine", () => {
  for (const { case: c, peak, saving } of receipts) {
    const { world, precision, config } = c.zero;
    it(`${c.id}: stage ${config["stage"]} on ${world} in ${precision}`, () => {
      const result = simulate(runOf(c), graphsOf(c.model.model_type));
      assert.ok(result.ok);
      const { peak: own, phaseList } = result.simulation.ledger;
      const saved = phaseList.find(({ phase }) => phase === "saving")?.peak;
      if (saving !== undefined) assert.ok(Math.abs((saved ?? 0) - saving) <= SCALARS, `${saved} of ${saving}`);
      assert.ok(
        Math.abs(own - peak) <= SCALARS + peak / 500,
        `${own} of ${peak}: ${(100 * (own / peak - 1)).toFixed(2)} %`,
      );
    });
  }

  it("lets go of what a recomputation gathered where the release did (before 0.19.3)", () => {
    const [{ case: c } = receipts[0]!] = rowsOf<Receipt>(__dirname, "near.jsonl");
    const run = runOf(c);
    const deepspeed = { ...run.parallel.deepspeed!, releasesRecomputed: true } as const;
    const older = simulate({ ...run, parallel: { ...run.parallel, deepspeed } }, graphsOf(c.model.model_type));
    const newer = simulate(run, graphsOf(c.model.model_type));
    assert.ok(older.ok && newer.ok);
    // Fourteen layers in half precision.
    const layers = 14 * (4 * 1024 ** 2 + 3 * 1024 * 4096) * 2;
    const kept = newer.simulation.ledger.peak - older.simulation.ledger.peak;
    assert.ok(kept > 0.7 * layers && kept <= layers, String(kept));
  });
});
