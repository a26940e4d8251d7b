/** Batches, sequences and the loss over them. */
import { LEVERS } from "../../../../core/advise/levers";
import { ligerLeavesAlone } from "../../../../core/graph/liger";
import { size } from "../../../messages/units";
import { type Facts, hit, type Rule, removal, rule, set } from "../../rule";

/** Whether Liger's fused loss exists for a run is the planner's knowledge. */
const LIGER = LEVERS.find((lever) => lever.id === "fused-loss");

/** Whether Liger has nothing for the model, or the framework does not hand it over. */
const leftAlone = ({ framework: { ligerFamilies } }: Facts, family: string): boolean =>
  ligerLeavesAlone(family) || ligerFamilies?.has(family) === false;

/** Words of a model, of its text side where it has several; 0 where its config says none. */
function wordsOf(config: Readonly<Record<string, unknown>> | undefined): number {
  const side = config?.["text_config"];
  const inner = typeof side === "object" && side !== null ? (side as Readonly<Record<string, unknown>>) : undefined;
  const stated = config?.["vocab_size"] ?? inner?.["vocab_size"];
  return typeof stated === "number" ? stated : 0;
}

export const TRAINER_BATCH_RULES: readonly Rule[] = [
  rule("batch-upper-bound", "information", (facts) => {
    const at = facts.own("auto_find_batch_size");
    const zero3 = facts.stage === 3;
    return hit(at, at?.value === true, {
      args: { batch: facts.run?.microBatchSize ?? "?" },
      ...(zero3 ? { severity: "warning" as const } : {}),
    });
  }),
  rule("split-batches", "warning", (facts) => {
    const at = facts.own("split_batches");
    return hit(at, at?.value === true, { args: { batch: facts.run?.microBatchSize ?? "?" } });
  }),
  rule("logits-large", "information", (facts) => {
    // A run that does not fit says so at the same key, and offers the fused loss as a plan.
    if (facts.usable !== null && (facts.estimate?.usedPeakBytes ?? 0) > facts.usable) return [];
    const bytes = facts.estimate?.components.find((component) => component.kind === "logits-and-loss")?.bytes ?? 0;
    const at = facts.own("fused_loss") ?? facts.own("micro_batch_size");
    const share = bytes / (facts.estimate?.allocatedPeakBytes ?? 1);
    // Liger replaces the loss of some families only; where it fits anyway it is no more than a hint.
    const offered = facts.run !== null && LIGER?.options(facts.run).length !== 0;
    const room = facts.usable !== null && (facts.estimate?.band.highBytes ?? 0) <= facts.usable;
    const vocabulary = wordsOf(facts.run?.model.config);
    return hit(at, facts.trainer && offered && vocabulary > 0 && share > 0.25 && bytes > 2 ** 29, {
      ...(room ? { severity: "hint" as const } : {}),
      args: {
        bytes: size(bytes),
        tokens: (facts.run?.microBatchSize ?? 0) * (facts.run?.sequenceLength ?? 0),
        vocabulary,
      },
      fixes: [set("fix.liger", {}, true, [{ name: "fused_loss", value: true }])],
    });
  }),
  rule("liger-leaves-alone", "warning", (facts) => {
    const at = facts.own("fused_loss");
    const family = facts.run?.model.family ?? "";
    return hit(at, at?.value === true && facts.run !== null && facts.run.trainer == null && leftAlone(facts, family), {
      args: { family },
      fixes: removal(at),
    });
  }),
  rule("sequence-too-long", "warning", (facts) => {
    const at = facts.stated("sequence_length");
    const limit = Number(facts.run?.model.config["max_position_embeddings"] ?? facts.run?.model.config["n_positions"]);
    const length = facts.run?.sequenceLength ?? 0;
    return hit(at, Number.isFinite(limit) && limit > 0 && length > limit, { args: { length, limit } });
  }),
  rule("label-smoothing", "hint", (facts) => {
    const at = facts.own("label_smoothing");
    return hit(at, typeof at?.value === "number" && at.value > 0);
  }),
];
