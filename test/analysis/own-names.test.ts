/** Frameworks that spell what others have in words of their own. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

async function runOf(files: Readonly<Record<string, string>>, path: string) {
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(path), {})).runs;
  assert.ok(run !== undefined);
  return { run, value: (name: string) => run.settings.find((setting) => setting.name === name)?.value };
}

describe("analysis: names of frameworks' own", () => {
  it("gpt-neox in JSON is no DeepSpeed file", async () => {
    const config = {
      pipe_parallel_size: 1,
      num_layers: 12,
      hidden_size: 768,
      num_attention_heads: 12,
      seq_length: 2048,
      train_micro_batch_size_per_gpu: 4,
      zero_optimization: { stage: 1 },
      fp16: { enabled: true },
    };
    const { run, value } = await runOf({ "neox.json": JSON.stringify(config) }, "neox.json");
    assert.deepEqual(run.formats, ["gpt-neox"]);
    assert.equal(value("sequence_length"), 2048);
  });

  it("a key of ms-swift that every object has is none of its old names", async () => {
    const config = `{ "model": "Qwen/Qwen2.5-0.5B", "tuner_type": "lora", "lora_rank": 8, "target_modules": "all-linear", "dataset": ["x#500"],
      "split_dataset_ratio": 0.0, "max_length": 512, "per_device_train_batch_size": 1, "output_dir": "o", "__proto__": 8, "toString": 1 }`;
    const { report } = await createAnalyzer(memoryRuntime({ "sft.json": config })).analyse(uri("sft.json"), {});
    assert.deepEqual([report.errors, report.runs[0]?.formats], [[], ["ms-swift"]]);
  });

  it("megatron sft of ms-swift trains every weight unless it is told otherwise", async () => {
    const command = "megatron sft --model Qwen/Qwen2.5-0.5B --dataset x --micro_batch_size 1 --max_length 512";
    assert.equal((await runOf({ "a.sh": command }, "a.sh")).value("adapter"), "none");
    assert.equal((await runOf({ "a.sh": `${command} --tuner_type lora` }, "a.sh")).value("adapter"), "lora");
    assert.equal((await runOf({ "a.sh": command.replace("megatron", "swift") }, "a.sh")).value("adapter"), "lora");
  });

  it("megatron sft of ms-swift has experts whole on each rank of tensor parallelism, Megatron split over them", async () => {
    const options =
      "--tensor_model_parallel_size 2 --expert_model_parallel_size 4 --micro_batch_size 1 --max_length 512";
    const degree = async (command: string) => {
      const { run } = await resolveFiles({ "a.sh": command }, "a.sh");
      return run?.parallel.expertTensorParallel;
    };
    const swift = `megatron sft --model Qwen/Qwen3-30B-A3B --dataset x ${options}`;
    assert.equal(await degree(swift), 1);
    assert.equal(await degree(`torchrun --nproc_per_node 8 swift/cli/_megatron/sft.py ${swift.slice(13)}`), 1);
    assert.equal(await degree(`${swift} --expert_tensor_parallel_size 2`), 2);
    assert.equal(await degree(swift.replace("megatron", "swift")), undefined);
  });

  it("megatron sft of ms-swift keeps 18 bytes a parameter: bfloat16, float32 gradients, main copy and moments", async () => {
    const command = "megatron sft --model Qwen/Qwen2.5-0.5B --dataset x --micro_batch_size 1 --max_length 512";
    const main = async (text: string) => (await resolveFiles({ "a.sh": text }, "a.sh")).run?.parallel.mainParameters;
    const spec = { dtype: "bfloat16", gradientDtype: "float32", sharded: true };
    assert.deepEqual(await main(command), spec);
    assert.deepEqual(await main(`${command} --use_distributed_optimizer false`), { ...spec, sharded: false });
    assert.equal(await main(command.replace("megatron", "swift")), undefined);
  });

  it("deepspeed.initialize names its config; a model built before it lies whole on the card", async () => {
    const loop = (built: string) =>
      "import deepspeed\nfrom transformers import AutoModelForCausalLM\n" +
      `${built}model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")\n` +
      'engine, *_ = deepspeed.initialize(model=model, config="ds.json")\nfor batch in loader:\n' +
      "    loss = engine(**batch).loss\n    engine.backward(loss)\n    engine.step()\n";
    const engine = { train_micro_batch_size_per_gpu: 1, bf16: { enabled: true }, zero_optimization: { stage: 3 } };
    const spec = async (text: string) =>
      (await resolveFiles({ "a.py": text, "ds.json": JSON.stringify(engine) }, "a.py")).run?.parallel.deepspeed;
    const [late, inParts] = [await spec(loop("")), await spec(loop("dschf = HfDeepSpeedConfig(config)\n"))];
    assert.deepEqual([late?.zeroStage, late?.loadsWhole], [3, true]);
    assert.equal(inParts?.loadsWhole, false);
  });

  it("a device_map of one process puts the layers on the GPUs it sees, a launcher's processes copy them", async () => {
    const text =
      "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n" +
      'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", device_map="auto")\n' +
      'args = TrainingArguments(output_dir="o", per_device_train_batch_size=1)\nTrainer(model=model, args=args).train()\n';
    const pin = "runs:\n  - match: a.py\n    device: { name: RTX 4090, count: 4 }\n";
    const parallel = async (files: Record<string, string>) =>
      (await resolveFiles({ "a.py": text, ...files }, "a.py")).run?.parallel;
    const placed = await parallel({ ".vramlens.yaml": pin });
    assert.deepEqual([placed?.worldSize, placed?.pipelineParallel, placed?.oneAtATime], [4, 4, true]);
    const copied = await parallel({ "run.sh": "torchrun --nproc_per_node 4 a.py\n" });
    assert.deepEqual([copied?.worldSize, copied?.pipelineParallel, copied?.oneAtATime], [4, 1, undefined]);
  });

  it("EasyR1's actor is verl's", async () => {
    const files = {
      "config.yaml":
        "data:\n  max_prompt_length: 256\n  max_response_length: 256\nalgorithm:\n  adv_estimator: grpo\nworker:\n  actor:\n    micro_batch_size_per_device_for_update: 2\n    model:\n      model_path: Qwen/Qwen2.5-0.5B-Instruct\n      enable_gradient_checkpointing: true\n    fsdp:\n      enable_full_shard: true\n  rollout:\n    n: 5\ntrainer:\n  nnodes: 1\n  n_gpus_per_node: 8\n",
      "run.sh": "python3 -m verl.trainer.main config=c.yaml worker.actor.model.model_path=Qwen/Qwen2.5-1.5B\n",
      "verl/trainer/main.py":
        "from transformers import Trainer\nfrom trl import SFTConfig\nSFTConfig(output_dir='o')\n",
    };
    const { value } = await runOf(files, "config.yaml");
    assert.deepEqual(["micro_batch_size", "world_size", "fsdp", "sequence_length"].map(value), [
      2,
      8,
      "full_shard",
      512,
    ]);
    assert.match(String(value("model")), /Qwen2.5-0.5B/);
    // The framework's own command stays its own, whatever its code looks like.
    const script = await runOf(files, "run.sh");
    assert.deepEqual(script.run.formats, ["verl", "shell"]);
    assert.match(String(script.value("model")), /Qwen2.5-1.5B/);
  });

  it("open-instruct's adapters are TRL's", async () => {
    const yaml =
      "model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: x\nuse_lora: true\nuse_qlora: true\nlora_rank: 64\nmax_seq_length: 512\nper_device_train_batch_size: 1\noutput_dir: o\n";
    const { value } = await runOf({ "a.yaml": yaml }, "a.yaml");
    assert.deepEqual(["adapter", "lora_rank", "quantization"].map(value), ["qlora", 64, "nf4"]);
  });

  it("what nothing is computed from is counted beside the verdict", async () => {
    const yaml =
      "base_model: Qwen/Qwen2.5-0.5B\nlayer_offloading: true\nrelora: true\nsequence_len: 256\nmicro_batch_size: 1\noptimizer: adamw_torch\ndatasets:\n  - path: x\n    type: alpaca\n";
    const analysis = await createAnalyzer(memoryRuntime({ "a.yml": yaml })).analyse(uri("a.yml"), {});
    assert.deepEqual(analysis.runs[0]?.notCounted, ["layer_offloading", "relora"]);
    assert.match((await analysis.hover(4, 2))?.markdown ?? "", /2 keys not counted/);
    const { run } = await runOf({ "a.yml": yaml.replace(/layer.*\nrelora.*\n/, "") }, "a.yml");
    assert.equal(run.notCounted, undefined);
  });
});
