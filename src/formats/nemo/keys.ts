/**
 * NeMo's Hydra configs on Megatron-core.
 * Types are in `fields.json`, read from `examples/nlp/language_modeling/conf`; source: `nemo/collections/nlp/parts/nlp_overrides.py`.
 */
import { table } from "../../terms/table";
import { memory, PRECISION, touching } from "../effects";
import { rowsOver } from "../fields";
import { MEGATRON_KEYS } from "../megatron/keys";
import type { KeySpec } from "../types";
import captured from "./fields.json";

const own = rowsOver(captured.fields);

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
  memory("trainer", null, "map", "nemo.trainer"),
  own.memory("trainer.devices", { type: "any", auto: true }),
  own.memory("trainer.num_nodes", "nodes", "devices", { min: 1 }),
  own.memory("trainer.precision", "compute_dtype", "compute", { type: "any", means: PRECISION }),
  own.memory("trainer.accumulate_grad_batches", null, { min: 1 }),
  own.memory("trainer.gradient_clip_val", "max_grad_norm", "clipping"),
  memory("model", null, "any"),
  memory("model.train_ds.batch_size", null, "integer", "micro-batch"),
  memory("model.train_ds.batch_duration", null, "number", "tokens"),
  memory("model.train_ds.bucketing_batch_size", null, "any", "micro-batch"),
  memory("model.train_ds.max_duration", null, "number", "sequence"),
  memory("model.train_ds.batch_tokens", null, "integer", "tokens"),
  memory("model.train_ds.max_seq_length", null, "integer", "sequence"),
  memory("model.train_ds.tokens_in_batch", null, "integer", "tokens"),
  memory("model.train_ds.dataloader_params.batch_size", null, "integer", "micro-batch"),
  memory("model.validation_ds.batch_size", "eval_batch_size", "eval-batch"),
  memory("model.encoder.n_layers", null, "integer", "layers"),
  memory("model.encoder.num_layers", null, "integer", "layers"),
  memory("model.encoder.d_model", null, "integer", "width"),
  memory("model.encoder.hidden_size", null, "integer", "width"),
  memory("model.decoder.num_layers", null, "integer", "layers"),
  memory("model.decoder.hidden_size", null, "integer", "width"),
  memory("train.global_batch_size", "global_batch_size", "global-batch"),
  memory("train.micro_batch_size", "micro_batch_size", "micro-batch", { nullable: true }),
  memory("dataset.seq_length", null, "integer", "sequence"),
  memory("dataset.micro_batch_size", null, "integer", "micro-batch"),
  memory("peft.dim", "lora_rank", "rank"),
  memory("peft.alpha", "lora_alpha"),
  memory("optimizer.optimizer", null, "string"),
  memory("ddp.grad_reduce_in_fp32", null, "boolean", "states-dtype"),
  memory("dist.use_megatron_fsdp", null, "boolean", "fsdp"),
  memory("dist.use_torch_fsdp2", null, "boolean", "fsdp"),
  memory("mixed_precision", "compute_dtype", "compute", { means: RECIPES }),
  memory("comm_overlap", null, "any", "pipeline"),
  own.memory("model.restore_from_path", "model", "model", { type: "string" }),
  own.memory("model.encoder_seq_length", "sequence_length", "sequence"),
  own.memory("model.data.train_ds.max_seq_length", "sequence_length", "sequence"),
  own.memory("model.data.train_ds.micro_batch_size", "micro_batch_size", "micro-batch", { type: "integer" }),
  own.memory("model.data.train_ds.global_batch_size", "global_batch_size", "global-batch", { type: "integer" }),
  own.memory("model.megatron_amp_O2", "megatron_amp_o2"),
  own.memory("model.activations_checkpoint_granularity", "gradient_checkpointing", "checkpointing", {
    type: "string",
    means: { full: true, selective: true, null: false },
    also: [{ name: "recompute_granularity" }],
  }),
  own.memory("model.activations_checkpoint_method", "recompute_method", "recompute_method", { type: "string" }),
  own.memory("model.activations_checkpoint_num_layers", "recompute_num_layers", "recompute_num_layers", {
    type: "integer",
  }),
  own.memory("model.use_flash_attention", null, "attention", {
    also: [{ name: "attention", means: { true: "flash_attention_2" }, only: true }],
  }),
  own.memory("model.optim.name", "optimizer", "optimizer"),
  own.memory("model.fsdp", { means: { true: "full_shard", false: "none" } }),
  own.memory("model.fsdp_sharding_strategy", "fsdp", "fsdp", {
    means: { full: "full_shard", grad: "shard_grad_op", hybrid: "hybrid_shard" },
  }),
  own.memory("model.peft.peft_scheme", "adapter", "adapter", { type: "any", means: { null: "none", none: "none" } }),
  ...touching(
    "micro-batch",
    "model.data.validation_ds.micro_batch_size model.data.test_ds.micro_batch_size model.test_ds.batch_size model.validation_ds.dataloader_params.batch_size model.test_ds.dataloader_params.batch_size",
  ),
  ...touching("global-batch", "model.data.validation_ds.global_batch_size model.data.test_ds.global_batch_size"),
  ...touching(
    "sequence",
    "model.data.seq_length model.data.validation_ds.max_seq_length model.data.test_ds.max_seq_length",
  ),
  ...touching("heads", "model.encoder.n_heads"),
  ...touching("targets", "model.peft.lora_tuning.target_modules"),
  ...touching("offload-optimizer", "optimizer.optimizer_cpu_offload optimizer.optimizer_offload_fraction"),
  ...touching("ema", "exp_manager.ema.enable exp_manager.ema.cpu_offload"),
  memory("data.train_ds.micro_batch_size", "micro_batch_size", "micro-batch", { nullable: true }),
  memory("data.train_ds.global_batch_size", "global_batch_size", "global-batch"),
  memory("data.train_ds.max_seq_length", "sequence_length", "sequence", { nullable: true }),
  memory("strategy.tensor_model_parallel_size", "tensor_parallel", "tensor"),
  memory("strategy.pipeline_model_parallel_size", "pipeline_parallel", "pipeline"),
  memory("strategy.context_parallel_size", "context_parallel", "context"),
  memory("strategy.expert_model_parallel_size", "expert_parallel", "expert"),
  memory("strategy.expert_tensor_parallel_size", "expert_tensor_parallel", "expert", { nullable: true }),
  memory("plugins.precision", "compute_dtype", "compute", { means: PRECISION }),
  own.memory("model.peft.lora_tuning.adapter_dim", "lora_rank", "rank", { min: 1 }),
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
