/** The published runs as this project's runs. */
import { strict as assert } from "node:assert";
import type { Counts } from "../../../src/core/cost/work";
import { deviceSpec, findDevice } from "../../../src/core/hardware/devices";
import type { AdapterSpec, TrainingRun } from "../../../src/core/training/run";
import { RUN, ZERO } from "../advise/synthetic";
import {
  BERT_ABLATION,
  MPT,
  MPT_RUNS,
  QWEN_1_8B_FULL,
  QWEN_7B_LORA,
  QWEN_7B_QLORA,
  TORCHTITAN_A100,
} from "./published";

export const LLAMA_8B = {
  hidden_size: 4096,
  intermediate_size: 14336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  vocab_size: 128256,
};
export const COUNTS: Counts = { parameters: 8.03e9, trainableParameters: 8.03e9 };
export const LORA: AdapterSpec = {
  type: "lora",
  rank: 64,
  alpha: 16,
  dropout: 0.05,
  targetModules: "all-linear",
  modulesToSave: [],
  bias: "none",
  useRslora: false,
  autocastAdapterDtype: true,
};

export function on(card: string, count: number): TrainingRun["device"] {
  const match = findDevice(card);
  assert.ok(match, card);
  return deviceSpec({ device: match.device, count });
}

export function llama(change: Partial<TrainingRun> = {}): TrainingRun {
  return {
    ...RUN,
    model: { ...RUN.model, config: LLAMA_8B },
    loadDtype: "bfloat16",
    autocast: "bfloat16",
    microBatchSize: 4,
    optimizer: { name: "adamw_torch_fused", args: {} },
    device: on("A100-80GB", 1),
    ...change,
  };
}

export interface PublishedRun {
  readonly source: string;
  readonly label: string;
  readonly run: TrainingRun;
  readonly counts: Counts;
  readonly seconds: number;
}

/** Qwen-7B with adapters of rank 64. */
export const ADAPTED: Counts = { parameters: 7.86e9, trainableParameters: 1.43e8 };

function mpt(): PublishedRun[] {
  return MPT_RUNS.map(([name, length, gpus, card, batch, accumulation, checkpointing, rate]) => {
    const [d_model, n_layers, n_heads, parameters] = MPT[name] ?? [0, 0, 0, 0];
    const run: TrainingRun = {
      ...RUN,
      model: { ...RUN.model, config: { d_model, n_layers, n_heads, vocab_size: 50368, tie_word_embeddings: true } },
      sequenceLength: length,
      microBatchSize: batch,
      gradientAccumulationSteps: accumulation,
      autocast: "bfloat16",
      attention: "flash_attention_2",
      optimizer: { name: "adamw_torch_fused", args: {} },
      checkpointing: checkpointing ? { useReentrant: false } : null,
      parallel: {
        ...RUN.parallel,
        worldSize: gpus,
        fsdp: { version: 1, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true },
      },
      device: on(card, gpus),
    };
    return {
      source: "llm-foundry",
      label: `MPT-${name}, ${batch} × ${length} tokens, ${gpus} × ${card}${checkpointing ? ", checkpointing" : ""}`,
      run,
      counts: { parameters, trainableParameters: parameters },
      seconds: (length * batch * accumulation) / rate,
    };
  });
}

function qwen(
  hidden: number,
  inner: number,
  layers: number,
  length: number,
  change: Partial<TrainingRun>,
): TrainingRun {
  const config = {
    hidden_size: hidden,
    intermediate_size: inner,
    num_hidden_layers: layers,
    num_attention_heads: hidden / 128,
    vocab_size: 151936,
  };
  return llama({
    model: { ...RUN.model, config },
    sequenceLength: length,
    microBatchSize: 1,
    gradientAccumulationSteps: 8,
    attention: "flash_attention_2",
    optimizer: { name: "adamw_torch", args: {} },
    checkpointing: { useReentrant: true },
    ...change,
  });
}

function torchtitan(): PublishedRun[] {
  const fsdp = { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true } as const;
  return TORCHTITAN_A100.map(
    ([name, hidden, inner, layers, vocabulary, parameters, length, batch, checkpointing, rate]) => ({
      source: "torchtitan",
      label: `${name}, ${batch} × ${length} tokens, 64 × A100-80GB${checkpointing ? ", checkpointing" : ""}`,
      run: llama({
        model: {
          ...RUN.model,
          config: {
            hidden_size: hidden,
            intermediate_size: inner,
            num_hidden_layers: layers,
            num_attention_heads: hidden / 128,
            vocab_size: vocabulary,
          },
        },
        loadDtype: "float32",
        sequenceLength: length,
        microBatchSize: batch,
        gradientAccumulationSteps: 1,
        checkpointing: checkpointing ? { useReentrant: false } : null,
        parallel: { ...RUN.parallel, worldSize: 64, fsdp },
        device: on("A100-80GB", 64),
      }),
      counts: { parameters, trainableParameters: parameters },
      seconds: (length * batch) / rate,
    }),
  );
}

/** One model and card with levers pulled one after the other. */
export function ablation(): PublishedRun[] {
  const config = {
    hidden_size: 1024,
    intermediate_size: 4096,
    num_hidden_layers: 24,
    num_attention_heads: 16,
    vocab_size: 30522,
  };
  return BERT_ABLATION.map(([batch, accumulation, checkpointing, half, optimizer, rate]) => ({
    source: "transformers",
    label: `bert-large, ${batch} × 512 tokens × ${accumulation}${checkpointing ? ", checkpointing" : ""}${half ? ", fp16" : ""}, ${optimizer}, V100`,
    run: {
      ...RUN,
      task: "seq-cls",
      model: { ...RUN.model, family: "bert", config },
      attention: "eager",
      loadDtype: "float32",
      autocast: half ? "float16" : null,
      sequenceLength: 512,
      microBatchSize: batch,
      gradientAccumulationSteps: accumulation,
      optimizer: { name: optimizer, args: {} },
      checkpointing: checkpointing ? { useReentrant: true } : null,
      device: on("V100", 1),
    },
    counts: { parameters: 335e6, trainableParameters: 335e6 },
    seconds: (batch * accumulation) / rate,
  }));
}

/** Every published throughput that the model is held against. */
export function publishedRuns(): PublishedRun[] {
  const deepspeed = ZERO.parallel.deepspeed;
  assert.ok(deepspeed);
  const seven = (name: string, rows: typeof QWEN_7B_LORA, change: Partial<TrainingRun>): PublishedRun[] =>
    rows.map(([length, seconds]) => ({
      source: "Qwen",
      label: `Qwen-7B ${name}, 1 × ${length} tokens, A100-80GB`,
      run: qwen(4096, 11008, 32, length, change),
      counts: ADAPTED,
      seconds,
    }));
  const full = QWEN_1_8B_FULL.map(([length, seconds]) => ({
    source: "Qwen",
    label: `Qwen-1.8B full under ZeRO-3, 1 × ${length} tokens, A100-80GB`,
    run: qwen(2048, 5504, 24, length, {
      parallel: { ...RUN.parallel, deepspeed: { ...deepspeed, zeroStage: 3 } },
    }),
    counts: { parameters: 1.84e9, trainableParameters: 1.84e9 },
    seconds,
  }));
  const gptq = { type: "gptq", double: false, prepareForKbit: true, computeDtype: "bfloat16" } as const;
  return [
    ...mpt(),
    ...seven("LoRA", QWEN_7B_LORA, { adapter: LORA }),
    ...seven("Q-LoRA", QWEN_7B_QLORA, { adapter: LORA, quantization: gptq }),
    ...full,
    ...torchtitan(),
    ...ablation(),
  ];
}
