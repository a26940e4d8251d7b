/**
 * TrainingArguments and TRL configs outside of data files: flags of scripts, keyword arguments of Python calls.
 * Source: `transformers/hf_argparser.py`, PEFT's `LoraConfig`, transformers' `BitsAndBytesConfig`.
 */
import { harmless, memory, onlyWhenOn, other, touching } from "../effects";
import { rowsOver } from "../fields";
import { MODEL_KEYS, OWN_ADAPTER_KEYS, TRAINING_ARGUMENTS_KEYS } from "../hf-training-arguments/keys";
import { PEFT_CALL_KEYS } from "../peft";
import captured from "../peft-fields.json";
import { TRL_FORMAT_KEYS } from "../trl";
import { TRL_KEYS } from "../trl/keys";
import type { KeySpec, SchemaId } from "../types";

const own = rowsOver(captured.fields);

/** Arguments that widely copied scripts add (LLaVA, FastChat, PEFT's and QLoRA's examples). */
const SCRIPT_KEYS: readonly KeySpec[] = [
  // open-instruct, DeepSpeed-Chat and peft's examples have these of their own.
  ...touching("sequence", "pack_length max_token_length max_prompt_token_length max_prompt_seq_len max_answer_seq_len"),
  // QLoRA cuts question and answer apart and puts them together (`DataCollatorForCausalLM` of qlora.py).
  ...touching("sequence", "source_max_len target_max_len"),
  ...touching("zero", "actor_zero_stage critic_zero_stage deepspeed_stage"),
  ...touching("checkpointing", "actor_gradient_checkpointing critic_gradient_checkpointing activation_checkpointing"),
  ...touching("micro-batch", "per_device_generation_batch_size generation_batches"),
  ...touching("engine-tensor", "vllm_tensor_parallel_size vllm_num_engines inference_tp_size"),
  ...touching("engine-part", "enable_hybrid_engine"),
  // Options that are handed to `BitsAndBytesConfig` under nearly its own names (peft/examples/sft/utils.py, qlora.py).
  memory("use_nested_quant", "double_quantization", "bnb_4bit_use_double_quant"),
  memory("bnb_4bit_quant_storage_dtype", "bnb_4bit_quant_storage", "bnb_4bit_quant_storage"),
  ...touching("masks", "actor_dropout critic_dropout"),
  // LMFlow, FlagEmbedding and InternVL have these (lmflow/args.py, AbsArguments, InternVL's ModelArguments).
  ...touching("block", "use_lisa lisa_activated_layers"),
  ...touching("sequence", "query_max_len passage_max_len"),
  ...touching("micro-batch", "train_group_size"),
  // They change a few numbers for each text, or what is read from disk (AbsEmbedderTrainingArguments).
  ...harmless("train_data negatives_cross_device sentence_pooling_method normalize_embeddings"),
  ...harmless("pooling normalize append_eos_token same_dataset_within_batch"),
  ...touching("adapter", "use_llm_lora use_backbone_lora"),
  memory("per_device_training_batch_size", "micro_batch_size", "micro-batch"),
  memory("model_max_length", "sequence_length", "sequence"),
  memory("max_seq_len", "sequence_length", "sequence"),
  memory("lora_enable", "use_peft", "adapter", {
    aliases: ["use_lora", "use_peft_lora", "lora"],
    also: [{ name: "adapter", means: onlyWhenOn("lora"), only: true }],
  }),
  memory("bits", null, "any", "quantization", {
    also: [{ name: "quantization", means: { "4": "nf4", "8": "int8", "16": "none" }, only: true }],
  }),
  // LLaVA's own (llava/train/train.py, ModelArguments).
  memory("vision_tower", "vision_tower"),
  memory("mm_projector_type", "projector", "mm_projector", { aliases: ["connector_type"] }),
  // TinyLLaVA's parts, each of which is trained or not (tinyllava/training_recipe/base.py).
  ...(
    [
      ["tune_type_llm", "freeze_language_model"],
      ["tune_type_vision_tower", "freeze_vision_tower"],
      ["tune_type_connector", "freeze_projector"],
    ] as const
  ).map(([key, name]) =>
    memory(key, name, "string", "frozen", { means: { frozen: true, full: false, lora: false, qlora: false } }),
  ),
  memory("tune_mm_mlp_adapter", "freeze_language_model", "frozen"),
  memory("freeze_mm_mlp_adapter", "freeze_projector", "frozen"),
  memory("freeze_backbone", "freeze_language_model", "frozen"),
  memory("use_4bit_quantization", "load_in_4bit", "quantization", { aliases: ["use_4bit", "q_lora"] }),
  memory("use_8bit_quantization", "load_in_8bit", "quantization", { aliases: ["use_8bit", "int8"] }),
  memory("use_8bit_qunatization", "load_in_8bit", "quantization"),
  memory("use_flash_attn", null, "boolean", "attention", {
    aliases: ["use_flash_attention_2", "use_flash_attention", "flash_attn"],
    also: [{ name: "attention", means: onlyWhenOn("flash_attention_2"), only: true }],
  }),
  ...OWN_ADAPTER_KEYS,
  memory("grad_checkpoint", "gradient_checkpointing", "checkpointing"),
  memory("use_adalora", null, "boolean", "adapter", {
    also: [{ name: "adapter", means: onlyWhenOn("adalora"), only: true }],
  }),
  memory("init_r", "lora_rank", "rank", { min: 1 }),
  memory("mixed_precision", "mixed_precision", "compute", {
    means: { bf16: "bf16", fp16: "fp16" },
    also: [
      {
        name: "compute_dtype",
        means: { bf16: "bf16", fp16: "fp16", fp8: "fp8", no: "fp32", false: "fp32" },
        only: true,
      },
    ],
  }),
  memory("zero_stage", "zero_stage", "zero"),
  memory("offload_optimizer_device", "offload_optimizer", "string", "offload-optimizer"),
  memory("offload_param_device", "offload_param", "string", "offload-param"),
  // A program's own LoRA alone is trained (DeepSpeedExamples, applications/DeepSpeed-Chat, `only_optimize_lora_parameters`).
  memory("only_optimize_lora", "own_lora", "adapter"),
  memory("deepspeed_config", "deepspeed", "string", "deepspeed", {
    aliases: ["deepspeed_config_file"],
    link: "engine",
  }),
  other("config_file", null, "string", { link: "launcher" }),
  other("config", null, "string", { link: "trainer" }),
];

const OWN = new Set(SCRIPT_KEYS.flatMap((key) => [key.key, ...(key.aliases ?? [])]));

/** TRL's own keys without TRL's defaults: a plain Trainer script may have them, but says nothing by leaving them out. */
const PLAIN_TRAINER_KEYS: readonly KeySpec[] = [
  ...TRAINING_ARGUMENTS_KEYS,
  ...MODEL_KEYS,
  ...TRL_KEYS.map(({ default: _, defaultsBy: __, ...key }): KeySpec => key),
];

function linked(spec: KeySpec): KeySpec {
  // Scripts of DeepSpeed's own take `--deepspeed` as a switch.
  const key: KeySpec = spec.key === "deepspeed" ? { ...spec, type: "any" } : spec;
  const options = key.key === "fsdp_config" ? "options" : undefined;
  const link = key.name === "model" ? "model" : options;
  // A script gives FSDP's options as the path of a file.
  return link === undefined ? key : { ...key, ...(options === undefined ? {} : { type: "any" }), link };
}

/** What a script trains with. */
export interface Trained {
  readonly id: SchemaId;
  readonly keys: readonly KeySpec[];
  /** The Trainer itself, or a loop of the script's own. */
  readonly plain: boolean;
}

export const TRAINED: readonly Trained[] = [
  { id: "hf-training-arguments", keys: PLAIN_TRAINER_KEYS, plain: true },
  { id: "trl", keys: TRL_FORMAT_KEYS, plain: false },
];

/** Flags of a script. */
export function scriptKeys({ keys }: Trained): readonly KeySpec[] {
  return [...keys.filter((key) => !OWN.has(key.key)).map(linked), ...SCRIPT_KEYS];
}

/** Keywords of the calls around the trainer; the prefix is the call. */
export const CALL_KEYS: readonly KeySpec[] = [
  memory("lora.call", "adapter", "adapter", { means: onlyWhenOn("lora") }),
  own.memory("lora.r", "lora_rank", "rank", { min: 1 }),
  own.memory("lora.lora_alpha", "lora_alpha", "alpha", { type: "number" }),
  own.memory("lora.lora_dropout", "lora_dropout", "dropout", { max: 1 }),
  own.memory("lora.target_modules", "lora_target_modules", "targets"),
  own.memory("lora.modules_to_save", "lora_modules_to_save", "to-save", { type: "any" }),
  own.memory("lora.bias", "lora_bias"),
  own.memory("lora.use_dora"),
  memory("lora.autocast_adapter_dtype", "autocast_adapter_dtype"),
  own.memory("lora.use_rslora"),
  // A convolution's transposed weight, and what the adapter is called (peft/tuners/lora/config.py, peft/mapping_func.py).
  ...harmless("lora.fan_in_fan_out lora.adapter_name"),
  memory("loftq.loftq_bits", "adapter_loftq_bits"),
  memory("loftq.loftq_iter", "adapter_loftq_iterations"),
  memory("bnb.load_in_4bit", "load_in_4bit", "quantization"),
  memory("bnb.load_in_8bit", "load_in_8bit", "quantization"),
  memory("bnb.bnb_4bit_quant_type", "bnb_4bit_quant_type", { default: "fp4" }),
  memory("bnb.bnb_4bit_use_double_quant", "double_quantization", { default: false }),
  memory("bnb.bnb_4bit_compute_dtype", "quantization_compute_dtype", { default: "float32" }),
  memory("bnb.llm_int8_skip_modules", "quantization_skip_modules"),
  memory("bnb.bnb_4bit_quant_storage", "bnb_4bit_quant_storage"),
  memory("load.0", "model", "model", {
    aliases: ["load.pretrained_model_name_or_path", "load.model_name", "load.model_name_or_path"],
    link: "model",
  }),
  memory("load.torch_dtype", "load_dtype", "load", { aliases: ["load.dtype"] }),
  // A map has one for each part of a model (transformers/modeling_utils.py, `_attn_implementation`).
  memory("load.attn_implementation", "attention", "any", "attention", { aliases: ["load._attn_implementation"] }),
  memory("load.load_in_4bit", "load_in_4bit", "quantization"),
  memory("load.load_in_8bit", "load_in_8bit", "quantization"),
  memory("load.max_seq_length", "sequence_length", "sequence", { nullable: true }),
  memory("load.gradient_checkpointing", "gradient_checkpointing", "checkpointing"),
  memory("load.use_flash_attention_2", null, "boolean", "attention", {
    also: [{ name: "attention", means: onlyWhenOn("flash_attention_2"), only: true }],
    removedIn: "transformers 5",
    replacedBy: "load.attn_implementation",
  }),
  memory("load.use_cache", "use_cache", "load.use_cache"),
  memory("load.num_labels", "num_labels"),
  memory("load.device_map", "device_map"),
  // How transformers splits a model while it loads it (transformers/distributed/configuration_utils.py).
  ...["load", "distributed"].flatMap((call) => [
    memory(`${call}.tp_plan`, "tensor_plan", "tensor"),
    memory(`${call}.tp_size`, "tensor_parallel", "tensor"),
  ]),
  memory("distributed.enable_expert_parallel", "shares_experts", "expert", { default: false }),
  ...touching("parallelism_config_dp_shard_size", "distributed.fsdp_size distributed.fsdp_cpu_offload"),
  ...touching("pipeline", "distributed.pp_size"),
  memory("enable.call", "gradient_checkpointing", "checkpointing"),
  memory("kbit.call", "prepare_for_kbit"),
  memory("trainer.model", "model", "any", { aliases: ["trainer.0"], link: "model" }),
  memory("trainer.max_seq_length", "sequence_length", "sequence", { nullable: true }),
  memory("trainer.packing", "packing"),
  // What wraps the model of a loop of one's own (torch/nn/parallel/distributed.py, accelerate/utils/dataclasses.py).
  memory("ddp.find_unused_parameters", "ddp_find_unused_parameters", "ddp_find_unused_parameters", { default: false }),
  memory("ddp.static_graph", "ddp_static_graph", "ddp_static_graph", { default: false }),
  memory("ddp.gradient_as_bucket_view", "ddp_bucket_views", "ddp_bucket_views", { default: false }),
  other("ddp.bucket_cap_mb", null, "integer", "ddp_bucket_cap_mb"),
  memory("accelerator.mixed_precision", "mixed_precision", "compute", {
    also: [{ name: "compute_dtype", means: { bf16: "bf16", fp16: "fp16", fp8: "fp8", no: "fp32" }, only: true }],
  }),
  memory("accelerator.gradient_accumulation_steps", "gradient_accumulation_steps", "accumulation"),
  memory("loader.batch_size", "micro_batch_size", "micro-batch"),
  memory("model_args.model_name_or_path", "model", "model", { link: "model" }),
  // TRL's ModelConfig, of which `get_peft_config` makes the adapter (trl/trainer/utils.py).
  memory("model_args.use_peft", "use_peft", "adapter", {
    also: [{ name: "adapter", means: onlyWhenOn("lora"), only: true }],
  }),
  memory("model_args.lora_r", "lora_rank", "rank", { min: 1 }),
  memory("model_args.lora_alpha", "lora_alpha", "alpha"),
  memory("model_args.lora_dropout", "lora_dropout", "dropout", { max: 1 }),
  memory("model_args.lora_target_modules", "lora_target_modules", "targets"),
  memory("model_args.attn_implementation", "attention", "attention"),
  memory("model_args.dtype", "load_dtype", "load", { aliases: ["model_args.torch_dtype"] }),
];

/** Arguments of calls that have no row of their own and are read where what they belong to is followed. */
export const READ_BESIDE =
  /^(?:kbit\.use_gradient_checkpointing|lora\.(?:rank_pattern\..+|finetune_(?:vision|language)_layers|finetune_(?:attention|mlp)_modules)|trainer\.(?:optimizers|optimizer_cls_and_kwargs(?:\..+)?)|loop\.(?:foreach|fused|centered|amsgrad|capturable))$/;

/** Keywords of a Python file. */
export function pythonKeys(trained: Trained): readonly KeySpec[] {
  return [...scriptKeys(trained), ...CALL_KEYS, ...PEFT_CALL_KEYS];
}
