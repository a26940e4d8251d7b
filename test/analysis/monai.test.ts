/**
 * MONAI's networks and losses against PyTorch: scripts whose peaks `capture/truth/monai_receipts.py` took from MONAI's own modules on fake
 * CUDA tensors. Peaks are equal to the byte.
 */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { rowsOf } from "../rows";
import { memoryRuntime, uri } from "./memory-runtime";

interface Row {
  readonly id: string;
  readonly script: string;
  /** `torch.cuda.max_memory_allocated` in bytes. */
  readonly allocated: number;
}

async function runOf(script: string) {
  const [run] = (await createAnalyzer(memoryRuntime({ "train.py": script })).analyse(uri("train.py"), {})).runs;
  assert.ok(run);
  return run;
}

describe("analysis: MONAI's networks", () => {
  const rows = rowsOf<Row>(__dirname, "monai.jsonl");
  for (const { id, script, allocated } of rows) {
    it(id, async () => {
      const run = await runOf(script);
      assert.equal(run.perDevice?.allocatedPeakBytes, allocated);
    });
  }
});
