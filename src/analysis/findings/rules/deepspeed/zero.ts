/** What stages of ZeRO share, gather and keep. */
import { DIMENSIONS } from "../../../../core/graph/dimensions";
import { holds } from "../../../frameworks/versions";
import { size } from "../../../messages/units";
import { hit, type Rule, replacement, rule, set } from "../../rule";

/** Settings of a model's config that count experts. */
const EXPERTS: readonly string[] = [...DIMENSIONS.experts, "moe_num_experts"];

export const DEEPSPEED_ZERO_RULES: readonly Rule[] = [
  rule("zero3-experts", "warning", (facts) => {
    const { model } = facts.inputs;
    const stage = facts.deepspeed("zero_stage");
    const config: Readonly<Record<string, unknown>> = model?.kind === "found" ? model.config : {};
    const experts = EXPERTS.map((name) => Number(config[name] ?? 0)).find((count) => count > 1);
    const leaf = facts.stated("leaf_module") ?? facts.stated("moe_layer_classes");
    const modular = holds("transformers<5", facts.resolution.libraries);
    return hit(stage, facts.stage === 3 && experts !== undefined && leaf === undefined && modular, {
      args: { experts: experts ?? 0 },
    });
  }),
  rule("zero3-frozen-reentrant", "warning", (facts) => {
    const at = facts.own("use_reentrant");
    const { run } = facts;
    const isSpread = facts.stage === 3 && run?.parallel.deepspeed?.releasesRecomputed !== true;
    return hit(
      at ?? facts.own("gradient_checkpointing") ?? facts.deepspeed("zero_stage"),
      isSpread && run?.adapter != null && run.checkpointing?.useReentrant === true,
      { fixes: replacement(at, "false", true) },
    );
  }),
  rule("ds-bucket-cost", "information", (facts) => {
    const at = facts.deepspeed("reduce_bucket_size");
    if (typeof at?.value !== "number" || facts.stage === undefined || facts.stage === 0) return [];
    const half = facts.isTrue("bf16") || facts.isTrue("fp16");
    const twice = facts.stage < 3 && facts.isTrue("overlap_comm");
    const bytes = at.value * (half ? 2 : 4) * (twice ? 2 : 1);
    if (bytes < 512 * 2 ** 20) return [];
    const heavy = facts.usable !== null && bytes > 0.05 * facts.usable;
    return hit(at, true, {
      ...(heavy ? { severity: "warning" as const } : {}),
      args: {
        bytes: size(bytes),
        elements: at.value.toExponential().replace("e+", "e"),
        twice: twice ? " × 2 `overlap_comm`" : "",
      },
      fixes: replacement(at, facts.trainer ? '"auto"' : "50000000", true),
    });
  }),
  rule("ds-no-gather-on-save", "information", (facts) => {
    const at = facts.deepspeed("zero_stage");
    const name = "stage3_gather_16bit_weights_on_model_save";
    // A framework's own loop gathers what it saves itself; a file by itself may be for any.
    return hit(at, at?.value === 3 && (facts.trainer || facts.framework.part === "engine") && !facts.isTrue(name), {
      fixes: [set("fix.replace", { key: name, value: "true" }, true, [{ name, value: true }])],
    });
  }),
  rule("ds-persistence-large", "information", (facts) => {
    const at = facts.deepspeed("stage3_param_persistence_threshold");
    return hit(at, facts.stage === 3 && typeof at?.value === "number" && at.value >= 1e6, {
      args: {
        elements: Number(at?.value ?? 0)
          .toExponential()
          .replace("e+", "e"),
      },
    });
  }),
  rule("ds-hpz", "information", (facts) => {
    const at = facts.deepspeed("hpz_partition_size");
    return hit(at, typeof at?.value === "number" && at.value > 1, { args: { ranks: Number(at?.value ?? 1) } });
  }),
  rule("ds-one-gpu", "hint", (facts) => {
    const at = facts.deepspeed("zero_stage");
    const offloads = [facts.deepspeed("offload_optimizer")?.value, facts.deepspeed("offload_param")?.value].some(
      (value) => value === "cpu" || value === "nvme",
    );
    return hit(at, facts.world === 1 && (facts.stage ?? 0) > 0 && !offloads, { args: { stage: facts.stage ?? 0 } });
  }),
  rule("ds-stage-zero", "hint", (facts) => {
    const at = facts.deepspeed("zero_stage");
    return hit(at, at?.value === 0 && (facts.world ?? 1) > 1, {
      args: { world: facts.world ?? 1 },
      fixes: [set("fix.zero-stage", { stage: 2 }, true, [{ name: "zero_stage", value: 2 }])],
    });
  }),
  rule("ds-prefetch-above-live", "hint", (facts) => {
    const at = facts.deepspeed("stage3_prefetch_bucket_size");
    const live = facts.deepspeed("stage3_max_live_parameters");
    return hit(
      at,
      facts.stage === 3 && typeof at?.value === "number" && typeof live?.value === "number" && at.value > live.value,
      { related: [live] },
    );
  }),
  rule("ds-pipeline-zero", "error", (facts) => {
    const at = facts.deepspeed("pipeline_block");
    return hit(at, (facts.stage ?? 0) > 1, { args: { stage: facts.stage ?? 0 } });
  }),
];
