/** Scripts that train more than once. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const SFT = "torchrun --nproc_per_node 4 sft.py --output_dir a --per_device_train_batch_size 2 --bf16 true";
const DPO = "torchrun --nproc_per_node 2 dpo.py --output_dir b --per_device_train_batch_size 1 --fp16 true --bf16 true";

async function open(text: string) {
  return createAnalyzer(memoryRuntime({ "run.sh": text })).analyse(uri("run.sh"), {});
}

describe("analysis: scripts of several trainings", () => {
  const text = `#!/bin/bash\npip install trl\n${SFT}\n\n${DPO} \\\n  --deepspeed none.json\n`;

  it("are one run for each command, told apart by its line", async () => {
    const analysis = await open(text);
    assert.deepEqual(
      analysis.runs.map(({ id }) => id),
      ["run.sh:3", "run.sh:5"],
    );
    const sizes = analysis.runs.map((run) =>
      ["world_size", "micro_batch_size"].map((name) => run.settings.find((setting) => setting.name === name)?.value),
    );
    assert.deepEqual(sizes, [
      [4, 2],
      [2, 1],
    ]);
    const codes = analysis.runs.map((run) => run.findings.some(({ code }) => code === "contradictory-keys"));
    assert.deepEqual(codes, [false, true]);
  });

  it("hover and edit the command at the place", async () => {
    const analysis = await open(text);
    const hover = await analysis.hover(4, (text.split("\n")[4] ?? "").indexOf("per_device") + 2);
    assert.equal(hover?.range.start.line, 4);
    const result = analysis.whatIfEdits("run.sh:5", { micro_batch_size: "8" });
    assert.ok(result !== null && "edits" in result);
    assert.deepEqual(
      result.edits.map(({ range, newText }) => [range.start.line, newText]),
      [[4, "8"]],
    );
  });

  it("stay one run where one command trains", async () => {
    const analysis = await open(`mkdir -p out\n${SFT}\npython merge.py --input out --output merged\n`);
    assert.deepEqual(
      analysis.runs.map(({ id }) => id),
      ["run.sh"],
    );
  });
});
