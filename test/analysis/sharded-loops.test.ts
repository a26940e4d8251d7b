/** Loops of one's own that shard their model by torch's `fully_shard`: receipts of `python -m capture.truth.sharded_loops`, which runs the scripts themselves. */
import assert from "node:assert/strict";
import { createAnalyzer } from "../../src/analysis";
import { rowsOf } from "../rows";
import { memoryRuntime, uri } from "./memory-runtime";

interface Row {
  readonly id: string;
  readonly script: string;
  readonly model: Readonly<Record<string, unknown>>;
  readonly world: number;
  readonly seq: number;
  readonly dtype: string;
  readonly allocated: number;
}

describe("loops that shard their model", () => {
  for (const { id, script, model, world, seq, dtype, allocated } of rowsOf<Row>(__dirname, "sharded-loops.jsonl"))
    it(`${id}: ${String(model["model_type"])} on ${world}`, async () => {
      const pins = `runs:\n  - match: "train.py"\n    sequence_length: ${seq}\n    device: { name: H200, count: ${world} }\n`;
      const files = {
        "train.py": script,
        "model/config.json": JSON.stringify({ ...model, torch_dtype: dtype }),
        ".vramlens.yaml": pins,
      };
      const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.py"), {})).runs;
      const said = run?.perDevice?.allocatedPeakBytes ?? 0;
      // Numbers of a loss that are a block each.
      assert.ok(
        Math.abs(said - allocated) <= allocated * 0.0005 + 4096,
        `${said} of ${allocated}: ${(100 * (said / allocated - 1)).toFixed(3)} % ${JSON.stringify(run?.assumptions.map((a) => a.id))}`,
      );
    });
});
