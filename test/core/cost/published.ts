/**
 * Published throughputs, as facts: model, machine, batch, and seconds per step or tokens per second and GPU.
 *
 * MPT on A100 and H100 (FSDP full sharding, bfloat16 autocast, FlashAttention): llm-foundry,
 * scripts/train/benchmarking/README.md. Qwen on one A100 80GB (bfloat16, checkpointing, FlashAttention-2, micro-batch 1
 * × accumulation 8; Q-LoRA on GPTQ weights): QwenLM/Qwen, README, "Profiling of Memory and Speed". Llama 3.1 8B on H100
 * (FSDP2, selective checkpointing): torchtitan, benchmarks/llama3_h100_202412_torchtitan.md; Llama 2 and 3 on 64 A100 80GB
 * (FSDP2, local batch as given): torchtitan, docs/performance.md of 2024. bert-large-uncased as a classifier on one V100
 * 16GB, 512 tokens, transformers' own AdamW: transformers, docs/source/en/perf_train_gpu_one.mdx of 4.26.
 */

/** hidden, layers, heads, parameters. */
export const MPT: Readonly<Record<string, readonly [number, number, number, number]>> = {
  "125m": [768, 12, 12, 125e6],
  "350m": [1024, 24, 16, 356e6],
  "760m": [1536, 24, 12, 760e6],
  "1b": [2048, 24, 16, 1.316e9],
  "3b": [2560, 32, 20, 2.652e9],
  "7b": [4096, 32, 32, 6.659e9],
  "13b": [5120, 40, 40, 12.854e9],
  "30b": [7168, 48, 56, 29.975e9],
  "70b": [8192, 80, 64, 64.862e9],
};

/** model, tokens per sequence, GPUs, card, micro-batch, accumulation, checkpointing, tokens per second and GPU. */
export const MPT_RUNS: readonly (readonly [string, number, number, string, number, number, boolean, number])[] = [
  ["125m", 2048, 8, "A100-80GB", 32, 2, false, 141737],
  ["350m", 2048, 8, "A100-80GB", 32, 2, false, 58782],
  ["760m", 2048, 8, "A100-80GB", 24, 2, false, 32434],
  ["1b", 2048, 8, "A100-80GB", 14, 4, false, 20513],
  ["1b", 8192, 8, "A100-80GB", 3, 4, false, 13814],
  ["3b", 512, 8, "A100-80GB", 40, 6, false, 12127],
  ["3b", 2048, 8, "A100-80GB", 10, 2, false, 10811],
  ["7b", 1024, 8, "A100-80GB", 64, 2, true, 4357],
  ["7b", 2048, 8, "A100-80GB", 6, 2, false, 4641],
  ["7b", 8192, 8, "A100-80GB", 8, 2, true, 3206],
  ["13b", 2048, 8, "A100-80GB", 2, 3, false, 2262],
  ["13b", 4096, 8, "A100-80GB", 10, 3, true, 2060],
  ["30b", 2048, 8, "A100-80GB", 3, 21, true, 916],
  ["7b", 2048, 8, "A100-40GB", 12, 4, true, 3679],
  ["13b", 2048, 8, "A100-40GB", 4, 16, true, 1668],
  ["760m", 2048, 8, "H100", 24, 2, false, 63147],
  ["1b", 2048, 8, "H100", 14, 1, false, 45455],
  ["3b", 1024, 8, "H100", 20, 6, false, 27046],
  ["7b", 2048, 8, "H100", 6, 1, false, 10643],
  ["7b", 4096, 8, "H100", 16, 2, true, 8611],
  ["7b", 32768, 8, "H100", 2, 2, true, 3318],
  ["13b", 2048, 8, "H100", 2, 1, false, 4792],
  ["30b", 2048, 8, "H100", 3, 21, true, 2002],
  ["30b", 2048, 32, "H100", 14, 3, true, 2308],
  ["70b", 2048, 64, "H100", 8, 4, true, 1039],
];

/** Tokens per sequence → seconds per step. */
export const QWEN_7B_LORA: readonly (readonly [number, number])[] = [
  [256, 1.2],
  [512, 1.5],
  [1024, 2.8],
  [2048, 5.2],
  [4096, 10.1],
  [8192, 21.3],
];
export const QWEN_7B_QLORA: readonly (readonly [number, number])[] = [
  [256, 3],
  [512, 3],
  [1024, 3.5],
  [2048, 7],
  [4096, 11.6],
  [8192, 22.3],
];
/** Full fine-tune under ZeRO-3 on one card. */
export const QWEN_1_8B_FULL: readonly (readonly [number, number])[] = [
  [256, 2.1],
  [512, 2.2],
  [1024, 2.2],
  [2048, 2.3],
  [4096, 2.8],
  [8192, 5.6],
];

/** model, hidden, inner, layers, vocabulary, parameters, tokens, batch, checkpointing, tokens per second and GPU. */
export const TORCHTITAN_A100: readonly (readonly [
  string,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  boolean,
  number,
])[] = [
  ["Llama-2-13B", 5120, 13824, 40, 32000, 13.0e9, 4096, 2, false, 2162],
  ["Llama-2-70B", 8192, 28672, 80, 32000, 69.0e9, 4096, 2, true, 353],
  ["Llama-3-70B", 8192, 28672, 80, 128256, 70.6e9, 8192, 1, true, 331],
];

/** Ablation on bert-large: micro-batch × accumulation, checkpointing, fp16, optimizer, samples per second. */
export const BERT_ABLATION: readonly (readonly [number, number, boolean, boolean, string, number])[] = [
  [4, 1, false, false, "adamw_hf", 8.86],
  [1, 4, false, false, "adamw_hf", 7.75],
  [1, 4, true, false, "adamw_hf", 5.99],
  [4, 1, false, true, "adamw_hf", 18.64],
  [1, 4, true, true, "adamw_hf", 10.09],
  [4, 1, false, false, "adafactor", 7.96],
  [1, 4, true, true, "adafactor", 9.06],
  [4, 1, false, false, "adamw_bnb_8bit", 9.15],
  [1, 4, true, true, "adamw_bnb_8bit", 10.35],
];
