/**
 * LLaMA-Factory's arguments beside Seq2SeqTrainingArguments, and the v1 schema: what keys mean. Types and defaults are in `fields.json`.
 * Source: `llamafactory/hparams/{model_args,data_args,finetuning_args}.py`, `llamafactory/v1/config` of 0.9.5.
 */
import { harmless, memory, onlyWhenOn, other, touching } from "../effects";
import { rowsOver } from "../fields";
import { OTHER_TRAINING_ARGUMENTS, TRAINING_ARGUMENTS_KEYS } from "../hf-training-arguments/keys";
import type { KeySpec } from "../types";
import captured from "./fields.json";

const own = rowsOver(captured.fields);

const OWN: readonly KeySpec[] = [
  own.memory("model_name_or_path", "model", "model", { link: "model" }),
  own.other("adapter_name_or_path", null, "lora_model_dir", { type: "any", link: "adapter" }),
  own.memory("stage", "lf_stage", "llama-factory.stage", { values: ["pt", "sft", "rm", "ppo", "dpo", "kto"] }),
  own.memory("finetuning_type", "adapter", "adapter", {
    values: ["lora", "oft", "freeze", "full"],
    means: { lora: "lora", full: "none", freeze: "none", oft: "oft" },
  }),
  own.memory("lora_rank", "lora_rank", "rank", { min: 1 }),
  own.memory("lora_alpha", "lora_alpha", "alpha", { type: "number" }),
  own.memory("lora_dropout", "lora_dropout", "dropout", { max: 1 }),
  own.memory("lora_target", "lora_target_modules", "targets", { type: "any", means: { all: "all-linear" } }),
  own.memory("additional_target", "lora_modules_to_save", "to-save", { type: "any" }),
  own.memory("use_dora"),
  own.memory("use_rslora"),
  own.memory("oft_rank", "lora_rank", { min: 0 }),
  own.memory("oft_block_size", "adapter_block_size", "llama-factory.oft_block_size"),
  own.memory("oft_target", "lora_target_modules", "targets", { type: "any", means: { all: "all-linear" } }),
  own.memory("pissa_init"),
  own.memory("pissa_iter", "pissa_iterations"),
  own.memory("freeze_trainable_layers"),
  own.memory("quantization_bit", "quantization_bit", "quantization", {
    type: "any",
    also: [{ name: "quantization", means: { "4": "nf4", "8": "int8", null: "none" }, only: true }],
  }),
  own.memory("quantization_method", null, { type: "string", aliases: ["quantization_type"], default: "bnb" }),
  own.memory("double_quantization", "double_quantization", "bnb_4bit_use_double_quant"),
  own.memory("cutoff_len", "sequence_length", "sequence", { defaultsBy: { "llamafactory<0.9.1": 1024 } }),
  own.memory("packing"),
  own.memory("neat_packing", "packing", "packing"),
  own.memory("disable_gradient_checkpointing", "gradient_checkpointing", { means: { true: false, false: true } }),
  own.memory("use_reentrant_gc", "use_reentrant", "gradient_checkpointing_kwargs.use_reentrant"),
  own.memory("use_unsloth_gc", "offload_activations", "offload-activations"),
  own.memory("pure_bf16", {
    also: [
      { name: "load_dtype", means: onlyWhenOn("bfloat16"), only: true },
      { name: "compute_dtype", means: onlyWhenOn("bf16"), only: true },
    ],
  }),
  own.memory("flash_attn", "attention", "attention", {
    default: "auto",
    auto: true,
    means: {
      fa2: "flash_attention_2",
      fa3: "flash_attention_3",
      sdpa: "sdpa",
      disabled: "eager",
      off: "eager",
      false: "eager",
      true: "flash_attention_2",
    },
  }),
  own.memory("enable_liger_kernel", "fused_loss", "fused-loss"),
  own.memory("use_unsloth"),
  own.memory("upcast_layernorm", null),
  own.memory("upcast_lmhead_output", null),
  own.memory("badam_mode", "badam_mode", "block"),
  own.memory("badam_switch_mode", "badam_switch_mode", "block"),
  own.memory("badam_start_block", "badam_start_block", "block"),
  own.memory("use_llama_pro", "use_llama_pro", "block"),
  own.memory("freeze_trainable_modules", "freeze_trainable_modules", "frozen", { type: "any" }),
  own.memory("freeze_extra_modules", "freeze_extra_modules", "frozen", { type: "any" }),
  own.memory("resize_vocab", null, "vocabulary"),
  own.memory("shift_attn", null, "attention"),
  own.memory("ref_model_quantization_bit", null, "quantization"),
  own.memory("reward_model_quantization_bit", null, "quantization"),
  own.memory("fp8_backend", "fp8_backend", "lossy"),
  own.memory("fp8_enable_fsdp_float8_all_gather", "float8_all_gather"),
  own.memory("mixture_of_depths", null, "layers"),
  own.memory("use_galore"),
  own.memory("use_apollo"),
  own.memory("galore_rank"),
  own.memory("galore_target", "galore_target", "optim_target_modules", { type: "any" }),
  own.memory("galore_proj_type"),
  own.memory("galore_layerwise"),
  own.memory("apollo_rank"),
  own.memory("apollo_target", "apollo_target", "optim_target_modules", { type: "any" }),
  own.memory("apollo_layerwise", "apollo_layerwise", "galore_layerwise"),
  own.memory("use_badam"),
  own.memory("use_adam_mini", null, { also: [{ name: "optimizer", means: onlyWhenOn("adam_mini"), only: true }] }),
  own.memory("use_muon", { also: [{ name: "optimizer", means: onlyWhenOn("muon"), only: true }] }),
  own.memory("image_max_pixels", "image_max_pixels", "image", { default: 589824 }),
  own.memory("video_max_pixels", null, "image", { default: 65536, min: 1 }),
  own.memory("freeze_vision_tower", "freeze_vision_tower", "frozen"),
  own.memory("freeze_multi_modal_projector", "freeze_projector", "frozen"),
  own.memory("freeze_language_model", "freeze_language_model", "frozen"),
  own.memory("ref_model", "ref_model", "reference"),
  own.memory("reward_model", "reward_model", "reward_model_path"),
  own.memory("pref_loss"),
  own.memory("fp8", "fp8", "fp8_config", { also: [{ name: "compute_dtype", means: onlyWhenOn("fp8"), only: true }] }),
  memory("tensor_model_parallel_size", "tensor_parallel", "tensor"),
  memory("pipeline_model_parallel_size", "pipeline_parallel", "pipeline"),
  memory("context_parallel_size", "context_parallel", "context", { aliases: ["cp_size"] }),
  memory("expert_model_parallel_size", "expert_parallel", "expert"),
  memory("sequence_parallel", "sequence_parallelism", "sequence-parallel"),
  memory("recompute_granularity", "recompute_granularity", "checkpointing"),
  own.memory("compute_accuracy"),
  // llamafactory/hparams/generating_args.py
  own.memory("max_new_tokens", "generation_new_tokens", "llama-factory.max_new_tokens"),
  // Megatron Bridge's recipe, by name (llamafactory/hparams/megatron_args.py).
  memory("mixed_precision", "compute_dtype", "string", "compute", {
    means: { bf16_mixed: "bf16", fp16_mixed: "fp16" },
  }),
  // ktransformers keeps the experts in host memory (llamafactory/hparams/model_args.py, KTransformersArguments).
  ...touching("offload-param", "use_kt kt_mode"),
  other("kt_config", null, "map", "harmless"),
  ...touching("image", "image_min_pixels video_min_pixels video_fps video_maxlen"),
  ...touching("reference", "ref_model_adapters reward_model_adapters use_asft_loss"),
  ...touching("vocabulary", "new_special_tokens_config add_tokens add_special_tokens"),
  ...touching("states-dtype", "overlap_grad_reduce overlap_param_gather"),
  ...touching("experts", "moe_router_load_balancing_type"),
  memory("moe_token_dispatcher_type", "token_dispatcher", "token-dispatcher"),
  ...touching("fused-kernel", "apply_rope_fusion bias_activation_fusion moe_grouped_gemm use_v1_kernels"),
  memory("use_distributed_optimizer", null, "boolean", {
    also: [{ name: "zero_stage", means: { true: 1 }, only: true }],
  }),
  ...harmless(
    "kt_cpu_activation kt_weight_path kt_non_expert_weight_path badam_update_ratio vllm_maxlen vllm_gpu_util use_kv_cache create_new_adapter use_swanlab lora_rank_pattern quantization_device_map",
  ),
  // Each worker that Ray starts has a GPU of its own (`llamafactory/train/trainer_utils.py`, `get_ray_trainer`).
  own.memory("ray_num_workers", "world_size", "devices", { min: 1 }),
  own.other("template", null),
  own.other("dataset", null, "data", { type: "any" }),
];

/** The v1 schema: one block per concern. */
const V1: readonly KeySpec[] = [
  memory("model", "model", { link: "model" }),
  memory("micro_batch_size", "micro_batch_size", "micro-batch", { default: 1 }),
  memory("global_batch_size", "global_batch_size", "global-batch"),
  memory("enable_activation_checkpointing", "gradient_checkpointing", "checkpointing", { default: true }),
  memory("batching_strategy", null, "string", { default: "normal" }),
  memory("peft_config", null, "map", "adapter"),
  memory("peft_config.name", "adapter", "string", "adapter", { means: { freeze: "none" } }),
  memory("peft_config.r", "lora_rank", "rank", { min: 1 }),
  memory("peft_config.lora_alpha", "lora_alpha", "alpha"),
  memory("peft_config.lora_dropout", "lora_dropout", "dropout", { max: 1 }),
  memory("peft_config.target_modules", "lora_target_modules", "targets", { means: { all: "all-linear" } }),
  memory("quant_config", null, "map", "quantization"),
  memory("quant_config.name", null, "string", "quantization_method", { default: "bnb" }),
  memory("quant_config.quantization_bit", "quantization_bit", "quantization", {
    also: [{ name: "quantization", means: { "4": "nf4", "8": "int8" }, only: true }],
  }),
  memory("dist_config", null, "map"),
  memory("dist_config.name", "distributed_type", {
    also: [{ name: "fsdp", means: { fsdp2: "full_shard" }, only: true }],
  }),
  memory("dist_config.config_file", "deepspeed", "string", "deepspeed", { link: "engine" }),
  memory("dist_config.ep_size", "expert_parallel", "expert"),
  memory("dp_size", null, "integer", { min: 1 }),
  memory("mp_shard_size", "dp_shard_size", "parallelism_config_dp_shard_size", { min: 1 }),
  memory("mp_replicate_size", "dp_replicate_size", "dp_replicate_size", { min: 1 }),
  other("init_config", null, "map"),
  memory("cp_size", "context_parallel", "context", { aliases: ["dist_config.cp_size"] }),
  ...harmless("cp_mode dist_config.cp_mode dist_config.ep_dispatcher"),
  memory("kernel_config", null, "map"),
  memory("optim_config", null, "map", "optimizer"),
  memory("optim_config.name", "optimizer", "optimizer"),
];

const OWN_NAMES = new Set(OWN.map((key) => key.key));
const IN_V1 = new Set(["cutoff_len", "flash_attn", "template", "pref_loss"]);

/** The v1 schema with what it shares with the arguments. */
export const LLAMA_FACTORY_V1_KEYS: readonly KeySpec[] = [
  ...V1,
  ...OWN.filter((key) => IN_V1.has(key.key)),
  ...TRAINING_ARGUMENTS_KEYS.filter((key) => key.key === "bf16" || key.key === "fp16" || key.key === "max_grad_norm"),
];

/** LLaMA-Factory's own keys win over TrainingArguments' of the same name. */
export const LLAMA_FACTORY_KEYS: readonly KeySpec[] = [
  ...OWN,
  // The switch is disable_gradient_checkpointing; this key is read and overruled.
  ...TRAINING_ARGUMENTS_KEYS.filter((key) => !OWN_NAMES.has(key.key)).map(
    (key): KeySpec => (key.key === "gradient_checkpointing" ? { ...key, name: "hf_gradient_checkpointing" } : key),
  ),
];

/** Arguments that are no misspelt keys; the last are of v1 and of releases before. */
export const OTHER_LLAMA_FACTORY_KEYS: ReadonlySet<string> = new Set([
  ...OTHER_TRAINING_ARGUMENTS,
  ...Object.keys(captured.fields),
  ...["save_only_model", "train_dataset", "model_class", "sample_backend", "visual_inputs"],
]);
