/** Optimizers that DeepSpeed's file names. */
import { hit, type Rule, removal, rule, set } from "../../rule";

/** Optimizers that send one bit a number. */
const ONE_BIT = /^(?:onebitadam|zerooneadam|onebitlamb)$/i;
/** Optimizers that ZeRO lists (deepspeed/runtime/zero/utils.py, ZERO_SUPPORTED_OPTIMIZERS) or DeepSpeed makes itself. */
const TESTED =
  /^(?:adam|adamw|fusedadam|deepspeedcpuadam|lamb|lion|adagrad|muon|onebitadam|zerooneadam|onebitlamb|muadam|muadamw|musgd)$/i;
const ALLOW_UNTESTED = "zero_allow_untested_optimizer";

export const DEEPSPEED_OPTIMIZERS_RULES: readonly Rule[] = [
  rule("ds-optimizer-max-grad-norm", "error", (facts) => {
    const at = facts.deepspeed("deepspeed_optimizer_max_grad_norm");
    const alone = facts.framework.part === "engine";
    return hit(at, typeof at?.value === "number" && at.value > 0, {
      fixes: removal(at),
      ...(alone ? { severity: "warning" as const } : {}),
    });
  }),
  rule("ds-onebit-zero", "error", (facts) => {
    const at = facts.deepspeed("deepspeed_optimizer");
    return hit(at, ONE_BIT.test(String(at?.value)) && (facts.stage ?? 0) > 0, {
      args: { optimizer: String(at?.value) },
    });
  }),
  rule("ds-untested-optimizer", "warning", (facts) => {
    const at = facts.deepspeed("deepspeed_optimizer");
    const known = TESTED.test(String(at?.value)) || at?.auto || at?.unknown;
    return hit(at, !known && (facts.stage ?? 0) > 0 && !facts.isTrue(ALLOW_UNTESTED), {
      args: { optimizer: String(at?.value) },
      fixes: [
        set("fix.replace", { key: ALLOW_UNTESTED, value: "true" }, true, [{ name: ALLOW_UNTESTED, value: true }]),
      ],
    });
  }),
];
