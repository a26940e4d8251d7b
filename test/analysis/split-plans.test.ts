/** Plans in frameworks that split the model: what is promised is what the edited files say, the global batch included. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { LineIndex } from "../../src/analysis/documents/lines";
import { editsFor } from "../../src/analysis/levers/edits";
import { resolveRun } from "../../src/analysis/resolve";
import type { ReportEdit } from "../../src/core/report/schema";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, uri } from "./memory-runtime";
import { gatherFiles } from "./resolve-run";

const MEGATRON =
  "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 12 --hidden-size 1024 --ffn-hidden-size 2816 " +
  "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 " +
  "--global-batch-size 64 --bf16 --swiglu --normalization RMSNorm --vocab-size 32000 --position-embedding-type rope\n";

function applied(text: string, edits: readonly ReportEdit[]): string {
  const lines = new LineIndex(text);
  return applyEdits(
    text,
    edits.map(({ range, newText }) => ({
      start: lines.offset(range.start.line, range.start.character),
      end: lines.offset(range.end.line, range.end.character),
      newText,
    })),
  );
}

describe("analysis: plans that split the model", () => {
  it("split the tokens, too, where the matrices are split", async () => {
    const text = MEGATRON.replace(" --bf16", " --bf16 --tensor-model-parallel-size 8");
    const analysis = await createAnalyzer(memoryRuntime({ "run.sh": text })).analyse(uri("run.sh"), {});
    const used = analysis.runs[0]?.perDevice?.usedPeakBytes ?? 0;
    const options = { device: `8x${Math.round((0.98 * used) / 2 ** 20)}MiB`, plans: true, reserve: 0 };
    const [run] = (await createAnalyzer(memoryRuntime({ "run.sh": text })).analyse(uri("run.sh"), options)).runs;
    const plan = run?.plans.find(({ levers }) => levers.join() === "sequence-parallel");
    assert.match(applied(text, plan?.edits ?? []), / --sequence-parallel\b/);
  });

  it("write Megatron-LM's own flags and keep its global batch", async () => {
    const options = { device: "8x7.5GB", plans: true };
    const analyse = async (text: string) => {
      const [run] = (await createAnalyzer(memoryRuntime({ "run.sh": text })).analyse(uri("run.sh"), options)).runs;
      assert.ok(run);
      return run;
    };
    const before = await analyse(MEGATRON);
    assert.equal(before.verdict, "does-not-fit");
    const split = before.plans.filter(({ levers }) => levers.includes("tensor-parallel"));
    assert.notEqual(split.length, 0);
    for (const plan of split) {
      const text = applied(MEGATRON, plan.edits);
      assert.match(text, / --tensor-model-parallel-size \d\b/);
      assert.match(text, / --global-batch-size 64 /);
      const after = await analyse(text);
      assert.equal(after.perDevice?.usedPeakBytes, plan.usedPeakBytes);
      assert.notEqual(after.verdict, "does-not-fit");
    }
  });
});

describe("analysis: plans with more GPUs", () => {
  const JOB = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:4\n";
  const COMMAND = "torchrun --nproc_per_node=4 train.py train.yaml\n";
  const TRAIN = "model_name_or_path: Qwen/Qwen2.5-0.5B\noutput_dir: out\nper_device_train_batch_size: 4\n";

  async function asked(head: string, count: number) {
    const inputs = await gatherFiles({ "train.yaml": TRAIN, "run.sh": `${head}${COMMAND}` }, "train.yaml");
    const result = editsFor(inputs, resolveRun(inputs, {}), [{ name: "world_size", value: count }]);
    return "refused" in result ? result.refused.id : result.edits.map(({ newText }) => newText).join();
  }

  it("ask for no more than the scheduler grants, and than the machines have", async () => {
    assert.equal(await asked(JOB, 8), "refused.granted");
    assert.equal(await asked(JOB.replace("gpu:4", "gpu:8"), 8), "8");
    assert.equal(await asked("", 8), "8");
    assert.equal(await asked("", 16), "refused.machines");
    assert.equal(await asked(JOB, 2), "2");
  });
});
