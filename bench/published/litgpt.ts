/** litgpt's resource tables and the table of its config hub, as litgpt's own configs. */
import { type Settings, yamlConfig } from "./documents";
import type { PublishedOutcome, PublishedPeak, PublishedRun } from "./types";

interface Row {
  readonly run: string;
  readonly model: string;
  readonly batch: number;
  readonly length: number;
  /** Rank, and whether adapters go on every linear layer with the head or on query and value; null trains the weights. */
  readonly lora: readonly [rank: number, where: "all" | "query and value"] | null;
  readonly quantize?: "bnb.nf4" | "bnb.nf4-dq";
  readonly miss?: string;
}

interface Measured extends Row {
  readonly figure: string;
}

function adapters([rank, where]: NonNullable<Row["lora"]>): Settings {
  const parts = ["query", "key", "value", "projection", "mlp", "head"];
  const on = (part: string): boolean => where === "all" || part === "query" || part === "value";
  return {
    lora_r: rank,
    lora_alpha: 16,
    lora_dropout: 0.05,
    ...Object.fromEntries(parts.map((part) => [`lora_${part}`, on(part)])),
  };
}

function runOf(
  source: string,
  device: string,
  { torch, ...release }: { readonly torch: string; readonly litgpt?: string },
  assumed: readonly string[],
  row: Row,
): PublishedRun {
  return {
    source,
    run: `${row.run}, ${row.batch} × ${row.length}`,
    documents: yamlConfig(
      {
        checkpoint_dir: `checkpoints/${row.model}`,
        precision: "bf16-true",
        ...(row.quantize === undefined ? {} : { quantize: row.quantize }),
        devices: 1,
        ...(row.lora === null ? {} : adapters(row.lora)),
        data: { class_path: "litgpt.data.Alpaca2k" },
        train: { micro_batch_size: row.batch, global_batch_size: 4 * row.batch, max_seq_length: row.length },
        optimizer: { class_path: "torch.optim.AdamW" },
      },
      { device, libraries: { torch, ...release, ...(row.quantize === undefined ? {} : { bitsandbytes: "0.41.1" }) } },
    ),
    assumed: ["litgpt", ...assumed],
    miss: row.miss,
  };
}

const inTables = (row: Row): PublishedRun =>
  runOf("litgpt-tables", "A100-40GB", { torch: "2.1", litgpt: "0.1" }, [], row);
const inHub = (row: Row): PublishedRun => runOf("litgpt-hub", "A10G", { torch: "2.2" }, ["longest", "litgpt-bnb"], row);

const LLAMA2_7B = { run: "Llama-2-7B LoRA", model: "meta-llama/Llama-2-7b-hf" } as const;
const LLAMA2_13B = { run: "Llama-2-13B LoRA", model: "meta-llama/Llama-2-13b-hf" } as const;
const QV8 = { lora: [8, "query and value"] } as const;
const QV32 = { lora: [32, "query and value"], length: 512 } as const;
const NF4 = { quantize: "bnb.nf4" } as const;
const LONG = { miss: "hub-lengths" } as const;
const DOUBLE = { quantize: "bnb.nf4-dq" } as const;

/** `tutorials/resource-tables.md`, whose lengths are those of the longest sample. */
const TABLES: readonly Measured[] = [
  { ...LLAMA2_7B, ...QV8, batch: 1, length: 1304, figure: "21.30" },
  { ...LLAMA2_7B, ...QV8, batch: 2, length: 1304, figure: "29.07" },
  { ...LLAMA2_7B, run: "Llama-2-7B nf4 LoRA", ...QV8, ...NF4, batch: 1, length: 1304, figure: "14.14" },
  {
    ...LLAMA2_7B,
    run: "Llama-2-7B nf4-dq LoRA",
    ...QV8,
    ...DOUBLE,
    batch: 1,
    length: 1304,
    figure: "13.84",
  },
  { ...LLAMA2_13B, ...QV8, batch: 1, length: 1304, figure: "38.12" },
  { ...LLAMA2_13B, run: "Llama-2-13B nf4 LoRA", ...QV8, ...NF4, batch: 1, length: 1304, figure: "23.14" },
  {
    ...LLAMA2_13B,
    run: "Llama-2-13B nf4-dq LoRA",
    ...QV8,
    ...DOUBLE,
    batch: 1,
    length: 1304,
    figure: "22.55",
  },
];

const FALCON = { model: "tiiuae/falcon-7b", ...QV32, batch: 1 } as const;
const GEMMA_2B = { model: "google/gemma-2b", length: 512, batch: 2 } as const;
const LLAMA2 = { model: "meta-llama/Llama-2-7b-hf", ...QV32, batch: 2 } as const;
const LLAMA3 = { model: "meta-llama/Meta-Llama-3-8B", ...QV32 } as const;
const MISTRAL = { model: "mistralai/Mistral-7B-v0.1", ...QV32, batch: 2 } as const;
const PHI2 = { model: "microsoft/phi-2", lora: [8, "all"], batch: 4, length: 512 } as const;
const PHI3 = { model: "microsoft/Phi-3-mini-4k-instruct", lora: [8, "all"], batch: 4, length: 512 } as const;
const TINY = { model: "TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T", length: 512 } as const;

/** `config_hub/finetune/README.md`, with rank and targets from the config beside it. */
const HUB: readonly Measured[] = [
  { run: "Falcon-7B LoRA", ...FALCON, figure: "16.69" },
  { run: "Falcon-7B nf4 LoRA", ...FALCON, ...NF4, figure: "9.44" },
  { run: "Gemma-2B LoRA", ...GEMMA_2B, lora: [8, "all"], figure: "12.62" },
  { run: "Gemma-2B nf4 LoRA", ...LONG, ...GEMMA_2B, ...NF4, lora: [16, "all"], figure: "11.58" },
  {
    run: "Gemma-7B nf4 LoRA",
    ...LONG,
    model: "google/gemma-7b",
    ...NF4,
    lora: [16, "all"],
    batch: 1,
    length: 512,
    figure: "17.18",
  },
  {
    run: "Gemma-2-2B LoRA",
    ...LONG,
    model: "google/gemma-2-2b",
    lora: [8, "all"],
    batch: 2,
    length: 512,
    figure: "14.31",
  },
  {
    run: "Gemma-2-9B nf4 LoRA",
    ...LONG,
    model: "google/gemma-2-9b",
    ...NF4,
    lora: [16, "all"],
    batch: 1,
    length: 512,
    figure: "20.92",
  },
  { run: "Llama-2-7B LoRA", ...LLAMA2, figure: "19.77" },
  { run: "Llama-2-7B nf4 LoRA", ...LLAMA2, ...NF4, figure: "13.68" },
  { run: "Llama-3-8B LoRA", ...LLAMA3, batch: 1, figure: "19.73" },
  { run: "Llama-3-8B nf4 LoRA", ...LLAMA3, ...NF4, batch: 2, figure: "17.41" },
  { run: "Mistral-7B LoRA", ...MISTRAL, figure: "20.66" },
  { run: "Mistral-7B nf4 LoRA", ...MISTRAL, ...NF4, figure: "14.29" },
  { run: "Phi-2 LoRA", ...PHI2, figure: "13.98" },
  { run: "Phi-2 nf4 LoRA", ...PHI2, ...NF4, figure: "14.27" },
  { run: "Phi-3-mini LoRA", ...PHI3, figure: "19.75" },
  { run: "Phi-3-mini nf4 LoRA", ...PHI3, ...NF4, figure: "19.13" },
  { run: "TinyLlama full", ...TINY, lora: null, batch: 4, figure: "14.10" },
  { run: "TinyLlama LoRA", ...TINY, lora: [32, "all"], batch: 8, figure: "13.50" },
  { run: "TinyLlama nf4 LoRA", ...TINY, ...NF4, lora: [32, "all"], batch: 8, figure: "16.24" },
];

function peak(run: PublishedRun, { figure }: Measured): PublishedPeak {
  return { ...run, figure, unit: "GB", measure: "allocated" };
}

export const LITGPT: readonly PublishedPeak[] = [
  ...TABLES.map((row) => peak(inTables(row), row)),
  ...HUB.map((row) => peak(inHub(row), row)),
];

/** Rows of both tables that say OOM. */
export const LITGPT_OUTCOMES: readonly PublishedOutcome[] = [
  ...[
    { ...LLAMA2_7B, ...QV8, batch: 4, length: 1304 },
    { ...LLAMA2_13B, ...QV8, batch: 2, length: 1304 },
    { ...LLAMA2_13B, ...QV8, batch: 4, length: 1304 },
  ].map(inTables),
  ...(
    [
      { run: "Gemma-7B LoRA", model: "google/gemma-7b", lora: [16, "all"], batch: 1, length: 512 },
      { run: "Gemma-2-9B LoRA", model: "google/gemma-2-9b", lora: [16, "all"], batch: 1, length: 512 },
      { run: "Llama-3.1-8B full", model: "meta-llama/Llama-3.1-8B", lora: null, batch: 4, length: 512 },
    ] as const
  ).map(inHub),
].map((run) => ({ ...run, ran: false }));
