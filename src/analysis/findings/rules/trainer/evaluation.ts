/** What evaluation needs beside training. */
import { type Facts, hit, type Rule } from "../../rule";

/** Whether evaluation needs more than training; without an estimate it may. */
function setsThePeak({ estimate }: Facts): boolean {
  const peakOf = (of: (phase: string) => boolean) =>
    Math.max(0, ...(estimate?.phases ?? []).flatMap(({ phase, peakBytes }) => (of(phase) ? [peakBytes] : [])));
  return (
    estimate === undefined || peakOf((phase) => phase === "evaluation") > peakOf((phase) => phase !== "evaluation")
  );
}

export const TRAINER_EVALUATION_RULES: readonly Rule[] = [
  {
    code: "evaluation-batch",
    severity: "information",
    title: "Evaluation runs with a larger batch",
    why: "Evaluation has its own batch size, 8 unless stated, and keeps the logits of every batch unless `prediction_loss_only` is set. It can need more than training.",
    mend: "Set `per_device_eval_batch_size` to the training batch, or `prediction_loss_only: true`.",
    en: "Evaluation runs with batch {batch}, training with {train}: its logits may need more than the training step.",
    zh: "评估批大小为 {batch}，训练为 {train}：评估的 logits 可能比训练步更占显存。",
    example: { train: "eval_strategy: steps\nper_device_eval_batch_size: 32" },
    check: (facts) => {
      const at = facts.own("eval_strategy");
      const batch = facts.settings.number("eval_batch_size") ?? 8;
      const train = facts.run?.microBatchSize ?? Number.POSITIVE_INFINITY;
      const on = at !== undefined && at.value !== "no" && at.value !== false;
      const wanted = on && batch > train && !facts.isTrue("prediction_loss_only");
      return hit(facts.own("eval_batch_size") ?? at, wanted && setsThePeak(facts), { args: { batch, train } });
    },
  },
  {
    code: "evaluation-keeps-predictions",
    severity: "hint",
    title: "Predictions stay on the GPU until evaluation ends",
    why: "With `eval_accumulation_steps` unset the Trainer keeps the predictions of the whole evaluation set on the GPU when metrics are computed.",
    mend: "Set `eval_accumulation_steps` (16, for example), or `prediction_loss_only: true`.",
    en: "With metrics, predictions stay on the GPU until evaluation ends: set `eval_accumulation_steps`, `prediction_loss_only`.",
    zh: "计算指标时，预测结果会保留在 GPU 上直到评估结束：请设置 `eval_accumulation_steps` 或 `prediction_loss_only`。",
    example: { train: "eval_strategy: epoch" },
    check: (facts) => {
      const at = facts.own("eval_strategy");
      const on = at !== undefined && at.value !== "no" && at.value !== false;
      return hit(
        at,
        on &&
          !facts.namedTrainer &&
          facts.own("eval_accumulation_steps") === undefined &&
          !facts.isTrue("prediction_loss_only"),
      );
    },
  },
];
