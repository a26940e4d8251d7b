/** The folders that `oracle/score.py` writes resolve to exactly the run of the case. */
import { strict as assert } from "node:assert";
import { type Resolution, resolveRun } from "../../src/analysis/resolve";
import type { TrainingRun } from "../../src/core/training/run";
import { TINY_LLAMA } from "./memory-runtime";
import { gatherFiles } from "./resolve-run";

interface Case {
  readonly name: string;
  readonly train: Readonly<Record<string, unknown>>;
  readonly pins: Readonly<Record<string, unknown>>;
  readonly model?: Readonly<Record<string, unknown>>;
  readonly expect: Partial<TrainingRun>;
}

const TRAIN = {
  output_dir: "out",
  per_device_train_batch_size: 8,
  gradient_accumulation_steps: 1,
  gradient_checkpointing: false,
  optim: "adamw_torch_fused",
  max_grad_norm: 1.0,
  bf16: false,
  fp16: false,
  learning_rate: 2e-5,
};
const PINS = {
  match: "train.yaml",
  model: "./model",
  task: "causal-lm",
  dtype: "bfloat16",
  attention: "sdpa",
  libraries: { torch: "2.11", transformers: "5.17", peft: "0.21" },
  sequence_length: 1024,
};

const CASES: readonly Case[] = [
  {
    name: "plain bfloat16",
    train: {},
    pins: {},
    expect: {
      microBatchSize: 8,
      sequenceLength: 1024,
      loadDtype: "bfloat16",
      autocast: null,
      attention: "sdpa",
      checkpointing: null,
      optimizer: { name: "adamw_torch_fused", args: {} },
      maxGradNorm: 1,
      adapter: null,
      quantization: null,
      fusedLoss: false,
      gradientAccumulationSteps: 1,
      device: null,
    },
  },
  {
    name: "bf16 autocast over float32",
    train: { bf16: true },
    pins: { dtype: "float32" },
    expect: { autocast: "bfloat16", loadDtype: "float32" },
  },
  { name: "fp16 autocast", train: { fp16: true }, pins: { dtype: "float32" }, expect: { autocast: "float16" } },
  { name: "no clipping", train: { max_grad_norm: 0 }, pins: {}, expect: { maxGradNorm: 0 } },
  {
    name: "accumulation",
    train: { gradient_accumulation_steps: 4 },
    pins: {},
    expect: { gradientAccumulationSteps: 4 },
  },
  {
    name: "checkpointing of transformers 5",
    train: { gradient_checkpointing: true },
    pins: {},
    expect: { checkpointing: { useReentrant: false } },
  },
  {
    name: "reentrant checkpointing",
    train: { gradient_checkpointing: true, gradient_checkpointing_kwargs: { use_reentrant: true } },
    pins: {},
    expect: { checkpointing: { useReentrant: true } },
  },
  {
    name: "checkpointing options as text",
    train: { gradient_checkpointing: true, gradient_checkpointing_kwargs: '{"use_reentrant": true}' },
    pins: {},
    expect: { checkpointing: { useReentrant: true } },
  },
  {
    name: "SGD with momentum",
    train: { optim: "sgd", optim_args: "momentum=0.9" },
    pins: {},
    expect: { optimizer: { name: "sgd", args: { momentum: "0.9" } } },
  },
  { name: "eager attention", train: {}, pins: { attention: "eager" }, expect: { attention: "eager" } },
  {
    name: "LoRA",
    train: {},
    pins: {
      adapter: { type: "lora", r: 16, alpha: 32, dropout: 0.05, target_modules: ["q_proj", "v_proj"], use_dora: false },
    },
    expect: {
      adapter: {
        type: "lora",
        rank: 16,
        alpha: 32,
        dropout: 0.05,
        targetModules: ["q_proj", "v_proj"],
        modulesToSave: [],
        bias: "none",
        useRslora: false,
        autocastAdapterDtype: true,
      },
    },
  },
  {
    name: "QLoRA with double quantization",
    train: { bf16: true },
    pins: {
      adapter: { type: "lora", r: 8, alpha: 16, dropout: 0, target_modules: ["q_proj"], use_dora: true },
      quantization: { type: "nf4", double: true, prepare_for_kbit: true },
    },
    expect: { quantization: { type: "nf4", double: true, prepareForKbit: true, computeDtype: "bfloat16" } },
  },
  {
    name: "versions before transformers 5, torch 2 and bitsandbytes 0.43.2",
    train: { optim: "adamw_torch" },
    pins: {
      libraries: { torch: "1.13", transformers: "4.30", peft: "0.4", bitsandbytes: "0.41.1" },
      quantization: { type: "nf4", double: false },
    },
    expect: {
      quirks: { keepsGradients: true },
      optimizer: { name: "adamw_torch", args: { foreach: "False" } },
      quantization: {
        type: "nf4",
        double: false,
        prepareForKbit: false,
        computeDtype: "bfloat16",
        keepsInputs: true,
        packsSubclasses: true,
      },
    },
  },
  {
    name: "seq2seq",
    train: {},
    pins: { task: "seq2seq-lm", target_length: 128, sequence_length: 512 },
    expect: { task: "seq2seq-lm", targetLength: 128, sequenceLength: 512 },
  },
  {
    name: "images",
    train: {},
    pins: { task: "image-cls", image_size: 384 },
    model: { ...TINY_LLAMA, model_type: "vit" },
    expect: { task: "image-cls", imageSize: 384, sequenceLength: 0 },
  },
  {
    name: "speech that is written down",
    train: {},
    pins: { task: "speech-seq2seq", target_length: 100 },
    model: { model_type: "whisper", architectures: ["WhisperForConditionalGeneration"], num_mel_bins: 80 },
    expect: { task: "speech-seq2seq", targetLength: 100, sequenceLength: 0, imageSize: 0 },
  },
  {
    name: "speech that is heard sample by sample",
    train: {},
    pins: { task: "ctc", target_length: 50, audio_seconds: 2.5 },
    model: { model_type: "wav2vec2" },
    expect: { task: "ctc", targetLength: 50, audioSamples: 40_000, sequenceLength: 0 },
  },
];

/** As score.py writes them: every value as JSON. */
function yaml(values: Readonly<Record<string, unknown>>, indent = ""): string {
  return Object.entries(values)
    .map(([key, value]) => `${indent}${key}: ${JSON.stringify(value)}\n`)
    .join("");
}

async function resolve(one: Case): Promise<Resolution> {
  const pins = `runs:\n  - ${yaml({ ...PINS, ...one.pins }, "    ").trimStart()}`;
  const inputs = await gatherFiles(
    {
      "c/train.yaml": yaml({ ...TRAIN, ...one.train }),
      "c/.vramlens.yaml": pins,
      "c/model/config.json": JSON.stringify(one.model ?? TINY_LLAMA),
    },
    "c/train.yaml",
  );
  assert.equal(inputs.format.id, "hf-training-arguments");
  assert.deepEqual(inputs.problems, []);
  return resolveRun(inputs, {});
}

describe("analysis: the cases of the scoring harness", () => {
  for (const one of CASES) {
    it(one.name, async () => {
      const { run, obstacles } = await resolve(one);
      assert.deepEqual(obstacles, []);
      assert.ok(run);
      assert.equal(run.model.source, "config.json");
      for (const [key, value] of Object.entries(one.expect))
        assert.deepEqual(run[key as keyof TrainingRun], value, key);
    });
  }
});
