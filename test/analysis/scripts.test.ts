/**
 * Scripts as people write them against the real Trainer: each was run unmodified, with its models, optimizer and loss on fake CUDA
 * tensors whose storages were followed, by the newest releases. Allocated peaks agree within a ten-thousandth: what is left are
 * numbers that the host counts (`num_items_in_batch`).
 */
import { strict as assert } from "node:assert";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { rowsOf } from "../rows";
import { memoryRuntime, uri } from "./memory-runtime";

interface RunScript {
  readonly id: string;
  readonly script: string;
  /** Files of the workspace that it imports. */
  readonly files?: Readonly<Record<string, string>>;
  /** `torch.cuda.max_memory_allocated` in bytes. */
  readonly allocated: number;
}

const FOLDER = join(__dirname, "scripts");
const TOLERANCE = 1e-4;

function scripts(file: string): readonly RunScript[] {
  return rowsOf(FOLDER, file);
}

describe("analysis: scripts that the Trainer ran", () => {
  for (const file of readdirSync(FOLDER))
    for (const { id, script, files, allocated } of scripts(file))
      it(id, async () => {
        const analyzer = createAnalyzer(memoryRuntime({ ...files, "train.py": script }));
        const [run] = (await analyzer.analyse(uri("train.py"), {})).runs;
        const estimated = run?.perDevice?.allocatedPeakBytes ?? 0;
        const off = estimated / allocated - 1;
        assert.ok(Math.abs(off) < TOLERANCE, `${(100 * off).toFixed(3)} % off ${allocated}`);
      });
});
