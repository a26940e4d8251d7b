/** PEFT's method comparison and its guides to sharded QLoRA. */
import { type Settings, trainingArguments } from "./documents";
import type { PublishedPeak } from "./types";

type Comparison = readonly [run: string, result: string, bytes: string, adapter: Settings | null];

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
  ["full fine-tune", "full-finetuning--llama-3.2-3B-lr_0.00001", "38868615168", null],
];

const comparisons = META_MATH.map(
  ([run, result, figure, adapter]): PublishedPeak => ({
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
      },
    ),
    figure,
    unit: "G",
    measure: "unsaid",
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
    fsdp_config: { transformer_layer_cls_to_wrap: ["LlamaDecoderLayer"], use_orig_params: false },
  }),
];
