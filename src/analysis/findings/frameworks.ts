/** Findings that the formats of other frameworks make while reading, with their pages and words. */
import type { Severity } from "../../formats/types";

export interface FrameworkFinding {
  readonly code: string;
  readonly severity: Severity;
  readonly title: string;
  readonly why: string;
  readonly mend: string;
}

export const FRAMEWORK_FINDINGS: readonly FrameworkFinding[] = [
  {
    code: "accelerate-file-conflict",
    severity: "error",
    title: "Accelerate: a DeepSpeed file and DeepSpeed keys",
    why: "With `deepspeed_config_file` set, accelerate raises a ValueError that lists every DeepSpeed key given beside it.",
    mend: "Move the keys into the file, or remove `deepspeed_config_file`.",
  },
  {
    code: "unquoted-no",
    severity: "hint",
    title: "An unquoted `no` is false in YAML",
    why: "PyYAML reads a bare `no` as the boolean false. Accelerate takes false for the word here; other readers do not.",
    mend: "Quote it: `'no'`.",
  },
  {
    code: "qlora-needs-4bit",
    severity: "error",
    title: "Axolotl: `adapter: qlora` without 4-bit weights",
    why: "Axolotl's validation requires `load_in_4bit: true` for `adapter: qlora`.",
    mend: "Add `load_in_4bit: true`, or use `adapter: lora`.",
  },
  {
    code: "quantized-without-adapter",
    severity: "error",
    title: "Quantized weights without an adapter",
    why: "Quantized weights take no gradient: a trainer needs an adapter on top of them. Axolotl stops at validation.",
    mend: "Set `adapter: qlora` (or `lora`), or load the weights unquantized.",
  },
  {
    code: "offloading-needs-checkpointing",
    severity: "error",
    title: "Activation offloading without checkpointing",
    why: "What is offloaded are the inputs that checkpointing keeps; without checkpointing the frameworks stop.",
    mend: "Turn checkpointing on.",
  },
  {
    code: "batch-keys",
    severity: "error",
    title: "Axolotl: `batch_size` with accumulation",
    why: "`batch_size` is the micro-batch times the accumulation. Axolotl rejects it beside `gradient_accumulation_steps`.",
    mend: "Remove `batch_size`.",
  },
  {
    code: "checkpointing-already-on",
    severity: "hint",
    title: "LLaMA-Factory: checkpointing is already on",
    why: "LLaMA-Factory checkpoints unless `disable_gradient_checkpointing` is true; the Trainer's own key changes nothing.",
    mend: "Remove the key.",
  },
  {
    code: "optimizer-in-backward",
    severity: "error",
    title: "torchtune: `optimizer_in_bwd` with accumulation",
    why: "Stepping each parameter in backward leaves no gradients to accumulate; the recipe raises a ValueError.",
    mend: "Set `gradient_accumulation_steps: 1`, or `optimizer_in_bwd: false`.",
  },
  {
    code: "micro-batch-twice",
    severity: "error",
    title: "verl: the micro-batch is stated twice",
    why: "`ppo_micro_batch_size` counts over all GPUs and is deprecated; verl rejects it beside the per-GPU form.",
    mend: "Keep `ppo_micro_batch_size_per_gpu`.",
  },
  {
    code: "pipeline-layers",
    severity: "warning",
    title: "Layers do not divide over the pipeline",
    why: "Without explicit stage layouts Megatron asserts that the number of layers is a multiple of the pipeline degree.",
    mend: "Change the pipeline degree, or lay the stages out explicitly.",
  },
  {
    code: "fsdp-reshard-type",
    severity: "error",
    title: "Accelerate: `fsdp_reshard_after_forward` of the other FSDP",
    why: "FSDP2 takes a boolean, FSDP1 the name of a sharding strategy; `FullyShardedDataParallelPlugin` raises a ValueError for the other type. Without `fsdp_version` it is FSDP1.",
    mend: "Set `fsdp_version: 2` with a boolean, or write a strategy such as `FULL_SHARD`.",
  },
  {
    code: "fsdp2-old-key",
    severity: "warning",
    title: "Accelerate: a key of FSDP1 with FSDP2",
    why: "With `fsdp_version: 2` accelerate drops the keys that only FSDP1 has: sharding strategy, prefetching, original parameters, synchronised states. `accelerate to-fsdp2` rewrites a file.",
    mend: "Remove the key; `fsdp_reshard_after_forward` says what `fsdp_sharding_strategy` said.",
  },
  {
    code: "pure-bf16-zero3",
    severity: "error",
    title: "LLaMA-Factory: `pure_bf16` with ZeRO-3",
    why: "LLaMA-Factory raises a ValueError for `pure_bf16` under DeepSpeed's stage 3.",
    mend: "Use `bf16: true`, or stage 2.",
  },
  {
    code: "galore-deepspeed",
    severity: "error",
    title: "LLaMA-Factory: GaLore or APOLLO with DeepSpeed",
    why: "Both project gradients that DeepSpeed keeps to itself; LLaMA-Factory raises a ValueError.",
    mend: "Leave `deepspeed` out, or use another optimizer.",
  },
  {
    code: "fp8-quantized",
    severity: "error",
    title: "LLaMA-Factory: FP8 training of a quantized model",
    why: "LLaMA-Factory raises a ValueError when `fp8` and `quantization_bit` are both set.",
    mend: "Keep one of the two.",
  },
  {
    code: "recompute-method",
    severity: "error",
    title: "Megatron: full recomputation without a method",
    why: "With `recompute_granularity full` Megatron-core wants to know which layers: `recompute_method` (block or uniform) and `recompute_num_layers`. Selective recomputation takes no number of layers.",
    mend: "Give `--recompute-method uniform --recompute-num-layers 1`, or use selective recomputation.",
  },
  {
    code: "batch-multiple",
    severity: "error",
    title: "The global batch is no multiple of the micro-batch",
    why: "The global batch is the micro-batch times the data-parallel degree times the accumulation; Megatron-core and DeepSpeed assert that it divides.",
    mend: "Change one of the two.",
  },
  {
    code: "autobatch-gpus",
    severity: "error",
    title: "Ultralytics: AutoBatch on several GPUs",
    why: "A `batch` of -1, or a share of the memory, is found by trying on one GPU; on several the trainer raises a ValueError.",
    mend: "Give the total batch as a number.",
  },
  {
    code: "total-batch",
    severity: "information",
    title: "The batch is the total over all GPUs",
    why: "Ultralytics divides `batch` over the GPUs, detectron2 does so with `SOLVER.IMS_PER_BATCH`; other trainers count per GPU.",
    mend: "Nothing to mend: the estimate counts what one GPU gets.",
  },
  {
    code: "liger-plugin",
    severity: "warning",
    title: "Axolotl: a Liger key without the plugin",
    why: "Axolotl's Liger keys are read by `axolotl.integrations.liger.LigerPlugin`; without it in `plugins` they change nothing.",
    mend: "Add `axolotl.integrations.liger.LigerPlugin` to `plugins`.",
  },
  {
    code: "fsdp-offload-8bit",
    severity: "error",
    title: "Axolotl: FSDP offload with an 8-bit optimizer",
    why: "The 8-bit optimizers of bitsandbytes step on the GPU; with FSDP1 parameters in host memory axolotl stops at validation.",
    mend: "Use `adamw_torch_fused`, or FSDP2 without offload.",
  },
];
