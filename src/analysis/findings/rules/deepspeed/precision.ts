/** DeepSpeed's precisions: its 16-bit engines, copies of the weights, dtypes of what is added and sent. */
import { size } from "../../../messages/units";
import { hit, type Rule, removal, replacement } from "../../rule";

export const DEEPSPEED_PRECISION_RULES: readonly Rule[] = [
  {
    code: "ds-fp16-and-bf16",
    severity: "error",
    title: "fp16 and bf16 are both on",
    why: "DeepSpeed asserts that at most one of its two 16-bit engines is enabled and stops at initialisation.",
    mend: "Keep `bf16` on Ampere and later cards, `fp16` on older ones, and switch the other off.",
    en: "`fp16` and `bf16` are both on: DeepSpeed stops with an assertion. Keep one.",
    zh: "`fp16` 与 `bf16` 同时开启：DeepSpeed 会报断言错误，请只保留一个。",
    example: { deepspeed: '{"zero_optimization": {"stage": 1}, "fp16": {"enabled": true}, "bf16": {"enabled": true}}' },
    check: (facts) => {
      const fp16 = facts.deepspeed("fp16");
      const bf16 = facts.deepspeed("bf16");
      return hit(fp16, fp16?.value === true && bf16?.value === true, {
        related: [bf16],
        fixes: replacement(fp16, "false", false),
      });
    },
  },
  {
    code: "ds-amp-zero",
    severity: "error",
    title: "Apex AMP with ZeRO",
    why: "The `amp` block (NVIDIA apex) cannot be combined with ZeRO.",
    mend: "Use `bf16` or `fp16` instead.",
    en: "`amp` does not work with ZeRO: use `bf16` or `fp16`.",
    zh: "`amp` 不能与 ZeRO 同时使用：请改用 `bf16` 或 `fp16`。",
    example: { deepspeed: '{"zero_optimization": {"stage": 1}, "amp": {"enabled": true}}' },
    check: (facts) => {
      const at = facts.deepspeed("amp");
      return hit(at, at?.value === true && (facts.stage ?? 0) > 0, { fixes: removal(facts.deepspeed("amp_block")) });
    },
  },
  {
    code: "ds-bf16-optimizer-states",
    severity: "error",
    title: "bfloat16 optimizer states without bfloat16 master weights",
    why: "`bf16_optimizer_states` needs `bf16_master_weights_and_grads` and ZeRO 1, 2 or 3.",
    mend: "Set both to `true`.",
    en: "`bf16_optimizer_states` needs `bf16_master_weights_and_grads: true` and ZeRO.",
    zh: "`bf16_optimizer_states` 需要 `bf16_master_weights_and_grads: true` 以及 ZeRO。",
    example: {
      deepspeed: '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true, "bf16_optimizer_states": true}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("bf16_optimizer_states");
      return hit(at, at?.value === true && (!facts.isTrue("bf16_master_weights_and_grads") || facts.stage === 0));
    },
  },
  {
    code: "ds-bf16-master-weights",
    severity: "error",
    title: "bfloat16 master weights with float32 optimizer states on the GPU",
    why: "`bf16_master_weights_and_grads` is implemented with optimizer offload (DeepSpeedCPUAdam), or with `bf16_optimizer_states`.",
    mend: "Set `bf16_optimizer_states: true`, or offload the optimizer.",
    en: "`bf16_master_weights_and_grads` needs `bf16_optimizer_states` or `offload_optimizer`.",
    zh: "`bf16_master_weights_and_grads` 需要 `bf16_optimizer_states` 或 `offload_optimizer`。",
    example: {
      deepspeed:
        '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true, "bf16_master_weights_and_grads": true}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("bf16_master_weights_and_grads");
      const isHeld = facts.isTrue("bf16_optimizer_states") || facts.deepspeed("offload_optimizer")?.value === "cpu";
      return hit(at, at?.value === true && (facts.stage === 0 || !isHeld), { fixes: removal(at) });
    },
  },
  {
    code: "ds-fp16-master-weights",
    severity: "error",
    title: "float16 master weights without CPU Adam",
    why: "`fp16_master_weights_and_grads` is implemented by ZeRO with optimizer offload (DeepSpeedCPUAdam) only.",
    mend: "Offload the optimizer, or remove the key.",
    en: "`fp16_master_weights_and_grads` needs ZeRO with `offload_optimizer`.",
    zh: "`fp16_master_weights_and_grads` 需要 ZeRO 与 `offload_optimizer`。",
    example: {
      deepspeed:
        '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": true, "fp16_master_weights_and_grads": true}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("fp16_master_weights_and_grads");
      return hit(
        at,
        at?.value === true && (facts.stage === 0 || facts.deepspeed("offload_optimizer")?.value !== "cpu"),
        { fixes: removal(at) },
      );
    },
  },
  {
    code: "ds-grad-accum-fp32",
    severity: "information",
    title: "Gradients accumulated in float32",
    why: "`data_types.grad_accum_dtype: fp32` keeps the accumulated gradients in 4 bytes per parameter instead of 2.",
    mend: "Leave it out to accumulate in the model's dtype.",
    en: "Gradients accumulate in float32: 4 bytes per parameter instead of 2.",
    zh: "梯度以 float32 累积：每个参数 4 字节而不是 2 字节。",
    example: {
      deepspeed:
        '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 1}, "data_types": {"grad_accum_dtype": "fp32"}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("grad_accum_dtype");
      return hit(
        at,
        (at?.value === "fp32" || at?.value === "float32") && (facts.isTrue("bf16") || facts.isTrue("fp16")),
      );
    },
  },
  {
    code: "ds-communication-fp32",
    severity: "information",
    title: "Reductions in float32",
    why: "With `communication_data_type: fp32` every bucket is cast before it is reduced: a transient of 4 bytes per element of the bucket.",
    mend: "Leave it out unless the network needs it (ROCm with bf16).",
    en: "Reductions in float32 cast each bucket: up to {bytes} more for a moment.",
    zh: "以 float32 通信会转换每个桶：瞬时最多增加 {bytes}。",
    example: {
      deepspeed: '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}, "communication_data_type": "fp32"}',
    },
    check: (facts) => {
      const at = facts.deepspeed("communication_data_type");
      const bucket = facts.settings.number("reduce_bucket_size") ?? 5e8;
      return hit(
        at,
        (at?.value === "fp32" || at?.value === "float32") && (facts.isTrue("bf16") || facts.isTrue("fp16")),
        { args: { bytes: size(bucket * 4) } },
      );
    },
  },
];
