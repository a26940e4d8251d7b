/** Findings that the formats of other frameworks make while reading, with their pages and words. */
import type { Severity } from "../../formats/types";

export interface FrameworkFinding {
  readonly code: string;
  readonly severity: Severity;
  readonly title: string;
  readonly why: string;
  readonly mend: string;
  /** Message ids with their text in English and Simplified Chinese. */
  readonly messages: Readonly<Record<string, readonly [string, string]>>;
}

export const FRAMEWORK_FINDINGS: readonly FrameworkFinding[] = [
  {
    code: "accelerate-file-conflict",
    severity: "error",
    title: "Accelerate: a DeepSpeed file and DeepSpeed keys",
    why: "With `deepspeed_config_file` set, accelerate raises a ValueError that lists every DeepSpeed key given beside it.",
    mend: "Move the keys into the file, or remove `deepspeed_config_file`.",
    messages: {
      "accelerate-file-conflict": [
        "accelerate stops: {keys} must move into the file when `deepspeed_config_file` is set.",
        "accelerate 会报错:设置 `deepspeed_config_file` 后,{keys} 必须写进该文件。",
      ],
    },
  },
  {
    code: "unquoted-no",
    severity: "hint",
    title: "An unquoted `no` is false in YAML",
    why: "PyYAML reads a bare `no` as the boolean false. Accelerate takes false for the word here; other readers do not.",
    mend: "Quote it: `'no'`.",
    messages: {
      "unquoted-no": [
        "YAML reads this as false, not as the word: quote it in `{key}`.",
        "YAML 会把它读成 false 而不是单词:请在 `{key}` 中加引号。",
      ],
    },
  },
  {
    code: "qlora-needs-4bit",
    severity: "error",
    title: "Axolotl: `adapter: qlora` without 4-bit weights",
    why: "Axolotl's validation requires `load_in_4bit: true` for `adapter: qlora`.",
    mend: "Add `load_in_4bit: true`, or use `adapter: lora`.",
    messages: {
      "qlora-needs-4bit": [
        "`adapter: qlora` needs `load_in_4bit: true`; axolotl stops without it.",
        "`adapter: qlora` 需要 `load_in_4bit: true`,否则 axolotl 会报错。",
      ],
    },
  },
  {
    code: "quantized-without-adapter",
    severity: "error",
    title: "Quantized weights without an adapter",
    why: "Quantized weights take no gradient: a trainer needs an adapter on top of them. Axolotl stops at validation.",
    mend: "Set `adapter: qlora` (or `lora`), or load the weights unquantized.",
    messages: {
      "quantized-without-adapter": [
        "A quantized model cannot be trained without an adapter.",
        "没有适配器就无法训练量化后的模型。",
      ],
    },
  },
  {
    code: "offloading-needs-checkpointing",
    severity: "error",
    title: "Activation offloading without checkpointing",
    why: "What is offloaded are the inputs that checkpointing keeps; without checkpointing the frameworks stop.",
    mend: "Turn checkpointing on.",
    messages: {
      "offloading-needs-checkpointing": [
        "`activation_offloading` needs `gradient_checkpointing: true`.",
        "`activation_offloading` 需要 `gradient_checkpointing: true`。",
      ],
      "offloading-needs-checkpointing.torchtune": [
        "`enable_activation_offloading` needs `enable_activation_checkpointing: true`.",
        "`enable_activation_offloading` 需要 `enable_activation_checkpointing: true`。",
      ],
    },
  },
  {
    code: "batch-keys",
    severity: "error",
    title: "Axolotl: `batch_size` with accumulation",
    why: "`batch_size` is the micro-batch times the accumulation. Axolotl rejects it beside `gradient_accumulation_steps`.",
    mend: "Remove `batch_size`.",
    messages: {
      "batch-keys": [
        "Give `micro_batch_size` and `gradient_accumulation_steps`; `batch_size` cannot stand beside them.",
        "请只写 `micro_batch_size` 和 `gradient_accumulation_steps`,`batch_size` 不能与它们同时出现。",
      ],
    },
  },
  {
    code: "checkpointing-already-on",
    severity: "hint",
    title: "LLaMA-Factory: checkpointing is already on",
    why: "LLaMA-Factory checkpoints unless `disable_gradient_checkpointing` is true; the Trainer's own key changes nothing.",
    mend: "Remove the key.",
    messages: {
      "checkpointing-already-on": [
        "Checkpointing is already on; the switch is `disable_gradient_checkpointing`.",
        "梯度检查点默认已开启;开关是 `disable_gradient_checkpointing`。",
      ],
    },
  },
  {
    code: "optimizer-in-backward",
    severity: "error",
    title: "torchtune: `optimizer_in_bwd` with accumulation",
    why: "Stepping each parameter in backward leaves no gradients to accumulate; the recipe raises a ValueError.",
    mend: "Set `gradient_accumulation_steps: 1`, or `optimizer_in_bwd: false`.",
    messages: {
      "optimizer-in-backward": [
        "`optimizer_in_bwd` needs `gradient_accumulation_steps: 1`.",
        "`optimizer_in_bwd` 需要 `gradient_accumulation_steps: 1`。",
      ],
    },
  },
  {
    code: "micro-batch-twice",
    severity: "error",
    title: "verl: the micro-batch is stated twice",
    why: "`ppo_micro_batch_size` counts over all GPUs and is deprecated; verl rejects it beside the per-GPU form.",
    mend: "Keep `ppo_micro_batch_size_per_gpu`.",
    messages: {
      "micro-batch-twice": [
        "Keep only `ppo_micro_batch_size_per_gpu`; verl stops when both are set.",
        "请只保留 `ppo_micro_batch_size_per_gpu`,两者同时设置时 verl 会报错。",
      ],
    },
  },
  {
    code: "pipeline-layers",
    severity: "warning",
    title: "Layers do not divide over the pipeline",
    why: "Without explicit stage layouts Megatron asserts that the number of layers is a multiple of the pipeline degree.",
    mend: "Change the pipeline degree, or lay the stages out explicitly.",
    messages: {
      "pipeline-layers": [
        "{layers} layers do not divide over {stages} pipeline stages.",
        "{layers} 层无法平均分到 {stages} 个流水线阶段。",
      ],
    },
  },
  {
    code: "fsdp-reshard-type",
    severity: "error",
    title: "Accelerate: `fsdp_reshard_after_forward` of the other FSDP",
    why: "FSDP2 takes a boolean, FSDP1 the name of a sharding strategy; `FullyShardedDataParallelPlugin` raises a ValueError for the other type. Without `fsdp_version` it is FSDP1.",
    mend: "Set `fsdp_version: 2` with a boolean, or write a strategy such as `FULL_SHARD`.",
    messages: {
      "fsdp-reshard-type": [
        "FSDP{version} expects {expected} in `{key}`: accelerate stops.",
        "FSDP{version} 要求 `{key}` 为{expected}:accelerate 会报错。",
      ],
      "fsdp-reshard-type.boolean": ["true or false", "true 或 false"],
      "fsdp-reshard-type.strategy": ["a sharding strategy such as FULL_SHARD", "分片策略(如 FULL_SHARD)"],
    },
  },
  {
    code: "fsdp2-old-key",
    severity: "warning",
    title: "Accelerate: a key of FSDP1 with FSDP2",
    why: "With `fsdp_version: 2` accelerate drops the keys that only FSDP1 has: sharding strategy, prefetching, original parameters, synchronised states. `accelerate to-fsdp2` rewrites a file.",
    mend: "Remove the key; `fsdp_reshard_after_forward` says what `fsdp_sharding_strategy` said.",
    messages: {
      "fsdp2-old-key": [
        "`{key}` belongs to FSDP1; with `fsdp_version: 2` it has no effect.",
        "`{key}` 属于 FSDP1;在 `fsdp_version: 2` 下不起作用。",
      ],
    },
  },
  {
    code: "pure-bf16-zero3",
    severity: "error",
    title: "LLaMA-Factory: `pure_bf16` with ZeRO-3",
    why: "LLaMA-Factory raises a ValueError for `pure_bf16` under DeepSpeed's stage 3.",
    mend: "Use `bf16: true`, or stage 2.",
    messages: {
      "pure-bf16-zero3": [
        "`pure_bf16` cannot be used with ZeRO-3: LLaMA-Factory stops.",
        "`pure_bf16` 不能与 ZeRO-3 一起使用:LLaMA-Factory 会报错。",
      ],
    },
  },
  {
    code: "galore-deepspeed",
    severity: "error",
    title: "LLaMA-Factory: GaLore or APOLLO with DeepSpeed",
    why: "Both project gradients that DeepSpeed keeps to itself; LLaMA-Factory raises a ValueError.",
    mend: "Leave `deepspeed` out, or use another optimizer.",
    messages: {
      "galore-deepspeed": [
        "`{key}` does not work with DeepSpeed: LLaMA-Factory stops.",
        "`{key}` 不能与 DeepSpeed 一起使用:LLaMA-Factory 会报错。",
      ],
    },
  },
  {
    code: "fp8-quantized",
    severity: "error",
    title: "LLaMA-Factory: FP8 training of a quantized model",
    why: "LLaMA-Factory raises a ValueError when `fp8` and `quantization_bit` are both set.",
    mend: "Keep one of the two.",
    messages: {
      "fp8-quantized": [
        "`fp8` and `quantization_bit` exclude each other: LLaMA-Factory stops.",
        "`fp8` 与 `quantization_bit` 互斥:LLaMA-Factory 会报错。",
      ],
    },
  },
  {
    code: "recompute-method",
    severity: "error",
    title: "Megatron: full recomputation without a method",
    why: "With `recompute_granularity full` Megatron-core wants to know which layers: `recompute_method` (block or uniform) and `recompute_num_layers`. Selective recomputation takes no number of layers.",
    mend: "Give `--recompute-method uniform --recompute-num-layers 1`, or use selective recomputation.",
    messages: {
      "recompute-method": [
        "Full recomputation needs `{key}`: Megatron stops.",
        "完全重计算需要 `{key}`:Megatron 会报错。",
      ],
      "recompute-method.selective": [
        "Selective recomputation takes no `{key}`: Megatron stops.",
        "选择性重计算不接受 `{key}`:Megatron 会报错。",
      ],
    },
  },
  {
    code: "batch-multiple",
    severity: "error",
    title: "The global batch is no multiple of the micro-batch",
    why: "The global batch is the micro-batch times the data-parallel degree times the accumulation; Megatron-core and DeepSpeed assert that it divides.",
    mend: "Change one of the two.",
    messages: {
      "batch-multiple": [
        "Global batch {total} is no multiple of the micro-batch {micro}: the run stops.",
        "全局批大小 {total} 不是微批 {micro} 的整数倍:训练会停止。",
      ],
    },
  },
  {
    code: "autobatch-gpus",
    severity: "error",
    title: "Ultralytics: AutoBatch on several GPUs",
    why: "A `batch` of -1, or a share of the memory, is found by trying on one GPU; on several the trainer raises a ValueError.",
    mend: "Give the total batch as a number.",
    messages: {
      "autobatch-gpus": [
        "AutoBatch (`batch: {batch}`) works on one GPU only; here are {devices}.",
        "AutoBatch(`batch: {batch}`)只支持单张 GPU;当前为 {devices} 张。",
      ],
    },
  },
  {
    code: "total-batch",
    severity: "information",
    title: "The batch is the total over all GPUs",
    why: "Ultralytics divides `batch` over the GPUs, detectron2 does so with `SOLVER.IMS_PER_BATCH`; other trainers count per GPU.",
    mend: "Nothing to mend: the estimate counts what one GPU gets.",
    messages: {
      "total-batch": [
        "{total} is the total batch: {each} per GPU on {devices} GPUs.",
        "{total} 是总批大小:{devices} 张 GPU,每张 {each}。",
      ],
    },
  },
  {
    code: "liger-plugin",
    severity: "warning",
    title: "Axolotl: a Liger key without the plugin",
    why: "Axolotl's Liger keys are read by `axolotl.integrations.liger.LigerPlugin`; without it in `plugins` they change nothing.",
    mend: "Add `axolotl.integrations.liger.LigerPlugin` to `plugins`.",
    messages: {
      "liger-plugin": [
        "`{key}` acts only when the Liger plugin is listed under `plugins`.",
        "只有在 `plugins` 中列出 Liger 插件时,`{key}` 才起作用。",
      ],
    },
  },
  {
    code: "fsdp-offload-8bit",
    severity: "error",
    title: "Axolotl: FSDP offload with an 8-bit optimizer",
    why: "The 8-bit optimizers of bitsandbytes step on the GPU; with FSDP1 parameters in host memory axolotl stops at validation.",
    mend: "Use `adamw_torch_fused`, or FSDP2 without offload.",
    messages: {
      "fsdp-offload-8bit": [
        "FSDP offload does not work with `{optimizer}`: axolotl stops.",
        "FSDP 卸载不能与 `{optimizer}` 一起使用:axolotl 会报错。",
      ],
    },
  },
];

/** Messages of these findings in one language. */
export function frameworkMessages(locale: "en" | "zh"): Record<string, string> {
  const index = locale === "en" ? 0 : 1;
  return Object.fromEntries(
    FRAMEWORK_FINDINGS.flatMap((finding) =>
      Object.entries(finding.messages).map(([id, texts]) => [id, texts[index] ?? texts[0]]),
    ),
  );
}
