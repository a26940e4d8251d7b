/** verl's launch scripts, and those of what is built upon it, as they are written since its first releases. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

async function runOf(files: Readonly<Record<string, string>>, path: string) {
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(path), {})).runs;
  assert.ok(run !== undefined);
  return { run, value: (name: string) => run.settings.find((setting) => setting.name === name)?.value };
}

const verl = (...more: string[]) =>
  [
    "python3 -m verl.trainer.main_ppo",
    "data.train_batch_size=64 data.max_prompt_length=128 data.max_response_length=128",
    "algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-0.5B",
    "actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.actor.ppo_mini_batch_size=32",
    "trainer.n_gpus_per_node=8 trainer.nnodes=1",
    ...more,
  ].join(" \\\n  ");

const sized = async (...more: string[]) => {
  const { run, value } = await runOf({ "run.sh": verl(...more) }, "run.sh");
  return { batch: [value("micro_batch_size"), value("gradient_accumulation_steps")], run };
};

describe("verl's launch scripts", () => {
  it("a micro-batch of all GPUs is shared by those that hold different samples", async () => {
    const { batch, run } = await sized("actor_rollout_ref.actor.ppo_micro_batch_size=16");
    assert.deepEqual(batch, [2, 2]);
    assert.ok(run.perDevice !== null);
    const two = "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2";
    assert.deepEqual((await sized("actor_rollout_ref.actor.ppo_micro_batch_size=16", two)).batch[0], 4);
    // Less than one for each is none, and one is the least that runs.
    assert.deepEqual((await sized("actor_rollout_ref.actor.ppo_micro_batch_size=4")).batch[0], 1);
    assert.deepEqual(
      (
        await sized(
          "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.actor.ppo_micro_batch_size=16",
        )
      ).batch[0],
      4,
    );
  });

  it("before 0.2 it is multiplied by the completions of a prompt, which the whole config shows", async () => {
    const own = "actor_rollout_ref:\n  actor:\n    ppo_epochs: 1\n    ppo_micro_batch_size: 64\n";
    const of = async (config: string) => {
      const run = verl("actor_rollout_ref.actor.ppo_micro_batch_size=16 actor_rollout_ref.rollout.n=3");
      const program =
        '@hydra.main(config_path="config", config_name="ppo_trainer", version_base=None)\ndef main(config): ...\n';
      const beside = { "verl/trainer/main_ppo.py": program, "verl/trainer/config/ppo_trainer.yaml": config };
      const { value } = await runOf({ "run.sh": run, ...beside }, "run.sh");
      return value("micro_batch_size");
    };
    assert.equal(await of(own), 6);
    assert.equal(await of(`${own}    ppo_micro_batch_size_per_gpu: null\n`), 2);
  });

  it("EasyR1 holds the base below its adapters in bfloat16", async () => {
    const easy = (rank: number) =>
      `python3 -m verl.trainer.main worker.actor.model.model_path=Qwen/Qwen2.5-0.5B data.max_prompt_length=64 \\
  data.max_response_length=64 worker.actor.model.lora.rank=${rank} worker.actor.micro_batch_size_per_device_for_update=1 \\
  worker.actor.global_batch_size=8 trainer.n_gpus_per_node=1`;
    const [adapted, whole] = [await runOf({ "a.sh": easy(8) }, "a.sh"), await runOf({ "a.sh": easy(0) }, "a.sh")];
    assert.equal(adapted.value("load_dtype"), "bfloat16");
    assert.notEqual(whole.value("load_dtype"), "bfloat16");
  });

  it("ranks that share a sequence score and learn from their part of it", async () => {
    const one = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2";
    const alone = await sized(one);
    const shared = await sized(one, "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2");
    assert.ok(shared.run.perDevice !== null, JSON.stringify(shared.run.findings));
    assert.ok(shared.run.perDevice.allocatedPeakBytes < (alone.run.perDevice?.allocatedPeakBytes ?? 0));
  });

  it("hundreds of scoring passes are a stream that has an end", async () => {
    const { run } = await sized(
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 data.train_batch_size=8192 actor_rollout_ref.rollout.n=16",
    );
    assert.ok(run.perDevice !== null, JSON.stringify(run.findings));
  });

  it("`config=FILE` is the config that the command's other words change", async () => {
    const files = {
      "examples/config.yaml": `data:
  max_prompt_length: 128
  max_response_length: 128
  rollout_batch_size: 64
algorithm:
  adv_estimator: grpo
  use_kl_loss: true
worker:
  actor:
    global_batch_size: 32
    micro_batch_size_per_device_for_update: 2
    max_grad_norm: 1.0
    padding_free: true
    model:
      model_path: Qwen/Qwen2.5-7B-Instruct
      enable_gradient_checkpointing: true
    fsdp:
      enable_full_shard: true
    offload:
      offload_params: true
      offload_optimizer: true
  rollout:
    n: 5
trainer:
  nnodes: 1
  n_gpus_per_node: 8
`,
      "examples/run.sh":
        "MODEL=Qwen/Qwen2.5-0.5B\npython3 -m verl.trainer.main config=examples/config.yaml worker.actor.model.model_path=$MODEL trainer.n_gpus_per_node=4\n",
    };
    const { run, value } = await runOf(files, "examples/run.sh");
    assert.deepEqual(
      [
        "model",
        "micro_batch_size",
        "gradient_accumulation_steps",
        "world_size",
        "offload_param",
        "offload_optimizer",
      ].map(value),
      ["Qwen/Qwen2.5-0.5B", 2, 20, 4, "cpu", "cpu"],
    );
    assert.ok(run.perDevice !== null);
    assert.equal(run.notCounted, undefined);
  });
});

describe("accelerate's launch config", () => {
  it("`use_cpu` is for the simple launcher: those of several GPUs never hand it on", async () => {
    const files = (kind: string) => ({
      "run.sh":
        "accelerate launch --config_file a.yaml train.py --model_name_or_path Qwen/Qwen2.5-0.5B --bf16 --output_dir o\n",
      "a.yaml": `compute_environment: LOCAL_MACHINE\ndistributed_type: ${kind}\nnum_processes: 2\nmixed_precision: bf16\nuse_cpu: true\n`,
    });
    assert.ok((await runOf(files("MULTI_GPU"), "run.sh")).run.perDevice !== null);
    assert.equal((await runOf(files("NO"), "run.sh")).run.perDevice, null);
  });
});
