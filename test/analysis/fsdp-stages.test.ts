/** Families whose class has whole stages wrapped: no unit of the estimate is one, which is said, and no band is claimed. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const script = (model: string, name: string): string =>
  [
    `from transformers import ${model}, Trainer, TrainingArguments`,
    `model = ${model}.from_pretrained("${name}", num_labels=150)`,
    'args = TrainingArguments("o", per_device_train_batch_size=2, bf16=True, fsdp="full_shard auto_wrap")',
    "Trainer(model=model, args=args, train_dataset=data).train()",
    "",
  ].join("\n");

async function statement(train: string) {
  const files = { "train.py": train, "run.sh": "torchrun --nproc_per_node 4 train.py\n" };
  const { report } = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.py"), {});
  const [run] = report.runs;
  return { claim: run?.statement?.claim, assumed: JSON.stringify(run?.assumptions) };
}

describe("analysis: FSDP of networks in stages", () => {
  it("the whole model is one unit, as its class has stages wrapped", async () => {
    const staged = await statement(script("SegformerForSemanticSegmentation", "nvidia/mit-b0"));
    assert.match(staged.assumed, /one unit of FSDP/);
    assert.equal(staged.claim, undefined);
    const layered = await statement(script("ViTForImageClassification", "google/vit-base-patch16-224"));
    assert.doesNotMatch(layered.assumed, /one unit of FSDP/);
    assert.ok(layered.claim);
  });
});
