/**
 * ms-swift's arguments beside TrainingArguments, with the names of older releases, and Megatron-SWIFT's: what keys mean. Types and
 * defaults are in `fields.json`.
 * Source: `swift/llm/argument/*.py`, `swift/megatron/argument/megatron_args.py` of 3.x.
 */
import { table } from "../../terms/table";
import { harmless, memory, onlyWhenOn, touching } from "../effects";
import { rowsOver } from "../fields";
import { TRAINING_ARGUMENTS_KEYS } from "../hf-training-arguments/keys";
import type { KeySpec } from "../types";
import captured from "./fields.json";

const own = rowsOver(captured.fields);

const TUNERS = {
  full: "none",
  lora: "lora",
  qlora: "qlora",
  adalora: "adalora",
  longlora: "longlora",
  llamapro: "llamapro",
  dora: "dora",
} as const;

const OWN: readonly KeySpec[] = [
  own.memory("model", { link: "model", aliases: ["model_id_or_path"], oldNames: { model_id_or_path: "ms-swift 3.0" } }),
  own.other("model_type"),
  own.memory("tuner_type", "adapter", "adapter", {
    aliases: ["train_type", "sft_type"],
    oldNames: { sft_type: "ms-swift 3.0" },
    means: TUNERS,
  }),
  own.memory("per_device_train_batch_size", "micro_batch_size", "micro-batch", { aliases: ["batch_size"] }),
  memory("micro_batch_size", "micro_batch_size", "micro-batch"),
  memory("global_batch_size", "global_batch_size", "global-batch"),
  own.memory("gradient_accumulation_steps", "gradient_accumulation_steps", "accumulation"),
  own.memory("gradient_checkpointing", "gradient_checkpointing", "checkpointing"),
  own.memory("torch_dtype", "load_dtype", "load", {
    aliases: ["dtype"],
    means: {
      bfloat16: "bfloat16",
      bf16: "bfloat16",
      fp16: "float16",
      float16: "float16",
      fp32: "float32",
      float32: "float32",
    },
    also: [
      { name: "compute_dtype", means: { bfloat16: "bf16", bf16: "bf16", float16: "fp16", fp16: "fp16" }, only: true },
    ],
  }),
  own.memory("lora_rank", "lora_rank", "rank", { min: 1 }),
  own.memory("lora_alpha", "lora_alpha", "alpha"),
  own.memory("lora_dropout", "lora_dropout", "dropout", { max: 1, aliases: ["lora_dropout_p"] }),
  own.memory("target_modules", "lora_target_modules", "targets", {
    type: "any",
    aliases: ["lora_target_modules"],
    oldNames: { lora_target_modules: "ms-swift 3.0" },
    means: { ALL: "all-linear", all: "all-linear" },
  }),
  own.memory("target_parameters", "adapter_target_parameters", "lora_target_parameters", { type: "any" }),
  own.memory("vera_rank", "lora_rank", "rank", { min: 1 }),
  own.memory("adalora_init_r", "lora_rank", "rank", { min: 1 }),
  own.memory("modules_to_save", "lora_modules_to_save", "to-save", { type: "any", aliases: ["lora_modules_to_save"] }),
  own.memory("use_dora"),
  own.memory("init_weights", "adapter_initialization", "init_lora_weights", {
    type: "any",
    means: { true: null, false: null },
  }),
  own.memory("quant_bits", "quantization_bit", "quantization", {
    type: "any",
    aliases: ["quantization_bit"],
    oldNames: { quantization_bit: "ms-swift 3.0" },
    also: [{ name: "quantization", means: { "4": "nf4", "8": "int8", "0": "none" }, only: true }],
  }),
  own.memory("quant_method", "quantization_method", "quantization_method"),
  own.memory("bnb_4bit_use_double_quant", "double_quantization"),
  own.memory("max_length", "sequence_length", "sequence"),
  own.memory("packing"),
  own.memory("padding_free"),
  memory("deepspeed", "deepspeed", { link: "engine" }),
  own.memory("zero_hpz_partition_size", "hpz_partition_size", "ms-swift.zero_hpz_partition_size"),
  own.memory("deepspeed_autotp_size", "tensor_parallel", "tensor"),
  own.memory("sequence_parallel_size", "context_parallel", "context"),
  own.memory("attn_impl", "attention", "attention", {
    means: {
      flash_attn: "flash_attention_2",
      flash_attention_2: "flash_attention_2",
      flash_attention_3: "flash_attention_3",
    },
  }),
  memory("attention_backend", "attention", "attention", { means: { flash: "flash_attention_2", unfused: "eager" } }),
  own.memory("use_liger_kernel", "fused_loss", "fused-loss"),
  own.memory("loss_scale", "loss_of_tokens", "loss-of-tokens"),
  own.memory("is_binary_loss_scale", "loss_of_tokens", "loss-of-tokens", { means: { true: false, false: true } }),
  own.memory("enable_dft_loss", "loss_of_tokens", "loss-of-tokens"),
  own.memory("enable_channel_loss", "loss_of_tokens", "loss-of-tokens"),
  own.memory("freeze_vit", "freeze_vision_tower", "frozen"),
  own.memory("freeze_llm", "freeze_language_model", "frozen"),
  own.memory("freeze_aligner", "freeze_projector", "frozen"),
  own.memory("freeze_parameters_ratio", "freeze_parameters_ratio", "frozen"),
  own.memory("rlhf_type", "rl", "rl"),
  own.memory("ref_model", "ref_model", "reference"),
  own.memory("beta"),
  own.memory("num_generations", "num_generations", "generations"),
  own.memory("max_completion_length", { min: 1 }),
  own.memory("use_vllm"),
  own.memory("vllm_mode"),
  own.memory("vllm_gpu_memory_utilization", "vllm_gpu_memory_utilization", "vllm", { min: 0, max: 1 }),
  own.memory("sleep_level", "vllm_sleep_level"),
  own.memory("vllm_tensor_parallel_size", "vllm_tensor_parallel_size", "engine-tensor"),
  own.memory("move_model_batches"),
  own.memory("offload_model", "parks_weights"),
  own.memory("vllm_enforce_eager", null, "engine-part"),
  own.memory("vllm_max_num_seqs", null, "engine-part"),
  own.memory("vllm_enable_lora", null, "engine-part"),
  own.memory("bnb_4bit_quant_type", "bnb_4bit_quant_type", "quantization"),
  own.memory("bnb_4bit_quant_storage", "bnb_4bit_quant_storage", "quantization"),
  own.memory("teacher_model", "teacher_model", "teacher"),
  own.memory("vit_gradient_checkpointing", null, "checkpointing"),
  own.memory("gradient_checkpointing_kwargs", "gradient_checkpointing_kwargs", "checkpointing", { type: "any" }),
  own.memory("freeze_parameters", "freeze_parameters", "frozen", { type: "any" }),
  own.memory("freeze_parameters_regex", "freeze_parameters_regex", "frozen"),
  own.memory("trainable_parameters", "trainable_parameters", "frozen", { type: "any" }),
  own.memory("trainable_parameters_regex", "trainable_parameters_regex", "frozen"),
  // swift/optimizers/galore: galore_torch's steps, over all linear layers unless modules are named
  own.memory("use_galore"),
  own.memory("galore_rank"),
  own.memory("galore_proj_type"),
  own.memory("galore_target_modules", "galore_target", "optim_target_modules", { type: "any" }),
  own.memory("galore_optim_per_parameter", "galore_layerwise", "galore_layerwise"),
  own.memory("task_type", null, "task", {
    computed: ["causal_lm"],
    also: [
      { name: "task", means: { causal_lm: "causal-lm", seq_cls: "seq-cls" }, only: true },
      { name: "rl", means: { embedding: "reward", reranker: "reward" }, only: true },
    ],
  }),
  own.memory("num_labels"),
  ...touching("projector", "galore_with_embedding galore_quantization galore_proj_quant"),
  own.memory("use_rslora", "use_rslora", "alpha"),
  own.memory("max_pixels", null, "image"),
  own.memory("new_special_tokens", null, "vocabulary", { type: "any" }),
  own.other("dataset", null, "data", { type: "any" }),
];

const MEGATRON: readonly KeySpec[] = [
  memory("tensor_model_parallel_size", "tensor_parallel", "tensor"),
  memory("pipeline_model_parallel_size", "pipeline_parallel", "pipeline"),
  memory("context_parallel_size", "context_parallel", "context"),
  memory("expert_model_parallel_size", "expert_parallel", "expert"),
  // swift/megatron/arguments/megatron_args.py
  memory("moe_token_dispatcher_type", "token_dispatcher", "token-dispatcher", { default: "alltoall" }),
  memory("sequence_parallel", "sequence_parallelism", "sequence-parallel"),
  memory("recompute_granularity", "recompute_granularity", "checkpointing", {
    also: [{ name: "gradient_checkpointing", means: { full: true, selective: true, none: false }, only: true }],
  }),
  memory("recompute_modules", "recompute_modules"),
  memory("recompute_method", "recompute_method"),
  memory("recompute_num_layers", "recompute_num_layers"),
  memory("use_distributed_optimizer", "distributed_optimizer", "megatron_lm_use_distributed_optimizer", {
    default: true,
  }),
  memory("optimizer_cpu_offload", null, "boolean", "offload-optimizer"),
  own.memory("offload_optimizer", "parks_optimizer", "ms-swift.offload_optimizer"),
  memory("use_precision_aware_optimizer", null, "boolean"),
  memory("cross_entropy_loss_fusion", null, "boolean"),
  memory("optimizer_offload_fraction", null, "number", "offload-optimizer"),
  memory("exp_avg_dtype", null, "string", "states-dtype"),
  memory("exp_avg_sq_dtype", null, "string", "states-dtype"),
  memory("main_grads_dtype", null, "string", "states-dtype"),
  memory("main_params_dtype", null, "string", "states-dtype"),
  memory("fp8_recipe", null, "string", "lossy"),
  memory("fp8_param_gather", null, "boolean", "lossy"),
  memory("expert_tensor_parallel_size", "expert_tensor_parallel", "expert"),
  memory("moe_expert_capacity_factor", null, "number", "experts"),
  memory("virtual_pipeline_model_parallel_size", "pipeline_stages_per_rank", "schedule"),
  memory("decoder_first_pipeline_num_layers", null, "integer", "pipeline"),
  memory("decoder_last_pipeline_num_layers", null, "integer", "pipeline"),
  memory("cross_entropy_fusion_impl", null, "string", "fused-kernel"),
  memory("mtp_num_layers", null, "integer", "layers"),
  memory("clip_grad", "max_grad_norm", "clipping"),
  memory("fp8_format", "fp8_format", "fp8_config", {
    also: [{ name: "compute_dtype", means: { e4m3: "fp8", hybrid: "fp8" }, only: true }],
  }),
];

/** Ray configs nest the trainer's and the rollout engine's arguments. */
const ROLES: readonly KeySpec[] = [
  memory("train", null, "map", "ms-swift.train"),
  memory("train.gpus", "world_size", "devices", { min: 1 }),
  memory("rollout", null, "map"),
  memory("rollout.vllm_gpu_memory_utilization", "vllm_gpu_memory_utilization", "vllm", { min: 0, max: 1 }),
  ...touching("devices", "rollout.gpus teacher.gpus"),
  ...touching("engine-tensor", "rollout.vllm_tensor_parallel_size teacher.vllm_tensor_parallel_size"),
  ...touching("engine-length", "rollout.vllm_max_model_len teacher.vllm_max_model_len"),
  ...touching("teacher", "teacher.model teacher.vllm_gpu_memory_utilization offload_teacher_model"),
  ...touching("generations", "steps_per_generation num_iterations generation_batch_size"),
  ...touching("fused-kernel", "moe_permute_fusion moe_grouped_gemm"),
  ...touching("offload-param", "offload_bridge"),
  ...touching("block", "lisa_activated_layers llamapro_num_new_blocks"),
  ...touching("devices", "colocate_groups"),
  ...[...OWN, ...MEGATRON]
    .filter((key) =>
      /tuner_type|lora_|torch_dtype|_parallel|batch_size|recompute|max_length$|attention|optimizer/.test(key.key),
    )
    .map((key): KeySpec => {
      const { aliases: _, ...rest } = key;
      return { ...rest, key: `train.${key.key}` };
    }),
];

// The engine's share of the card decides, whatever it is spread over and takes.
const ENGINE = harmless("adapters vllm_max_model_len");

const OWN_NAMES = new Set([...OWN, ...MEGATRON].flatMap((key) => [key.key, ...(key.aliases ?? [])]));

/**
 * `--fsdp fsdp2` is a file that ms-swift ships, any other value one of the user's: options beside the `fsdp_config` of TrainingArguments
 * (swift/arguments/sft_args.py, _init_fsdp; swift/config/fsdp2.json).
 */
const SHARDED: readonly KeySpec[] = [
  own.memory("fsdp", "fsdp_options", {
    type: "any",
    link: "options",
    means: { fsdp2: "full_shard auto_wrap" },
    also: [
      { name: "fsdp_version", means: { fsdp2: 2 }, only: true },
      { name: "fsdp_reshard_after_forward", means: { fsdp2: true }, only: true },
      { name: "fsdp_activation_checkpointing", means: { fsdp2: true }, only: true },
    ],
  }),
  memory("fsdp.fsdp", "fsdp_options"),
  ...TRAINING_ARGUMENTS_KEYS.filter(({ key }) => key.startsWith("fsdp_config.")).map(
    (key): KeySpec => ({
      ...key,
      key: `fsdp.${key.key}`,
      ...(key.aliases === undefined ? {} : { aliases: key.aliases.map((alias) => `fsdp.${alias}`) }),
    }),
  ),
];

export const MS_SWIFT_KEYS: readonly KeySpec[] = [
  ...OWN,
  ...SHARDED,
  ...MEGATRON,
  ...TRAINING_ARGUMENTS_KEYS.filter((key) => !OWN_NAMES.has(key.key) && key.key !== "fsdp").map(
    (key): KeySpec =>
      key.key === "bf16" ? { ...key, also: [{ name: "compute_dtype", means: onlyWhenOn("bf16"), only: true }] } : key,
  ),
  ...ENGINE,
  ...ROLES,
];

/** DeepSpeed configs ms-swift ships, by the word that names them. */
export const SHIPPED_DEEPSPEED: Readonly<Record<string, { readonly stage: number; readonly offload: boolean }>> = table(
  {
    zero0: { stage: 0, offload: false },
    zero1: { stage: 1, offload: false },
    zero2: { stage: 2, offload: false },
    zero3: { stage: 3, offload: false },
    zero2_offload: { stage: 2, offload: true },
    zero3_offload: { stage: 3, offload: true },
    "default-zero2": { stage: 2, offload: false },
    "default-zero3": { stage: 3, offload: false },
  },
);
