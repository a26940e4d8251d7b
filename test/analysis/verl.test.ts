/** verl's reinforcement learning: one update with what waits, scores and generates beside it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const GPUS = 4;
const PARAMETERS = 494_032_768;
const GIB = 2 ** 30;

function script(more: Readonly<Record<string, string | number | boolean>> = {}): string {
  const keys = {
    "algorithm.adv_estimator": "grpo",
    "data.train_batch_size": 256,
    "data.max_prompt_length": 256,
    "data.max_response_length": 256,
    "actor_rollout_ref.model.path": "Qwen/Qwen2.5-0.5B-Instruct",
    "actor_rollout_ref.actor.ppo_mini_batch_size": 64,
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 8,
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.gpu_memory_utilization": 0.01,
    "actor_rollout_ref.rollout.n": 4,
    "trainer.n_gpus_per_node": GPUS,
    "trainer.nnodes": 1,
    ...more,
  };
  const lines = Object.entries(keys).map(([key, value]) => `    ${key}=${value}`);
  return `python3 -m verl.trainer.main_ppo \\\n${lines.join(" \\\n")}\n`;
}

async function runOf(more: Readonly<Record<string, string | number | boolean>> = {}) {
  const analyzer = createAnalyzer(memoryRuntime({ "run.sh": script(more) }));
  const { runs } = await analyzer.analyse(uri("run.sh"), { device: "A100-80GB" });
  assert.equal(runs.length, 1);
  return runs[0]!;
}

async function peakOf(more: Readonly<Record<string, string | number | boolean>> = {}): Promise<number> {
  const run = await runOf(more);
  assert.ok(run.perDevice, run.findings.map(({ message }) => message).join("; "));
  return run.perDevice.allocatedPeakBytes;
}

/** Logits of one micro-batch in bfloat16. */
const LOGITS = 8 * 512 * 151_936 * 2;

describe("analysis: verl", () => {
  it("shards what trains in float32, holds the logits once, and says that it was read", async () => {
    const run = await runOf();
    const states = (4 * 3 * PARAMETERS) / GPUS;
    const own = run.perDevice!.allocatedPeakBytes;
    assert.ok(own > states + LOGITS && own < states + 2.6 * LOGITS, `${own / GIB} GiB, logits ${LOGITS / GIB}`);
    assert.ok(run.assumptions.some(({ what }) => what.includes("from its source, not measured")));
    assert.equal(run.settings.find(({ name }) => name === "gradient_accumulation_steps")?.value, 8);
  });

  it("spreads parameters over so many ranks after forward as a number says", async () => {
    const key = "actor_rollout_ref.actor.fsdp_config.reshard_after_forward";
    const peaks = await Promise.all(
      [true, 2, GPUS, 3].map((value) => peakOf({ "actor_rollout_ref.actor.strategy": "fsdp2", [key]: value })),
    );
    const [all, two, whole, refused] = peaks as [number, number, number, number];
    assert.ok(two > all);
    assert.deepEqual([whole, refused], [all, all]);
  });

  it("writes the gradient into the logits unless their entropy is learned from", async () => {
    const entropy = (await peakOf({ "actor_rollout_ref.actor.entropy_coeff": 0.001 })) - (await peakOf());
    // Its gradient, and that of the log-probabilities apart from the logits.
    assert.ok(entropy > 1.5 * LOGITS && entropy < 2.1 * LOGITS, `${entropy / LOGITS}`);
  });

  it("keeps the reference's shards on the host", async () => {
    const more = (await peakOf({ "actor_rollout_ref.actor.use_kl_loss": true })) - (await peakOf());
    assert.ok(Math.abs(more) < 0.05 * 2 * PARAMETERS, `${more}`);
  });

  it("fills a dynamic batch up to its limit", async () => {
    const dynamic = {
      "actor_rollout_ref.actor.use_dynamic_bsz": true,
      "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 2048,
    };
    assert.equal((await runOf(dynamic)).settings.find(({ name }) => name === "micro_batch_size")?.value, 4);
  });

  it("gives vLLM its share of the card beside what does not wait on the host", async () => {
    const share = { "actor_rollout_ref.rollout.gpu_memory_utilization": 0.6 };
    const beside = await peakOf(share);
    assert.ok(beside > 0.6 * 80e9, `${beside}`);
    const fsdp = "actor_rollout_ref.actor.fsdp_config";
    const parked = await peakOf({ ...share, [`${fsdp}.param_offload`]: true, [`${fsdp}.optimizer_offload`]: true });
    assert.ok(beside - parked > 0.9 * ((4 * 3 * PARAMETERS) / GPUS), `${beside - parked}`);
    const awake = await peakOf({ ...share, "actor_rollout_ref.rollout.free_cache_engine": false });
    assert.ok(awake - beside > 0.9 * LOGITS);
  });

  it("keeps a critic beside the policy, less what waits on the host", async () => {
    const gae = { "algorithm.adv_estimator": "gae" };
    const own = await peakOf();
    const [run, both] = [await runOf(gae), (await peakOf(gae)) - own];
    // Its shards and both moments in float32; a classifier of the same body has no head of its own to speak of.
    assert.ok(Math.abs(both - (4 * 3 * PARAMETERS) / GPUS) < 0.02 * both, `${both}`);
    assert.ok(run.assumptions.some(({ settleWith }) => settleWith === "adv_estimator"));
    const fsdp = "critic.fsdp_config";
    const waits = { ...gae, [`${fsdp}.param_offload`]: true, [`${fsdp}.optimizer_offload`]: true };
    assert.ok(Math.abs((await peakOf(waits)) - own) < 0.02 * both);
  });

  it("has Megatron's optimizer where it is told how that splits the actor, and the engine's share whole", async () => {
    const megatron = "actor_rollout_ref.actor.megatron";
    const split = { [`${megatron}.tensor_model_parallel_size`]: 2, "actor_rollout_ref.actor.strategy": "megatron" };
    const run = await runOf(split);
    const of = (kind: string): number =>
      run.perDevice?.components.find((component) => component.kind === kind)?.bytes ?? 0;
    // bfloat16 weights and float32 gradients of half of the model.
    assert.ok(Math.abs(of("gradients") / ((4 * PARAMETERS) / 2) - 1) < 0.02, `${of("gradients")}`);
    assert.equal(run.settings.find(({ name }) => name === "tensor_parallel")?.value, 2);
    const engine = { ...split, "actor_rollout_ref.rollout.gpu_memory_utilization": 0.6 };
    assert.ok((await peakOf(engine)) > 0.6 * 80e9);
    const parked = { ...engine, [`${megatron}.param_offload`]: true, [`${megatron}.optimizer_offload`]: true };
    // Of the actor nothing is beside the engine.
    assert.ok(Math.abs((await peakOf(parked)) / (0.6 * 80 * 2 ** 30) - 1) < 0.02, `${await peakOf(parked)}`);
  });

  it("says which of its runs have no number", async () => {
    const says = async (more: Readonly<Record<string, string | boolean>>): Promise<string> =>
      (await runOf(more)).findings.map(({ message }) => message).join("; ");
    assert.match(await says({ "actor_rollout_ref.actor.strategy": "veomni" }), /veomni/);
    assert.match(await says({ "reward_model.enable": true }), /reward model/);
  });
});
