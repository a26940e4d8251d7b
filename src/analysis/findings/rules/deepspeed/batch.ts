/** Batch sizes in DeepSpeed's file, and numbers that a trainer fills in or compares. */
import type { SettingName } from "../../../../terms/settings";
import { hit, type Rule, replacement, rule } from "../../rule";

export const DEEPSPEED_BATCH_RULES: readonly Rule[] = [
  rule("ds-batch-triple", "error", (facts) => {
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
  }),
  rule("ds-hf-mismatch", "error", (facts) => {
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
  }),
  rule("ds-elastic-batch", "warning", (facts) => {
    const at = facts.deepspeed("global_batch_size") ?? facts.deepspeed("micro_batch_size");
    return hit(at, facts.deepspeed("elasticity_enabled")?.value === true, { args: { key: at?.key ?? "" } });
  }),
  rule("unresolved-auto", "hint", (facts) => {
    const at = facts.deepspeed("global_batch_size") ?? facts.deepspeed("micro_batch_size");
    return hit(at, !facts.trainer && at?.auto === true && facts.inputs.used !== true, {
      args: { key: at?.key ?? "" },
    });
  }),
];
