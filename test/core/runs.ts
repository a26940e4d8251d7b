/** Small runs for tests of the engine. */
import type { AdapterSpec, TrainingRun } from "../../src/core/training/run";

/** A tiny llama on one device: 4 sequences of 64 tokens, every weight trained in float32. */
export function causalRun(change: Partial<TrainingRun>): TrainingRun {
  return {
    model: {
      name: "tiny",
      family: "llama",
      source: "config.json",
      config: {
        model_type: "llama",
        hidden_size: 64,
        intermediate_size: 176,
        num_hidden_layers: 12,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        vocab_size: 1000,
      },
    },
    task: "causal-lm",
    microBatchSize: 4,
    sequenceLength: 64,
    targetLength: 0,
    imageSize: 0,
    gradientAccumulationSteps: 1,
    loadDtype: "float32",
    autocast: null,
    attention: "sdpa",
    checkpointing: null,
    optimizer: { name: "adamw_torch_fused", args: {} },
    maxGradNorm: 1,
    adapter: null,
    quantization: null,
    fusedLoss: false,
    labelSmoothing: 0,
    parallel: {
      worldSize: 1,
      tensorParallel: 1,
      pipelineParallel: 1,
      contextParallel: 1,
      expertParallel: 1,
      deepspeed: null,
      fsdp: null,
    },
    libraries: {
      torch: "2.11",
      transformers: "5.17",
      peft: "0.21",
      deepspeed: "0.19",
      accelerate: "1.15",
      trl: "1.0",
      bitsandbytes: "0.50",
    },
    device: null,
    ...change,
  };
}

/** LoRA of rank 8 on the queries, without dropout. */
export function loraSpec(change: Partial<AdapterSpec> = {}): AdapterSpec {
  return {
    type: "lora",
    rank: 8,
    alpha: 16,
    dropout: 0,
    targetModules: ["q_proj"],
    modulesToSave: [],
    bias: "none",
    useRslora: false,
    autocastAdapterDtype: true,
    ...change,
  };
}
