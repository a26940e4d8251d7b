/** What evaluation needs beside training. */
import { type Facts, hit, type Rule, rule } from "../../rule";

/** Whether evaluation needs more than training; without an estimate it may. */
function setsThePeak({ estimate }: Facts): boolean {
  const peakOf = (of: (phase: string) => boolean) =>
    Math.max(0, ...(estimate?.phases ?? []).flatMap(({ phase, peakBytes }) => (of(phase) ? [peakBytes] : [])));
  return (
    estimate === undefined || peakOf((phase) => phase === "evaluation") > peakOf((phase) => phase !== "evaluation")
  );
}

export const TRAINER_EVALUATION_RULES: readonly Rule[] = [
  rule("evaluation-batch", "information", (facts) => {
    const at = facts.own("eval_strategy");
    const batch = facts.settings.number("eval_batch_size") ?? 8;
    const train = facts.run?.microBatchSize ?? Number.POSITIVE_INFINITY;
    const on = at !== undefined && at.value !== "no" && at.value !== false;
    const wanted = on && batch > train && !facts.isTrue("prediction_loss_only");
    return hit(facts.own("eval_batch_size") ?? at, wanted && setsThePeak(facts), { args: { batch, train } });
  }),
  rule("evaluation-keeps-predictions", "hint", (facts) => {
    const at = facts.own("eval_strategy");
    const on = at !== undefined && at.value !== "no" && at.value !== false;
    return hit(
      at,
      on &&
        !facts.namedTrainer &&
        facts.own("eval_accumulation_steps") === undefined &&
        !facts.isTrue("prediction_loss_only"),
    );
  }),
];
