/** Findings about the formats of frameworks. */
import type { FRAMEWORKS as EN } from "../en/frameworks";

export const FRAMEWORKS: Readonly<Record<keyof typeof EN, string>> = {
  "accelerate-file-conflict": "accelerate 会报错：设置 `deepspeed_config_file` 后，{keys} 必须写进该文件。",
  "unquoted-no": "YAML 会把它读成 false 而不是单词：请在 `{key}` 中加引号。",
  "qlora-needs-4bit": "`adapter: qlora` 需要 `load_in_4bit: true`，否则 axolotl 会报错。",
  "quantized-without-adapter": "没有适配器就无法训练量化后的模型。",
  "offloading-needs-checkpointing": "`activation_offloading` 需要 `gradient_checkpointing: true`。",
  "offloading-needs-checkpointing.torchtune":
    "`enable_activation_offloading` 需要 `enable_activation_checkpointing: true`。",
  "batch-keys": "请只写 `micro_batch_size` 和 `gradient_accumulation_steps`，`batch_size` 不能与它们同时出现。",
  "checkpointing-already-on": "梯度检查点默认已开启；开关是 `disable_gradient_checkpointing`。",
  "optimizer-in-backward": "`optimizer_in_bwd` 需要 `gradient_accumulation_steps: 1`。",
  "micro-batch-twice": "请只保留 `ppo_micro_batch_size_per_gpu`，两者同时设置时 verl 会报错。",
  "pipeline-layers": "{layers} 层无法平均分到 {stages} 个流水线阶段。",
  "fsdp-reshard-type": "FSDP{version} 要求 `{key}` 为{expected}：accelerate 会报错。",
  "fsdp-reshard-type.boolean": "true 或 false",
  "fsdp-reshard-type.strategy": "分片策略（如 `FULL_SHARD`）",
  "fsdp2-old-key": "`{key}` 属于 FSDP1；在 `fsdp_version: 2` 下不起作用。",
  "pure-bf16-zero3": "`pure_bf16` 不能与 ZeRO-3 一起使用：LLaMA-Factory 会报错。",
  "galore-deepspeed": "`{key}` 不能与 DeepSpeed 一起使用：LLaMA-Factory 会报错。",
  "fp8-quantized": "`fp8` 与 `quantization_bit` 互斥：LLaMA-Factory 会报错。",
  "recompute-method": "完全重计算需要 `{key}`：Megatron 会报错。",
  "recompute-method.selective": "选择性重计算不接受 `{key}`：Megatron 会报错。",
  "batch-multiple": "全局批大小 {total} 不是微批大小 {micro} 的整数倍：训练会报错。",
  "autobatch-gpus": "AutoBatch（`batch: {batch}`）只支持单张 GPU；当前为 {devices} 张。",
  "total-batch": "{total} 是总批大小：{devices} 张 GPU，每张 {each}。",
  "liger-plugin": "只有在 `plugins` 中列出 Liger 插件时，`{key}` 才起作用。",
  "fsdp-offload-8bit": "FSDP 卸载不能与 `{optimizer}` 一起使用：axolotl 会报错。",
};
