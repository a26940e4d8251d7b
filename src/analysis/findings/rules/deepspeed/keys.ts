/** Keys of DeepSpeed's file that do nothing, have other names, or are left out of the estimate. */

import { renaming } from "../../../../formats/fix";
import type { SettingName } from "../../../../terms/settings";
import { holds } from "../../../frameworks/versions";
import { type Facts, hit, type Rule, removal, rule, set } from "../../rule";

/** Features that change memory in ways the estimate does not follow. */
const SPECIAL: readonly SettingName[] = [
  "zeropp_loco_param",
  "zenflow",
  "curriculum_learning",
  "compression_training",
  "hybrid_engine_enabled",
  "super_offload",
  "deepcompile",
];

/** What 0.19.8 took out, with how it says so (deepspeed/runtime/config.py, `_reject_removed_config_keys`). */
const REMOVED: readonly SettingName[] = [
  "mics_shard_size",
  "zeropp_loco_param",
  "compression_training",
  "curriculum_learning",
  "elasticity",
  "amp_block",
];
const REMOVED_FROM = "deepspeed>=0.19.8";

function isRefused(facts: Facts, name: SettingName): boolean {
  return REMOVED.includes(name) && holds(REMOVED_FROM, facts.resolution.libraries);
}

export const DEEPSPEED_KEYS_RULES: readonly Rule[] = [
  rule("ds-activation-checkpointing-ignored", "warning", (facts) => {
    const at = facts.deepspeed("deepspeed_activation_checkpointing");
    // With the trainer's own checkpointing on, the block does no harm.
    return hit(at, facts.trainer && !facts.isTrue("gradient_checkpointing"), {
      fixes: [set("fix.checkpointing", {}, true, [{ name: "gradient_checkpointing", value: true }]), ...removal(at)],
    });
  }),
  rule("ds-legacy-stage1", "error", (facts) => {
    const at = facts.deepspeed("legacy_stage1");
    return hit(at, at?.value === true, { fixes: removal(at) });
  }),
  rule("ds-not-modelled", "information", (facts) =>
    SPECIAL.flatMap((name) => {
      const at = facts.deepspeed(name);
      const off = at?.value === false || at?.value === -1;
      return hit(at, !off && !isRefused(facts, name), { args: { key: at?.key ?? name } });
    }),
  ),
  rule("ds-removed-feature", "error", (facts) =>
    REMOVED.flatMap((name) => {
      const at = facts.deepspeed(name);
      return hit(at, isRefused(facts, name), { args: { key: at?.key ?? name }, fixes: removal(at) });
    }),
  ),
  rule("ds-old-name", "hint", (facts) =>
    (
      [
        ["bf16_block", /(?:^|\.)bfloat16$/, "bf16"],
        [
          "stage3_gather_16bit_weights_on_model_save",
          /gather_fp16_weights_on_model_save$/,
          "stage3_gather_16bit_weights_on_model_save",
        ],
      ] as const
    ).flatMap(([name, pattern, next]) => {
      const at = facts.deepspeed(name);
      return hit(at, at !== undefined && pattern.test(at.key), {
        args: { key: at?.key.replace(/^.*\./, "") ?? "", next },
        // Both names mean the same to DeepSpeed.
        fixes: at?.place == null ? [] : [{ ...renaming(at.place.keySpan, next), safe: true }],
      });
    }),
  ),
];
