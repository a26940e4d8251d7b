/** Batch sizes in DeepSpeed's file, and numbers that a trainer fills in or compares. */
import type { SettingName } from "../../../../terms/settings";
import { hit, type Rule, replacement } from "../../rule";

export const DEEPSPEED_BATCH_RULES: readonly Rule[] = [
  {
    code: "ds-batch-triple",
    severity: "error",
    title: "Batch sizes do not multiply",
    why: "DeepSpeed checks `train_batch_size == train_micro_batch_size_per_gpu × gradient_accumulation_steps × GPUs` and stops when it does not hold (`_batch_assertion` in `runtime/config.py`).",
    mend: 'Correct one of the three, or leave two of them out. Under the Hugging Face Trainer write `"auto"` for all three.',
    en: "`train_batch_size` {total} ≠ {product} = micro {micro} × accumulation {steps} × GPUs {world}: DeepSpeed stops.",
    zh: "`train_batch_size` {total} ≠ {product} = 微批大小 {micro} × 累积 {steps} × {world} 张 GPU：DeepSpeed 会报错。",
    example: {
      deepspeed:
        '{"train_batch_size": 30, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 1}}',
      pins: "device: { name: 24GB, count: 4 }",
    },
    check: (facts) => {
      const total = facts.deepspeed("global_batch_size");
      const micro = facts.deepspeed("micro_batch_size");
      const steps = facts.deepspeed("gradient_accumulation_steps");
      const world = facts.world;
      if (typeof total?.value !== "number" || typeof micro?.value !== "number" || typeof steps?.value !== "number")
        return [];
      const share = micro.value * steps.value;
      if (world === undefined) {
        const remainder = total.value % share !== 0;
        return hit(total, remainder, {
          args: { total: total.value, micro: micro.value, steps: steps.value, world: "?", product: `${share} × ?` },
        });
      }
      return hit(total, total.value !== share * world, {
        args: { total: total.value, micro: micro.value, steps: steps.value, world, product: share * world },
        related: [micro, steps],
        fixes: replacement(total, facts.trainer ? '"auto"' : String(share * world), true),
      });
    },
  },
  {
    code: "ds-hf-mismatch",
    severity: "error",
    title: "DeepSpeed and TrainingArguments disagree",
    why: 'The Hugging Face Trainer compares the numbers of the DeepSpeed file with its own arguments and stops with "Please correct the following DeepSpeed config values that mismatch TrainingArguments values" (`transformers/integrations/deepspeed.py`).',
    mend: 'Write `"auto"` in the DeepSpeed file: the Trainer then fills in its own value.',
    en: "`{key}` is {theirs} here but {ours} in TrainingArguments: the Hugging Face Trainer stops.",
    zh: "此处 `{key}` 为 {theirs}，而 TrainingArguments 为 {ours}：Hugging Face Trainer 会报错。",
    example: {
      train: "deepspeed: ds.json",
      deepspeed: '{"train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 2}}',
    },
    check: (facts) => {
      if (!facts.trainer || facts.inputs.deepspeed === undefined) return [];
      const pairs: readonly [SettingName, unknown][] = [
        ["micro_batch_size", facts.run?.microBatchSize],
        ["gradient_accumulation_steps", facts.run?.gradientAccumulationSteps],
        ["max_grad_norm", facts.run?.maxGradNorm],
        ["bf16", facts.run === null ? undefined : facts.resolution.resolved.get("compute_dtype")?.value === "bf16"],
        ["fp16", facts.run === null ? undefined : facts.resolution.resolved.get("compute_dtype")?.value === "fp16"],
      ];
      return pairs.flatMap(([name, ours]) => {
        const theirs = facts.deepspeed(name);
        const pinned = facts.pin(name) !== undefined;
        if (
          theirs === undefined ||
          theirs.auto ||
          theirs.unknown ||
          theirs.value === null ||
          ours === undefined ||
          pinned
        )
          return [];
        if (theirs.value === ours || (facts.own(name) !== undefined && facts.own(name)?.value === theirs.value))
          return [];
        return [
          {
            at: theirs,
            args: { key: theirs.key, theirs: String(theirs.value), ours: String(ours) },
            related: [facts.own(name)],
            fixes: replacement(theirs, '"auto"', true),
          },
        ];
      });
    },
  },
  {
    code: "ds-elastic-batch",
    severity: "warning",
    title: "Batch sizes next to elasticity",
    why: "With `elasticity.enabled` DeepSpeed chooses the batch sizes itself and rejects stated ones unless `ignore_non_elastic_batch_info` is set.",
    mend: "Remove the batch keys.",
    en: "`{key}` is rejected while elasticity is on (unless `ignore_non_elastic_batch_info`).",
    zh: "elasticity 开启时 `{key}` 会被拒绝（除非设置 `ignore_non_elastic_batch_info`）。",
    example: {
      deepspeed: '{"train_batch_size": 32, "zero_optimization": {"stage": 1}, "elasticity": {"enabled": true}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("global_batch_size") ?? facts.deepspeed("micro_batch_size");
      return hit(at, facts.deepspeed("elasticity_enabled")?.value === true, { args: { key: at?.key ?? "" } });
    },
  },
  {
    code: "unresolved-auto",
    severity: "hint",
    title: "auto is filled by a trainer",
    why: '`"auto"` at the top level is filled in by the Hugging Face Trainer or Accelerate. A script that calls `deepspeed.initialize` with this file fails on it.',
    mend: "Open the training config that uses this file to see what the values become, or write numbers.",
    en: "`{key}` is `auto`: the Hugging Face Trainer or Accelerate fills it; a plain DeepSpeed script fails here.",
    zh: "`{key}` 为 `auto`：由 Hugging Face Trainer 或 Accelerate 填充；纯 DeepSpeed 脚本会在此失败。",
    example: { deepspeed: '{"train_batch_size": "auto", "zero_optimization": {"stage": 2}}' },
    check: (facts) => {
      const at = facts.deepspeed("global_batch_size") ?? facts.deepspeed("micro_batch_size");
      return hit(at, !facts.trainer && at?.auto === true && facts.inputs.used !== true, {
        args: { key: at?.key ?? "" },
      });
    },
  },
];
