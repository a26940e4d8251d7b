/**
 * verl: reinforcement learning with several models in one run, and its SFT trainer.
 * Source: `verl/trainer/config/*.yaml`, `verl/workers/config/*.py` at b178a3c.
 */
import { EFFECT, memory, other, STORAGE, touching } from "../effects";
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
    memory(`${path}.ppo_micro_batch_size_per_gpu`, name("micro_batch_size"), "integer", EFFECT.microBatch, {
      nullable: true,
      min: 1,
    }),
    memory(`${path}.ppo_micro_batch_size`, null, "integer", "Micro-batch over all GPUs (old); use the per-GPU form.", {
      nullable: true,
      min: 1,
      replacedBy: "ppo_micro_batch_size_per_gpu",
    }),
    memory(
      `${path}.ppo_mini_batch_size`,
      name("ppo_mini_batch_size"),
      "integer",
      "Prompts per policy update, over all GPUs.",
      { min: 1 },
    ),
    memory(
      `${path}.use_dynamic_bsz`,
      name("dynamic_batch"),
      "boolean",
      "Fills each forward up to the token limit instead of a fixed number of rows.",
    ),
    memory(
      `${path}.ppo_max_token_len_per_gpu`,
      name("tokens_per_micro_batch"),
      "integer",
      "Tokens per forward with a dynamic batch.",
      { min: 1 },
    ),
    memory(`${path}.strategy`, name("strategy"), "string", "Engine: fsdp, fsdp2 or megatron."),
    memory(`${path}.grad_clip`, name("max_grad_norm"), "number", EFFECT.clipping, {
      min: 0,
      nullable: true,
      aliases: [`${path}.optim.clip_grad`],
    }),
    memory(`${path}.ulysses_sequence_parallel_size`, name("context_parallel"), "integer", EFFECT.context, {
      min: 1,
      aliases: [`${path}.fsdp_config.ulysses_sequence_parallel_size`],
    }),
    memory(`${path}.optim.optimizer`, name("optimizer"), "string", EFFECT.optimizer),
    memory(`${path}.fsdp_config.param_offload`, name("offload_param"), "boolean", EFFECT.offloadParam, { means: CPU }),
    memory(`${path}.fsdp_config.optimizer_offload`, name("offload_optimizer"), "boolean", EFFECT.offloadOptimizer, {
      means: CPU,
    }),
    memory(`${path}.fsdp_config.fsdp_size`, null, "integer", "GPUs the parameters are sharded over; -1 is all.", {
      default: -1,
    }),
    memory(
      `${path}.fsdp_config.model_dtype`,
      name("load_dtype"),
      "string",
      "FSDP keeps the parameters in this dtype.",
      { default: "fp32", means: STORAGE },
    ),
    memory(
      `${path}.fsdp_config.reshard_after_forward`,
      name("fsdp_reshard_after_forward"),
      "boolean",
      "Frees a unit's gathered parameters after its forward.",
    ),
    memory(`${path}.megatron.tensor_model_parallel_size`, name("tensor_parallel"), "integer", EFFECT.tensor, {
      min: 1,
    }),
    memory(`${path}.megatron.pipeline_model_parallel_size`, name("pipeline_parallel"), "integer", EFFECT.pipeline, {
      min: 1,
    }),
    memory(`${path}.megatron.context_parallel_size`, name("context_parallel"), "integer", EFFECT.context, { min: 1 }),
    memory(`${path}.megatron.expert_model_parallel_size`, name("expert_parallel"), "integer", EFFECT.expert, {
      min: 1,
    }),
    memory(`${path}.megatron.param_offload`, name("offload_param"), "boolean", EFFECT.offloadParam, { means: CPU }),
    memory(`${path}.megatron.optimizer_offload`, name("offload_optimizer"), "boolean", EFFECT.offloadOptimizer, {
      means: CPU,
    }),
    memory(`${path}.megatron.grad_offload`, null, "boolean", "Keeps the gradients in host memory."),
    memory(
      `${path}.entropy_from_logits_with_chunking`,
      null,
      "boolean",
      "Entropy in slices: no second logits-sized buffer.",
    ),
    memory(`${path}.entropy_checkpointing`, null, "boolean", "Recomputes the entropy in backward."),
    memory(`${path}.use_kl_loss`, name("use_kl_loss"), "boolean", EFFECT.reference),
    memory(`${path}.entropy_coeff`, name("entropy_coeff"), "number", "Weight of the entropy; above 0 it is computed."),
    memory(`${path}.calculate_entropy`, name("calculate_entropy"), "boolean", "Computes the entropy in any case."),
  ];
}

const same = (setting: SettingName): SettingName => setting;

export const VERL_KEYS: readonly KeySpec[] = [
  memory("actor_rollout_ref.model.path", "model", "string", EFFECT.model, { link: "model" }),
  memory(
    "actor_rollout_ref.model.enable_gradient_checkpointing",
    "gradient_checkpointing",
    "boolean",
    EFFECT.checkpointing,
    { default: true },
  ),
  memory(
    "actor_rollout_ref.model.enable_activation_offload",
    "offload_activations",
    "boolean",
    EFFECT.offloadActivations,
  ),
  memory(
    "actor_rollout_ref.model.use_remove_padding",
    "packing",
    "boolean",
    "Rows without padding: steps cost what their tokens cost.",
  ),
  memory("actor_rollout_ref.model.lora_rank", "lora_rank", "integer", EFFECT.rank, { default: 0, min: 0 }),
  memory("actor_rollout_ref.model.lora_alpha", "lora_alpha", "number", EFFECT.alpha),
  memory("actor_rollout_ref.model.target_modules", "lora_target_modules", "any", EFFECT.targets),
  memory("actor_rollout_ref.model.use_liger", "fused_loss", "boolean", EFFECT.fusedLoss),
  memory("actor_rollout_ref.model.use_fused_kernels", "fused_head", "boolean", EFFECT.fusedLoss),
  memory("actor_rollout_ref.model.override_config.attn_implementation", "attention", "string", EFFECT.attention),
  ...engine("actor_rollout_ref.actor", same),
  memory(
    "actor_rollout_ref.ref.fsdp_config.param_offload",
    null,
    "boolean",
    "Keeps the reference model in host memory between its forwards.",
  ),
  memory(
    "actor_rollout_ref.ref.megatron.param_offload",
    null,
    "boolean",
    "Keeps the reference model in host memory between its forwards.",
  ),
  memory(
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
    null,
    "integer",
    "Rows per forward of the reference model.",
    { nullable: true },
  ),
  memory("actor_rollout_ref.rollout.name", "rollout_engine", "string", "Engine that generates: vllm, sglang or hf."),
  memory("actor_rollout_ref.rollout.gpu_memory_utilization", "vllm_gpu_memory_utilization", "number", EFFECT.vllm, {
    default: 0.5,
    min: 0,
    max: 1,
  }),
  memory(
    "actor_rollout_ref.rollout.tensor_model_parallel_size",
    null,
    "integer",
    "GPUs one generation engine is spread over.",
    { default: 2, min: 1 },
  ),
  memory("actor_rollout_ref.rollout.n", "num_generations", "integer", EFFECT.generations, { default: 1, min: 1 }),
  memory(
    "actor_rollout_ref.rollout.free_cache_engine",
    "vllm_enable_sleep_mode",
    "boolean",
    "Frees the engine's cache while the policy trains.",
    { default: true },
  ),
  memory(
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
    null,
    "integer",
    "Rows per forward of the old policy.",
    { nullable: true },
  ),
  memory("actor_rollout_ref.rollout.max_num_batched_tokens", null, "integer", "Tokens the engine handles at once.", {
    nullable: true,
  }),
  memory("critic.model.path", "critic_model", "string", "Critic: another trained model.", { nullable: true }),
  ...engine("critic", (setting) => CRITIC[setting] ?? null),
  memory("actor_rollout_ref.ref.log_prob_max_token_len_per_gpu", null, "integer", EFFECT.tokens, { nullable: true }),
  memory("actor_rollout_ref.ref.log_prob_use_dynamic_bsz", null, "boolean", EFFECT.tokens, { nullable: true }),
  memory("actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu", null, "integer", EFFECT.tokens, {
    nullable: true,
  }),
  memory("actor_rollout_ref.rollout.log_prob_use_dynamic_bsz", null, "boolean", EFFECT.tokens, { nullable: true }),
  memory("actor_rollout_ref.ref.log_prob_micro_batch_size", null, "integer", EFFECT.scoringRows, { nullable: true }),
  memory("actor_rollout_ref.rollout.log_prob_micro_batch_size", null, "integer", EFFECT.scoringRows, {
    nullable: true,
  }),
  memory("actor_rollout_ref.ref.ulysses_sequence_parallel_size", null, "integer", EFFECT.context, { nullable: true }),
  memory("actor_rollout_ref.ref.megatron.tensor_model_parallel_size", null, "integer", EFFECT.tensor, {
    nullable: true,
  }),
  memory("actor_rollout_ref.ref.megatron.pipeline_model_parallel_size", null, "integer", EFFECT.pipeline, {
    nullable: true,
  }),
  memory("actor_rollout_ref.ref.megatron.context_parallel_size", null, "integer", EFFECT.context, { nullable: true }),
  memory("actor_rollout_ref.ref.megatron.expert_model_parallel_size", null, "integer", EFFECT.expert, {
    nullable: true,
  }),
  memory("actor_rollout_ref.ref.megatron.expert_tensor_parallel_size", null, "integer", EFFECT.expert, {
    nullable: true,
  }),
  memory("actor_rollout_ref.rollout.enforce_eager", null, "boolean", EFFECT.enginePart, { nullable: true }),
  memory("actor_rollout_ref.rollout.max_num_seqs", null, "integer", EFFECT.enginePart, { nullable: true }),
  memory("actor_rollout_ref.rollout.max_model_len", null, "integer", EFFECT.engineLength, { nullable: true }),
  memory("actor_rollout_ref.rollout.dtype", null, "string", EFFECT.enginePart, { nullable: true }),
  memory("actor_rollout_ref.rollout.enable_chunked_prefill", null, "boolean", EFFECT.enginePart, { nullable: true }),
  memory("actor_rollout_ref.rollout.layered_summon", null, "boolean", EFFECT.enginePart, { nullable: true }),
  memory("actor_rollout_ref.rollout.prompt_length", null, "integer", EFFECT.engineLength, { nullable: true }),
  memory("actor_rollout_ref.rollout.response_length", null, "integer", EFFECT.engineLength, { nullable: true }),
  memory("actor_rollout_ref.actor.use_torch_compile", null, "boolean", EFFECT.compile, { nullable: true }),
  memory("critic.model.enable_gradient_checkpointing", null, "boolean", EFFECT.checkpointing, { nullable: true }),
  memory("critic.model.enable_activation_offload", null, "boolean", EFFECT.offloadActivations, {
    nullable: true,
  }),
  memory("critic.model.use_remove_padding", null, "boolean", EFFECT.packing, { nullable: true }),
  memory("critic.forward_max_token_len_per_gpu", null, "integer", EFFECT.tokens, { nullable: true }),
  memory("critic.forward_micro_batch_size_per_gpu", null, "integer", EFFECT.scoringRows, { nullable: true }),
  memory("critic.model.fsdp_config.param_offload", null, "boolean", EFFECT.offloadParam, { nullable: true }),
  memory("critic.model.fsdp_config.optimizer_offload", null, "boolean", EFFECT.offloadOptimizer, { nullable: true }),
  memory("critic.model.fsdp_config.fsdp_size", null, "integer", EFFECT.fsdp, { nullable: true }),
  memory("critic.model.lora_rank", null, "integer", EFFECT.rank, { nullable: true }),
  memory("reward_model.micro_batch_size_per_gpu", null, "integer", EFFECT.scoringRows, { nullable: true }),
  memory("reward_model.micro_batch_size", null, "integer", EFFECT.scoringRows, { nullable: true }),
  memory("reward_model.model.fsdp_config.param_offload", null, "boolean", EFFECT.offloadParam, { nullable: true }),
  memory("reward_model.rollout.gpu_memory_utilization", null, "number", EFFECT.vllm, { nullable: true }),
  memory(
    "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method",
    null,
    "any",
    EFFECT.recomputed,
    { nullable: true },
  ),
  memory(
    "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity",
    null,
    "any",
    EFFECT.recomputed,
    { nullable: true },
  ),
  memory(
    "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers",
    null,
    "any",
    EFFECT.recomputed,
    { nullable: true },
  ),
  memory("critic.megatron.override_transformer_config.recompute_method", null, "any", EFFECT.recomputed, {
    nullable: true,
  }),
  memory("critic.megatron.override_transformer_config.recompute_granularity", null, "any", EFFECT.recomputed, {
    nullable: true,
  }),
  memory("critic.megatron.override_transformer_config.recompute_num_layers", null, "any", EFFECT.recomputed, {
    nullable: true,
  }),
  ...touching(
    EFFECT.schedule,
    "actor_rollout_ref.actor.megatron.virtual_pipeline_model_parallel_size actor_rollout_ref.ref.megatron.virtual_pipeline_model_parallel_size critic.megatron.virtual_pipeline_model_parallel_size",
  ),
  ...touching(EFFECT.expert, "actor_rollout_ref.actor.megatron.expert_tensor_parallel_size"),
  ...touching(
    EFFECT.offloadOptimizer,
    "actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction actor_rollout_ref.actor.optim.override_optimizer_config.use_precision_aware_optimizer",
  ),
  ...touching(EFFECT.engineTensor, "reward_model.rollout.tensor_model_parallel_size"),
  ...touching(EFFECT.engineLength, "reward_model.rollout.prompt_length reward_model.rollout.response_length"),
  ...touching(EFFECT.sequence, "actor_rollout_ref.model.override_config.max_position_embeddings"),
  ...touching(EFFECT.devices, "rollout.nnodes rollout.n_gpus_per_node"),
  ...touching(EFFECT.compile, "actor_rollout_ref.ref.use_torch_compile"),
  ...touching(EFFECT.globalBatch, "data.gen_batch_size"),
  memory("reward_model.enable", "reward_model_enabled", "boolean", "Reward model: another model on the GPU."),
  memory("reward_model.model.path", "reward_model", "string", "Reward model: another model on the GPU.", {
    nullable: true,
  }),
  memory(
    "data.train_batch_size",
    "global_batch_size",
    "integer",
    "Prompts per step; times the completions per prompt is the batch.",
    { default: 1024, min: 0 },
  ),
  memory("data.max_prompt_length", "max_prompt_length", "integer", "Longest prompt in tokens.", {
    default: 512,
    min: 1,
  }),
  memory("data.max_response_length", "max_completion_length", "integer", "Longest completion in tokens.", {
    default: 512,
    min: 1,
  }),
  memory("trainer.n_gpus_per_node", "devices", "any", EFFECT.devices, { default: 8 }),
  memory("trainer.nnodes", "nodes", "any", EFFECT.devices, { default: 1 }),
  memory("algorithm.adv_estimator", "adv_estimator", "string", "gae trains a critic; the others need none."),
  memory("algorithm.use_kl_in_reward", "use_kl_in_reward", "boolean", EFFECT.reference),
];

/** The SFT trainer. */
export const VERL_SFT_KEYS: readonly KeySpec[] = [
  memory("model.partial_pretrain", "model", "string", EFFECT.model, { link: "model", aliases: ["model.path"] }),
  memory("model.enable_gradient_checkpointing", "gradient_checkpointing", "boolean", EFFECT.checkpointing),
  memory("model.fsdp_config.model_dtype", "load_dtype", "string", EFFECT.load, { default: "fp32", means: STORAGE }),
  memory("model.fsdp_config.cpu_offload", "offload_param", "boolean", EFFECT.offloadParam, {
    means: CPU,
    also: [{ name: "offload_optimizer", means: CPU }],
  }),
  memory("model.strategy", "strategy", "string", "Engine: fsdp or fsdp2."),
  memory("model.lora_rank", "lora_rank", "integer", EFFECT.rank, { min: 0 }),
  memory("model.lora_alpha", "lora_alpha", "number", EFFECT.alpha),
  memory("model.target_modules", "lora_target_modules", "any", EFFECT.targets),
  memory("model.use_liger", "fused_loss", "boolean", EFFECT.fusedLoss),
  memory("data.train_batch_size", "global_batch_size", "integer", EFFECT.globalBatch, { min: 0 }),
  memory("data.micro_batch_size_per_gpu", "micro_batch_size", "integer", EFFECT.microBatch, { default: 4, min: 1 }),
  memory("data.max_length", "sequence_length", "integer", EFFECT.sequence, { default: 1024, min: 1 }),
  memory("optim.clip_grad", "max_grad_norm", "number", EFFECT.clipping, { min: 0 }),
  memory("optim.optimizer", "optimizer", "string", EFFECT.optimizer),
  memory("ulysses_sequence_parallel_size", "context_parallel", "integer", EFFECT.context, { min: 1 }),
  memory("trainer.n_gpus_per_node", "devices", "any", EFFECT.devices),
  memory("trainer.nnodes", "nodes", "any", EFFECT.devices),
  other("use_remove_padding", "packing", "boolean", "Rows without padding."),
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
  memory("gpu_memory_utilization", "vllm_gpu_memory_utilization", "number", EFFECT.vllm, { min: 0, max: 1 }),
  memory("enable_gradient_checkpointing", "gradient_checkpointing", "boolean", EFFECT.checkpointing),
  memory("lora_rank", "lora_rank", "integer", EFFECT.rank, { min: 0 }),
  memory("path", "model", "string", EFFECT.model),
];
