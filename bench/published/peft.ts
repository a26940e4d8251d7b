/** PEFT's method comparison and its guides to sharded QLoRA. */
import { type Settings, trainingArguments } from "./documents";
import type { PublishedPeak } from "./types";

type Comparison = readonly [run: string, result: string, bytes: string, adapter: Settings | null, miss?: string];

const QV = { target_modules: ["q_proj", "v_proj"] } as const;
const MLP = { target_modules: ["gate_proj", "up_proj", "down_proj"] } as const;

/** Adapters of `experiments/<name>/adapter_config.json`, `accelerator_memory_max` of `results/<name>.json`. */
const META_MATH: readonly Comparison[] = [
  ["LoRA r 32 on q, v", "lora--llama-3.2-3B-rank32", "22292725760", { type: "lora", r: 32, alpha: 64, ...QV }],
  ["LoRA r 64 on q, v", "lora--llama-3.2-3B-rank64", "22552772608", { type: "lora", r: 64, alpha: 128, ...QV }],
  [
    "rsLoRA r 64 on q, v",
    "lora--llama-3.2-3B-rank64-rslora",
    "22561161216",
    { type: "lora", r: 64, alpha: 64, use_rslora: true, ...QV },
  ],
  ["DoRA r 32 on q, v", "lora--llama-3.2-3B-rank32-dora", "24532484096", { type: "dora", r: 32, alpha: 64, ...QV }],
  [
    "LoRA r 10 on the MLP",
    "lora--llama-3.2-3B-rank10-target-mlp",
    "24698159104",
    { type: "lora", r: 10, alpha: 20, ...MLP },
  ],
  [
    "AdaLoRA r 64 on q, v",
    "adalora--llama-3.2-3B-rank32",
    "22781362176",
    { type: "adalora", r: 8, init_r: 64, target_r: 32, ...QV },
  ],
  [
    "BOFT of blocks of 4 on q, v",
    "boft--llama-3.2-3B-default",
    "24691867648",
    { type: "boft", boft_block_size: 4, boft_n_butterfly_factor: 1, ...QV },
    "boft-on-host",
  ],
  ["OFT r 32 on q, v", "oft--llama-3.2-3B-rank32", "22332571648", { type: "oft", r: 32, ...QV }],
  [
    "IA3",
    "ia3--llama-3.2-3B-default",
    "23234347008",
    { type: "ia3", target_modules: ["down_proj", "v_proj", "k_proj"], feedforward_modules: ["down_proj"] },
  ],
  [
    "IA3 on all linear layers",
    "ia3--llama-3.2-3B-all-attn-5k-lr0.005",
    "26145193984",
    {
      type: "ia3",
      target_modules: ["gate_proj", "o_proj", "q_proj", "k_proj", "v_proj", "down_proj", "up_proj"],
      feedforward_modules: ["up_proj", "gate_proj", "down_proj"],
    },
  ],
  [
    "LN tuning",
    "ln_tuning--llama-3.2-3B-default",
    "21181235200",
    { type: "ln-tuning", target_modules: ["input_layernorm", "norm", "post_attention_layernorm"] },
  ],
  ["LoHa r 32 on q, v", "loha--llama-3.2-3B-rank32", "23907532800", { type: "loha", r: 32, alpha: 64, ...QV }],
  [
    "LoKr r 32 on q, v, factor 4",
    "lokr--llama-3.2-3B-rank32-factor4-lr0.003",
    "23590862848",
    { type: "lokr", r: 32, alpha: 64, decompose_factor: 4, ...QV },
  ],
  [
    "prefix of 200 tokens",
    "prefixtuning--llama-3.2-3B-lr_0.001",
    "21952987136",
    { type: "prefix-tuning", num_virtual_tokens: 200 },
  ],
  [
    "prefix of 50 tokens",
    "prefixtuning--llama-3.2-3B-tokens50-init_prefix-lr_0.005",
    "20585644032",
    { type: "prefix-tuning", num_virtual_tokens: 50 },
  ],
  [
    "prompt of 200 tokens",
    "prompt_tuning--llama-3.2-3B-default",
    "24394072064",
    { type: "prompt-tuning", num_virtual_tokens: 200 },
  ],
  [
    "p-tuning of 20 tokens",
    "ptuning--llama-3.2-3B-default",
    "20921188352",
    { type: "p-tuning", num_virtual_tokens: 20, encoder_hidden_size: 3072 },
  ],
  [
    "two trained tokens",
    "trainable_tokens--llama-3.2-3B-sos+eos",
    "20937965568",
    { type: "trainable-tokens", token_indices: [128000, 128001] },
  ],
  ["VeRA r 256 on q, v", "vera--llama-3.2-3B-default", "21621637120", { type: "vera", r: 256, ...QV }],
  ["full fine-tune", "full-finetuning--llama-3.2-3B-lr_0.00001", "38868615168", null],
];

const comparisons = META_MATH.map(
  ([run, result, figure, adapter, miss]): PublishedPeak => ({
    source: "peft-metamath",
    at: `${result}.json`,
    run: `Llama-3.2-3B ${run}, 4 × 768`,
    documents: trainingArguments(
      { per_device_train_batch_size: 4, optim: "adamw_torch", max_grad_norm: 1, bf16: false },
      {
        model: "meta-llama/Llama-3.2-3B",
        task: "causal-lm",
        sequence_length: 768,
        dtype: "bfloat16",
        attention: "sdpa",
        ...(adapter === null ? {} : { adapter }),
        device: "L40S",
        libraries: { torch: "2.13", transformers: "5.13" },
      },
    ),
    figure,
    unit: "B",
    measure: "reserved",
    assumed: ["longest"],
    miss,
  }),
);

/** Llama-2-70B in 4 bits on two cards: `docs/source/accelerate/{deepspeed,fsdp}.md`. */
function seventy(run: string, at: string, figure: string, sharding: Settings): PublishedPeak {
  return {
    source: "peft-guides",
    at,
    run: `Llama-2-70B nf4-dq LoRA r 8, ${run} on 2, checkpointing, packed 2 × 2048`,
    documents: trainingArguments(
      {
        per_device_train_batch_size: 2,
        gradient_accumulation_steps: 2,
        gradient_checkpointing: true,
        gradient_checkpointing_kwargs: { use_reentrant: true },
        bf16: true,
        max_grad_norm: 1,
        ...sharding,
      },
      {
        model: "meta-llama/Llama-2-70b-hf",
        task: "causal-lm",
        sequence_length: 2048,
        dtype: "bfloat16",
        attention: "flash_attention_2",
        adapter: { type: "lora", r: 8, alpha: 16, dropout: 0.1, target_modules: "all-linear" },
        quantization: { type: "nf4", double: true, compute_dtype: "bfloat16" },
        device: { name: "A100-80GB", count: 2 },
        libraries: { deepspeed: "0.14" },
      },
    ),
    figure,
    unit: "G",
    measure: "unsaid",
    assumed: ["guide-deepspeed"],
  };
}

const ZERO_3 = JSON.stringify({
  train_micro_batch_size_per_gpu: "auto",
  gradient_accumulation_steps: "auto",
  gradient_clipping: "auto",
  bf16: { enabled: true },
  zero_optimization: { stage: 3 },
});
const stageThree = seventy("ZeRO-3", "deepspeed.md", "36.6", { deepspeed: "ds.json" });

export const PEFT: readonly PublishedPeak[] = [
  ...comparisons,
  { ...stageThree, documents: { ...stageThree.documents, "ds.json": ZERO_3 } },
  seventy("FSDP", "fsdp.md", "35.6", {
    fsdp: "full_shard auto_wrap",
    fsdp_config: {
      transformer_layer_cls_to_wrap: ["LlamaDecoderLayer"],
      use_orig_params: false,
      backward_prefetch: "BACKWARD_PRE",
    },
  }),
];
