/** The published runs as this project's runs, on the captured graphs. */

import { strict as assert } from "node:assert";
import { MPT } from "../../../bench/published/foundry";
import type { Measured } from "../../../src/core/cost/step-time";
import { estimate } from "../../../src/core/estimate";
import { type Device, deviceSpec, findDevice } from "../../../src/core/hardware/devices";
import type { AdapterSpec, TrainingRun } from "../../../src/core/training/run";
import { english } from "../../english";
import { RUN, ZERO } from "../advise/synthetic";
import { graphsOf } from "../receipts/case";
import {
  A800_ABLATION,
  BERT_ABLATION,
  GPT2_A100_PCIE,
  MPT_RUNS,
  PICTURES,
  QWEN_1_8B_FULL,
  QWEN_7B_LORA,
  QWEN_7B_QLORA,
  TORCHTITAN_A100,
  TORCHTITAN_H100,
} from "./published";

export const LLAMA_8B = {
  hidden_size: 4096,
  intermediate_size: 14336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128256,
};
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

const known = new Map<string, Measured>();

/** What the engine says of a run, said once for all tests. */
export function measured(run: TrainingRun): Measured {
  const key = JSON.stringify(run);
  const found = known.get(key) ?? estimated(run);
  known.set(key, found);
  return found;
}

function estimated(run: TrainingRun): Measured {
  const result = estimate(run, graphsOf(run.model.family), "peaks");
  assert.ok(result.ok, result.ok ? "" : english(result.reason));
  assert.ok(result.estimate.operators);
  return result.estimate;
}

export function on(card: string, count: number): TrainingRun["device"] {
  const match = findDevice(card);
  assert.ok(match, card);
  return deviceSpec({ device: match.device, count });
}

export function llama(change: Partial<TrainingRun> = {}): TrainingRun {
  return {
    ...RUN,
    model: { ...RUN.model, config: LLAMA_8B },
    gradientAccumulationSteps: 1,
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
  readonly seconds: number;
  /** Where the catalogue has no such card. */
  readonly device?: Device;
  /** Rows of one ablation: their order is compared, too. */
  readonly ablation?: string;
}

/**
 * The cards that torchtitan was measured on: SXM boards with HBM2e and a limit of 500 W, whose peak is between those of the
 * SXM and the NVL card (the benchmark's second footnote).
 */
const H100_OF_500_W: Device = slowerH100();

function slowerH100(): Device {
  const [sxm, nvl] = ["H100", "NVIDIA H100 NVL"].map((name) => findDevice(name)?.device);
  assert.ok(sxm && nvl);
  return { ...sxm, peak: nvl.peak, bandwidth: 2.4e12 };
}

const FSDP1 = { version: 1, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true } as const;
const FSDP2 = { ...FSDP1, version: 2 } as const;

const checkpointed = (on: boolean): string => (on ? ", checkpointing" : "");

/** MPT's layers are GPT-2's with another activation and without dropout. */
function mpt(): PublishedRun[] {
  return MPT_RUNS.map(([name, length, gpus, card, batch, accumulation, checkpointing, rate]) => {
    const [n_embd, n_layer, n_head] = MPT[name] ?? [0, 0, 0];
    const config = {
      n_embd,
      n_layer,
      n_head,
      n_positions: length,
      vocab_size: 50368,
      activation_function: "gelu",
      resid_pdrop: 0,
      embd_pdrop: 0,
      attn_pdrop: 0,
    };
    return {
      source: "llm-foundry",
      label: `MPT-${name}, ${batch} × ${length} tokens, ${gpus} × ${card}${checkpointed(checkpointing)}`,
      run: {
        ...RUN,
        model: { ...RUN.model, family: "gpt2", config },
        sequenceLength: length,
        microBatchSize: batch,
        gradientAccumulationSteps: accumulation,
        autocast: "bfloat16",
        attention: "flash_attention_2",
        optimizer: { name: "adamw_torch_fused", args: {} },
        checkpointing: checkpointing ? { useReentrant: false } : null,
        parallel: { ...RUN.parallel, worldSize: gpus, fsdp: FSDP1 },
        device: on(card, gpus),
      },
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
    num_key_value_heads: hidden / 128,
    vocab_size: 151936,
  };
  return llama({
    model: { ...RUN.model, family: "qwen2", config },
    sequenceLength: length,
    microBatchSize: 1,
    gradientAccumulationSteps: 8,
    attention: "flash_attention_2",
    optimizer: { name: "adamw_torch", args: {} },
    checkpointing: { useReentrant: true },
    ...change,
  });
}

/** Its attention says that it is causal, which transformers' compiled code says with a mask. */
function torchtitan(): PublishedRun[] {
  const a100 = TORCHTITAN_A100.map(
    ([name, hidden, inner, layers, groups, vocabulary, length, batch, checkpointing, rate]) => ({
      source: "torchtitan",
      label: `${name}, ${batch} × ${length} tokens, 64 × A100-80GB${checkpointed(checkpointing)}`,
      run: llama({
        model: {
          ...RUN.model,
          config: {
            hidden_size: hidden,
            intermediate_size: inner,
            num_hidden_layers: layers,
            num_attention_heads: hidden / 128,
            num_key_value_heads: groups,
            vocab_size: vocabulary,
          },
        },
        loadDtype: "float32",
        attention: "flash_attention_2",
        sequenceLength: length,
        microBatchSize: batch,
        compiled: "layers",
        checkpointing: checkpointing ? { useReentrant: false } : null,
        parallel: { ...RUN.parallel, worldSize: 64, fsdp: FSDP2 },
        device: on("A100-80GB", 64),
      }),
      seconds: (length * batch) / rate,
    }),
  );
  const h100 = TORCHTITAN_H100.map(([batch, compiled, recipe, rate]) => ({
    source: "torchtitan",
    label: `Llama-3-8B, ${batch} × 8192 tokens, 8 × H100 of 500 W, selective checkpointing${compiled ? ", compiled" : ""}${recipe === null ? "" : `, float8 ${recipe}`}`,
    run: llama({
      loadDtype: "float32",
      attention: "flash_attention_2",
      sequenceLength: 8192,
      microBatchSize: batch,
      ...(compiled ? { compiled: "layers" as const } : {}),
      checkpointing: { useReentrant: false, selective: { recomputes: [] } },
      float8: recipe === null ? null : { backend: "torchao", recipe, keeps: "head", cachesWeights: false },
      parallel: { ...RUN.parallel, worldSize: 8, fsdp: FSDP2 },
      device: on("H100", 8),
    }),
    device: H100_OF_500_W,
    seconds: (8192 * batch) / rate,
    ablation: `Llama-3-8B on H100, batch ${batch}`,
  }));
  return [...a100, ...h100];
}

/** ZeRO, checkpointing and offload on one machine of eight A800. */
function zero(): PublishedRun[] {
  const { deepspeed } = ZERO.parallel;
  assert.ok(deepspeed);
  const config = {
    hidden_size: 4096,
    intermediate_size: 11008,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 32,
    vocab_size: 32000,
  };
  return A800_ABLATION.map(([stage, checkpointing, optimizer, parameters, batch, total, rate]) => ({
    source: "chenyaofo",
    label: `Llama-7B, ${batch} × 4096 tokens × ${total / 8 / batch}, 8 × A800, ZeRO-${stage}${checkpointed(checkpointing)}${optimizer ? ", optimizer on the host" : ""}${parameters ? ", parameters on the host" : ""}`,
    run: llama({
      model: { ...RUN.model, config },
      sequenceLength: 4096,
      microBatchSize: batch,
      gradientAccumulationSteps: total / 8 / batch,
      attention: "flash_attention_2",
      checkpointing: checkpointing ? { useReentrant: true } : null,
      parallel: {
        ...RUN.parallel,
        worldSize: 8,
        deepspeed: {
          ...deepspeed,
          zeroStage: stage,
          overlapComm: stage === 3,
          offloadOptimizer: optimizer ? "cpu" : "none",
          offloadParam: parameters ? "cpu" : "none",
        },
      },
      device: on("A800-80GB", 8),
    }),
    seconds: total / rate,
    ablation: "ZeRO and offload on A800",
  }));
}

/** GPT-2's own code has no dropout, and its attention says that it is causal. */
function gpt2(): PublishedRun {
  const config = {
    vocab_size: 50257,
    activation_function: "gelu",
    resid_pdrop: 0,
    embd_pdrop: 0,
    attn_pdrop: 0,
  };
  return {
    source: "llm.c",
    label: "GPT-2 124M, 32 × 1024 tokens, A100-PCIe-40GB, compiled",
    run: llama({
      model: { ...RUN.model, family: "gpt2", config },
      loadDtype: "float32",
      sequenceLength: 1024,
      microBatchSize: 32,
      attention: "flash_attention_2",
      compiled: "model",
      device: on("NVIDIA A100-PCIE-40GB", 1),
    }),
    seconds: (32 * 1024) / GPT2_A100_PCIE,
  };
}

/** Pictures: mixed precision in the channels-first order, on made-up batches. */
function pictures(): PublishedRun[] {
  return PICTURES.map(([name, family, config, batch, rate]) => ({
    source: "timm",
    label: `${name}, ${batch} × 224², RTX 3090`,
    run: {
      ...RUN,
      task: "image-cls",
      model: { ...RUN.model, family, config: { ...config, num_labels: 1000 } },
      sequenceLength: 0,
      imageSize: 224,
      microBatchSize: batch,
      gradientAccumulationSteps: 1,
      maxGradNorm: 0,
      attention: "eager",
      autocast: "float16",
      optimizer: { name: "sgd", args: { momentum: "0.9" } },
      device: on("RTX 3090", 1),
    },
    seconds: batch / rate,
  }));
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
    label: `bert-large, ${batch} × 512 tokens × ${accumulation}${checkpointed(checkpointing)}${half ? ", fp16" : ""}, ${optimizer}, V100`,
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
    seconds: (batch * accumulation) / rate,
    ablation: "bert-large on V100",
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
      // Adapters had the model's dtype until peft 0.12.
      run: qwen(4096, 11008, 32, length, { ...change, adapter: { ...LORA, autocastAdapterDtype: false } }),
      seconds,
    }));
  const full = QWEN_1_8B_FULL.map(([length, seconds]) => ({
    source: "Qwen",
    label: `Qwen-1.8B full under ZeRO-3, 1 × ${length} tokens, A100-80GB`,
    run: qwen(2048, 5504, 24, length, {
      parallel: { ...RUN.parallel, deepspeed: { ...deepspeed, zeroStage: 3 } },
    }),
    seconds,
  }));
  const gptq = { type: "gptq", double: false, prepareForKbit: true, computeDtype: "bfloat16" } as const;
  return [
    ...mpt(),
    ...seven("LoRA", QWEN_7B_LORA, {}),
    ...seven("Q-LoRA", QWEN_7B_QLORA, { quantization: gptq }),
    ...full,
    ...torchtitan(),
    ...zero(),
    gpt2(),
    ...pictures(),
    ...ablation(),
  ];
}
