/** What DistributedDataParallel is told, by scripts and by the frameworks that make the Trainer. */
import assert from "node:assert/strict";
import { resolveFiles } from "./resolve-run";

const PINS = {
  ".vramlens.yaml": "runs:\n  - match: '*'\n    sequence_length: 64\n    device: { name: RTX 4090, count: 4 }\n",
};
const NAME = "Qwen/Qwen2.5-0.5B";

const ddpOf = async (main: string, text: string) =>
  (await resolveFiles({ ...PINS, [main]: text }, main)).run?.parallel.ddp;

function loop(head: string, wrap: string): string {
  return (
    `import torch\nfrom accelerate import Accelerator, DistributedDataParallelKwargs\nfrom transformers import AutoModelForCausalLM\n${head}` +
    `model = AutoModelForCausalLM.from_pretrained("${NAME}")\n${wrap}optimizer = torch.optim.AdamW(model.parameters())\n` +
    "for batch in DataLoader(d, batch_size=2):\n    loss = model(**batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
  );
}

describe("analysis: copies of the model", () => {
  it("a loop of one's own looks for unused parameters only where it says so", async () => {
    assert.equal(await ddpOf("a.py", loop("", "model = DDP(model, device_ids=[0])\n")), undefined);
    const told = "find_unused_parameters=True, gradient_as_bucket_view=True, static_graph=True";
    const all = { findsUnused: true, staticGraph: true, bucketViews: true };
    assert.deepEqual(await ddpOf("a.py", loop("", `model = DDP(model, device_ids=[0], ${told})\n`)), all);
    const kwargs = `kwargs = DistributedDataParallelKwargs(${told})\naccelerator = Accelerator(kwargs_handlers=[kwargs])\n`;
    assert.deepEqual(await ddpOf("a.py", loop(kwargs, "model = accelerator.prepare(model)\n")), all);
  });

  it("the Trainer looks for them unless it recomputes, and always in peft's models", async () => {
    const trainer = (more: string, parts = "") =>
      `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom peft import LoraConfig, get_peft_model\n` +
      `model = AutoModelForCausalLM.from_pretrained("${NAME}")\n${parts}` +
      `Trainer(model, TrainingArguments("o", per_device_train_batch_size=1${more}), train_dataset=d).train()\n`;
    assert.deepEqual(await ddpOf("a.py", trainer("")), { findsUnused: true });
    assert.equal(await ddpOf("a.py", trainer(", gradient_checkpointing=True")), undefined);
    const lora = "model = get_peft_model(model, LoraConfig(r=4))\n";
    assert.deepEqual(await ddpOf("a.py", trainer(", gradient_checkpointing=True", lora)), { findsUnused: true });
    assert.deepEqual(await ddpOf("a.py", trainer(", ddp_static_graph=True")), { findsUnused: true, staticGraph: true });
    // What is made beside the Trainer is not what it is wrapped with.
    const beside = "kwargs = DistributedDataParallelKwargs(static_graph=True)\n";
    assert.deepEqual(await ddpOf("a.py", trainer("", beside)), { findsUnused: true });
  });

  it("axolotl never looks for them, LLaMA-Factory not with LoRA, ms-swift as the Trainer does", async () => {
    const axolotl = (more: string) =>
      `base_model: ${NAME}\nmicro_batch_size: 1\nsequence_len: 64\ndatasets:\n  - path: d\n    type: alpaca\n${more}`;
    assert.equal(await ddpOf("a.yaml", axolotl("")), undefined);
    assert.deepEqual(await ddpOf("a.yaml", axolotl("ddp_find_unused_parameters: true\n")), { findsUnused: true });
    const factory = (type: string, more = "") =>
      `model_name_or_path: ${NAME}\nstage: sft\ndo_train: true\nfinetuning_type: ${type}\ndataset: d\ntemplate: qwen\ncutoff_len: 64\noutput_dir: o\nper_device_train_batch_size: 1\n${more}`;
    assert.equal(await ddpOf("f.yaml", factory("lora", "disable_gradient_checkpointing: true\n")), undefined);
    assert.equal(await ddpOf("f.yaml", factory("full")), undefined);
    assert.deepEqual(await ddpOf("f.yaml", factory("full", "disable_gradient_checkpointing: true\n")), {
      findsUnused: true,
    });
    const swift = (type: string) =>
      `swift sft --model ${NAME} --dataset d --tuner_type ${type} --max_length 64 --per_device_train_batch_size 1\n`;
    assert.deepEqual(await ddpOf("s.sh", swift("lora")), { findsUnused: true });
    assert.equal(await ddpOf("s.sh", swift("full")), undefined);
  });
});

describe("analysis: models that transformers splits while it loads them", () => {
  const parallel = async (args: string) => {
    const text =
      `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom transformers.distributed import DistributedConfig\n` +
      `model = AutoModelForCausalLM.from_pretrained("${NAME}", ${args})\n` +
      'Trainer(model, TrainingArguments("o", per_device_train_batch_size=1), train_dataset=d).train()\n';
    return (await resolveFiles({ ...PINS, "a.py": text }, "a.py")).run?.parallel;
  };

  it("are split by their plan over as many GPUs as the script says, or all", async () => {
    assert.equal((await parallel('tp_plan="auto"'))?.tensorParallel, 4);
    assert.equal((await parallel('tp_plan="auto", tp_size=2'))?.tensorParallel, 2);
    assert.equal((await parallel("distributed_config=DistributedConfig(tp_size=2)"))?.tensorParallel, 2);
    const shared = await parallel("distributed_config=DistributedConfig(tp_size=4, enable_expert_parallel=True)");
    assert.deepEqual([shared?.tensorParallel, shared?.sharesExperts], [4, true]);
  });

  it("are whole where nothing says so", async () => {
    const plain = await parallel('dtype="bfloat16"');
    assert.deepEqual([plain?.tensorParallel, plain?.sharesExperts], [1, undefined]);
  });
});
