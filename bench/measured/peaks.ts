/**
 * Published peaks of other people's tables, as the documents a person would have. What a row says in prose is read by the few words that
 * its source uses; a row that leaves out what decides its memory is not written, with the reason.
 */
import { type Settings, trainingArguments, withPins, yamlConfig } from "../published/documents";
import type { Measure } from "../published/types";

/** A line of the table. */
export interface PeakRow {
  readonly id: string;
  readonly model: string;
  readonly task: string;
  readonly gpu: string;
  readonly n_gpus: number | null;
  readonly parallelism: string;
  readonly precision: string;
  readonly optimizer: string;
  readonly micro_batch: number | null;
  readonly seq_len: number | string | null;
  readonly grad_accum: number | string | null;
  readonly checkpointing: string;
  readonly other: string;
  readonly metric: string;
  /** The figure; where `unit` calls it ambiguous, in 10⁹ or 2³⁰ bytes. */
  readonly peak_gib: number;
  readonly reported: string;
  readonly unit: string;
}

/** A run that a row describes, and what was measured of it. */
export interface Written {
  readonly documents: Readonly<Record<string, string>>;
  readonly measure: Measure;
  /** The figure is the sum over this many cards. */
  readonly cards?: number;
}

/** Why a row has no documents. */
export type Unwritten = string;

/** Rows of one source. */
interface Group {
  /** Of the rows' ids. */
  readonly prefix: string;
  readonly name: string;
  /** Key of the published page's source where its rows are of the same table, else a name of its own. */
  readonly table: string;
  /** Whose code ran, where it is not the code that the estimate has. */
  readonly code?: "framework-code" | "stands-in";
  readonly write: (row: PeakRow) => Written | Unwritten;
}

const numberIn = (text: string, pattern: RegExp): number | undefined => {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
};

function litgpt(row: PeakRow): Written | Unwritten {
  if (row.task.startsWith("adapter")) return "LLaMA-Adapter has no config";
  const mixed = row.precision.startsWith("bf16-mixed");
  const devices = row.n_gpus ?? 1;
  const micro = row.micro_batch ?? 1;
  return {
    measure: "allocated",
    documents: yamlConfig(
      {
        checkpoint_dir: `checkpoints/${row.model}`,
        precision: mixed ? "bf16-mixed" : "bf16-true",
        devices,
        lora_r: 8,
        lora_alpha: 16,
        lora_dropout: 0.05,
        ...{ lora_query: true, lora_key: false, lora_value: true, lora_projection: false, lora_mlp: false },
        train: { micro_batch_size: micro, global_batch_size: 128, max_seq_length: Number(row.seq_len) },
        optimizer: { class_path: "torch.optim.AdamW" },
      },
      { device: { name: "A100-40GB", count: devices }, libraries: { torch: "2.1", litgpt: "0.1" } },
    ),
  };
}

const FLAVORS: readonly (readonly [RegExp, string, string])[] = [
  [/Llama-3(?:\.1)?-8B/, "llama3", "8B"],
  [/Llama-3\.1-70B/, "llama3", "70B"],
  [/Qwen3-32B/, "qwen3", "32B"],
];

function torchtitan(row: PeakRow): Written | Unwritten {
  if (/graph trainer|graph_trainer|SimpleFSDP/i.test(`${row.parallelism} ${row.other}`) && !/fsdp2/.test(row.id))
    return "its graph trainer";
  if (/FIRST step|before training/.test(row.other)) return "not a peak of training";
  if (/mxfp8|nvfp4/.test(row.precision)) return "4 and 8 bits of Blackwell";
  if (/abs\(\) output saved/.test(row.other)) return "a mistake of one commit";
  if (/chunked cross entropy/.test(row.other)) return "a loss that its configs do not name";
  if (row.checkpointing === "unknown") return "checkpointing not said";
  const flavor = FLAVORS.find(([pattern]) => pattern.test(row.model));
  if (flavor === undefined) return "model not read";
  const tensor = numberIn(row.parallelism, /tp (\d+)/) ?? 1;
  const context = numberIn(row.parallelism, /cp (\d+)/) ?? 1;
  const eight = /float8/.test(row.precision);
  const compile = eight || (/compile/.test(row.other) && !/no compile/.test(row.other));
  const reshard = /=(always|never)/.exec(row.parallelism)?.[1];
  const mode = row.checkpointing.startsWith("selective")
    ? "selective"
    : row.checkpointing.startsWith("full")
      ? "full"
      : "none";
  const gathers = /all-gather/.test(row.parallelism);
  const rowwise = /rowwise/.test(row.precision);
  const card = /A100/.test(row.gpu) ? "A100-80GB" : "H100";
  return {
    measure: "reserved",
    documents: withPins(
      "config.toml",
      `[model]
name = "${flavor[1]}"
flavor = "${flavor[2]}"
${eight ? 'converters = ["float8"]\n' : ""}
[optimizer]
name = "AdamW"

[training]
local_batch_size = ${row.micro_batch}
seq_len = ${row.seq_len}
compile = ${compile}

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = ${tensor}
context_parallel_degree = ${context}
${reshard === undefined ? "" : `fsdp_reshard_after_forward = "${reshard}"\n`}
[activation_checkpoint]
mode = "${mode}"
selective_ac_option = "op"
${eight ? `\n[float8]\nenable_fsdp_float8_all_gather = ${gathers}\n${rowwise ? 'recipe_name = "rowwise"\n' : ""}` : ""}`,
      {
        device: { name: card, count: row.n_gpus ?? 8 },
        ...(/expandable/.test(row.other) ? { expandable_segments: true } : {}),
      },
    ),
  };
}

const TUNE: readonly (readonly [RegExp, string, string, string])[] = [
  [/Llama-3\.1-8B/, "llama3_1", "llama3_1_8b", "llama3.llama3_tokenizer"],
  [/Llama-3\.1-70B/, "llama3_1", "llama3_1_70b", "llama3.llama3_tokenizer"],
  [/Llama-3-8B/, "llama3", "llama3_8b", "llama3.llama3_tokenizer"],
  [/Llama-2-7b/, "llama2", "llama2_7b", "llama2.llama2_tokenizer"],
];

function torchtune(row: PeakRow): Written | Unwritten {
  if (/after model init|during model init/.test(row.other)) return "not a peak of training";
  if (typeof row.seq_len !== "number") return "length not said";
  const model = TUNE.find(([pattern]) => pattern.test(row.model));
  if (model === undefined) return "model not read";
  if (/unknown/.test(row.checkpointing)) return "checkpointing not said";
  const [, folder, name, tokenizer] = model;
  const adapter = row.task === "full" ? "" : `${row.task}_`;
  const rank = numberIn(row.other, /r=(\d+)/) ?? 8;
  const where = /q,k,v,o/.test(row.other)
    ? ["q_proj", "k_proj", "v_proj", "output_proj"]
    : /q,k,v/.test(row.other)
      ? ["q_proj", "k_proj", "v_proj"]
      : ["q_proj", "v_proj"];
  const component = `torchtune.models.${folder}.${adapter}${name}`;
  const lora = {
    lora_attn_modules: where,
    apply_lora_to_mlp: /MLP/.test(row.other),
    lora_rank: rank,
    lora_alpha: 2 * rank,
  };
  const paged = /Paged/.test(row.optimizer);
  const eight = /8bit/.test(row.optimizer);
  const [optimizer, fused] = paged
    ? [`bitsandbytes.optim.PagedAdamW${eight ? "8bit" : ""}`, {}]
    : ["torch.optim.AdamW", /fused/.test(row.optimizer) ? { fused: true } : {}];
  const chunked = /Chunked/.test(row.other);
  return {
    // Where a README does not say which of the counters of `get_memory_stats` it shows, it is the one that a later table of the same README
    // names: the peak of active memory.
    measure: /allocated/.test(row.metric) ? "allocated" : "reserved",
    documents: yamlConfig(
      {
        model: adapter === "" ? { _component_: component } : { _component_: component, ...lora },
        tokenizer: { _component_: `torchtune.models.${tokenizer}`, max_seq_len: row.seq_len },
        dataset: { _component_: "torchtune.datasets.alpaca_dataset", packed: true },
        batch_size: row.micro_batch ?? 2,
        gradient_accumulation_steps: 1,
        optimizer: { _component_: optimizer, lr: 2e-5, ...fused },
        optimizer_in_bwd: /in_bwd/.test(row.optimizer),
        loss: { _component_: chunked ? "torchtune.modules.loss.CEWithChunkedOutputLoss" : "torch.nn.CrossEntropyLoss" },
        compile: /compile/.test(row.other),
        enable_activation_checkpointing: row.checkpointing === "full",
        ...(/offload/.test(row.parallelism) ? { fsdp_cpu_offload: true } : {}),
        // as its recipe for the model has it (recipes/configs/llama3_1/70B_full.yaml)
        ...(row.task === "full" && (row.n_gpus ?? 1) > 1
          ? { custom_sharded_layers: ["tok_embeddings", "output"] }
          : {}),
        dtype: "bf16",
      },
      { device: { name: /4090/.test(row.gpu) ? "RTX 4090" : "A100-80GB", count: row.n_gpus ?? 1 } },
    ),
  };
}

const PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

function qwen(row: PeakRow): Written | Unwritten {
  const size = /Qwen-([\d_]+B)/.exec(row.model)?.[1]?.replace("_", ".") ?? "";
  const [, kind = ""] = /B-(lora|loraemb|qlora|full)-/.exec(row.id) ?? [];
  const adapter: Settings = {
    ...{ type: "lora", r: 64, alpha: 16, dropout: 0.05, target_modules: PROJECTIONS },
    ...(kind === "loraemb" ? { modules_to_save: ["embed_tokens", "lm_head"] } : {}),
  };
  const stage = numberIn(row.parallelism, /zero(\d)/);
  const half = kind === "qlora" ? { fp16: true } : { bf16: true };
  const cards = row.n_gpus ?? 1;
  const { [`train.yaml`]: train = "", ...rest } = trainingArguments(
    {
      per_device_train_batch_size: 1,
      gradient_accumulation_steps: 8,
      gradient_checkpointing: true,
      optim: "adamw_torch",
      ...half,
      ...(stage === undefined ? {} : { deepspeed: "ds.json" }),
    },
    {
      model: `Qwen/Qwen1.5-${size}`,
      task: "causal-lm",
      sequence_length: Number(row.seq_len),
      dtype: kind === "qlora" ? "float16" : "bfloat16",
      attention: "flash_attention_2",
      ...(kind === "full" ? {} : { adapter }),
      ...(kind === "qlora" ? { quantization: { type: "gptq", prepare_for_kbit: true } } : {}),
      device: { name: "A100-80GB", count: cards },
      libraries: { torch: "2.0", transformers: "4.32", peft: "0.5", deepspeed: "0.10" },
    },
  );
  const zero = {
    ...{ train_micro_batch_size_per_gpu: "auto", gradient_accumulation_steps: "auto", gradient_clipping: "auto" },
    ...(kind === "qlora" ? { fp16: { enabled: "auto" } } : { bf16: { enabled: "auto" } }),
    zero_optimization: { stage, overlap_comm: true, contiguous_gradients: true },
  };
  return {
    measure: "unsaid",
    cards,
    documents: { "train.yaml": train, ...rest, ...(stage === undefined ? {} : { "ds.json": JSON.stringify(zero) }) },
  };
}

function bert(row: PeakRow): Written | Unwritten {
  if (row.micro_batch === null) return "not a peak of training";
  const half = row.precision.startsWith("fp16");
  const optim = /Adafactor/.test(row.optimizer)
    ? "adafactor"
    : /8bit/.test(row.optimizer)
      ? "adamw_bnb_8bit"
      : "adamw_hf";
  return {
    measure: "device",
    documents: trainingArguments(
      {
        per_device_train_batch_size: row.micro_batch,
        gradient_accumulation_steps: Number(row.grad_accum ?? 1),
        gradient_checkpointing: row.checkpointing === "full",
        fp16: half,
        optim,
      },
      {
        ...{
          model: row.model.split(",")[0] ?? "",
          task: "seq-cls",
          sequence_length: Number(row.seq_len),
          attention: "eager",
          device: "V100-16GB",
        },
        libraries: { torch: "1.10", transformers: "4.15" },
      },
    ),
  };
}

const ADAPTERS: Readonly<Record<string, Settings>> = {
  rslora: { type: "lora", r: 64, alpha: 64, use_rslora: true, target_modules: ["q_proj", "v_proj"] },
  lora: { type: "lora", r: 10, alpha: 20, target_modules: ["gate_proj", "up_proj", "down_proj"] },
  lntuning: { type: "ln-tuning", target_modules: ["input_layernorm", "norm", "post_attention_layernorm"] },
  ia3: { type: "ia3", target_modules: ["down_proj", "v_proj", "k_proj"], feedforward_modules: ["down_proj"] },
  prompttuning: { type: "prompt-tuning", num_virtual_tokens: 200 },
};

function peft(row: PeakRow): Written | Unwritten {
  const adapter = ADAPTERS[/^peft-mm-([a-z\d]+)/.exec(row.id)?.[1] ?? ""];
  if (adapter === undefined) return "batch, length or model not said";
  return {
    measure: "reserved",
    documents: trainingArguments(
      { per_device_train_batch_size: 4, optim: "adamw_torch", max_grad_norm: 1, bf16: false },
      {
        ...{ model: row.model, task: "causal-lm", sequence_length: 768, dtype: "bfloat16", attention: "sdpa", adapter },
        ...{ device: "L40S", libraries: { torch: "2.13", transformers: "5.13" } },
      },
    ),
  };
}

/**
 * ms-swift 2's benchmark of tuners (`scripts/benchmark/config/tuner.json`) sets `use_loss_scale`: its trainer counts a second loss in float32
 * beside the model's (`swift/trainers/trainers.py`, `compute_scaled_loss`), which no config of a later release asks for.
 */
const swift = (): Unwritten => "a second loss of ms-swift 2";

/** Optimizer, precision and attention were worked out from the figure. */
const guessed = (): Unwritten => "its script is not published";

export const GROUPS: readonly Group[] = [
  {
    prefix: "litgpt-",
    name: "litgpt, resource tables",
    table: "litgpt-tables",
    code: "framework-code",
    write: litgpt,
  },
  {
    prefix: "tt-",
    name: "torchtitan, commits and benchmarks",
    table: "torchtitan",
    code: "framework-code",
    write: torchtitan,
  },
  {
    prefix: "tune-",
    name: "torchtune, README and tutorials",
    table: "torchtune",
    code: "framework-code",
    write: torchtune,
  },
  { prefix: "qwen-", name: "Qwen 1, README", table: "qwen-readme", code: "stands-in", write: qwen },
  { prefix: "hf-", name: "transformers, one GPU (2022)", table: "transformers-one-gpu", write: bert },
  { prefix: "peft-", name: "PEFT", table: "peft-metamath", write: peft },
  { prefix: "swift-", name: "ms-swift 2, tuners", table: "ms-swift-2", write: swift },
  { prefix: "gmn-", name: "GPUMemNet, transformers", table: "gpumemnet", write: guessed },
];

export const groupOf = ({ id }: Pick<PeakRow, "id">): Group | undefined =>
  GROUPS.find(({ prefix }) => id.startsWith(prefix));
