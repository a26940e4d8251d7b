/** The rest of the card: what others take of it, and what the environment says. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

async function runOf(main: string, text: string, device: string): Promise<ReportRun> {
  const runtime = memoryRuntime({
    "model/config.json": JSON.stringify(TINY_LLAMA),
    ".vramlens.yaml": `runs:\n  - match: "*"\n    model: ./model\n    sequence_length: 128\n    device: ${device}\n`,
    [main]: text,
  });
  const [run] = (await createAnalyzer(runtime).analyse(uri(main), {})).runs;
  assert.ok(run?.perDevice);
  return run;
}

const TRAIN = "output_dir: out\nper_device_train_batch_size: 2\n";

describe("analysis: the rest of the card", () => {
  it("takes what a desktop or another process occupies off what can be used", async () => {
    const whole = await runOf("train.yaml", TRAIN, "{ name: RTX 4090 }");
    const shared = await runOf("train.yaml", TRAIN, "{ name: RTX 4090, occupied: 1.5GiB }");
    assert.equal((whole.devices.usableBytes ?? 0) - (shared.devices.usableBytes ?? 0), 1.5 * 2 ** 30);
    assert.equal(whole.verdict, "fits");
    const full = await runOf("train.yaml", TRAIN, "{ name: RTX 4090, occupied: 25.2 GB }");
    assert.equal(full.verdict, "does-not-fit");
  });

  it("reads cuBLAS's workspaces from a command's environment", async () => {
    const command = "python run_clm.py --model_name_or_path ./model --output_dir out --do_train\n";
    const plain = await runOf("train.sh", command, "H100");
    const small = await runOf("train.sh", `CUBLAS_WORKSPACE_CONFIG=:16:8 ${command}`, "H100");
    const used = (run: ReportRun): number => run.perDevice?.usedPeakBytes ?? 0;
    assert.equal(used(plain) - used(small), 2 * (32 * 2 ** 20 - 16 * 1024 * 8));
  });
});
