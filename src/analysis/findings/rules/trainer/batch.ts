/** Batches, sequences and the loss over them. */
import { LEVERS } from "../../../../core/advise/levers";
import { ligerLeavesAlone } from "../../../../core/graph/liger";
import { size } from "../../../messages/units";
import { type Facts, hit, type Rule, removal, set } from "../../rule";

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
  {
    code: "batch-upper-bound",
    severity: "information",
    title: "The batch size is only an upper bound",
    why: "`auto_find_batch_size` starts over with a smaller batch after running out of memory. The estimate is for the batch as written.",
    mend: "Set the batch that fits and switch it off: restarts cost time and leave fragments.",
    en: "`auto_find_batch_size` lowers the batch after running out of memory: {batch} is only where it starts.",
    zh: "`auto_find_batch_size` 会在显存不足后降低批大小：{batch} 只是起点。",
    example: { train: "auto_find_batch_size: true" },
    check: (facts) => {
      const at = facts.own("auto_find_batch_size");
      const zero3 = facts.stage === 3;
      return hit(at, at?.value === true, {
        args: { batch: facts.run?.microBatchSize ?? "?" },
        ...(zero3 ? { severity: "warning" as const } : {}),
      });
    },
  },
  {
    code: "split-batches",
    severity: "warning",
    title: "The per-device batch is the global batch",
    why: "`accelerator_config.split_batches` divides every batch of the loader over the GPUs: `per_device_train_batch_size` is then the batch of all GPUs together.",
    mend: "Remove `split_batches`, or multiply the batch size by the number of GPUs.",
    en: "With `split_batches` the per-device batch is shared by all GPUs: each takes a part of {batch}.",
    zh: "启用 `split_batches` 时 per-device 批由所有 GPU 共享：每张 GPU 只处理 {batch} 的一部分。",
    example: { train: "accelerator_config: { split_batches: true }" },
    check: (facts) => {
      const at = facts.own("split_batches");
      return hit(at, at?.value === true, { args: { batch: facts.run?.microBatchSize ?? "?" } });
    },
  },
  {
    code: "logits-large",
    severity: "information",
    title: "Logits and their loss take a large share",
    why: "The loss holds logits of batch × tokens × vocabulary, in float32, with its gradient beside it. A fused loss computes them piece by piece.",
    mend: "Set `use_liger_kernel: true`.",
    en: "Logits and loss take {bytes}: {tokens|,} tokens × {vocabulary|,} words. `use_liger_kernel` removes most of it.",
    zh: "logits 与损失占 {bytes}：{tokens|,} 个 token × {vocabulary|,} 词表。`use_liger_kernel` 可去除大部分。",
    example: {
      train: "bf16: true\nper_device_train_batch_size: 16",
      pins: "sequence_length: 4096",
      model: { vocab_size: 128256 },
    },
    check: (facts) => {
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
    },
  },
  {
    code: "liger-leaves-alone",
    severity: "warning",
    title: "Liger has no kernels for the model",
    why: "Liger replaces the code of model types that it has a function for (`MODEL_TYPE_TO_APPLY_LIGER_FN`). Any other type is left as it is: the logits stay whole, and the switch changes nothing.",
    mend: "Remove the switch, and bring the logits down otherwise: a smaller micro-batch or shorter sequences.",
    en: "Liger has no kernels for `{family}`: the switch changes nothing.",
    zh: "Liger 没有 `{family}` 的内核：此开关不起任何作用。",
    example: {
      train: "use_liger_kernel: true",
      model: { model_type: "gpt2", n_embd: 64, n_layer: 2, n_head: 4, n_positions: 1024 },
    },
    check: (facts) => {
      const at = facts.own("fused_loss");
      const family = facts.run?.model.family ?? "";
      return hit(
        at,
        at?.value === true && facts.run !== null && facts.run.trainer == null && leftAlone(facts, family),
        {
          args: { family },
          fixes: removal(at),
        },
      );
    },
  },
  {
    code: "sequence-too-long",
    severity: "warning",
    title: "Sequences longer than the model's positions",
    why: "The model was made for at most `max_position_embeddings` tokens. Models with learned positions (GPT-2, BERT, OPT) fail beyond them; rotary models lose quality.",
    mend: "Shorten the sequences, or choose a model for longer contexts.",
    en: "{length|,} tokens per sequence, but the model has {limit|,} positions.",
    zh: "每条序列 {length|,} 个 token，而模型只有 {limit|,} 个位置。",
    example: { trl: "max_length: 8192" },
    check: (facts) => {
      const at = facts.stated("sequence_length");
      const limit = Number(
        facts.run?.model.config["max_position_embeddings"] ?? facts.run?.model.config["n_positions"],
      );
      const length = facts.run?.sequenceLength ?? 0;
      return hit(at, Number.isFinite(limit) && limit > 0 && length > limit, { args: { length, limit } });
    },
  },
  {
    code: "label-smoothing",
    severity: "hint",
    title: "Label smoothing doubles the logits",
    why: "A non-zero `label_smoothing_factor` computes log-probabilities of the whole vocabulary: a second buffer as large as the logits.",
    mend: "Set it to 0 when memory is short.",
    en: "Label smoothing keeps a second buffer as large as the logits.",
    zh: "标签平滑会多保留一份与 logits 同样大小的缓冲区。",
    example: { train: "label_smoothing_factor: 0.1" },
    check: (facts) => {
      const at = facts.own("label_smoothing");
      return hit(at, typeof at?.value === "number" && at.value > 0);
    },
  },
];
