/**
 * NeMo's Hydra configs on Megatron-core.
 * Source: `examples/nlp/language_modeling/conf/*.yaml`, `nemo/collections/nlp/parts/nlp_overrides.py`.
 */
import { table } from "../../terms/table";
import { EFFECT, memory, PRECISION, touching } from "../effects";
import { MEGATRON_KEYS } from "../megatron/keys";
import type { KeySpec } from "../types";

/** Named recipes of Megatron-Bridge (`megatron/bridge/training/mixed_precision.py`). */
const RECIPES: Readonly<Record<string, string>> = table({
  bf16_mixed: "bf16",
  fp16_mixed: "fp16",
  bf16_with_fp8_delayed_scaling_mixed: "fp8",
  bf16_with_fp8_current_scaling_mixed: "fp8",
  bf16_with_fp8_subchannel_scaling_mixed: "fp8",
  bf16_with_mxfp8_mixed: "fp8",
});

const OWN: readonly KeySpec[] = [
  memory("trainer", null, "map", "Options of Lightning's Trainer."),
  memory("trainer.devices", "devices", "any", EFFECT.devices, { auto: true }),
  memory("trainer.num_nodes", "nodes", "integer", EFFECT.devices, { min: 1 }),
  memory("trainer.precision", "compute_dtype", "any", EFFECT.compute, { means: PRECISION }),
  memory("trainer.accumulate_grad_batches", null, "integer", "Kept at 1: the global batch decides the accumulation.", {
    min: 1,
  }),
  memory("trainer.gradient_clip_val", "max_grad_norm", "number", EFFECT.clipping, { nullable: true, min: 0 }),
  memory("model", null, "any", EFFECT.model),
  memory("model.train_ds.batch_size", null, "integer", EFFECT.microBatch, { nullable: true }),
  memory("model.train_ds.batch_duration", null, "number", EFFECT.tokens, { nullable: true }),
  memory("model.train_ds.bucketing_batch_size", null, "any", EFFECT.microBatch, { nullable: true }),
  memory("model.train_ds.max_duration", null, "number", EFFECT.sequence, { nullable: true }),
  memory("model.train_ds.batch_tokens", null, "integer", EFFECT.tokens, { nullable: true }),
  memory("model.train_ds.max_seq_length", null, "integer", EFFECT.sequence, { nullable: true }),
  memory("model.train_ds.tokens_in_batch", null, "integer", EFFECT.tokens, { nullable: true }),
  memory("model.train_ds.dataloader_params.batch_size", null, "integer", EFFECT.microBatch, { nullable: true }),
  memory("model.validation_ds.batch_size", "eval_batch_size", "integer", EFFECT.evalBatch, { nullable: true }),
  memory("model.encoder.n_layers", null, "integer", EFFECT.layers, { nullable: true }),
  memory("model.encoder.num_layers", null, "integer", EFFECT.layers, { nullable: true }),
  memory("model.encoder.d_model", null, "integer", EFFECT.width, { nullable: true }),
  memory("model.encoder.hidden_size", null, "integer", EFFECT.width, { nullable: true }),
  memory("model.decoder.num_layers", null, "integer", EFFECT.layers, { nullable: true }),
  memory("model.decoder.hidden_size", null, "integer", EFFECT.width, { nullable: true }),
  memory("train.global_batch_size", "global_batch_size", "integer", EFFECT.globalBatch, { nullable: true }),
  memory("train.micro_batch_size", "micro_batch_size", "integer", EFFECT.microBatch, { nullable: true }),
  memory("dataset.seq_length", null, "integer", EFFECT.sequence, { nullable: true }),
  memory("dataset.micro_batch_size", null, "integer", EFFECT.microBatch, { nullable: true }),
  memory("peft.dim", "lora_rank", "integer", EFFECT.rank, { nullable: true }),
  memory("peft.alpha", "lora_alpha", "number", EFFECT.alpha, { nullable: true }),
  memory("optimizer.optimizer", null, "string", EFFECT.optimizer, { nullable: true }),
  memory("ddp.grad_reduce_in_fp32", null, "boolean", EFFECT.statesDtype, { nullable: true }),
  memory("dist.use_megatron_fsdp", null, "boolean", EFFECT.fsdp, { nullable: true }),
  memory("dist.use_torch_fsdp2", null, "boolean", EFFECT.fsdp, { nullable: true }),
  memory("mixed_precision", "compute_dtype", "any", EFFECT.compute, { nullable: true, means: RECIPES }),
  memory("comm_overlap", null, "any", EFFECT.pipeline, { nullable: true }),
  memory("model.restore_from_path", "model", "string", EFFECT.model, { nullable: true }),
  memory("model.encoder_seq_length", "sequence_length", "integer", EFFECT.sequence, { min: 1 }),
  memory("model.data.train_ds.max_seq_length", "sequence_length", "integer", EFFECT.sequence, { min: 1 }),
  memory("model.data.train_ds.micro_batch_size", "micro_batch_size", "integer", EFFECT.microBatch, { min: 1 }),
  memory("model.data.train_ds.global_batch_size", "global_batch_size", "integer", EFFECT.globalBatch, { min: 1 }),
  memory(
    "model.megatron_amp_O2",
    "megatron_amp_o2",
    "boolean",
    "bfloat16 weights with a float32 master copy; otherwise float32 weights under autocast.",
  ),
  memory("model.activations_checkpoint_granularity", "gradient_checkpointing", "string", EFFECT.checkpointing, {
    nullable: true,
    means: { full: true, selective: true, null: false },
    also: [{ name: "recompute_granularity" }],
  }),
  memory("model.activations_checkpoint_method", "recompute_method", "string", "Which layers are recomputed.", {
    nullable: true,
  }),
  memory(
    "model.activations_checkpoint_num_layers",
    "recompute_num_layers",
    "integer",
    "How many layers are recomputed together.",
    {
      nullable: true,
    },
  ),
  memory("model.use_flash_attention", null, "boolean", EFFECT.attention, {
    also: [{ name: "attention", means: { true: "flash_attention_2" }, only: true }],
  }),
  memory("model.optim.name", "optimizer", "string", EFFECT.optimizer),
  memory("model.fsdp", "fsdp", "boolean", EFFECT.fsdp, { means: { true: "full_shard", false: "none" } }),
  memory("model.fsdp_sharding_strategy", "fsdp", "string", EFFECT.fsdp, {
    means: { full: "full_shard", grad: "shard_grad_op", hybrid: "hybrid_shard" },
  }),
  memory("model.peft.peft_scheme", "adapter", "any", EFFECT.adapter, {
    nullable: true,
    means: { null: "none", none: "none" },
  }),
  ...touching(
    EFFECT.microBatch,
    "model.data.validation_ds.micro_batch_size model.data.test_ds.micro_batch_size model.test_ds.batch_size model.validation_ds.dataloader_params.batch_size model.test_ds.dataloader_params.batch_size",
  ),
  ...touching(EFFECT.globalBatch, "model.data.validation_ds.global_batch_size model.data.test_ds.global_batch_size"),
  ...touching(
    EFFECT.sequence,
    "model.data.seq_length model.data.validation_ds.max_seq_length model.data.test_ds.max_seq_length",
  ),
  ...touching(EFFECT.heads, "model.encoder.n_heads"),
  ...touching(EFFECT.targets, "model.peft.lora_tuning.target_modules"),
  ...touching(EFFECT.offloadOptimizer, "optimizer.optimizer_cpu_offload optimizer.optimizer_offload_fraction"),
  ...touching(EFFECT.ema, "exp_manager.ema.enable exp_manager.ema.cpu_offload"),
  memory("data.train_ds.micro_batch_size", "micro_batch_size", "integer", EFFECT.microBatch, { nullable: true }),
  memory("data.train_ds.global_batch_size", "global_batch_size", "integer", EFFECT.globalBatch, { nullable: true }),
  memory("data.train_ds.max_seq_length", "sequence_length", "integer", EFFECT.sequence, { nullable: true }),
  memory("strategy.tensor_model_parallel_size", "tensor_parallel", "integer", EFFECT.tensor, { nullable: true }),
  memory("strategy.pipeline_model_parallel_size", "pipeline_parallel", "integer", EFFECT.pipeline, { nullable: true }),
  memory("strategy.context_parallel_size", "context_parallel", "integer", EFFECT.context, { nullable: true }),
  memory("plugins.precision", "compute_dtype", "any", EFFECT.compute, { means: PRECISION }),
  memory("model.peft.lora_tuning.adapter_dim", "lora_rank", "integer", EFFECT.rank, { min: 1 }),
];

/** Megatron-Bridge has the switch in two blocks of its own, which must agree. */
const SHARDED_OPTIMIZER = MEGATRON_KEYS.filter(({ key }) => key === "use_distributed_optimizer").flatMap((spec) =>
  ["ddp", "optimizer"].map((block): KeySpec => ({ ...spec, key: `${block}.${spec.key}` })),
);

const OWN_NAMES = new Set(OWN.map((key) => key.key));

export const NEMO_KEYS: readonly KeySpec[] = [
  ...OWN,
  ...SHARDED_OPTIMIZER,
  ...MEGATRON_KEYS.filter((key) => key.key !== "fp16" && key.key !== "bf16" && key.key !== "optimizer")
    .map((key): KeySpec => {
      const { aliases: _, ...rest } = key;
      return { ...rest, key: `model.${key.key}` };
    })
    .filter((key) => !OWN_NAMES.has(key.key)),
];
