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

/** Stages with what a trainer sets; DeepSpeed's other options (`capture/truth/deepspeed_options.py`). */
const receipts = ["receipts.jsonl", "options.jsonl", "saved.jsonl"].flatMap((name) => rowsOf<Receipt>(__dirname, name));

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
});
