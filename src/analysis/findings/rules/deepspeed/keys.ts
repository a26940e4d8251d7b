/** Keys of DeepSpeed's file that do nothing, have other names, or are left out of the estimate. */

import { renaming } from "../../../../formats/fix";
import type { SettingName } from "../../../../terms/settings";
import { holds } from "../../../versions";
import { type Facts, hit, type Rule, removal, set } from "../../rule";

/** Features that change memory in ways the estimate does not follow. */
const SPECIAL: readonly SettingName[] = [
  "mics_shard_size",
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
  {
    code: "ds-activation-checkpointing-ignored",
    severity: "warning",
    title: "DeepSpeed's activation checkpointing with a Hugging Face model",
    why: "The block configures `deepspeed.checkpointing`, which only models that call it use (Megatron-DeepSpeed, gpt-neox). Hugging Face models checkpoint through TrainingArguments.",
    mend: "Remove the block and set `gradient_checkpointing: true` in the trainer's config.",
    en: "This block acts only on models that call deepspeed.checkpointing; with Hugging Face models use `gradient_checkpointing`.",
    zh: "该配置块只对调用 deepspeed.checkpointing 的模型有效；Hugging Face 模型请使用 `gradient_checkpointing`。",
    example: {
      train: "deepspeed: ds.json",
      deepspeed: '{"zero_optimization": {"stage": 2}, "activation_checkpointing": {"partition_activations": true}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_activation_checkpointing");
      // With the trainer's own checkpointing on, the block does no harm.
      return hit(at, facts.trainer && !facts.isTrue("gradient_checkpointing"), {
        fixes: [set("fix.checkpointing", {}, true, [{ name: "gradient_checkpointing", value: true }]), ...removal(at)],
      });
    },
  },
  {
    code: "ds-legacy-stage1",
    severity: "error",
    title: "legacy_stage1 was removed",
    why: "The old implementation of stage 1 is gone since 0.5.9; the key stops DeepSpeed.",
    mend: "Remove it.",
    en: "`legacy_stage1` was removed in DeepSpeed 0.5.9 and stops it.",
    zh: "`legacy_stage1` 已在 DeepSpeed 0.5.9 中移除，会报错。",
    example: { deepspeed: '{"zero_optimization": {"stage": 1, "legacy_stage1": true}}' },
    check: (facts) => {
      const at = facts.deepspeed("legacy_stage1");
      return hit(at, at?.value === true, { fixes: removal(at) });
    },
  },
  {
    code: "ds-not-modelled",
    severity: "information",
    title: "A DeepSpeed feature the estimate leaves out",
    why: "This feature changes memory in a way the estimate does not follow yet; the number is for the run without it.",
    mend: "Measure the run, or compare with the feature off.",
    en: "`{key}` is not part of the estimate.",
    zh: "估算未包含 `{key}`。",
    example: { deepspeed: '{"zero_optimization": {"stage": 3, "mics_shard_size": 8}}' },
    check: (facts) =>
      SPECIAL.flatMap((name) => {
        const at = facts.deepspeed(name);
        const off = at?.value === false || at?.value === -1;
        return hit(at, !off && !isRefused(facts, name), { args: { key: at?.key ?? name } });
      }),
  },
  {
    code: "ds-removed-feature",
    severity: "error",
    title: "A DeepSpeed feature that is gone",
    why: "DeepSpeed 0.19.8 has no MiCS, LoCo, compression library, legacy curriculum learning, elasticity or Apex any more and stops at their keys, whatever they say.",
    mend: "Remove the key; for MiCS, `zero_hpz_partition_size` keeps a second copy of the weights within a machine.",
    en: "DeepSpeed 0.19.8 and later stop at `{key}`: the feature was removed.",
    zh: "DeepSpeed 0.19.8 及以后的版本遇到 `{key}` 会报错：该功能已被移除。",
    example: {
      deepspeed: '{"zero_optimization": {"stage": 3, "mics_shard_size": 8}}',
      pins: "libraries: { deepspeed: 0.19.8 }",
    },
    check: (facts) =>
      REMOVED.flatMap((name) => {
        const at = facts.deepspeed(name);
        return hit(at, isRefused(facts, name), { args: { key: at?.key ?? name }, fixes: removal(at) });
      }),
  },
  {
    code: "ds-old-name",
    severity: "hint",
    title: "An older name of a DeepSpeed key",
    why: "The key was renamed; the old spelling still works.",
    mend: "Write the present name.",
    en: "`{key}` is the old name of `{next}`.",
    zh: "`{key}` 是 `{next}` 的旧名称。",
    example: { deepspeed: '{"zero_optimization": {"stage": 1}, "bfloat16": {"enabled": true}}' },
    check: (facts) =>
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
  },
];
