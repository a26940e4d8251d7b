/** DeepSpeed's precisions: its 16-bit engines, copies of the weights, dtypes of what is added and sent. */
import { size } from "../../../messages/units";
import { hit, type Rule, removal, replacement, rule } from "../../rule";

export const DEEPSPEED_PRECISION_RULES: readonly Rule[] = [
  rule("ds-fp16-and-bf16", "error", (facts) => {
    const fp16 = facts.deepspeed("fp16");
    const bf16 = facts.deepspeed("bf16");
    return hit(fp16, fp16?.value === true && bf16?.value === true, {
      related: [bf16],
      fixes: replacement(fp16, "false", false),
    });
  }),
  rule("ds-amp-zero", "error", (facts) => {
    const at = facts.deepspeed("amp");
    return hit(at, at?.value === true && (facts.stage ?? 0) > 0, { fixes: removal(facts.deepspeed("amp_block")) });
  }),
  rule("ds-bf16-optimizer-states", "error", (facts) => {
    const at = facts.deepspeed("bf16_optimizer_states");
    return hit(at, at?.value === true && (!facts.isTrue("bf16_master_weights_and_grads") || facts.stage === 0));
  }),
  rule("ds-bf16-master-weights", "error", (facts) => {
    const at = facts.deepspeed("bf16_master_weights_and_grads");
    const isHeld = facts.isTrue("bf16_optimizer_states") || facts.deepspeed("offload_optimizer")?.value === "cpu";
    return hit(at, at?.value === true && (facts.stage === 0 || !isHeld), { fixes: removal(at) });
  }),
  rule("ds-fp16-master-weights", "error", (facts) => {
    const at = facts.deepspeed("fp16_master_weights_and_grads");
    return hit(at, at?.value === true && (facts.stage === 0 || facts.deepspeed("offload_optimizer")?.value !== "cpu"), {
      fixes: removal(at),
    });
  }),
  rule("ds-grad-accum-fp32", "information", (facts) => {
    const at = facts.deepspeed("grad_accum_dtype");
    return hit(at, (at?.value === "fp32" || at?.value === "float32") && (facts.isTrue("bf16") || facts.isTrue("fp16")));
  }),
  rule("ds-communication-fp32", "information", (facts) => {
    const at = facts.deepspeed("communication_data_type");
    const bucket = facts.settings.number("reduce_bucket_size") ?? 5e8;
    return hit(
      at,
      (at?.value === "fp32" || at?.value === "float32") && (facts.isTrue("bf16") || facts.isTrue("fp16")),
      { args: { bytes: size(bucket * 4) } },
    );
  }),
];
