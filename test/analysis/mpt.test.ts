/** llm-foundry's MPT (`models/graphs/llm-foundry.mpt.json`): its attention, its loss, and branches that were not captured. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

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
  const files = { "train.yaml": `# vram-lens: device=H100 devices=${devices}\n${text}` };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.yaml"), {})).runs;
  assert.ok(run?.perDevice);
  return { ids: run.assumptions.map(({ id }) => id), bytes: run.perDevice.allocatedPeakBytes };
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

  it("says that another branch stands in for rotary positions", async () => {
    const { ids } = await runOf(CONFIG("  attn_config:\n    rope: true\n"));
    assert.ok(ids.includes("engine.branch"), ids.join(" "));
  });

  it("reduces gradients in float32 unless precision is pure", async () => {
    const fsdp = (mixed: string) => `fsdp_config:\n  sharding_strategy: FULL_SHARD\n  mixed_precision: ${mixed}\n`;
    const [standard, pure] = await Promise.all([
      runOf(CONFIG("", fsdp("DEFAULT")), 2),
      runOf(CONFIG("", fsdp("PURE")), 2),
    ]);
    assert.ok(standard.bytes >= pure.bytes);
  });
});
