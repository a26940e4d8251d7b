/** Kinds of attention. */
import { hit, type Rule, rule, set } from "../../rule";

export const TRAINER_ATTENTION_RULES: readonly Rule[] = [
  rule("flash-attention-gpu", "error", (facts) => {
    const at = facts.stated("attention");
    const architecture = facts.run?.device?.architecture ?? "";
    const old = ["turing", "volta", "pascal", "maxwell"].includes(architecture);
    return hit(at, /^flash_attention/.test(String(at?.value)) && old, {
      args: { attention: String(at?.value), device: facts.run?.device?.name ?? "" },
      fixes: [set("fix.sdpa", {}, true, [{ name: "attention", value: "sdpa" }])],
    });
  }),
  rule("flash-attention-fp32", "error", (facts) => {
    const at = facts.stated("attention");
    const float =
      facts.run?.loadDtype === "float32" && facts.run.autocast === null && facts.run.parallel.deepspeed === null;
    // Other frameworks choose another kernel then (Transformer Engine), or set their precision themselves.
    const stops = facts.framework.trainer !== undefined;
    return hit(at, stops && /^flash_attention/.test(String(at?.value)) && float, {
      args: { attention: String(at?.value) },
      fixes: [set("fix.bf16", {}, false, [{ name: "compute_dtype", value: "bf16" }])],
    });
  }),
  rule("eager-attention", "hint", (facts) => {
    const at = facts.stated("attention");
    // Caps on the scores are eager attention's alone (transformers/models/gemma2/modeling_gemma2.py, eager_attention_forward).
    const needed = typeof facts.run?.model.config["attn_logit_softcapping"] === "number";
    return hit(at, at?.value === "eager" && !needed, {
      fixes: [set("fix.sdpa", {}, true, [{ name: "attention", value: "sdpa" }])],
    });
  }),
];
