/** What scripts do to the Trainer's arguments once they are made (`src/formats/hf-scripts/arguments.ts`). */
import { strict as assert } from "node:assert";
import { resolveFiles } from "../analysis/resolve-run";

async function runWith(lines: string) {
  const text = `import dataclasses
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B", dtype="bfloat16")
args = TrainingArguments("o", per_device_train_batch_size=4, gradient_accumulation_steps=3)
${lines}
Trainer(model=model, args=args, train_dataset=data).train()
`;
  const { run } = await resolveFiles({ "train.py": text }, "train.py");
  assert.ok(run);
  return run;
}

describe("formats: arguments after they are made", () => {
  it("are set several at a time, those that are not named, too", async () => {
    const run = await runWith("args.set_training(1e-4, 6, gradient_checkpointing=True)");
    assert.deepEqual([run.microBatchSize, run.gradientAccumulationSteps], [6, 1]);
    assert.notEqual(run.checkpointing, null);
    assert.equal((await runWith("args = args.set_training(learning_rate=1e-4)")).microBatchSize, 8);
  });

  it("are what is said last", async () => {
    const lines = (...all: readonly string[]) => runWith(all.join("\n"));
    const [set, training] = ["args.per_device_train_batch_size = 2", "args = args.set_training(batch_size=6)"];
    assert.equal((await lines(set, training)).microBatchSize, 6);
    assert.equal((await lines(training, set)).microBatchSize, 2);
    assert.equal((await lines(training, "args = args.set_dataloader(train_batch_size=5)")).microBatchSize, 5);
  });

  it("name another optimizer", async () => {
    assert.equal((await runWith('args.set_optimizer(name="adafactor")')).optimizer.name, "adafactor");
    assert.equal((await runWith("args.set_optimizer(learning_rate=1e-4)")).optimizer.name, "adamw_torch");
  });

  it("are copied with others", async () => {
    const run = await runWith("args = dataclasses.replace(args, per_device_train_batch_size=16, bf16=True)");
    assert.deepEqual([run.microBatchSize, run.gradientAccumulationSteps, run.autocast], [16, 3, "bfloat16"]);
  });

  it("decide precision, sharding and compilation when they are made", async () => {
    const { autocast, gradientAccumulationSteps } = await runWith(
      "args.bf16 = True\nargs.gradient_accumulation_steps = 2",
    );
    assert.deepEqual([autocast, gradientAccumulationSteps], [null, 2]);
    const copied = await runWith("args = dataclasses.replace(args, bf16=True)\nargs.bf16 = False");
    assert.equal(copied.autocast, "bfloat16");
  });

  it("of another trainer, and under a condition that is not known, say nothing", async () => {
    const other = 'other = TrainingArguments("p")\nother.set_training(batch_size=64)';
    assert.equal((await runWith(other)).microBatchSize, 4);
    assert.equal((await runWith("if big():\n    args.set_training(batch_size=64)")).microBatchSize, 4);
  });
});
