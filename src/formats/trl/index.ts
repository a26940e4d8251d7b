/** TRL and alignment-handbook configs: TrainingArguments with model, adapter and data arguments beside them. */

import type { MapNode } from "../../syntax/tree";
import { table } from "../../terms/table";
import { OTHER_FRAMEWORKS } from "../hf-training-arguments";
import { MODEL_KEYS, OTHER_TRAINING_ARGUMENTS, TRAINING_ARGUMENTS_KEYS } from "../hf-training-arguments/keys";
import { has, hasGroup, NOT_RECOGNISED } from "../recognition";
import { trainerFormat } from "../trainer";
import type { KeySpec } from "../types";
import { OTHER_TRL_KEYS, TRAINER_MARKS, TRL_KEYS } from "./keys";

/** What TRL sets differently from TrainingArguments. */
const REDEFINED: Readonly<Record<string, Pick<KeySpec, "default" | "defaultsBy">>> = table({
  gradient_checkpointing: { default: true, defaultsBy: { "trl<0.22": false } },
  torch_dtype: { default: "float32", defaultsBy: { "trl<0.27": null } },
});

export const TRL_FORMAT_KEYS: readonly KeySpec[] = [
  ...TRL_KEYS,
  ...TRAINING_ARGUMENTS_KEYS,
  ...MODEL_KEYS.filter((spec) => spec.key !== "max_seq_length"),
  {
    key: "max_seq_length",
    name: "sequence_length",
    type: "integer",
    min: 1,
    nullable: true,
    removedIn: "trl 0.20",
    replacedBy: "max_length",
    memory: true,
    effect: "trl.max_seq_length",
  } satisfies KeySpec,
].map((spec) => ({ ...spec, ...REDEFINED[spec.key] }));

const DATA = ["dataset_name", "dataset_mixture", "dataset_mixer", "datasets"];
const OWN = [
  "use_peft",
  "lora_r",
  "lora_target_modules",
  "packing",
  "model_init_kwargs",
  "dataset_mixture",
  "dataset_mixer",
];

/** Arguments of the example scripts of transformers (run_clm.py, run_glue.py, …), which TRL does not have. */
const SCRIPT_MARKS = [
  "block_size",
  "dataset_config_name",
  "train_file",
  "validation_file",
  "validation_split_percentage",
  "task_name",
  "max_source_length",
  "overwrite_cache",
  "preprocessing_only",
];

export const trl = trainerFormat({
  id: "trl",
  keys: TRL_FORMAT_KEYS,
  otherKeys: [...OTHER_TRAINING_ARGUMENTS, ...OTHER_TRL_KEYS],
  convertsText: true,
  recognise(_map: MapNode, names: ReadonlySet<string>, languageId: string) {
    // TRL reads YAML alone (trl/scripts/utils.py, TrlParser): a rank in JSON is of a program's own, which needs no `use_peft`.
    if (languageId === "json" && names.has("lora_r") && !names.has("use_peft")) return NOT_RECOGNISED;
    if (OTHER_FRAMEWORKS.some((key) => names.has(key)) || names.has("template")) return NOT_RECOGNISED;
    const own =
      OWN.filter((key) => names.has(key)).length +
      TRAINER_MARKS.filter((mark) => mark.keys.some((key) => names.has(key))).length;
    if (own === 0 && SCRIPT_MARKS.some((key) => names.has(key))) return NOT_RECOGNISED;
    const data = DATA.find((key) => names.has(key));
    if (names.has("model_name_or_path") && data !== undefined)
      return { confidence: 0.95, because: has("model_name_or_path", data) };
    const trainer = names.has("per_device_train_batch_size") || names.has("output_dir");
    if (own >= 1 && trainer) return { confidence: 0.92, because: hasGroup("TRL") };
    return NOT_RECOGNISED;
  },
});
