/**
 * TrainingArguments of transformers 4.x and 5.x: the keys that touch memory or decide about the run.
 * Source: `transformers/training_args.py` of 4.57 and 5.17.
 */
import { TRAINER_OPTIMIZERS } from "../../terms/optimizers";
import { memory, other } from "../effects";
import type { KeySpec } from "../types";

const INTERVAL = ["no", "steps", "epoch", "best"];

export const TRAINING_ARGUMENTS_KEYS: readonly KeySpec[] = [
  memory(
    "per_device_train_batch_size",
    "micro_batch_size",
    "integer",
    "Sequences per GPU in one forward: activations and logits grow in proportion.",
    { default: 8, min: 1 },
  ),
  memory("per_gpu_train_batch_size", "micro_batch_size", "integer", "Old name of per_device_train_batch_size.", {
    min: 1,
    nullable: true,
    removedIn: "transformers 5",
    replacedBy: "per_device_train_batch_size",
  }),
  memory(
    "per_device_eval_batch_size",
    "eval_batch_size",
    "integer",
    "Sequences per GPU in evaluation: full logits are kept unless prediction_loss_only is set.",
    { default: 8, min: 1 },
  ),
  other("per_gpu_eval_batch_size", "eval_batch_size", "integer", "Old name of per_device_eval_batch_size.", {
    min: 1,
    nullable: true,
    removedIn: "transformers 5",
    replacedBy: "per_device_eval_batch_size",
  }),
  memory(
    "gradient_accumulation_steps",
    "gradient_accumulation_steps",
    "integer",
    "Micro-batches per optimizer step: no cost of its own beyond gradients that stay alive between them.",
    { default: 1, min: 1 },
  ),
  memory(
    "eval_accumulation_steps",
    "eval_accumulation_steps",
    "integer",
    "How often predictions move to the CPU; unset keeps all of them on the GPU until evaluation ends.",
    { default: null, min: 1, nullable: true },
  ),
  memory(
    "gradient_checkpointing",
    "gradient_checkpointing",
    "boolean",
    "Keeps only each layer's input and computes the rest again in backward.",
    { default: false },
  ),
  memory(
    "gradient_checkpointing_kwargs",
    "gradient_checkpointing_kwargs",
    "map",
    "How gradient checkpointing runs (use_reentrant, every_n_layers, offload).",
    { default: null, nullable: true },
  ),
  memory(
    "gradient_checkpointing_kwargs.use_reentrant",
    "use_reentrant",
    "boolean",
    "Old (reentrant) or new implementation of torch.utils.checkpoint.",
    { default: false, defaultsBy: { "transformers<5": true } },
  ),
  memory(
    "gradient_checkpointing_kwargs.every_n_layers",
    "checkpoint_every_n_layers",
    "integer",
    "Checkpoints only every n-th layer.",
    { default: 1, min: 1 },
  ),
  memory(
    "gradient_checkpointing_kwargs.offload",
    "offload_activations",
    "boolean",
    "Moves the saved layer inputs to pinned host memory.",
    { default: false },
  ),
  memory(
    "bf16",
    "bf16",
    "boolean",
    "bfloat16 autocast: activations halve; weights keep the dtype they were loaded in and gain 16-bit copies.",
    { default: false, nullable: true },
  ),
  memory(
    "fp16",
    "fp16",
    "boolean",
    "float16 autocast with a loss scaler: activations halve; weights must be float32.",
    { default: false },
  ),
  other("bf16_full_eval", null, "boolean", "Casts the model to bfloat16 for evaluation.", {
    default: false,
  }),
  other("fp16_full_eval", null, "boolean", "Casts the model to float16 for evaluation.", {
    default: false,
  }),
  other("tf32", "tf32", "boolean", "TensorFloat-32 matrix products: faster, no memory.", {
    default: null,
    nullable: true,
  }),
  memory(
    "optim",
    "optimizer",
    "enum",
    "Optimizer: 8 bytes of state per float32 parameter for Adam, 2 for its 8-bit form, about none for Adafactor and SGD.",
    { default: "adamw_torch_fused", defaultsBy: { "torch<2.8": "adamw_torch" }, values: TRAINER_OPTIMIZERS },
  ),
  memory("adafactor", "adafactor", "boolean", "Old switch for the Adafactor optimizer.", {
    default: false,
    removedIn: "transformers 5",
    replacedBy: "optim: adafactor",
  }),
  memory("optim_args", "optim_args", "string", "Extra arguments of the optimizer (momentum, rank, …).", {
    default: null,
    nullable: true,
  }),
  memory(
    "weight_decay",
    "weight_decay",
    "number",
    "Decay of the weights: SGD, RMSprop and Adagrad add it to a copy of the gradients.",
    { default: 0 },
  ),
  memory("optim_target_modules", "optim_target_modules", "any", "Modules GaLore and APOLLO project.", {
    default: null,
    nullable: true,
  }),
  memory(
    "max_grad_norm",
    "max_grad_norm",
    "number",
    "Gradient clipping: its temporaries can set the peak of the clip phase. 0 switches it off.",
    { default: 1.0, min: 0 },
  ),
  memory(
    "use_liger_kernel",
    "fused_loss",
    "boolean",
    "Fused kernels: the logits of the whole batch are never materialised.",
    { default: false },
  ),
  other("liger_kernel_config", null, "map", "Which Liger kernels are used.", { nullable: true }),
  memory(
    "label_smoothing_factor",
    "label_smoothing",
    "number",
    "Non-zero makes a second buffer as large as the logits.",
    { default: 0, min: 0, max: 1 },
  ),
  memory("torch_compile", "torch_compile", "boolean", "Compiled graphs fuse temporaries and save fewer activations.", {
    default: false,
  }),
  other("torch_compile_backend", "torch_compile_backend", "string", "Setting it switches torch_compile on.", {
    nullable: true,
  }),
  other("torch_compile_mode", "torch_compile_mode", "string", "Setting it switches torch_compile on.", {
    nullable: true,
  }),
  other("neftune_noise_alpha", null, "number", "Noise on the embeddings: one temporary.", { nullable: true }),
  memory("torch_empty_cache_steps", "empty_cache_steps", "integer", "Empties the caching allocator every n steps.", {
    default: null,
    min: 1,
    nullable: true,
  }),
  memory(
    "auto_find_batch_size",
    "auto_find_batch_size",
    "boolean",
    "Tries again with a smaller batch after running out of memory: the stated batch is only an upper bound.",
    { default: false },
  ),
  memory("deepspeed", "deepspeed", "map", "DeepSpeed config: a path, JSON text, or the settings themselves.", {
    default: null,
    nullable: true,
  }),
  memory("fsdp", "fsdp_options", "any", "Shards parameters, gradients and optimizer states over the GPUs.", {
    default: "",
    nullable: true,
  }),
  memory("fsdp_config", "fsdp_config", "map", "Options of FSDP: a path or the settings themselves.", {
    default: null,
    nullable: true,
  }),
  memory("fsdp_config.version", "fsdp_version", "integer", "FSDP 1 (flat parameters) or 2 (per parameter).", {
    default: 2,
    defaultsBy: { "transformers<5": 1 },
    min: 1,
    max: 2,
    aliases: ["fsdp_config.fsdp_version"],
  }),
  memory(
    "fsdp_config.reshard_after_forward",
    "fsdp_reshard_after_forward",
    "any",
    "Frees a unit's gathered parameters after its forward.",
    { default: true, aliases: ["fsdp_config.fsdp_reshard_after_forward"] },
  ),
  memory("fsdp_config.cpu_offload", "fsdp_cpu_offload", "boolean", "Keeps the shards in host memory.", {
    default: false,
    aliases: ["fsdp_config.fsdp_cpu_offload", "fsdp_config.offload_params", "fsdp_config.fsdp_offload_params"],
  }),
  memory(
    "fsdp_config.activation_checkpointing",
    "fsdp_activation_checkpointing",
    "boolean",
    "FSDP's own checkpointing; not together with gradient_checkpointing.",
    { default: false, aliases: ["fsdp_config.fsdp_activation_checkpointing"] },
  ),
  memory(
    "fsdp_config.transformer_layer_cls_to_wrap",
    "fsdp_wrap_class",
    "any",
    "Class of the units that are gathered one at a time.",
    { aliases: ["fsdp_config.fsdp_transformer_layer_cls_to_wrap"] },
  ),
  memory("fsdp_config.min_num_params", null, "integer", "Smallest unit FSDP wraps.", {
    aliases: ["fsdp_config.fsdp_min_num_params"],
    min: 0,
  }),
  other("fsdp_min_num_params", null, "integer", "Moved into fsdp_config.", {
    removedIn: "transformers 5",
    replacedBy: "fsdp_config.min_num_params",
    nullable: true,
    min: 0,
  }),
  other("fsdp_transformer_layer_cls_to_wrap", "fsdp_wrap_class", "string", "Moved into fsdp_config.", {
    removedIn: "transformers 5",
    replacedBy: "fsdp_config.transformer_layer_cls_to_wrap",
    nullable: true,
  }),
  other("ddp_bucket_cap_mb", null, "integer", "Size of DDP's gradient buckets in MiB.", {
    default: null,
    min: 1,
    nullable: true,
  }),
  other("ddp_find_unused_parameters", null, "boolean", "DDP looks for parameters without gradient.", {
    nullable: true,
  }),
  memory("parallelism_config", "parallelism_config", "map", "Degrees of tensor, context and data parallelism.", {
    default: null,
    nullable: true,
  }),
  memory("parallelism_config.tp_size", "tensor_parallel", "integer", "Tensor-parallel degree.", {
    default: 1,
    min: 1,
  }),
  memory("parallelism_config.cp_size", "context_parallel", "integer", "Context-parallel degree.", {
    default: 1,
    min: 1,
  }),
  memory("parallelism_config.sp_size", "sequence_parallel", "integer", "Sequence-parallel degree.", {
    default: 1,
    min: 1,
  }),
  memory("parallelism_config.dp_shard_size", "dp_shard_size", "integer", "Ranks the parameters are sharded over.", {
    default: 1,
    min: 1,
  }),
  memory("parallelism_config.dp_replicate_size", "dp_replicate_size", "integer", "Copies of the sharded model.", {
    default: 1,
    min: 1,
  }),
  other("accelerator_config", null, "map", "Options of accelerate.", { nullable: true }),
  memory(
    "accelerator_config.split_batches",
    "split_batches",
    "boolean",
    "Turns the per-device batch into the global batch.",
    { default: false },
  ),
  memory(
    "prediction_loss_only",
    "prediction_loss_only",
    "boolean",
    "Evaluation keeps only the loss, not the predictions.",
    { default: false },
  ),
  other("eval_strategy", "eval_strategy", "enum", "When evaluation runs.", {
    default: "no",
    values: INTERVAL,
    aliases: ["evaluation_strategy"],
  }),
  memory("eval_on_start", "eval_on_start", "boolean", "Evaluates once before the first step.", { default: false }),
  other("do_eval", "do_eval", "boolean", "The script evaluates, after training if not during it.", {
    nullable: true,
  }),
  memory(
    "eval_do_concat_batches",
    "eval_do_concat_batches",
    "boolean",
    "Predictions kept in evaluation are concatenated as they come: the old and the new copy exist together.",
    { default: true },
  ),
  memory("batch_eval_metrics", "batch_eval_metrics", "boolean", "Metrics batch by batch: no predictions are kept.", {
    default: false,
  }),
  other(
    "metric_for_best_model",
    "metric_for_best_model",
    "string",
    "Metric that chooses the best model; other than the loss, it needs the predictions.",
    { nullable: true },
  ),
  memory(
    "predict_with_generate",
    "predict_with_generate",
    "boolean",
    "Evaluation generates text with a key-value cache.",
    {
      default: false,
    },
  ),
  memory(
    "generation_num_beams",
    "generation_num_beams",
    "integer",
    "Beams in evaluation: the key-value cache grows with them.",
    {
      nullable: true,
      min: 1,
    },
  ),
  other("use_cache", "use_cache", "boolean", "Key-value cache in training: useless, and in the way of checkpointing.", {
    default: false,
  }),
  other("group_by_length", "group_by_length", "boolean", "Batches of similar length.", {
    removedIn: "transformers 5",
    replacedBy: "train_sampling_strategy",
  }),
  other("resume_from_checkpoint", null, "any", "Checkpoint to continue from.", {
    nullable: true,
  }),
  other("use_cpu", "use_cpu", "boolean", "Trains on the CPU: no GPU memory at all.", { default: false }),
  other("no_cuda", "use_cpu", "boolean", "Trains on the CPU: no GPU memory at all.", {
    removedIn: "transformers 5",
    replacedBy: "use_cpu",
  }),
  other("torchdynamo", "torch_compile_backend", "string", "Old name of torch_compile_backend.", {
    removedIn: "transformers 5",
    replacedBy: "torch_compile_backend",
    nullable: true,
  }),
  memory("generation_max_length", "generation_max_length", "integer", "Longest generated sequence in evaluation.", {
    nullable: true,
    min: 1,
  }),
  other("dataloader_num_workers", null, "integer", "Loader processes: host memory only.", {
    default: 0,
    min: 0,
  }),
];

/** Model and data arguments that scripts put beside TrainingArguments (run_clm.py, TRL's ModelConfig). */
export const MODEL_KEYS: readonly KeySpec[] = [
  memory("model_name_or_path", "model", "string", "The model: a hub name or a directory with config.json.", {
    aliases: ["model_id", "base_model_name_or_path"],
    nullable: true,
  }),
  other("config_name", "config_name", "string", "Config to build the model from instead of the model's own.", {
    nullable: true,
  }),
  other("tokenizer_name", null, "string", "Tokenizer.", { nullable: true }),
  memory("torch_dtype", "load_dtype", "string", "Dtype the weights are loaded in.", {
    aliases: ["dtype"],
    nullable: true,
  }),
  memory("attn_implementation", "attention", "string", "Attention kernel: eager materialises the score matrix.", {
    default: "sdpa",
    nullable: true,
  }),
  other("trust_remote_code", "trust_remote_code", "boolean", "Runs the model's own code: its architecture may differ."),
  memory("block_size", "sequence_length", "integer", "Tokens per sequence.", { min: 1, nullable: true }),
  memory("max_seq_length", "sequence_length", "integer", "Longest sequence in tokens.", { min: 1, nullable: true }),
  memory("max_source_length", "sequence_length", "integer", "Longest input in tokens.", { min: 1, nullable: true }),
  memory("pad_to_max_length", "pad_to_sequence_length", "boolean", "Every step has the full length.", {
    nullable: true,
  }),
  other("max_eval_samples", "max_eval_samples", "integer", "Samples of the evaluation set that are used.", {
    nullable: true,
    min: 1,
  }),
  memory(
    "val_max_target_length",
    "generation_target_length",
    "integer",
    "Longest target in evaluation: what is generated when `generation_max_length` is not set.",
    { min: 1, nullable: true },
  ),
  memory("max_target_length", "target_length", "integer", "Longest target in tokens.", { min: 1, nullable: true }),
];

/** TrainingArguments keys without effect on GPU memory: known, so that they are not called misspelt. */
export const OTHER_TRAINING_ARGUMENTS: readonly string[] = (
  "output_dir overwrite_output_dir num_train_epochs max_steps learning_rate lr_scheduler_type lr_scheduler_kwargs " +
  "warmup_steps warmup_ratio adam_beta1 adam_beta2 adam_epsilon average_tokens_across_devices " +
  "logging_strategy logging_steps logging_first_step log_on_each_node logging_nan_inf_filter logging_dir " +
  "include_num_input_tokens_seen include_tokens_per_second log_level log_level_replica disable_tqdm report_to " +
  "run_name project trackio_space_id trackio_bucket_id trackio_static_space_id eval_steps eval_delay " +
  "eval_use_gather_object include_for_metrics include_inputs_for_metrics " +
  "save_only_model save_strategy save_steps save_on_each_node save_total_limit save_safetensors " +
  "enable_jit_checkpoint push_to_hub push_to_hub_model_id push_to_hub_organization push_to_hub_token hub_token " +
  "hub_private_repo hub_model_id hub_strategy hub_always_push hub_revision load_best_model_at_end " +
  "greater_is_better ignore_data_skip restore_callback_states_from_checkpoint " +
  "full_determinism seed data_seed jit_mode_eval use_ipex dataloader_drop_last dataloader_pin_memory " +
  "dataloader_persistent_workers dataloader_prefetch_factor dataloader_multiprocessing_context dataloader_in_order " +
  "remove_unused_columns label_names train_sampling_strategy length_column_name ddp_broadcast_buffers " +
  "ddp_static_graph ddp_backend ddp_timeout debug skip_memory_metrics do_train do_predict local_rank " +
  "fp16_opt_level fp16_backend half_precision_backend use_mps_device tpu_num_cores tpu_metrics_debug mp_parameters " +
  "past_index ray_scope use_legacy_prediction_loop sortish_sampler " +
  "generation_config dispatch_batches split_batches env " +
  "model_revision use_fast_tokenizer cache_dir dataset_name dataset_config_name dataset_config train_file " +
  "validation_file max_train_samples streaming preprocessing_num_workers overwrite_cache token " +
  "validation_split_percentage keep_linebreaks low_cpu_mem_usage text_column source_prefix task_name"
).split(" ");
