/** The model: its weights, its code, how it is compiled, and what pins say of it. */
import { openSplit } from "../../../estimate/gpu-count";
import { size } from "../../../messages/units";
import { hit, type Rule, replacement, rule } from "../../rule";

export const TRAINER_MODEL_RULES: readonly Rule[] = [
  rule("checkpointing-use-cache", "warning", (facts) => {
    const at = facts.own("use_cache");
    return hit(at, at?.value === true && facts.isTrue("gradient_checkpointing"), {
      fixes: replacement(at, "false", true),
    });
  }),
  rule("pin-differs", "information", (facts) =>
    (["load_dtype", "attention", "model", "lora_rank"] as const).flatMap((name) => {
      const at = facts.pin(name);
      const stated = facts.own(name);
      const differs =
        stated !== undefined &&
        stated.value !== null &&
        String(stated.value).replace("torch.", "") !== String(at?.value);
      return hit(at, differs, {
        args: { pinned: String(at?.value), stated: String(stated?.value) },
        related: [stated],
      });
    }),
  ),
  rule("torch-compile", "information", (facts) => {
    const at = facts.own("torch_compile") ?? facts.own("torch_compile_backend");
    return hit(at, at?.value !== false && at?.value !== null && facts.run?.loop === undefined);
  }),
  rule("remote-code", "information", (facts) => {
    const at = facts.own("trust_remote_code");
    return hit(at, at?.value === true);
  }),
  rule("weights-exceed-device", "information", (facts) => {
    const bytes = facts.estimate?.components.find((component) => component.kind === "weights")?.bytes ?? 0;
    const at = facts.stated("model");
    return hit(at, facts.usable !== null && bytes > 0.95 * facts.usable && openSplit(facts.resolution) === undefined, {
      args: { bytes: size(bytes), usable: size(facts.usable ?? 0) },
    });
  }),
];
