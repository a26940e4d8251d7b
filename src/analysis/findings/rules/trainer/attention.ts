/** Kinds of attention. */
import { hit, type Rule, set } from "../../rule";

export const TRAINER_ATTENTION_RULES: readonly Rule[] = [
  {
    code: "flash-attention-gpu",
    severity: "error",
    title: "Flash attention on an older card",
    why: 'FlashAttention 2 runs on Ampere and later cards only ("FlashAttention only supports Ampere GPUs or newer"); version 3 on Hopper.',
    mend: "Use `sdpa`, which picks the best kernel the card has.",
    en: "{attention} does not run on {device}: use sdpa.",
    zh: "{attention} 无法在 {device} 上运行：请使用 sdpa。",
    example: { trl: "attn_implementation: flash_attention_2", pins: "device: Tesla T4" },
    check: (facts) => {
      const at = facts.stated("attention");
      const architecture = facts.run?.device?.architecture ?? "";
      const old = ["turing", "volta", "pascal", "maxwell"].includes(architecture);
      return hit(at, /^flash_attention/.test(String(at?.value)) && old, {
        args: { attention: String(at?.value), device: facts.run?.device?.name ?? "" },
        fixes: [set("fix.sdpa", {}, true, [{ name: "attention", value: "sdpa" }])],
      });
    },
  },
  {
    code: "flash-attention-fp32",
    severity: "error",
    title: "Flash attention in float32",
    why: "FlashAttention takes float16 and bfloat16 only; with float32 weights and no autocast its kernel raises.",
    mend: "Set `bf16: true`, or use `sdpa`.",
    en: "{attention} needs 16-bit inputs: set `bf16: true`, or use sdpa.",
    zh: "{attention} 需要 16 位输入：请设置 `bf16: true`，或使用 sdpa。",
    example: { train: "bf16: false", pins: "attention: flash_attention_2\ndtype: float32" },
    check: (facts) => {
      const at = facts.stated("attention");
      const float =
        facts.run?.loadDtype === "float32" && facts.run.autocast === null && facts.run.parallel.deepspeed === null;
      // Other frameworks choose another kernel then (Transformer Engine), or set their precision themselves.
      const stops = facts.framework.trainer !== undefined;
      return hit(at, stops && /^flash_attention/.test(String(at?.value)) && float, {
        args: { attention: String(at?.value) },
        fixes: [set("fix.bf16", {}, false, [{ name: "compute_dtype", value: "bf16" }])],
      });
    },
  },
  {
    code: "eager-attention",
    severity: "hint",
    title: "Eager attention materialises the scores",
    why: "Eager attention keeps batch × heads × tokens × tokens scores per layer; `sdpa` computes the same without them.",
    mend: "Use `sdpa` unless the model needs eager (soft-capping, attention outputs).",
    en: "Eager attention keeps scores of tokens × tokens for every head: `sdpa` computes the same without them.",
    zh: "eager 注意力会为每个头保留 token × token 的分数：`sdpa` 结果相同且无需保留。",
    example: { trl: "attn_implementation: eager" },
    check: (facts) => {
      const at = facts.stated("attention");
      const needed = /^gemma2/.test(facts.run?.model.family ?? "");
      return hit(at, at?.value === "eager" && !needed, {
        fixes: [set("fix.sdpa", {}, true, [{ name: "attention", value: "sdpa" }])],
      });
    },
  },
];
