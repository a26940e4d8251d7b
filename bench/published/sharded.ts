/** Runs over several cards: ml-engineering's sweep and torchtitan's tables. */
import { type Settings, trainingArguments, withPins } from "./documents";
import type { PublishedPeak } from "./types";

/** Llama-3.1-8B under DeepSpeed on eight H200, one sequence a card. */
function deepspeed(
  run: string,
  length: number,
  figure: string,
  settings: Settings,
  zero: Settings,
  miss?: string,
): PublishedPeak {
  const engine = {
    train_micro_batch_size_per_gpu: 1,
    gradient_accumulation_steps: 1,
    gradient_clipping: 1,
    bf16: { enabled: true },
    optimizer: { type: "AdamW", params: { lr: 1e-4 } },
    zero_optimization: { overlap_comm: true, contiguous_gradients: true, ...zero },
  };
  return {
    source: "ml-engineering",
    run: `Llama-3.1-8B ${run} on 8 × H200, 1 × ${length}`,
    documents: {
      ...trainingArguments(
        { per_device_train_batch_size: 1, bf16: true, deepspeed: "ds.json", ...settings },
        {
          model: "meta-llama/Llama-3.1-8B",
          task: "causal-lm",
          sequence_length: length,
          dtype: "bfloat16",
          attention: "flash_attention_3",
          device: { name: "H200", count: 8 },
          libraries: { torch: "2.13", transformers: "5.14", deepspeed: "0.19.2" },
        },
      ),
      "ds.json": JSON.stringify(engine),
    },
    figure,
    unit: "GiB",
    measure: "reserved",
    miss,
  };
}

function stageThree(length: number, figure: string, miss?: string): PublishedPeak {
  return deepspeed(
    "ZeRO-3, optimizer on the host, Liger, checkpointing",
    length,
    figure,
    {
      use_liger_kernel: true,
      gradient_checkpointing: true,
      gradient_checkpointing_kwargs: { use_reentrant: false },
    },
    { stage: 3, offload_optimizer: { device: "cpu", pin_memory: true } },
    miss,
  );
}

const ML_ENGINEERING: readonly PublishedPeak[] = [
  stageThree(8192, "16.3"),
  stageThree(32768, "25.8"),
  stageThree(65536, "37.5"),
  stageThree(131072, "66.5", "flash-buffers"),
  stageThree(196608, "95.7"),
  stageThree(262144, "124.5"),
  deepspeed("ZeRO-2", 8192, "99", {}, { stage: 2 }),
  deepspeed("ZeRO-2, Liger", 8192, "80", { use_liger_kernel: true }, { stage: 2 }),
];

interface Titan {
  readonly run: string;
  readonly figure: string;
  readonly gpus: number;
  readonly batch: number;
  readonly length: number;
  readonly mode: "selective" | "full";
  readonly compile: boolean;
  readonly float8?: boolean;
}

const SELECTIVE = { batch: 2, length: 8192, mode: "selective" } as const;

/** Tables 1 to 3 of the benchmark of December 2024. */
const TITAN: readonly Titan[] = [
  { run: "selective checkpointing", figure: "82.4", gpus: 8, ...SELECTIVE, compile: false },
  { run: "selective checkpointing, compiled", figure: "77.0", gpus: 8, ...SELECTIVE, compile: true },
  { run: "selective checkpointing", figure: "67.0", gpus: 128, ...SELECTIVE, compile: false },
  { run: "selective checkpointing, compiled", figure: "62.0", gpus: 128, ...SELECTIVE, compile: true },
  {
    run: "full checkpointing, compiled, float8",
    figure: "83.9",
    gpus: 8,
    batch: 1,
    length: 32768,
    mode: "full",
    compile: true,
    float8: true,
  },
];

const TORCHTITAN = TITAN.map(
  ({ run, figure, gpus, batch, length, mode, compile, float8 }): PublishedPeak => ({
    source: "torchtitan",
    run: `Llama-3.1-8B FSDP2 on ${gpus} × H100, ${run}, ${batch} × ${length}`,
    documents: withPins(
      "llama3_8b.toml",
      `[model]
name = "llama3"
flavor = "8B"
${float8 === true ? 'converters = ["float8"]\n' : ""}
[optimizer]
name = "AdamW"

[training]
batch_size = ${batch}
seq_len = ${length}
compile = ${compile}
data_parallel_shard_degree = -1

[activation_checkpoint]
mode = "${mode}"
selective_ac_option = "op"
`,
      { device: { name: "H100", count: gpus }, libraries: { torch: "2.6" } },
    ),
    figure,
    unit: "GiB",
    measure: "reserved",
    assumed: ["torchtitan"],
  }),
);

export const SHARDED: readonly PublishedPeak[] = [...ML_ENGINEERING, ...TORCHTITAN];
