/** llm-foundry's MPT (`models/graphs/llm-foundry.mpt.json`): its attention, its loss, and branches that were not captured. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const CONFIG = (model: string, fsdp = "") => `max_seq_len: 2048
model:
  name: mpt_causal_lm
  d_model: 1024
  n_heads: 16
  n_layers: 24
  expansion_ratio: 4
  max_seq_len: 2048
  vocab_size: 50368
${model}tokenizer:
  name: EleutherAI/gpt-neox-20b
optimizer:
  name: decoupled_adamw
max_duration: 10ba
global_train_batch_size: 8
device_train_microbatch_size: 8
precision: amp_bf16
${fsdp}`;

async function runOf(text: string, devices = 1) {
  const files = { "train.yaml": `# vramlens: gpu=H100 gpus=${devices}\n${text}` };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.yaml"), {})).runs;
  assert.ok(run?.perDevice);
  return {
    ids: run.assumptions.map(({ id }) => id),
    bytes: run.perDevice.allocatedPeakBytes,
  };
}

const attention = (kind: string) => `  attn_config:\n    attn_impl: ${kind}\n`;
/** Scores of 24 layers of 8 × 16 heads of 2048² in half precision. */
const SCORES = 24 * 8 * 16 * 2048 ** 2 * 2;

describe("analysis: llm-foundry's MPT", () => {
  it("has no scores with flash attention, its default, and has them with torch's", async () => {
    const flash = await runOf(CONFIG(attention("flash")));
    const torch = await runOf(CONFIG(attention("torch")));
    assert.equal((await runOf(CONFIG(""))).bytes, flash.bytes);
    assert.ok(flash.bytes < SCORES, String(flash.bytes));
    assert.ok(torch.bytes - flash.bytes > SCORES, String(torch.bytes));
    assert.ok(!flash.ids.includes("assume.own-code"));
  });

  it("keeps the logits as they are with the fused loss, and float32 ones with PyTorch's", async () => {
    const [fused, plain] = await Promise.all([runOf(CONFIG("")), runOf(CONFIG("  loss_fn: torch_crossentropy\n"))]);
    const logits = 8 * 2048 * 50368;
    assert.ok(plain.bytes - fused.bytes >= 4 * logits, String(plain.bytes - fused.bytes));
  });

  it("pads texts to the whole length, which batches of instructions are not", async () => {
    const loop = async (name: string) => {
      const files = { "train.yaml": `# vramlens: gpu=H100\n${CONFIG("", `train_loader:\n  name: ${name}\n`)}` };
      return (await resolveFiles(files, "train.yaml")).run?.loop?.variesLengths;
    };
    assert.deepEqual([await loop("text"), await loop("finetuning")], [undefined, true]);
  });

  it("has a head of its own where words are not tied", async () => {
    const [tied, own] = await Promise.all([runOf(CONFIG("")), runOf(CONFIG("  tie_word_embeddings: false\n"))]);
    assert.ok(!own.ids.includes("assume.own-code") && !own.ids.includes("engine.branch"), own.ids.join(" "));
    // Weights and two states in float32; the peak is before its gradient.
    assert.ok(own.bytes - tied.bytes >= 12 * 50368 * 1024, String(own.bytes - tied.bytes));
  });

  it("is not run with parameters on the host, which Composer refuses", async () => {
    const text = CONFIG("", "fsdp_config:\n  sharding_strategy: FULL_SHARD\n  cpu_offload: true\n");
    const files = { "train.yaml": `# vramlens: gpu=H100 gpus=2\n${text}` };
    const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.yaml"), {})).runs;
    assert.equal(run?.perDevice, null);
    assert.ok(
      run?.findings.some(({ message }) => /not supported yet/.test(message)),
      JSON.stringify(run?.findings),
    );
  });

  it("says that another branch stands in for rotary positions", async () => {
    const { ids } = await runOf(CONFIG("  attn_config:\n    rope: true\n"));
    assert.ok(ids.includes("engine.branch"), ids.join(" "));
  });

  it("reduces as Composer's FSDP does: in float32 unless precision is pure, every micro-batch, gathering after", async () => {
    const fsdp = async (mixed: string) => {
      const text = CONFIG("", `fsdp_config:\n  sharding_strategy: FULL_SHARD\n  mixed_precision: ${mixed}\n`);
      const { run } = await resolveFiles({ "train.yaml": `# vramlens: gpu=H100 gpus=2\n${text}` }, "train.yaml");
      return run?.parallel.fsdp;
    };
    const [standard, pure] = await Promise.all([fsdp("DEFAULT"), fsdp("PURE")]);
    assert.deepEqual([standard?.reduceDtype, pure?.reduceDtype], ["float32", undefined]);
    assert.equal(standard?.reducesEach, true);
    assert.equal(standard?.backwardPrefetch, "after");
  });

  it("recomputes its blocks under Composer's checkpointing, whose wrappers ask no class of transformers'", async () => {
    const fsdp = (on: boolean) => `fsdp_config:\n  activation_checkpointing: ${on}\n`;
    const [kept, recomputed] = await Promise.all([runOf(CONFIG("", fsdp(false))), runOf(CONFIG("", fsdp(true)))]);
    // Of a block stays its input, of twenty-odd tensors as large.
    assert.ok(kept.bytes - recomputed.bytes > 24 * 10 * 8 * 2048 * 1024 * 2, String(kept.bytes - recomputed.bytes));
  });

  it("reduces the gradients of every micro-batch, so that none stay whole between them", async () => {
    const fsdp = "fsdp_config:\n  sharding_strategy: FULL_SHARD\n";
    const config = (total: number) => CONFIG("", fsdp).replace("size: 8\ndevice", `size: ${total}\ndevice`);
    const [one, two] = await Promise.all([runOf(config(64), 8), runOf(config(128), 8)]);
    const whole = 24 * 12 * 1024 ** 2 * 2; // half-precision gradients of all blocks
    assert.ok(two.bytes - one.bytes < whole / 2, String(two.bytes - one.bytes));
  });
});
