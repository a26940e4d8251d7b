/** Families whose class has whole stages wrapped: these are FSDP's units; what its own checkpointing makes of them is not followed, and said. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const script = (config: string): string =>
  [
    "from transformers import SegformerForSemanticSegmentation, Trainer, TrainingArguments",
    'model = SegformerForSemanticSegmentation.from_pretrained("nvidia/mit-b0", num_labels=150)',
    `args = TrainingArguments("o", per_device_train_batch_size=2, bf16=True, fsdp="full_shard auto_wrap", fsdp_config={${config}})`,
    "Trainer(model=model, args=args, train_dataset=data).train()",
    "",
  ].join("\n");

async function statement(config: string) {
  const files = { "train.py": script(config), "run.sh": "torchrun --nproc_per_node 4 train.py\n" };
  const { report } = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.py"), {});
  const [run] = report.runs;
  return { claim: run?.statement?.claim, assumed: JSON.stringify(run?.assumptions) };
}

describe("analysis: FSDP of networks in stages", () => {
  it("stages are units, of which a number is claimed", async () => {
    const staged = await statement('"version": 1');
    assert.doesNotMatch(staged.assumed, /layers are recomputed/);
    assert.ok(staged.claim);
  });

  it("FSDP's own checkpointing of them is said", async () => {
    const recomputed = await statement('"version": 1, "activation_checkpointing": True');
    assert.match(recomputed.assumed, /layers are recomputed one by one/);
    assert.equal(recomputed.claim, undefined);
  });

  it("a policy by size is said, and without one the model is one unit, which no class can stop", async () => {
    const run = async (policy: string) => {
      const train = `model_name_or_path: ./model\noutput_dir: o\nper_device_train_batch_size: 1\nbf16: true\nfsdp: full_shard auto_wrap\nfsdp_config:\n  version: 1\n${policy}`;
      const files = {
        "train.yaml": train,
        "run.sh": "torchrun --nproc_per_node 4 train.py train.yaml\n",
        ".vramlens.yaml": `runs:\n  - match: "*"\n    model: google/gemma-3-4b-it\n    task: image-text-to-text\n`,
      };
      const { report } = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.yaml"), {});
      const [found] = report.runs;
      return {
        stops: found?.findings.some(({ code }) => code === "fsdp-units"),
        bySize: found?.assumptions.some(({ id }) => id === "assume.wraps-by-size"),
        peak: found?.perDevice?.allocatedPeakBytes ?? 0,
      };
    };
    const [byClass, bySize, whole] = [
      await run(""),
      await run("  auto_wrap_policy: SIZE_BASED_WRAP\n"),
      await run("  auto_wrap_policy: NO_WRAP\n"),
    ];
    assert.deepEqual([byClass.stops, bySize.stops, whole.stops], [true, false, false]);
    assert.deepEqual([byClass.bySize, bySize.bySize, whole.bySize], [false, true, false]);
    assert.ok(whole.peak > bySize.peak);
  });
});
