/** Plans in frameworks that split the model: what is promised is what the edited files say, the global batch included. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { LineIndex } from "../../src/analysis/lines";
import type { ReportEdit } from "../../src/core/report/schema";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, uri } from "./memory-runtime";

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
    const options = { device: "8x8GB", plans: true };
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
