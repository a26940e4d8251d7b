/**
 * TrainingArguments of transformers 4.x and 5.x: what the keys mean that touch memory or decide about the run. Their types and
 * defaults are in `fields.json`, read from `transformers/training_args.py`.
 */

import { TRAINER_OPTIMIZERS } from "../../terms/optimizers";
import { FSDP_BLOCK } from "../accelerate/fsdp";
import { memory, other } from "../effects";
import { rowsOver } from "../fields";
import type { KeySpec } from "../types";
import captured from "./fields.json";

const own = rowsOver(captured.fields);

const INTERVAL = ["no", "steps", "epoch", "best"];

export const TRAINING_ARGUMENTS_KEYS: readonly KeySpec[] = [
  own.memory("per_device_train_batch_size", "micro_batch_size"),
  own.memory("per_gpu_train_batch_size", "micro_batch_size", { replacedBy: "per_device_train_batch_size" }),
  own.memory("per_device_eval_batch_size", "eval_batch_size"),
  own.memory("per_gpu_eval_batch_size", "eval_batch_size", { replacedBy: "per_device_eval_batch_size" }),
  own.memory("gradient_accumulation_steps"),
  own.memory("eval_accumulation_steps"),
  own.memory("gradient_checkpointing", "gradient_checkpointing", "checkpointing"),
  own.memory("gradient_checkpointing_kwargs"),
  memory("gradient_checkpointing_kwargs.use_reentrant", "use_reentrant", {
    default: false,
    defaultsBy: { "transformers<5": true },
  }),
  memory("gradient_checkpointing_kwargs.every_n_layers", "checkpoint_every_n_layers", { default: 1, min: 1 }),
  memory("gradient_checkpointing_kwargs.offload", "offload_activations", { default: false }),
  own.memory("bf16"),
  own.memory("fp16"),
  own.other("bf16_full_eval", null),
  own.other("fp16_full_eval", null),
  own.other("tf32"),
  own.memory("optim", "optimizer", {
    default: "adamw_torch_fused",
    defaultsBy: { "torch<2.8": "adamw_torch", "transformers<4.54": "adamw_torch" },
    values: TRAINER_OPTIMIZERS,
  }),
  own.memory("adafactor", { replacedBy: "optim: adafactor" }),
  own.memory("optim_args"),
  own.memory("weight_decay"),
  own.memory("optim_target_modules"),
  own.memory("max_grad_norm"),
  own.memory("use_liger_kernel", "fused_loss", "fused-loss"),
  own.other("liger_kernel_config", null),
  own.memory("label_smoothing_factor", "label_smoothing"),
  own.memory("torch_compile", "torch_compile", "compile"),
  own.memory("torch_compile_backend"),
  own.other("torch_compile_mode", "torch_compile_mode", "torch_compile_backend"),
  own.other("neftune_noise_alpha", null),
  own.memory("torch_empty_cache_steps", "empty_cache_steps"),
  own.memory("auto_find_batch_size"),
  own.memory("deepspeed", "deepspeed", "hf-training-arguments.deepspeed", { link: "engine" }),
  own.memory("fsdp", "fsdp_options", "hf-training-arguments.fsdp", { type: "any" }),
  own.memory("fsdp_config"),
  memory("fsdp_config.version", "fsdp_version", {
    default: 2,
    defaultsBy: { "transformers<5": 1 },

    aliases: ["fsdp_config.fsdp_version"],
  }),
  memory("fsdp_config.reshard_after_forward", "fsdp_reshard_after_forward", "any", {
    default: true,
    aliases: ["fsdp_config.fsdp_reshard_after_forward"],
  }),
  memory("fsdp_config.cpu_offload", "fsdp_cpu_offload", {
    default: false,
    aliases: ["fsdp_config.fsdp_cpu_offload", "fsdp_config.offload_params", "fsdp_config.fsdp_offload_params"],
  }),
  memory("fsdp_config.activation_checkpointing", "fsdp_activation_checkpointing", {
    default: false,
    aliases: ["fsdp_config.fsdp_activation_checkpointing"],
  }),
  ...FSDP_BLOCK,
  memory("fsdp_config.auto_wrap_policy", "fsdp_wrap_policy", "any", "fsdp_auto_wrap_policy", {
    aliases: ["fsdp_config.fsdp_auto_wrap_policy"],
  }),
  memory("fsdp_config.min_num_params", null, "integer", { aliases: ["fsdp_config.fsdp_min_num_params"], min: 0 }),
  own.other("fsdp_min_num_params", null, { replacedBy: "fsdp_config.min_num_params", min: 0 }),
  own.memory("fsdp_transformer_layer_cls_to_wrap", "fsdp_wrap_class", "fsdp_min_num_params", {
    replacedBy: "fsdp_config.transformer_layer_cls_to_wrap",
  }),
  own.other("ddp_bucket_cap_mb", null, { min: 1 }),
  own.memory("ddp_find_unused_parameters"),
  own.memory("ddp_static_graph"),
  own.memory("parallelism_config", { type: "map" }),
  memory("parallelism_config.tp_size", "tensor_parallel", { default: 1 }),
  memory("parallelism_config.cp_size", "context_parallel", { default: 1 }),
  memory("parallelism_config.cp_handler.cp_comm_strategy", "context_rotation", "cp_size", { default: "allgather" }),
  memory("parallelism_config.sp_size", "sequence_parallel", { default: 1 }),
  memory("parallelism_config.dp_shard_size", "dp_shard_size", { default: 1, min: 1 }),
  memory("parallelism_config.dp_replicate_size", "dp_replicate_size", { default: 1, min: 1 }),
  own.other("accelerator_config", null),
  memory("accelerator_config.split_batches", "split_batches", { default: false }),
  own.memory("prediction_loss_only"),
  own.memory("save_strategy", { values: INTERVAL }),
  own.memory("save_only_model"),
  own.memory("eval_strategy", { values: INTERVAL, aliases: ["evaluation_strategy"] }),
  own.memory("eval_on_start"),
  own.memory("do_eval"),
  own.memory("eval_do_concat_batches"),
  own.memory("batch_eval_metrics"),
  own.other("metric_for_best_model"),
  own.memory("predict_with_generate"),
  own.memory("generation_num_beams"),
  own.other("use_cache"),
  own.other("group_by_length", { replacedBy: "train_sampling_strategy" }),
  own.other("resume_from_checkpoint", null, { type: "any" }),
  own.memory("use_cpu"),
  own.memory("no_cuda", "use_cpu", "use_cpu", { replacedBy: "use_cpu" }),
  own.memory("torchdynamo", "torch_compile_backend", { replacedBy: "torch_compile_backend" }),
  own.memory("generation_max_length"),
  own.other("dataloader_num_workers", "loader_workers", { min: 0 }),
  other("dataloader_prefetch_factor", "loader_prefetch", "dataloader_num_workers", { min: 1 }),
];

/** Model and data arguments that scripts put beside TrainingArguments (run_clm.py, TRL's ModelConfig). */
export const MODEL_KEYS: readonly KeySpec[] = [
  memory("model_name_or_path", "model", { aliases: ["model_id", "base_model_name_or_path", "model_path"] }),
  other("config_name", "config_name"),
  other("tokenizer_name", null, "string"),
  memory("torch_dtype", "load_dtype", { aliases: ["dtype"] }),
  memory("attn_implementation", "attention", { default: "sdpa" }),
  other("trust_remote_code", "trust_remote_code"),
  memory("block_size", "sequence_length", { nullable: true }),
  memory("max_seq_length", "sequence_length", { nullable: true }),
  memory("max_source_length", "sequence_length", { nullable: true }),
  memory("pad_to_max_length", "pad_to_sequence_length"),
  memory("max_eval_samples", "max_eval_samples", { nullable: true }),
  memory("val_max_target_length", "generation_target_length", { nullable: true }),
  memory("max_target_length", "target_length", { nullable: true }),
];

/** What trainers of people's own call an adapter beside TrainingArguments; TRL's names are in its table. */
export const OWN_ADAPTER_KEYS: readonly KeySpec[] = [
  memory("lora_rank", "lora_rank", "rank", { min: 1, aliases: ["lora_dim"] }),
  // Firefly's `train_mode`: adapters on every linear layer, over nf4 (train.py, find_all_linear_names). It is read, and written into no
  // other program's file.
  memory("train_mode", null, "string", "adapter", {
    also: [
      { name: "adapter", means: { full: "none", lora: "lora", qlora: "qlora" }, only: true },
      { name: "quantization", means: { qlora: "nf4" }, only: true },
      { name: "lora_target_modules", means: { lora: "all-linear", qlora: "all-linear" }, only: true },
    ],
  }),
  // vigogne's `adapter` (vigogne/utils/model.py), TinyLLaVA's `training_recipe` (tinyllava/training_recipe).
  memory("adapter", null, "string", "adapter", {
    aliases: ["training_recipe"],
    also: [
      {
        name: "adapter",
        means: { common: "none", lora: "lora", qlora: "qlora", qlora_int4: "qlora", qlora_int8: "lora" },
        only: true,
      },
      { name: "quantization", means: { qlora: "nf4", qlora_int4: "nf4", qlora_int8: "int8" }, only: true },
    ],
  }),
  memory("target_modules", "lora_target_modules", "targets", {
    aliases: ["lora_modules"],
    means: { all: "all-linear" },
  }),
  memory("quant_type", "bnb_4bit_quant_type", "bnb_4bit_quant_type"),
  memory("double_quant", "double_quantization", "bnb_4bit_use_double_quant"),
];

const WITH_ROWS: ReadonlySet<string> = new Set(
  TRAINING_ARGUMENTS_KEYS.flatMap(({ key, aliases = [] }) => [key, ...aliases]),
);

/** TrainingArguments without effect on GPU memory, and arguments of transformers' scripts: known, so that they are not called misspelt. */
export const OTHER_TRAINING_ARGUMENTS: readonly string[] = [
  ...Object.keys(captured.fields).filter((name) => !WITH_ROWS.has(name)),
  ...(
    "env model_revision use_fast_tokenizer cache_dir dataset_name dataset_config_name dataset_config train_file " +
    "validation_file max_train_samples streaming preprocessing_num_workers overwrite_cache token " +
    "validation_split_percentage keep_linebreaks low_cpu_mem_usage text_column source_prefix task_name"
  ).split(" "),
];
