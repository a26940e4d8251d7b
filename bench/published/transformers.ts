/** BERT-large of transformers' guide to training on one GPU (early 2022). */
import { type Settings, trainingArguments } from "./documents";
import type { PublishedPeak } from "./types";

const ACCUMULATED: Settings = { per_device_train_batch_size: 1, gradient_accumulation_steps: 4 };

const RUNS: readonly (readonly [run: string, mebibytes: string, settings: Settings])[] = [
  ["batch 4", "14949", { per_device_train_batch_size: 4 }],
  ["batch 1 × 4 accumulated", "8681", ACCUMULATED],
  ["batch 1 × 4, checkpointing", "6775", { ...ACCUMULATED, gradient_checkpointing: true }],
  ["batch 4, fp16", "13939", { per_device_train_batch_size: 4, fp16: true }],
  ["batch 1 × 4, checkpointing, fp16", "7275", { ...ACCUMULATED, gradient_checkpointing: true, fp16: true }],
  ["batch 4, Adafactor", "12295", { per_device_train_batch_size: 4, optim: "adafactor" }],
  [
    "batch 1 × 4, checkpointing, fp16, Adafactor",
    "4847",
    { ...ACCUMULATED, gradient_checkpointing: true, fp16: true, optim: "adafactor" },
  ],
  ["batch 4, 8-bit Adam", "13085", { per_device_train_batch_size: 4, optim: "adamw_bnb_8bit" }],
  [
    "batch 1 × 4, checkpointing, fp16, 8-bit Adam",
    "5363",
    { ...ACCUMULATED, gradient_checkpointing: true, fp16: true, optim: "adamw_bnb_8bit" },
  ],
];

export const TRANSFORMERS: readonly PublishedPeak[] = RUNS.map(([run, figure, settings]) => ({
  source: "transformers-one-gpu",
  run: `BERT-large classification, ${run}, 512 tokens`,
  documents: trainingArguments(
    { optim: "adamw_hf", ...settings },
    {
      model: "google-bert/bert-large-uncased",
      task: "seq-cls",
      sequence_length: 512,
      dtype: "float32",
      attention: "eager",
      device: "V100-16GB",
      libraries: { torch: "1.10", transformers: "4.15" },
    },
  ),
  figure,
  unit: "MiB",
  measure: "device",
}));
