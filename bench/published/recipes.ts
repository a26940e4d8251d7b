/** Runs of trainers with configs of their own: torchtune, ms-swift, axolotl. */
import { type Settings, script, yamlConfig } from "./documents";
import type { PublishedPeak, Unit } from "./types";

type Recipe = readonly [run: string, figure: string, change: Settings, model?: Settings];

const LORA = {
  lora_attn_modules: ["q_proj", "v_proj", "output_proj"],
  apply_lora_to_mlp: true,
  lora_rank: 64,
  lora_alpha: 128,
} as const;
const WHOLE: Settings = { loss: { _component_: "torch.nn.CrossEntropyLoss" } };
const CHUNKED: Settings = { loss: { _component_: "torchtune.modules.loss.CEWithChunkedOutputLoss" }, compile: true };
const CHECKPOINTED: Settings = { ...CHUNKED, enable_activation_checkpointing: true };
const OFFLOADED: Settings = { ...CHECKPOINTED, enable_activation_offloading: true };

/** README, "Optimization flags": each row adds to the one above; the adapters' rows leave the optimizer's two out. */
const FLAGS: readonly Recipe[] = [
  ["full", "60.0", WHOLE],
  ["full, compiled", "51.0", { ...WHOLE, compile: true }],
  ["full, compiled, chunked loss", "42.9", CHUNKED],
  ["full, compiled, chunked loss, checkpointing", "24.9", CHECKPOINTED],
  ["full, the same with the step in backward", "23.1", { ...CHECKPOINTED, optimizer_in_bwd: true }],
  [
    "LoRA, compiled, chunked loss, checkpointing, offloading",
    "8.5",
    OFFLOADED,
    { _component_: "torchtune.models.llama3_2.lora_llama3_2_3b", ...LORA },
  ],
  [
    "QLoRA, compiled, chunked loss, checkpointing, offloading",
    "4.6",
    OFFLOADED,
    { _component_: "torchtune.models.llama3_2.qlora_llama3_2_3b", ...LORA },
  ],
];

const TORCHTUNE = FLAGS.map(
  ([run, figure, change, model]): PublishedPeak => ({
    source: "torchtune",
    run: `Llama-3.2-3B ${run}, packed 2 × 4096`,
    documents: yamlConfig(
      {
        model: model ?? { _component_: "torchtune.models.llama3_2.llama3_2_3b" },
        tokenizer: { _component_: "torchtune.models.llama3.llama3_tokenizer", max_seq_len: 4096 },
        dataset: { _component_: "torchtune.datasets.alpaca_cleaned_dataset", packed: true },
        batch_size: 2,
        gradient_accumulation_steps: 1,
        optimizer: { _component_: "torch.optim.AdamW", lr: 2e-5 },
        optimizer_in_bwd: false,
        dtype: "bf16",
        ...change,
      },
      { device: "A100-80GB" },
    ),
    figure,
    unit: "GiB",
    measure: "allocated",
    assumed: ["torchtune"],
  }),
);

function swift(at: string, run: string, figure: string, unit: Unit, gpus: number, flags: string): PublishedPeak {
  const cards = Array.from({ length: gpus }, (_, index) => index).join(",");
  const launch = gpus === 1 ? "CUDA_VISIBLE_DEVICES=0" : `NPROC_PER_NODE=${gpus} CUDA_VISIBLE_DEVICES=${cards}`;
  return {
    source: "ms-swift",
    at,
    run: `Qwen2.5-7B ${run}`,
    documents: script(
      `${launch} swift sft --dataset data --torch_dtype bfloat16 --per_device_train_batch_size 1 --packing true ${flags}`,
      { device: { name: "A100-80GB", count: gpus } },
    ),
    figure,
    unit,
    measure: "unsaid",
  };
}

const FULL = "--model Qwen/Qwen2.5-7B --tuner_type full --deepspeed zero3 --gradient_accumulation_steps 2";
const LIGER = "--use_liger_kernel true";
const SWIFT: readonly PublishedPeak[] = [
  swift(
    "packing/llm.sh",
    "LoRA r 8 on all linear, checkpointing, packed 1 × 2048",
    "22",
    "G",
    1,
    "--model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --lora_rank 8 --lora_alpha 32 --target_modules all-linear --attn_impl flash_attn --gradient_accumulation_steps 4 --max_length 2048",
  ),
  swift(
    "liger/sft.sh",
    "full, ZeRO-3 on 4, Liger, packed 1 × 8192",
    "42",
    "G",
    4,
    `${FULL} ${LIGER} --attn_impl flash_attn --max_length 8192`,
  ),
  swift(
    "liger/sft.sh",
    "full, ZeRO-3 on 4, packed 1 × 8192",
    "54",
    "G",
    4,
    `${FULL} --attn_impl flash_attn --max_length 8192`,
  ),
  swift(
    "packing/liger_kernel.sh",
    "full, ZeRO-3 on 4, Liger, packed 1 × 16384",
    "42",
    "G",
    4,
    `${FULL} ${LIGER} --attn_impl flash_attn --max_length 16384`,
  ),
  swift(
    "flash_attention_3/transformers.sh",
    "full, ZeRO-3 on 4, Liger, FlashAttention-3, packed 1 × 16384",
    "43",
    "GiB",
    4,
    `${FULL} ${LIGER} --attn_impl flash_attention_3 --max_length 16384`,
  ),
];

function axolotl(
  at: string,
  run: string,
  model: string,
  [figure, unit]: readonly [string, Unit],
  change: Settings = {},
  miss?: string,
): PublishedPeak {
  return {
    source: "axolotl",
    at,
    run: `${run} QLoRA r 32, Cut Cross Entropy, checkpointing, packed 2 × 2048`,
    documents: yamlConfig(
      {
        base_model: model,
        plugins: ["axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin"],
        load_in_4bit: true,
        adapter: "qlora",
        lora_r: 32,
        lora_alpha: 16,
        lora_dropout: 0.05,
        lora_target_linear: true,
        sequence_len: 2048,
        sample_packing: true,
        micro_batch_size: 2,
        gradient_accumulation_steps: 4,
        optimizer: "adamw_bnb_8bit",
        bf16: "auto",
        gradient_checkpointing: true,
        attn_implementation: "flash_attention_2",
        ...change,
      },
      { device: "H100" },
    ),
    figure,
    unit,
    measure: "unsaid",
    assumed: ["axolotl"],
    miss,
  };
}

const SMALL_24B = "mistralai/Mistral-Small-24B-Base-2501";
const AXOLOTL: readonly PublishedPeak[] = [
  axolotl("seed-oss/README.md", "Seed-OSS-36B", "ByteDance-Seed/Seed-OSS-36B-Base", ["27.7", "GiB"]),
  axolotl("olmo3/README.md", "Olmo-3-7B", "allenai/Olmo-3-1025-7B", ["11.3", "GiB"], {}, "olmo3-cce"),
  axolotl("ministral/README.md", "Ministral-8B", "mistralai/Ministral-8B-Instruct-2410", ["8.76", "GiB"]),
  axolotl("magistral/README.md", "Magistral-Small-24B", SMALL_24B, ["24", "G"]),
  axolotl("devstral/README.md", "Devstral-Small-24B", SMALL_24B, ["21", "G"], {
    optimizer: "adamw_torch",
    lora_dropout: 0,
  }),
];

export const RECIPES: readonly PublishedPeak[] = [...TORCHTUNE, ...SWIFT, ...AXOLOTL];
