/** Runs of which only "ran" or "out of memory" was published: the table of the 4-bit post on Hugging Face's blog. */
import { type Settings, trainingArguments } from "./documents";
import type { PublishedOutcome } from "./types";

type Row = readonly [
  model: "7b" | "13b",
  base: "int8" | "nf4" | "nf4-dq" | "fp4",
  compute: "bfloat16" | "float16",
  checkpointing: boolean,
  length: 512 | 1024,
  ran: boolean,
];

const ROWS: readonly Row[] = [
  ["7b", "int8", "float16", true, 512, true],
  ["7b", "int8", "float16", true, 1024, false],
  ["7b", "nf4", "bfloat16", false, 512, true],
  ["7b", "fp4", "bfloat16", false, 512, true],
  ["7b", "nf4", "bfloat16", false, 1024, false],
  ["7b", "fp4", "bfloat16", false, 1024, false],
  ["7b", "nf4", "bfloat16", true, 1024, true],
  ["13b", "int8", "float16", true, 512, false],
  ["13b", "fp4", "bfloat16", false, 512, false],
  ["13b", "fp4", "float16", false, 512, false],
  ["13b", "nf4", "float16", true, 512, true],
  ["13b", "nf4", "float16", true, 1024, false],
  ["13b", "nf4-dq", "float16", true, 1024, true],
];

export const BLOG_OUTCOMES: readonly PublishedOutcome[] = ROWS.map(
  ([model, base, compute, checkpointing, length, ran]) => {
    const double = base === "nf4-dq";
    const quantization: Settings = {
      type: double ? "nf4" : base,
      double,
      prepare_for_kbit: checkpointing,
      ...(base === "int8" ? {} : { compute_dtype: compute }),
    };
    return {
      source: "blog-4bit",
      run: `LLaMA-${model.toUpperCase()} ${base} LoRA, ${compute} products${checkpointing ? ", checkpointing" : ""}, 1 × ${length} on a T4`,
      documents: trainingArguments(
        {
          per_device_train_batch_size: 1,
          gradient_accumulation_steps: 4,
          gradient_checkpointing: checkpointing,
          optim: "adamw_torch",
          fp16: true,
        },
        {
          model: `huggyllama/llama-${model}`,
          task: "causal-lm",
          sequence_length: length,
          dtype: "float16",
          attention: "eager",
          adapter: { type: "lora", r: 64, alpha: 16, dropout: 0.1, target_modules: ["q_proj", "v_proj"] },
          quantization,
          device: "T4",
          libraries: { torch: "2.0", transformers: "4.30", peft: "0.4", bitsandbytes: "0.39" },
        },
      ),
      ran,
      assumed: ["blog-script"],
    };
  },
);
