/** Optimizers that DeepSpeed's file names. */
import { hit, type Rule, removal, set } from "../../rule";

/** Optimizers that send one bit a number. */
const ONE_BIT = /^(?:onebitadam|zerooneadam|onebitlamb)$/i;
/** Optimizers that ZeRO lists (deepspeed/runtime/zero/utils.py, ZERO_SUPPORTED_OPTIMIZERS) or DeepSpeed makes itself. */
const TESTED =
  /^(?:adam|adamw|fusedadam|deepspeedcpuadam|lamb|lion|adagrad|muon|onebitadam|zerooneadam|onebitlamb|muadam|muadamw|musgd)$/i;
const ALLOW_UNTESTED = "zero_allow_untested_optimizer";

export const DEEPSPEED_OPTIMIZERS_RULES: readonly Rule[] = [
  {
    code: "ds-optimizer-max-grad-norm",
    severity: "error",
    title: "max_grad_norm inside the optimizer",
    why: "DeepSpeed rejects `max_grad_norm` among the optimizer's parameters (\"'max_grad_norm' is not supported as an optimizer parameter\"). A script that hands DeepSpeed an optimizer of its own never reads the section; for a file no run names, it is a warning.",
    mend: "Use the top-level key `gradient_clipping`.",
    en: "`max_grad_norm` is no optimizer parameter: DeepSpeed stops. Use `gradient_clipping`.",
    zh: "`max_grad_norm` 不是优化器参数，DeepSpeed 会报错；请使用 `gradient_clipping`。",
    example: {
      deepspeed: '{"zero_optimization": {"stage": 1}, "optimizer": {"type": "Adam", "params": {"max_grad_norm": 1.0}}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_optimizer_max_grad_norm");
      const alone = facts.framework.part === "engine";
      return hit(at, typeof at?.value === "number" && at.value > 0, {
        fixes: removal(at),
        ...(alone ? { severity: "warning" as const } : {}),
      });
    },
  },
  {
    code: "ds-onebit-zero",
    severity: "error",
    title: "1-bit optimizers with ZeRO",
    why: "The 1-bit optimizers keep and compress their own gradients and are not compatible with ZeRO.",
    mend: "Use `AdamW`, or stage 0.",
    en: "{optimizer} does not work with ZeRO: use AdamW, or stage 0.",
    zh: "{optimizer} 与 ZeRO 不兼容：请使用 AdamW，或设为阶段 0。",
    example: {
      deepspeed: '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-4}}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_optimizer");
      return hit(at, ONE_BIT.test(String(at?.value)) && (facts.stage ?? 0) > 0, {
        args: { optimizer: String(at?.value) },
      });
    },
  },
  {
    code: "ds-untested-optimizer",
    severity: "warning",
    title: "ZeRO does not know this optimizer",
    why: "ZeRO accepts a short list of optimizers; any other needs `zero_allow_untested_optimizer: true`, otherwise DeepSpeed asserts.",
    mend: "Set `zero_allow_untested_optimizer` to `true`, or use AdamW.",
    en: "ZeRO does not list {optimizer}: DeepSpeed stops without `zero_allow_untested_optimizer: true`.",
    zh: "ZeRO 未列出 {optimizer}：没有 `zero_allow_untested_optimizer: true` 时 DeepSpeed 会报错。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "SGD", "params": {"lr": 1e-4}}}' },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_optimizer");
      const known = TESTED.test(String(at?.value)) || at?.auto || at?.unknown;
      return hit(at, !known && (facts.stage ?? 0) > 0 && !facts.isTrue(ALLOW_UNTESTED), {
        args: { optimizer: String(at?.value) },
        fixes: [
          set("fix.replace", { key: ALLOW_UNTESTED, value: "true" }, true, [{ name: ALLOW_UNTESTED, value: true }]),
        ],
      });
    },
  },
];
