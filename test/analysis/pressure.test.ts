/** Devices with less than the allocator's pool would grow to, and room for the tensors. */
import assert from "node:assert/strict";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, uri } from "./memory-runtime";

const TRAIN = `model_name_or_path: Qwen/Qwen2.5-0.5B
dtype: bfloat16
bf16: true
max_length: 2048
per_device_train_batch_size: 1
gradient_checkpointing: true
optim: adagrad
output_dir: out
`;

async function runOn(device: string, set: Readonly<Record<string, string>> = {}): Promise<ReportRun> {
  const analyzer = createAnalyzer(memoryRuntime({ "train.yaml": TRAIN }));
  const [run] = (await analyzer.analyse(uri("train.yaml"), { device, set })).report.runs;
  assert.ok(run?.perDevice);
  return run;
}

describe("analysis: a pool without room to grow", () => {
  it("goes through where unused segments given back are enough, and says so", async () => {
    const run = await runOn("6.9GB");
    assert.ok(run.perDevice!.usedPeakBytes > run.devices.usableBytes!);
    assert.equal(run.verdict, "tight");
    assert.equal(run.perDevice!.releases, 1);
    assert.ok(
      run.findings.some(({ code, message }) => code === "tight" && message.includes("must free blocks in each step")),
    );
  });

  it("does not fit where the tensors alone are too much", async () => {
    const { perDevice, verdict } = await runOn("5GB");
    assert.equal(verdict, "does-not-fit");
    assert.equal(perDevice!.releases, undefined);
  });

  it("counts nothing where the pool has room, or does not keep segments", async () => {
    assert.equal((await runOn("12GB")).perDevice!.releases, undefined);
    assert.equal((await runOn("6.9GB", { expandable_segments: "true" })).perDevice!.releases, undefined);
  });
});
