/** Runs over several cards: ml-engineering's sweep and torchtitan's tables. */
import { withPins } from "./documents";
import type { PublishedPeak } from "./types";

/**
 * The sweep's loop: the model is loaded before the engine is made, all parameters are one group, and the outputs keep their name until the next
 * forward returns.
 */
const SWEEP = `import os
import deepspeed
import torch
from liger_kernel.transformers import AutoLigerKernelForCausalLM
from transformers import AutoModelForCausalLM

deepspeed.init_distributed()
device = f"cuda:{os.environ['LOCAL_RANK']}"
model = LOADER.from_pretrained("meta-llama/Llama-3.1-8B", dtype=torch.bfloat16, attn_implementation="flash_attention_3")
CHECKPOINTING
model.train()
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
for step in range(12):
    ids = torch.randint(0, model.config.vocab_size, (1, LENGTH)).to(device)
    out = engine(input_ids=ids, labels=ids)
    loss = out.loss
    engine.backward(loss)
    engine.step()
`;

interface Swept {
  readonly run: string;
  readonly length: number;
  readonly figure: string;
  readonly stage: 2 | 3;
  readonly liger: boolean;
  readonly miss?: string;
}

/** Llama-3.1-8B under DeepSpeed on eight H200, one sequence a card; stage 3 with checkpointing and the optimizer on the host. */
function swept({ run, length, figure, stage, liger, miss }: Swept): PublishedPeak {
  const checkpointing = `model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})`;
  const engine = {
    train_micro_batch_size_per_gpu: 1,
    gradient_accumulation_steps: 1,
    gradient_clipping: 1,
    bf16: { enabled: true },
    optimizer: { type: "AdamW", params: { lr: 1e-4 } },
    zero_optimization: {
      ...{ stage, overlap_comm: true, contiguous_gradients: true },
      ...(stage === 3 ? { offload_optimizer: { device: "cpu", pin_memory: true } } : {}),
    },
  };
  return {
    source: "ml-engineering",
    run: `Llama-3.1-8B ${run} on 8 × H200, 1 × ${length}`,
    documents: {
      ...withPins(
        "train.py",
        SWEEP.replace("LOADER", liger ? "AutoLigerKernelForCausalLM" : "AutoModelForCausalLM")
          .replace("CHECKPOINTING", stage === 3 ? checkpointing : "")
          .replace("LENGTH", String(length)),
        {
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

const stageThree = (length: number, figure: string, miss?: string): PublishedPeak =>
  swept({
    run: "ZeRO-3, optimizer on the host, Liger, checkpointing",
    ...{ length, figure, stage: 3, liger: true },
    ...(miss === undefined ? {} : { miss }),
  });

const ML_ENGINEERING: readonly PublishedPeak[] = [
  stageThree(8192, "16.3"),
  stageThree(32768, "25.8"),
  stageThree(65536, "37.5"),
  stageThree(131072, "66.5", "flash-buffers"),
  stageThree(196608, "95.7"),
  stageThree(262144, "124.5"),
  swept({ run: "ZeRO-2", length: 8192, figure: "99", stage: 2, liger: false }),
  swept({ run: "ZeRO-2, Liger", length: 8192, figure: "80", stage: 2, liger: true }),
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
