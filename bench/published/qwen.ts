/** Qwen's README, "Profiling of Memory and Speed". */
import { type Settings, trainingArguments } from "./documents";
import type { PublishedPeak } from "./types";

const LENGTHS = [256, 512, 1024, 2048, 4096, 8192] as const;

/** Adapters of `finetune.py`: rank 64 on the fused projection and the MLP; ours has the projections apart. */
const LORA: Settings = {
  type: "lora",
  r: 64,
  alpha: 16,
  dropout: 0.05,
  target_modules: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
};

interface Series {
  readonly run: string;
  readonly model: string;
  readonly figures: readonly string[];
  readonly pins: Settings;
}

const SERIES: readonly Series[] = [
  {
    run: "Qwen-1.8B LoRA",
    model: "Qwen/Qwen1.5-1.8B",
    figures: ["6.7", "7.4", "8.4", "11.0", "16.2", "21.8"],
    pins: { adapter: LORA },
  },
  {
    run: "Qwen-7B LoRA",
    model: "Qwen/Qwen1.5-7B",
    figures: ["20.1", "20.4", "21.5", "23.8", "29.7", "36.6"],
    pins: { adapter: LORA },
  },
  {
    run: "Qwen-7B LoRA with embeddings",
    model: "Qwen/Qwen1.5-7B",
    figures: ["33.7", "34.1", "35.2", "35.1", "39.2", "48.5"],
    pins: { adapter: { ...LORA, modules_to_save: ["embed_tokens", "lm_head"] } },
  },
  {
    run: "Qwen-14B LoRA",
    model: "Qwen/Qwen1.5-14B",
    figures: ["34.6", "35.1", "35.3", "37.4", "42.5", "55.2"],
    pins: { adapter: LORA },
  },
  {
    run: "Qwen-7B Q-LoRA (GPTQ 4-bit)",
    model: "Qwen/Qwen1.5-7B",
    figures: ["11.5", "11.5", "12.3", "13.9", "16.9", "23.5"],
    pins: { adapter: LORA, quantization: { type: "gptq", prepare_for_kbit: true } },
  },
];

export const QWEN: readonly PublishedPeak[] = SERIES.flatMap(({ run, model, figures, pins }) =>
  LENGTHS.map((length, index) => {
    return {
      source: "qwen-readme",
      run: `${run}, 1 × ${length}`,
      documents: trainingArguments(
        {
          per_device_train_batch_size: 1,
          gradient_accumulation_steps: 8,
          gradient_checkpointing: true,
          bf16: true,
          optim: "adamw_torch",
        },
        {
          model,
          task: "causal-lm",
          sequence_length: length,
          dtype: "bfloat16",
          attention: "flash_attention_2",
          ...pins,
          device: "A100-80GB",
          libraries: { torch: "2.0", transformers: "4.32", peft: "0.5" },
        },
      ),
      figure: figures[index] ?? "",
      unit: "G",
      measure: "unsaid",
      assumed: ["qwen1"],
    };
  }),
);
