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
});
