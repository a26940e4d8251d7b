/**
 * verl: reinforcement learning with several models in one run, and its SFT trainer.
 * Types and defaults are in `fields.json`, read from `verl/trainer/config/*.yaml` and `verl/workers/config/*.py`.
 */
import { harmless, memory, PRECISION, STORAGE, touching } from "../effects";
import { rowsOver } from "../fields";
import type { KeySpec, SettingName } from "../types";
import captured from "./fields.json";

const CPU = { true: "cpu", false: "none" } as const;

/** What of a critic's engine the estimate takes; the rest is as the actor's. */
const CRITIC: Readonly<Partial<Record<SettingName, SettingName>>> = {
  offload_param: "critic_offload_param",
  offload_optimizer: "critic_offload_optimizer",
};

const ACTOR = "actor_rollout_ref.actor.";
const own = rowsOver(captured.fields);
const actor = rowsOver(captured.fields, ACTOR);

/** Keys of a training engine, as those of the actor's. */
const ENGINE: readonly KeySpec[] = [
  actor.memory("ppo_micro_batch_size_per_gpu", "micro_batch_size", "micro-batch", { nullable: true, min: 1 }),
  actor.memory("ppo_micro_batch_size", null, { min: 1, replacedBy: "ppo_micro_batch_size_per_gpu" }),
  actor.memory("ppo_mini_batch_size", { min: 1 }),
  actor.memory("use_dynamic_bsz", "dynamic_batch"),
  actor.memory("ppo_max_token_len_per_gpu", "tokens_per_micro_batch", { min: 1 }),
  actor.memory("strategy", "strategy", "actor.strategy"),
  actor.memory("grad_clip", "max_grad_norm", "clipping", {
    min: 0,
    nullable: true,
    aliases: ["actor_rollout_ref.actor.optim.clip_grad"],
  }),
  actor.memory("ulysses_sequence_parallel_size", "context_parallel", "context", {
    min: 1,
    aliases: ["actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size"],
  }),
  actor.memory("optim.optimizer"),
  actor.memory("fsdp_config.param_offload", "offload_param", "offload-param", { means: CPU }),
  actor.memory("fsdp_config.optimizer_offload", "offload_optimizer", "offload-optimizer", { means: CPU }),
  actor.memory("fsdp_config.fsdp_size", null),
  actor.memory("fsdp_config.model_dtype", "load_dtype", { means: STORAGE }),
  // verl/workers/fsdp_workers.py: the parameters' dtype of FSDP's mixed precision; gradients are reduced in float32
  actor.memory("fsdp_config.dtype", "compute_dtype", "compute", { means: PRECISION }),
  memory("actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype", "compute_dtype", "string", "compute", {
    means: PRECISION,
  }),
  actor.memory("fsdp_config.use_torch_compile", null, "compile"),
  actor.memory("use_torch_compile", null, "compile"),
  actor.memory("fsdp_config.forward_prefetch", null, "fsdp_forward_prefetch"),
  actor.memory("fsdp_config.offload_policy", null, "offload-param"),
  actor.memory("freeze_vision_tower", "freeze_vision_tower", "frozen"),
  actor.memory("fsdp_config.reshard_after_forward", "fsdp_reshard_after_forward", { type: "any" }),
  actor.memory("megatron.tensor_model_parallel_size", "tensor_parallel", "tensor", { min: 1 }),
  actor.memory("megatron.pipeline_model_parallel_size", "pipeline_parallel", "pipeline", { min: 1 }),
  actor.memory("megatron.context_parallel_size", "context_parallel", "context", { min: 1 }),
  actor.memory("megatron.expert_model_parallel_size", "expert_parallel", "expert", { min: 1 }),
  actor.memory("megatron.expert_tensor_parallel_size", "expert_tensor_parallel", "expert", { min: 1, nullable: true }),
  actor.memory("megatron.sequence_parallel", "sequence_parallelism", "sequence-parallel"),
  actor.memory("megatron.use_distributed_optimizer", "distributed_optimizer", "megatron_lm_use_distributed_optimizer"),
  actor.memory("megatron.param_offload", "offload_param", "offload-param", { means: CPU }),
  actor.memory("megatron.optimizer_offload", "offload_optimizer", "offload-optimizer", { means: CPU }),
  actor.memory("megatron.grad_offload", null),
  actor.memory("entropy_from_logits_with_chunking", null),
  actor.memory("entropy_checkpointing", null),
  actor.memory("use_kl_loss", "use_kl_loss", "reference"),
  actor.memory("entropy_coeff"),
  actor.memory("calculate_entropy"),
];

/** The same keys of another engine (a critic's, or a group file's, which stands below no path). */
function engine(path: string, name: (setting: SettingName) => SettingName | null): KeySpec[] {
  const below = (key: string): string => `${path}.${key.slice(ACTOR.length)}`;
  return ENGINE.map(({ aliases, ...row }) => ({
    ...row,
    key: below(row.key),
    name: row.name === null ? null : name(row.name),
    ...(aliases === undefined ? {} : { aliases: aliases.map(below) }),
  }));
}

/** How the generation engine uses the share of memory that it is given whole: nothing beside that share. */
function inEngine(prefix: string): KeySpec[] {
  const names =
    "mode enable_prefix_caching data_parallel_size expert_parallel_size cudagraph_capture_sizes over_sample_rate " +
    "multi_stage_wake_up skip_rollout n calculate_log_probs enable_rollout_routing_replay quantization_config_file mtp limit_images";
  return harmless(
    names
      .split(" ")
      .filter((name) => name !== "n" || prefix === "")
      .map((name) => prefix + name)
      .join(" "),
  );
}

const same = (setting: SettingName): SettingName => setting;

export const VERL_KEYS: readonly KeySpec[] = [
  own.memory("actor_rollout_ref.model.path", "model", "model", { link: "model" }),
  own.memory("actor_rollout_ref.model.enable_gradient_checkpointing", "gradient_checkpointing", "checkpointing"),
  own.memory("actor_rollout_ref.model.enable_activation_offload", "offload_activations", "offload-activations"),
  own.memory("actor_rollout_ref.model.use_remove_padding", "packing"),
  own.memory("actor_rollout_ref.model.lora_rank", "lora_rank", "rank", { min: 0 }),
  own.memory("actor_rollout_ref.model.lora_alpha", "lora_alpha", "alpha", { type: "number" }),
  own.memory("actor_rollout_ref.model.target_modules", "lora_target_modules", "targets", { type: "any" }),
  own.memory("actor_rollout_ref.model.use_liger", "fused_loss", "fused-loss"),
  own.memory("actor_rollout_ref.model.use_fused_kernels", "fused_head", "fused-loss"),
  memory("actor_rollout_ref.model.override_config.attn_implementation", "attention", "attention"),
  ...ENGINE,
  own.memory("actor_rollout_ref.ref.fsdp_config.param_offload", null),
  own.memory("actor_rollout_ref.ref.megatron.param_offload", null, { type: "boolean" }),
  own.memory("actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", null, { type: "integer" }),
  own.memory("actor_rollout_ref.rollout.name", "rollout_engine", "rollout.name", { type: "string" }),
  own.memory("actor_rollout_ref.rollout.gpu_memory_utilization", "vllm_gpu_memory_utilization", "vllm", {
    min: 0,
    max: 1,
  }),
  own.memory("actor_rollout_ref.rollout.tensor_model_parallel_size", null, "engine-tensor", { min: 1 }),
  own.memory("actor_rollout_ref.rollout.n", "num_generations", "generations"),
  own.memory("actor_rollout_ref.rollout.free_cache_engine", "vllm_enable_sleep_mode"),
  own.memory(
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
    null,
    "rollout.log_prob_micro_batch_size_per_gpu",
  ),
  own.memory("actor_rollout_ref.rollout.max_num_batched_tokens", null),
  // EasyR1 spells verl's actor in words of its own (EasyR1 verl/workers/config.py, verl/workers/actor/config.py).
  memory("worker.actor.model.model_path", "model", "model", { link: "model" }),
  memory("worker.actor.model.enable_gradient_checkpointing", "gradient_checkpointing", "checkpointing"),
  memory("worker.actor.model.lora.rank", "lora_rank", { min: 0 }),
  memory("worker.actor.model.lora.alpha", "lora_alpha"),
  memory("worker.actor.model.lora.target_modules", "lora_target_modules", "targets"),
  memory("worker.actor.micro_batch_size_per_device_for_update", "micro_batch_size", "micro-batch"),
  memory("worker.actor.micro_batch_size_per_device_for_experience", null, "integer", "scoring-rows"),
  memory("worker.actor.global_batch_size", "ppo_mini_batch_size", "ppo_mini_batch_size"),
  memory("worker.actor.max_grad_norm", "max_grad_norm", "clipping"),
  memory("worker.actor.padding_free", "packing", "use_remove_padding"),
  memory("worker.actor.ulysses_size", "context_parallel", "context"),
  memory("worker.actor.model.freeze_vision_tower", "freeze_vision_tower", "frozen"),
  memory("worker.actor.fsdp.torch_dtype", "load_dtype", "model_dtype", { means: STORAGE, nullable: true }),
  memory("worker.actor.fsdp.mp_param_dtype", "compute_dtype", "string", "compute", { means: PRECISION }),
  memory("worker.actor.offload.offload_params", "offload_param", "offload-param", { means: CPU }),
  memory("worker.actor.offload.offload_optimizer", "offload_optimizer", "offload-optimizer", { means: CPU }),
  ...touching("optimizer", "worker.actor.optim.strategy"),
  ...touching("offload-param", "worker.actor.fsdp.enable_cpu_offload worker.ref.fsdp.enable_cpu_offload"),
  ...touching("engine-tensor", "worker.rollout.tensor_parallel_size"),
  ...touching("reference", "algorithm.disable_kl"),
  memory("algorithm.use_kl_loss", "use_kl_loss", "reference"),
  memory("worker.rollout.gpu_memory_utilization", "vllm_gpu_memory_utilization", "vllm", { min: 0, max: 1 }),
  memory("data.rollout_batch_size", "global_batch_size", "data.train_batch_size"),
  // A dynamic batch is filled up to the tokens of a micro-batch of the longest texts: no more than that (dp_actor.py).
  ...harmless(
    "config worker.actor.dynamic_batching worker.actor.fsdp.enable_rank0_init worker.ref.fsdp.enable_rank0_init " +
      "worker.ref.fsdp.enable_full_shard worker.reward.reward_function algorithm.filter_key algorithm.filter_low algorithm.filter_high " +
      "trainer.max_try_make_batch trainer.find_last_checkpoint trainer.save_model_only",
  ),
  memory("worker.actor.fsdp.enable_full_shard", "fsdp", "boolean", "fsdp", {
    means: { true: "full_shard", false: "shard_grad_op" },
  }),
  memory("worker.rollout.n", "num_generations", "generations"),
  own.memory("critic.model.path", "critic_model", "critic_pretrain"),
  ...engine("critic", (setting) => CRITIC[setting] ?? null),
  own.memory("actor_rollout_ref.ref.log_prob_max_token_len_per_gpu", null, "tokens", { type: "integer" }),
  own.memory("actor_rollout_ref.ref.log_prob_use_dynamic_bsz", null, "tokens", { type: "boolean" }),
  own.memory("actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu", null, "tokens", { type: "integer" }),
  own.memory("actor_rollout_ref.rollout.log_prob_use_dynamic_bsz", null, "tokens", { type: "boolean" }),
  own.memory("actor_rollout_ref.ref.log_prob_micro_batch_size", null, "scoring-rows", { type: "integer" }),
  own.memory("actor_rollout_ref.rollout.log_prob_micro_batch_size", null, "scoring-rows"),
  own.memory("actor_rollout_ref.ref.ulysses_sequence_parallel_size", null, "context", { type: "integer" }),
  own.memory("actor_rollout_ref.ref.megatron.tensor_model_parallel_size", null, "tensor", { type: "integer" }),
  own.memory("actor_rollout_ref.ref.megatron.pipeline_model_parallel_size", null, "pipeline", { type: "integer" }),
  own.memory("actor_rollout_ref.ref.megatron.context_parallel_size", null, "context", { type: "integer" }),
  own.memory("actor_rollout_ref.ref.megatron.expert_model_parallel_size", null, "expert", { type: "integer" }),
  own.memory("actor_rollout_ref.ref.megatron.expert_tensor_parallel_size", null, "expert", { type: "integer" }),
  own.memory("actor_rollout_ref.rollout.enforce_eager", null, "engine-part"),
  own.memory("actor_rollout_ref.rollout.max_num_seqs", null, "engine-part"),
  own.memory("actor_rollout_ref.rollout.max_model_len", null, "engine-length"),
  own.memory("actor_rollout_ref.rollout.dtype", null, "engine-part"),
  own.memory("actor_rollout_ref.rollout.enable_chunked_prefill", null, "engine-part"),
  own.memory("actor_rollout_ref.rollout.layered_summon", null, "engine-part"),
  own.memory("actor_rollout_ref.rollout.prompt_length", null, "engine-length", { type: "integer" }),
  own.memory("actor_rollout_ref.rollout.response_length", null, "engine-length", { type: "integer" }),
  own.memory("critic.model.enable_gradient_checkpointing", null, "checkpointing"),
  own.memory("critic.model.enable_activation_offload", null, "offload-activations"),
  own.memory("critic.model.use_remove_padding", null, "packing"),
  own.memory("critic.forward_max_token_len_per_gpu", null, "tokens", { type: "integer" }),
  own.memory("critic.forward_micro_batch_size_per_gpu", null, "scoring-rows", { type: "integer" }),
  own.memory("critic.model.fsdp_config.param_offload", null, "offload-param"),
  own.memory("critic.model.fsdp_config.optimizer_offload", null, "offload-optimizer"),
  own.memory("critic.model.fsdp_config.fsdp_size", null, "fsdp"),
  own.memory("critic.model.lora_rank", null, "rank"),
  own.memory("reward_model.micro_batch_size_per_gpu", null, "scoring-rows", { type: "integer" }),
  own.memory("reward_model.micro_batch_size", null, "scoring-rows", { type: "integer" }),
  own.memory("reward_model.model.fsdp_config.param_offload", null, "offload-param"),
  own.memory("reward_model.rollout.gpu_memory_utilization", null, "vllm", { type: "number" }),
  own.memory("actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method", null, "recomputed"),
  own.memory("actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity", null, "recomputed"),
  own.memory("actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers", null, "recomputed"),
  own.memory("critic.megatron.override_transformer_config.recompute_method", null, "recomputed"),
  own.memory("critic.megatron.override_transformer_config.recompute_granularity", null, "recomputed"),
  own.memory("critic.megatron.override_transformer_config.recompute_num_layers", null, "recomputed"),
  ...touching(
    "schedule",
    "actor_rollout_ref.actor.megatron.virtual_pipeline_model_parallel_size actor_rollout_ref.ref.megatron.virtual_pipeline_model_parallel_size critic.megatron.virtual_pipeline_model_parallel_size",
  ),
  ...touching(
    "offload-optimizer",
    "actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction actor_rollout_ref.actor.optim.override_optimizer_config.use_precision_aware_optimizer",
  ),
  ...touching("engine-tensor", "reward_model.rollout.tensor_model_parallel_size"),
  ...touching("engine-length", "reward_model.rollout.prompt_length reward_model.rollout.response_length"),
  ...touching("sequence", "actor_rollout_ref.model.override_config.max_position_embeddings"),
  ...touching("devices", "rollout.nnodes rollout.n_gpus_per_node"),
  ...touching("global-batch", "data.gen_batch_size"),
  ...touching("tiled_mlp", "actor_rollout_ref.model.tiled_mlp.enabled critic.model.tiled_mlp.enabled"),
  ...touching("layers", "actor_rollout_ref.model.mtp.enable actor_rollout_ref.model.mtp.enable_train"),
  ...touching("reference", "actor_rollout_ref.ref.fsdp_config.model_dtype reward_model.n_gpus_per_node"),
  ...harmless(
    "actor_rollout_ref.hybrid_engine actor_rollout_ref.model.fused_kernel_options.impl_backend data.image_patch_size " +
      "actor_rollout_ref.model.mtp actor_rollout_ref.model.tiled_mlp.num_shards critic.model.tiled_mlp.num_shards " +
      "actor_rollout_ref.ref.fsdp_config.dtype actor_rollout_ref.ref.fsdp_config.strategy actor_rollout_ref.ref.fsdp_config.forward_only " +
      "actor_rollout_ref.ref.fsdp_config.reshard_after_forward actor_rollout_ref.ref.fsdp_config.use_torch_compile " +
      "actor_rollout_ref.ref.use_torch_compile actor_rollout_ref.ref.strategy actor_rollout_ref.actor.optim.optimizer_impl " +
      "critic.optim.optimizer_impl critic.model.fsdp_config.strategy critic.model.fsdp_config.dtype critic.model.fsdp_config.use_torch_compile " +
      "critic.model.fsdp_config.reshard_after_forward critic.strategy critic.model.lora_alpha critic.model.target_modules " +
      "actor_rollout_ref.actor.fsdp_config.strategy actor_rollout_ref.actor.fsdp_config.wrap_policy.min_num_params " +
      "reward_model.reward_manager reward_model.reward_loop_source reward_model.strategy reward_model.use_reward_loop reward_manager.source " +
      "reward_model.model",
  ),
  ...["actor_rollout_ref.rollout", "reward_model.rollout"].flatMap((path) => inEngine(`${path}.`)),
  ...harmless(
    "actor_rollout_ref.rollout.pipeline_model_parallel_size reward_model.rollout.pipeline_model_parallel_size",
  ),
  ...touching(
    "engine-part",
    "reward_model.rollout.enforce_eager reward_model.rollout.max_num_seqs reward_model.rollout.max_num_batched_tokens " +
      "reward_model.rollout.enable_chunked_prefill reward_model.rollout.dtype reward_model.rollout.free_cache_engine",
  ),
  own.memory("reward_model.enable", "reward_model_enabled", "reward_model_path", { type: "boolean" }),
  own.memory("reward_model.model.path", "reward_model", "reward_model_path", { type: "string" }),
  own.memory("data.train_batch_size", "global_batch_size", "data.train_batch_size", { default: 1024, min: 0 }),
  own.memory("data.max_prompt_length", { min: 1 }),
  own.memory("data.max_response_length", "max_completion_length", "max_completion_length", { min: 1 }),
  own.memory("trainer.n_gpus_per_node", "devices", "devices", { type: "any" }),
  own.memory("trainer.nnodes", "nodes", "devices", { type: "any" }),
  own.memory("algorithm.adv_estimator"),
  own.memory("algorithm.use_kl_in_reward", "use_kl_in_reward", "reference"),
];

/** The SFT trainer. */
export const VERL_SFT_KEYS: readonly KeySpec[] = [
  own.memory("model.partial_pretrain", "model", "model", { link: "model", aliases: ["model.path"] }),
  own.memory("model.enable_gradient_checkpointing", "gradient_checkpointing", "checkpointing"),
  own.memory("model.fsdp_config.model_dtype", "load_dtype", "load", { means: STORAGE }),
  own.memory("model.fsdp_config.cpu_offload", "offload_param", "offload-param", {
    means: CPU,
    also: [{ name: "offload_optimizer", means: CPU }],
  }),
  own.memory("model.strategy", "strategy", "model.strategy"),
  own.memory("model.lora_rank", "lora_rank", "rank", { min: 0 }),
  own.memory("model.lora_alpha", "lora_alpha", "alpha", { type: "number" }),
  own.memory("model.target_modules", "lora_target_modules", "targets", { type: "any" }),
  own.memory("model.use_liger", "fused_loss", "fused-loss"),
  own.memory("data.train_batch_size", "global_batch_size", "global-batch", { min: 0 }),
  own.memory("data.micro_batch_size_per_gpu", "micro_batch_size", "micro-batch"),
  own.memory("data.max_length", "sequence_length", "sequence"),
  own.memory("optim.clip_grad", "max_grad_norm", "clipping"),
  memory("optim.optimizer", "optimizer"),
  own.memory("ulysses_sequence_parallel_size", "context_parallel", "context"),
  own.memory("trainer.n_gpus_per_node", "devices", "devices", { type: "any" }),
  own.memory("trainer.nnodes", "nodes", "devices", { type: "any" }),
  own.memory("use_remove_padding", "packing", "verl.use_remove_padding"),
];

/** Group files hold one block at their root. */
export const VERL_GROUP_KEYS: readonly KeySpec[] = [
  ...engine("", same).map(
    (key): KeySpec => ({
      ...key,
      key: key.key.slice(1),
      ...(key.aliases === undefined ? {} : { aliases: key.aliases.map((alias) => alias.slice(1)) }),
    }),
  ),
  ...engine("", same)
    .filter((key) => /^\.(?:fsdp_config|megatron)\./.test(key.key))
    .map((key): KeySpec => {
      const { aliases: _, ...rest } = key;
      return { ...rest, key: key.key.replace(/^\.(?:fsdp_config|megatron)\./, "") };
    }),
  ...inEngine(""),
  ...touching("engine-length", "prompt_length response_length max_model_len"),
  ...touching(
    "engine-part",
    "enforce_eager max_num_seqs max_num_batched_tokens enable_chunked_prefill free_cache_engine",
  ),
  memory("gpu_memory_utilization", "vllm_gpu_memory_utilization", "vllm", { min: 0, max: 1 }),
  memory("enable_gradient_checkpointing", "gradient_checkpointing", "checkpointing"),
  memory("lora_rank", "lora_rank", "rank", { min: 0 }),
  memory("path", "model", "model"),
];
