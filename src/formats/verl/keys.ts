/**
 * verl: reinforcement learning with several models in one run, and its SFT trainer.
 * Source: `verl/trainer/config/*.yaml`, `verl/workers/config/*.py` at b178a3c.
 */
import { harmless, memory, PRECISION, STORAGE, touching } from "../effects";
import type { KeySpec, SettingName } from "../types";

const CPU = { true: "cpu", false: "none" } as const;

/** What of a critic's engine the estimate takes; the rest is as the actor's. */
const CRITIC: Readonly<Partial<Record<SettingName, SettingName>>> = {
  offload_param: "critic_offload_param",
  offload_optimizer: "critic_offload_optimizer",
};

/** Keys of one training engine (actor, critic, …), below its path. */
function engine(path: string, name: (setting: SettingName) => SettingName | null): KeySpec[] {
  return [
    memory(`${path}.ppo_micro_batch_size_per_gpu`, name("micro_batch_size"), "integer", "micro-batch", {
      nullable: true,
      min: 1,
    }),
    memory(`${path}.ppo_micro_batch_size`, null, "integer", "ppo_micro_batch_size", {
      min: 1,
      replacedBy: "ppo_micro_batch_size_per_gpu",
    }),
    memory(`${path}.ppo_mini_batch_size`, name("ppo_mini_batch_size"), "integer", "ppo_mini_batch_size", { min: 1 }),
    memory(`${path}.use_dynamic_bsz`, name("dynamic_batch"), "boolean", "use_dynamic_bsz"),
    memory(
      `${path}.ppo_max_token_len_per_gpu`,
      name("tokens_per_micro_batch"),
      "integer",
      "ppo_max_token_len_per_gpu",
      { min: 1 },
    ),
    memory(`${path}.strategy`, name("strategy"), "string", "actor.strategy"),
    memory(`${path}.grad_clip`, name("max_grad_norm"), "number", "clipping", {
      min: 0,
      nullable: true,
      aliases: [`${path}.optim.clip_grad`],
    }),
    memory(`${path}.ulysses_sequence_parallel_size`, name("context_parallel"), "integer", "context", {
      min: 1,
      aliases: [`${path}.fsdp_config.ulysses_sequence_parallel_size`],
    }),
    memory(`${path}.optim.optimizer`, name("optimizer"), "string", "optimizer"),
    memory(`${path}.fsdp_config.param_offload`, name("offload_param"), "boolean", "offload-param", { means: CPU }),
    memory(`${path}.fsdp_config.optimizer_offload`, name("offload_optimizer"), "boolean", "offload-optimizer", {
      means: CPU,
    }),
    memory(`${path}.fsdp_config.fsdp_size`, null, "integer", "fsdp_size", { default: -1 }),
    memory(`${path}.fsdp_config.model_dtype`, name("load_dtype"), "string", "model_dtype", {
      default: "fp32",
      means: STORAGE,
    }),
    // verl/workers/fsdp_workers.py: the parameters' dtype of FSDP's mixed precision; gradients are reduced in float32
    memory(`${path}.fsdp_config.dtype`, name("compute_dtype"), "string", "compute", { means: PRECISION }),
    memory(`${path}.fsdp_config.mixed_precision.param_dtype`, name("compute_dtype"), "string", "compute", {
      means: PRECISION,
    }),
    memory(`${path}.fsdp_config.use_torch_compile`, null, "boolean", "compile", { default: true }),
    memory(`${path}.use_torch_compile`, null, "boolean", "compile", { default: true }),
    memory(`${path}.fsdp_config.forward_prefetch`, null, "boolean", "fsdp_forward_prefetch"),
    memory(`${path}.fsdp_config.offload_policy`, null, "boolean", "offload-param"),
    memory(`${path}.freeze_vision_tower`, name("freeze_vision_tower"), "boolean", "frozen"),
    memory(
      `${path}.fsdp_config.reshard_after_forward`,
      name("fsdp_reshard_after_forward"),
      "any",
      "reshard_after_forward",
    ),
    memory(`${path}.megatron.tensor_model_parallel_size`, name("tensor_parallel"), "integer", "tensor", { min: 1 }),
    memory(`${path}.megatron.pipeline_model_parallel_size`, name("pipeline_parallel"), "integer", "pipeline", {
      min: 1,
    }),
    memory(`${path}.megatron.context_parallel_size`, name("context_parallel"), "integer", "context", { min: 1 }),
    memory(`${path}.megatron.expert_model_parallel_size`, name("expert_parallel"), "integer", "expert", { min: 1 }),
    memory(`${path}.megatron.expert_tensor_parallel_size`, name("expert_tensor_parallel"), "integer", "expert", {
      min: 1,
      nullable: true,
    }),
    memory(`${path}.megatron.sequence_parallel`, name("sequence_parallelism"), "boolean", "sequence-parallel"),
    memory(
      `${path}.megatron.use_distributed_optimizer`,
      name("distributed_optimizer"),
      "boolean",
      "megatron_lm_use_distributed_optimizer",
    ),
    memory(`${path}.megatron.param_offload`, name("offload_param"), "boolean", "offload-param", { means: CPU }),
    memory(`${path}.megatron.optimizer_offload`, name("offload_optimizer"), "boolean", "offload-optimizer", {
      means: CPU,
    }),
    memory(`${path}.megatron.grad_offload`, null, "boolean", "grad_offload"),
    memory(`${path}.entropy_from_logits_with_chunking`, null, "boolean", "entropy_from_logits_with_chunking"),
    memory(`${path}.entropy_checkpointing`, null, "boolean", "entropy_checkpointing"),
    memory(`${path}.use_kl_loss`, name("use_kl_loss"), "boolean", "reference"),
    memory(`${path}.entropy_coeff`, name("entropy_coeff"), "number", "entropy_coeff"),
    memory(`${path}.calculate_entropy`, name("calculate_entropy"), "boolean", "calculate_entropy"),
  ];
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
  memory("actor_rollout_ref.model.path", "model", "model", { link: "model" }),
  memory("actor_rollout_ref.model.enable_gradient_checkpointing", "gradient_checkpointing", "checkpointing", {
    default: true,
  }),
  memory("actor_rollout_ref.model.enable_activation_offload", "offload_activations", "offload-activations"),
  memory("actor_rollout_ref.model.use_remove_padding", "packing"),
  memory("actor_rollout_ref.model.lora_rank", "lora_rank", "rank", { default: 0, min: 0 }),
  memory("actor_rollout_ref.model.lora_alpha", "lora_alpha", "alpha"),
  memory("actor_rollout_ref.model.target_modules", "lora_target_modules", "targets"),
  memory("actor_rollout_ref.model.use_liger", "fused_loss", "fused-loss"),
  memory("actor_rollout_ref.model.use_fused_kernels", "fused_head", "fused-loss"),
  memory("actor_rollout_ref.model.override_config.attn_implementation", "attention", "attention"),
  ...engine("actor_rollout_ref.actor", same),
  memory("actor_rollout_ref.ref.fsdp_config.param_offload", null, "boolean"),
  memory("actor_rollout_ref.ref.megatron.param_offload", null, "boolean"),
  memory("actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", null, "integer"),
  memory("actor_rollout_ref.rollout.name", "rollout_engine", "rollout.name"),
  memory("actor_rollout_ref.rollout.gpu_memory_utilization", "vllm_gpu_memory_utilization", "vllm", {
    default: 0.5,
    min: 0,
    max: 1,
  }),
  memory("actor_rollout_ref.rollout.tensor_model_parallel_size", null, "integer", "engine-tensor", {
    default: 2,
    min: 1,
  }),
  memory("actor_rollout_ref.rollout.n", "num_generations", "generations", { default: 1 }),
  memory("actor_rollout_ref.rollout.free_cache_engine", "vllm_enable_sleep_mode", { default: true }),
  memory(
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
    null,
    "integer",
    "rollout.log_prob_micro_batch_size_per_gpu",
  ),
  memory("actor_rollout_ref.rollout.max_num_batched_tokens", null, "integer"),
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
  memory("critic.model.path", "critic_model", "critic_pretrain"),
  ...engine("critic", (setting) => CRITIC[setting] ?? null),
  memory("actor_rollout_ref.ref.log_prob_max_token_len_per_gpu", null, "integer", "tokens"),
  memory("actor_rollout_ref.ref.log_prob_use_dynamic_bsz", null, "boolean", "tokens"),
  memory("actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu", null, "integer", "tokens"),
  memory("actor_rollout_ref.rollout.log_prob_use_dynamic_bsz", null, "boolean", "tokens"),
  memory("actor_rollout_ref.ref.log_prob_micro_batch_size", null, "integer", "scoring-rows"),
  memory("actor_rollout_ref.rollout.log_prob_micro_batch_size", null, "integer", "scoring-rows"),
  memory("actor_rollout_ref.ref.ulysses_sequence_parallel_size", null, "integer", "context"),
  memory("actor_rollout_ref.ref.megatron.tensor_model_parallel_size", null, "integer", "tensor"),
  memory("actor_rollout_ref.ref.megatron.pipeline_model_parallel_size", null, "integer", "pipeline"),
  memory("actor_rollout_ref.ref.megatron.context_parallel_size", null, "integer", "context"),
  memory("actor_rollout_ref.ref.megatron.expert_model_parallel_size", null, "integer", "expert"),
  memory("actor_rollout_ref.ref.megatron.expert_tensor_parallel_size", null, "integer", "expert"),
  memory("actor_rollout_ref.rollout.enforce_eager", null, "boolean", "engine-part"),
  memory("actor_rollout_ref.rollout.max_num_seqs", null, "integer", "engine-part"),
  memory("actor_rollout_ref.rollout.max_model_len", null, "integer", "engine-length"),
  memory("actor_rollout_ref.rollout.dtype", null, "string", "engine-part"),
  memory("actor_rollout_ref.rollout.enable_chunked_prefill", null, "boolean", "engine-part"),
  memory("actor_rollout_ref.rollout.layered_summon", null, "boolean", "engine-part"),
  memory("actor_rollout_ref.rollout.prompt_length", null, "integer", "engine-length"),
  memory("actor_rollout_ref.rollout.response_length", null, "integer", "engine-length"),
  memory("critic.model.enable_gradient_checkpointing", null, "boolean", "checkpointing"),
  memory("critic.model.enable_activation_offload", null, "boolean", "offload-activations"),
  memory("critic.model.use_remove_padding", null, "boolean", "packing"),
  memory("critic.forward_max_token_len_per_gpu", null, "integer", "tokens"),
  memory("critic.forward_micro_batch_size_per_gpu", null, "integer", "scoring-rows"),
  memory("critic.model.fsdp_config.param_offload", null, "boolean", "offload-param"),
  memory("critic.model.fsdp_config.optimizer_offload", null, "boolean", "offload-optimizer"),
  memory("critic.model.fsdp_config.fsdp_size", null, "integer", "fsdp"),
  memory("critic.model.lora_rank", null, "integer", "rank"),
  memory("reward_model.micro_batch_size_per_gpu", null, "integer", "scoring-rows"),
  memory("reward_model.micro_batch_size", null, "integer", "scoring-rows"),
  memory("reward_model.model.fsdp_config.param_offload", null, "boolean", "offload-param"),
  memory("reward_model.rollout.gpu_memory_utilization", null, "number", "vllm"),
  memory("actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method", null, "any", "recomputed"),
  memory(
    "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity",
    null,
    "any",
    "recomputed",
  ),
  memory(
    "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers",
    null,
    "any",
    "recomputed",
  ),
  memory("critic.megatron.override_transformer_config.recompute_method", null, "any", "recomputed"),
  memory("critic.megatron.override_transformer_config.recompute_granularity", null, "any", "recomputed"),
  memory("critic.megatron.override_transformer_config.recompute_num_layers", null, "any", "recomputed"),
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
  memory("reward_model.enable", "reward_model_enabled", "reward_model_path"),
  memory("reward_model.model.path", "reward_model", "reward_model_path"),
  memory("data.train_batch_size", "global_batch_size", "data.train_batch_size", { default: 1024, min: 0 }),
  memory("data.max_prompt_length", "max_prompt_length", { default: 512, min: 1 }),
  memory("data.max_response_length", "max_completion_length", "max_completion_length", { default: 512, min: 1 }),
  memory("trainer.n_gpus_per_node", "devices", "devices", { default: 8 }),
  memory("trainer.nnodes", "nodes", "any", "devices", { default: 1 }),
  memory("algorithm.adv_estimator", "adv_estimator"),
  memory("algorithm.use_kl_in_reward", "use_kl_in_reward", "reference"),
];

/** The SFT trainer. */
export const VERL_SFT_KEYS: readonly KeySpec[] = [
  memory("model.partial_pretrain", "model", "model", { link: "model", aliases: ["model.path"] }),
  memory("model.enable_gradient_checkpointing", "gradient_checkpointing", "checkpointing"),
  memory("model.fsdp_config.model_dtype", "load_dtype", "load", { default: "fp32", means: STORAGE }),
  memory("model.fsdp_config.cpu_offload", "offload_param", "offload-param", {
    means: CPU,
    also: [{ name: "offload_optimizer", means: CPU }],
  }),
  memory("model.strategy", "strategy", "model.strategy"),
  memory("model.lora_rank", "lora_rank", "rank", { min: 0 }),
  memory("model.lora_alpha", "lora_alpha", "alpha"),
  memory("model.target_modules", "lora_target_modules", "targets"),
  memory("model.use_liger", "fused_loss", "fused-loss"),
  memory("data.train_batch_size", "global_batch_size", "global-batch", { min: 0 }),
  memory("data.micro_batch_size_per_gpu", "micro_batch_size", "micro-batch", { default: 4 }),
  memory("data.max_length", "sequence_length", "sequence", { default: 1024 }),
  memory("optim.clip_grad", "max_grad_norm", "clipping"),
  memory("optim.optimizer", "optimizer"),
  memory("ulysses_sequence_parallel_size", "context_parallel", "context"),
  memory("trainer.n_gpus_per_node", "devices", "devices"),
  memory("trainer.nnodes", "nodes", "any", "devices"),
  memory("use_remove_padding", "packing", "verl.use_remove_padding"),
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
