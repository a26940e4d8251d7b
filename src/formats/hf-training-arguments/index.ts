/** TrainingArguments as YAML or JSON, at the root or nested under a key. */

import type { MapNode } from "../../syntax/tree";
import { memory } from "../effects";
import { PEFT_CONFIG_KEYS } from "../peft";
import { hasWith, NOT_RECOGNISED } from "../recognition";
import { derived } from "../schema";
import { trainerFormat } from "../trainer";
import type { LocatedSetting } from "../types";
import { MODEL_KEYS, OTHER_TRAINING_ARGUMENTS, OWN_ADAPTER_KEYS, TRAINING_ARGUMENTS_KEYS } from "./keys";

const KNOWN = new Set([
  ...TRAINING_ARGUMENTS_KEYS.flatMap((spec) => [spec.key, ...(spec.aliases ?? [])]).filter((key) => !key.includes(".")),
  ...OTHER_TRAINING_ARGUMENTS,
]);

/** Keys that say "HF Trainer" by themselves: nobody else spells them so. */
const MARKS = [
  "per_device_train_batch_size",
  "per_device_eval_batch_size",
  "gradient_checkpointing_kwargs",
  "num_train_epochs",
];

/** Keys of frameworks that extend TrainingArguments and have a format of their own. */
export const OTHER_FRAMEWORKS: readonly string[] = [
  "finetuning_type",
  "cutoff_len",
  "base_model",
  "train_type",
  "tuner_type",
  "compute_environment",
  "actor_rollout_ref",
];

/** What scripts of people's own call the length, beside the names of transformers' scripts. */
const LENGTHS = ["max_length", "model_max_length", "max_seq_len"].map((key) =>
  memory(key, "sequence_length", "sequence", { nullable: true }),
);

/** TRL's names for an adapter, in JSON that a program of somebody's own reads. */
const ADAPTERS = [
  memory("lora_r", "lora_rank", "rank", { min: 1 }),
  memory("lora_alpha", "lora_alpha", "alpha"),
  memory("lora_dropout", "lora_dropout", "dropout", { max: 1 }),
  memory("lora_target_modules", "lora_target_modules", "targets"),
];

/** A rank that no switch stands beside is an adapter's: TrainingArguments has none, and a program that reads one uses it. */
function ranksAdapt(settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  const rank = settings.findLast(({ name }) => name === "lora_rank");
  const said = settings.some(({ name }) => name === "adapter" || name === "use_peft");
  return said || typeof rank?.value !== "number" || rank.value <= 0 ? [] : [derived(rank, "adapter", "lora")];
}

export const hfTrainingArguments = trainerFormat({
  id: "hf-training-arguments",
  keys: [...TRAINING_ARGUMENTS_KEYS, ...MODEL_KEYS, ...LENGTHS, ...ADAPTERS, ...OWN_ADAPTER_KEYS, ...PEFT_CONFIG_KEYS],
  derive: ranksAdapt,
  otherKeys: OTHER_TRAINING_ARGUMENTS,
  convertsText: false,
  recognise(_map: MapNode, names: ReadonlySet<string>) {
    if (OTHER_FRAMEWORKS.some((key) => names.has(key))) return NOT_RECOGNISED;
    const known = [...names].filter((name) => KNOWN.has(name)).length;
    const marks = MARKS.filter((mark) => names.has(mark)).length;
    const first = names.has("output_dir") ? "output_dir" : (MARKS.find((mark) => names.has(mark)) ?? "");
    if (marks > 0 && known >= 2)
      return {
        confidence: names.has("output_dir") ? 0.9 : 0.75,
        because: hasWith(first, known - 1, "TrainingArguments"),
      };
    if (names.has("output_dir") && known >= 4)
      return { confidence: 0.6, because: hasWith("output_dir", known - 1, "TrainingArguments") };
    return NOT_RECOGNISED;
  },
});
