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
