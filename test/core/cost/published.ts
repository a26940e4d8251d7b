/**
 * Published throughputs, as facts: model, machine, batch, and seconds per step or tokens per second and GPU.
 *
 * MPT on A100 and H100 (FSDP full sharding, bfloat16 autocast, FlashAttention): llm-foundry,
 * scripts/train/benchmarking/README.md. Qwen on one A100 80GB (bfloat16, checkpointing, FlashAttention-2, micro-batch 1
 * × accumulation 8; Q-LoRA on GPTQ weights): QwenLM/Qwen, README, "Profiling of Memory and Speed". Llama 3.1 8B on H100
 * of 500 W and 2.4 TB/s (FSDP2, selective checkpointing, with and without 8-bit products): torchtitan,
 * benchmarks/llama3_h100_202412_torchtitan.md (batch 2) and commit 7a04053 (batch 1); Llama 2 and 3 on 64 A100 80GB (FSDP2, local batch as given):
 * torchtitan, docs/performance.md of 2024. GPT-2 on one A100 PCIe 40GB: karpathy/llm.c, pull request 323.
 * Llama 7B under DeepSpeed on eight A800 80GB, 4096 tokens:
 * gist.github.com/chenyaofo/d4cd6a20ab4b95cb3a49491747e2139a (samples per second of all cards; PCIe or
 * SXM is not said, SXM is taken). Pictures of 224 pixels on an
 * RTX 3090 (float16 autocast, channels first, SGD, no data loading): timm,
 * results/benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv. bert-large-uncased as a classifier on one V100
 * 16GB, 512 tokens, transformers' own AdamW: transformers, docs/source/en/perf_train_gpu_one.mdx of 4.26.
 */

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

/** model, hidden, inner, layers, key-value heads, vocabulary, tokens, batch, checkpointing, tokens per second and GPU. */
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
  ["Llama-2-13B", 5120, 13824, 40, 40, 32000, 4096, 2, false, 2162],
  ["Llama-2-70B", 8192, 28672, 80, 8, 32000, 4096, 2, true, 353],
  ["Llama-3-70B", 8192, 28672, 80, 8, 128256, 8192, 1, true, 331],
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

/** batch, whether compiled, 8-bit recipe, tokens per second and GPU. */
export const TORCHTITAN_H100: readonly (readonly [number, boolean, "tensorwise" | "rowwise" | null, number])[] = [
  [2, false, null, 5762],
  [2, true, null, 6667],
  [2, true, "tensorwise", 8532],
  [1, true, null, 5760],
  [1, true, "rowwise", 6424],
  [1, true, "tensorwise", 7186],
];

/** GPT-2 of 124 million parameters in PyTorch (compiled, bfloat16 autocast, FlashAttention), 32 × 1024 tokens: tokens per second. */
export const GPT2_A100_PCIE = 115_000;

/** ZeRO stage, checkpointing, optimizer and parameters on the host, micro-batch, global batch, samples per second. */
export const A800_ABLATION: readonly (readonly [2 | 3, boolean, boolean, boolean, number, number, number])[] = [
  [2, false, false, false, 1, 64, 5.33],
  [2, true, false, false, 1, 64, 4.19],
  [2, true, true, false, 1, 64, 1.81],
  [2, true, false, false, 4, 64, 4.69],
  [3, false, false, false, 2, 64, 4.95],
  [3, true, false, false, 2, 64, 4.45],
  [3, true, true, false, 2, 64, 2.05],
  [3, true, true, true, 4, 64, 2.06],
  [3, true, false, false, 8, 64, 4.73],
];

/** model, family, config, batch, samples per second. */
export const PICTURES: readonly (readonly [string, string, Readonly<Record<string, unknown>>, number, number])[] = [
  [
    "ResNet-18",
    "resnet",
    { depths: [2, 2, 2, 2], hidden_sizes: [64, 128, 256, 512], layer_type: "basic" },
    512,
    2764.22,
  ],
  ["ResNet-50", "resnet", { depths: [3, 4, 6, 3] }, 512, 826.06],
  ["ResNet-101", "resnet", { depths: [3, 4, 23, 3] }, 256, 568.98],
  ["ResNet-152", "resnet", { depths: [3, 8, 36, 3] }, 192, 370.08],
  ["ConvNeXt-T", "convnext", { depths: [3, 3, 9, 3], hidden_sizes: [96, 192, 384, 768] }, 256, 813.16],
  ["ConvNeXt-B", "convnext", { depths: [3, 3, 27, 3], hidden_sizes: [128, 256, 512, 1024] }, 128, 336.98],
  ["ViT-B/16", "vit", { hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12 }, 192, 390.86],
  [
    "ViT-L/16",
    "vit",
    { hidden_size: 1024, intermediate_size: 4096, num_hidden_layers: 24, num_attention_heads: 16 },
    64,
    117.08,
  ],
  ["Swin-B", "swin", { embed_dim: 128, depths: [2, 2, 18, 2], num_heads: [4, 8, 16, 32], window_size: 7 }, 128, 279.66],
];
