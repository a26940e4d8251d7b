/** The model: its weights, its code, how it is compiled, and what pins say of it. */
import { openSplit } from "../../../gpu-count";
import { size } from "../../../messages/units";
import { hit, type Rule, replacement } from "../../rule";

export const TRAINER_MODEL_RULES: readonly Rule[] = [
  {
    code: "checkpointing-use-cache",
    severity: "warning",
    title: "Key-value cache with checkpointing",
    why: 'Transformers switches the cache off while checkpointing ("`use_cache=True` is incompatible with gradient checkpointing").',
    mend: "Set `use_cache: false`.",
    en: "`use_cache` is switched off while checkpointing: set it to false.",
    zh: "启用检查点时 `use_cache` 会被关闭：请设为 false。",
    example: { train: "gradient_checkpointing: true\nuse_cache: true" },
    check: (facts) => {
      const at = facts.own("use_cache");
      return hit(at, at?.value === true && facts.isTrue("gradient_checkpointing"), {
        fixes: replacement(at, "false", true),
      });
    },
  },
  {
    code: "pin-differs",
    severity: "information",
    title: "A pin overrides the config",
    why: "A pin states another value than the training config; the estimate follows the pin, the training run follows the config.",
    mend: "Remove the pin, or change the config.",
    en: "The pin says {pinned}, the config {stated}: the estimate follows the pin, the training does not.",
    zh: "固定值为 {pinned}，配置为 {stated}：估算采用固定值，训练则不会。",
    example: { trl: "max_length: 512\ndtype: float32", pins: "dtype: bfloat16" },
    check: (facts) =>
      (["load_dtype", "attention", "model", "lora_rank"] as const).flatMap((name) => {
        const at = facts.pin(name);
        const stated = facts.own(name);
        const differs =
          stated !== undefined &&
          stated.value !== null &&
          String(stated.value).replace("torch.", "") !== String(at?.value);
        return hit(at, differs, {
          args: { pinned: String(at?.value), stated: String(stated?.value) },
          related: [stated],
        });
      }),
  },
  {
    code: "torch-compile",
    severity: "information",
    title: "The compiled step is counted as one graph",
    why: "Inductor fuses operations, and its partitioner computes some of them again in backward: the estimate follows both. Wherever tracing breaks off, code runs eagerly and keeps more; the band reaches up to the uncompiled step.",
    mend: "Look for graph breaks (`TORCH_LOGS=graph_breaks`), or measure.",
    en: "`torch_compile` is counted as one graph; graph breaks keep more, up to what the uncompiled step does.",
    zh: "`torch_compile` 按单个计算图估算；图断裂处占用更多，最多与未编译的训练步相同。",
    example: { train: "torch_compile: true" },
    check: (facts) => {
      const at = facts.own("torch_compile") ?? facts.own("torch_compile_backend");
      return hit(at, at?.value !== false && at?.value !== null);
    },
  },
  {
    code: "remote-code",
    severity: "information",
    title: "The model runs its own code",
    why: "With `trust_remote_code` the checkpoint's own Python may replace the architecture; the estimate is for the library's implementation of this model type.",
    mend: "Trace it with your own Python (`vram-lens trace FOLDER`, or `train.py --script`) and pin the graph as `model`.",
    en: "`trust_remote_code` lets the checkpoint replace the architecture: the estimate is for the library's own.",
    zh: "`trust_remote_code` 允许检查点替换架构：估算基于库自带的实现。",
    example: { trl: "trust_remote_code: true" },
    check: (facts) => {
      const at = facts.own("trust_remote_code");
      return hit(at, at?.value === true);
    },
  },
  {
    code: "weights-exceed-device",
    severity: "information",
    title: "The weights alone do not fit",
    why: "Weights of this size and dtype leave no room on one card whatever the batch: they must be sharded (ZeRO-3, FSDP), quantized, or held on a larger card.",
    mend: "Use ZeRO stage 3 or FSDP over several GPUs, a quantized base with adapters, or a larger card.",
    en: "The weights alone take {bytes}, {usable} are usable: no batch size helps. Shard or quantize them, or use a larger card.",
    zh: "仅权重就占用 {bytes}（可用 {usable}）：调整批大小无济于事，请分片、量化或换用更大的 GPU。",
    example: {
      train: "",
      pins: "device: 1GB\nsequence_length: 16\ndtype: float32",
      model: { hidden_size: 2048, vocab_size: 128256, num_attention_heads: 16, num_key_value_heads: 16 },
    },
    check: (facts) => {
      const bytes = facts.estimate?.components.find((component) => component.kind === "weights")?.bytes ?? 0;
      const at = facts.stated("model");
      return hit(
        at,
        facts.usable !== null && bytes > 0.95 * facts.usable && openSplit(facts.resolution) === undefined,
        {
          args: { bytes: size(bytes), usable: size(facts.usable ?? 0) },
        },
      );
    },
  },
];
