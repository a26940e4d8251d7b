/**
 * Lightning CLI configs, litgpt's configs and the Hydra-Lightning template.
 * Source: `lightning/pytorch/trainer/trainer.py` of 2.6. Types and defaults of litgpt's commands are in `fields.json`.
 */
import { OPTIMIZER_PATHS } from "../../terms/optimizers";
import { table } from "../../terms/table";
import { harmless, memory, other, PRECISION, STORAGE } from "../effects";
import { rowsOver } from "../fields";
import type { KeySpec } from "../types";
import captured from "./fields.json";
import { STRATEGY_KEYS } from "./strategies";

const own = rowsOver(captured.fields);

/**
 * What models that are made by their classes have. Bare `16` and `bf16` are the old spellings of mixed precision; only `-true` stores the
 * weights low.
 */
const KEPT: Readonly<Record<string, string>> = table({ ...STORAGE, "16": "float32", bf16: "float32", "32": "float32" });
const COMPUTE: Readonly<Record<string, string>> = table({
  ...PRECISION,
  "64": "fp32",
  "transformer-engine": "fp8",
  "transformer-engine-float16": "fp8",
});

const OPTIMIZERS = { ...OPTIMIZER_PATHS, AdamW: "adamw_torch", SGD: "sgd" } as const;

function trainerPrecision(stored: Readonly<Record<string, string>>): KeySpec {
  return memory("trainer.precision", "compute_dtype", {
    writes: { bf16: "bf16-mixed", fp16: "16-mixed", fp32: "32-true" },
    means: COMPUTE,
    also: [{ name: "load_dtype", means: stored, only: true }],
  });
}

/** Weights that a script loads stay as they were loaded but for what converts the module (lightning/fabric/plugins/precision/half.py, amp.py). */
export const PRECISION_OF_LOADED = trainerPrecision(table({ "bf16-true": "bfloat16", "16-true": "float16" }));

export const LIGHTNING_KEYS: readonly KeySpec[] = [
  memory("trainer", null, "map"),
  trainerPrecision(KEPT),
  memory("trainer.devices", "devices", { auto: true }),
  memory("trainer.gpus", "devices", "devices", { removedIn: "lightning 2.0", replacedBy: "trainer.devices" }),
  memory("trainer.num_nodes", "nodes", "devices", { default: 1, min: 1 }),
  memory("trainer.strategy", "strategy", "any", { default: "auto", auto: true }),
  memory("trainer.strategy.class_path", "strategy", "strategy", { aliases: ["trainer.strategy._target_"] }),
  ...STRATEGY_KEYS,
  memory("trainer.accumulate_grad_batches", "gradient_accumulation_steps", "any", "accumulation", { default: 1 }),
  memory("trainer.gradient_clip_val", "max_grad_norm", "clipping"),
  other("trainer.accelerator", null, "string"),
  memory("model", null, "any"),
  memory("model.class_path", "model_class", "model", { aliases: ["model._target_"] }),
  memory("model.init_args.model_name", "model", "model", {
    aliases: [
      "model.init_args.model_name_or_path",
      "model.init_args.pretrained_model_name_or_path",
      "model.model_name",
      "model.model_name_or_path",
    ],
    link: "model",
  }),
  ...["data.init_args", "data.init_args.train_dataloader", "model.init_args", "data", "datamodule", "model"].flatMap(
    (parent) => [
      memory(`${parent}.batch_size`, "micro_batch_size", "micro-batch", {
        aliases: [
          `${parent}.train_batch_size`,
          `${parent}.per_device_batch_size`,
          `${parent}.micro_batch_size`,
          `${parent}.batch_size_per_device`,
        ],
      }),
      memory(`${parent}.max_seq_length`, "sequence_length", "sequence", {
        aliases: [`${parent}.max_length`, `${parent}.block_size`, `${parent}.seq_length`, `${parent}.max_seq_len`],

        nullable: true,
      }),
      memory(`${parent}.gradient_checkpointing`, "gradient_checkpointing", "checkpointing"),
    ],
  ),
  memory("optimizer.class_path", "optimizer", "optimizer", {
    aliases: ["model.optimizer._target_", "model.init_args.optimizer.class_path"],
    means: OPTIMIZERS,
  }),
];

export const LITGPT_KEYS: readonly KeySpec[] = [
  own.memory("checkpoint_dir", "model", "model", { type: "string", aliases: ["model_name"], link: "model" }),
  own.memory("precision", "compute_dtype", {
    type: "any",
    // On a card that has bfloat16 (litgpt/utils.py, get_default_supported_precision with `training=True`).
    default: "bf16-mixed",
    writes: { bf16: "bf16-mixed", fp16: "16-mixed", fp32: "32-true" },
    means: COMPUTE,
    also: [{ name: "load_dtype", means: KEPT, only: true }],
  }),
  own.memory("quantize", "quantization", "quantization", {
    type: "any",
    means: {
      "bnb.nf4": "nf4",
      "bnb.nf4-dq": "nf4",
      "bnb.fp4": "fp4",
      "bnb.fp4-dq": "fp4",
      "bnb.int8-training": "int8",
      "bnb.int8": "int8",
      null: "none",
    },
  }),
  own.memory("devices", { auto: true }),
  own.memory("num_nodes", "nodes", "devices", { min: 1 }),
  own.memory("lora_r", "lora_rank", "rank", { min: 0 }),
  own.memory("lora_alpha", "lora_alpha", "alpha", { type: "number" }),
  own.memory("lora_dropout", "lora_dropout", "dropout", { max: 1 }),
  ...(["query", "key", "value", "projection", "mlp", "head"] as const).map((part) =>
    own.memory(`lora_${part}`, `lora_on_${part}`, "targets"),
  ),
  memory("train", null, "map"),
  own.memory("train.micro_batch_size", "micro_batch_size", "micro-batch"),
  own.memory("train.global_batch_size", "global_batch_size", "global-batch"),
  own.memory("train.max_seq_length", "sequence_length", "sequence", { nullable: true }),
  own.memory("train.max_norm", "max_grad_norm", "clipping"),
  own.memory("optimizer", { type: "any", means: OPTIMIZERS }),
  memory("optimizer.class_path", "optimizer", "optimizer", { means: OPTIMIZERS }),
  own.other("out_dir", null, { type: "string" }),
  ...harmless("eval.initial_validation eval.final_validation eval.interval eval.max_iters eval.max_new_tokens"),
];

/** Group files of Hydra templates hold one block at their root. */
export const LIGHTNING_GROUP_KEYS: readonly KeySpec[] = [
  ...LIGHTNING_KEYS.filter((key) => key.key.startsWith("trainer.")).map(
    (key): KeySpec => ({
      ...key,
      key: key.key.slice("trainer.".length),
      ...(key.aliases && { aliases: key.aliases.map((alias) => alias.slice("trainer.".length)) }),
    }),
  ),
  ...LIGHTNING_KEYS.filter((key) => key.key === "data.batch_size" || key.key === "data.max_seq_length").map(
    (key): KeySpec => ({
      ...key,
      key: key.key.slice("data.".length),
      aliases: (key.aliases ?? []).map((alias) => alias.slice("data.".length)),
    }),
  ),
];
