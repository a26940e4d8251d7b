/** One sentence per canonical setting: what it does to GPU memory. Shared by the formats' tables. */

import type { SettingName } from "../terms/settings";
import { table } from "../terms/table";
import type { KeySpec } from "./types";

export const EFFECT = {
  model: "The model: its parameters are the largest fixed cost.",
  microBatch: "Samples per GPU in one forward: activations and logits grow in proportion.",
  evalBatch: "Samples per GPU in evaluation: its logits can exceed the training peak.",
  accumulation: "Micro-batches per optimizer step: gradients stay alive between them, nothing else grows.",
  globalBatch: "Samples per optimizer step over all GPUs; the micro-batch decides the memory.",
  sequence: "Tokens per sequence: activations and logits grow in proportion, eager attention with the square.",
  evalSequence: "Tokens per sequence in evaluation: its logits can exceed the training peak.",
  compute: "Dtype of the forward pass: 16-bit halves the activations.",
  load: "Dtype the weights are stored in.",
  checkpointing: "Keeps only each layer's input and computes the rest again in backward.",
  optimizer: "Optimizer: Adam keeps two states per trainable parameter, 8-bit forms a quarter of that, SGD none.",
  clipping: "Gradient clipping: its temporaries can set the peak of the clip phase.",
  zero: "ZeRO: 1 shards optimizer states over the GPUs, 2 also gradients, 3 also parameters.",
  fsdp: "FSDP: shards parameters, gradients and optimizer states over the GPUs.",
  offloadOptimizer: "Keeps the optimizer states in host memory and steps on the CPU.",
  offloadParam: "Keeps the parameters in host memory and fetches them layer by layer.",
  offloadActivations: "Moves saved activations to host memory.",
  adapter: "Trains low-rank adapters; gradients and optimizer states exist for them only.",
  rank: "Rank of the adapters: their size, gradients and states grow in proportion.",
  targets: "Modules that get an adapter.",
  alpha: "Scale of the adapter's update: no memory.",
  dropout: "Dropout before the adapter: saves a mask and a copy of its input.",
  toSave: "Modules trained in full, as copies beside the frozen originals.",
  quantization: "Keeps the frozen base weights in fewer bits.",
  attention: "Attention kernel: eager materialises the score matrix, the others do not.",
  packing: "Fills every sequence to the full length: the stated length is always reached.",
  tensor: "Splits each layer's matrices over this many GPUs.",
  pipeline: "Splits the layers over this many GPUs; the first stage keeps several micro-batches' activations.",
  context: "Splits each sequence over this many GPUs.",
  expert: "Splits the experts over this many GPUs.",
  sequenceParallel: "Splits norm and dropout activations over the tensor-parallel GPUs.",
  devices: "Number of GPUs the run is spread over.",
  fusedLoss: "Fused kernels: the logits of the whole batch are never materialised.",
  chunkedLoss: "Loss over pieces of the logits: they are never held in float32, but still whole in their own dtype.",
  compile: "Compiled graphs fuse temporaries and save fewer activations.",
  ema: "Keeps another copy of the weights.",
  deepspeed: "DeepSpeed settings: a file or the settings themselves.",
  vllm: "Share of the card the generation engine takes before training starts.",
  generations: "Completions per prompt: the batch of the policy update grows in proportion.",
  reference: "Reference model: a second copy of the weights on the GPU.",
  frozen: "Frozen weights need neither gradients nor optimizer states.",
  image: "Size of the input image: activations grow with its area.",
  layers: "Number of layers: weights and activations grow in proportion.",
  width: "Width of the model: weights grow with its square.",
  vocabulary: "Size of the vocabulary: embeddings and logits grow in proportion.",
  experts: "Number of experts: each holds its own weights.",
  heads: "Attention heads.",
  data: "Data source: no memory of its own.",
  tokens: "Tokens per forward: the batch is filled up to this many.",
  scoringRows: "Rows per forward while log-probabilities are scored: their logits can set the peak.",
  engineLength: "Longest sequence the generation engine takes: it sizes its cache.",
  engineTensor: "GPUs one generation engine is spread over.",
  enginePart: "The engine's weights and cache share the card with training.",
  recomputed: "Which layers are recomputed in backward, and how many together.",
  fusedKernel: "Fused kernel: fewer activations are saved for backward.",
  teacher: "Teacher model: another model on the GPU.",
  projector: "Low-rank projection of the optimizer: its states are kept in the small space.",
  block: "Trains one block of layers at a time: gradients and states exist for it only.",
  statesDtype: "Dtype the optimizer keeps its states in.",
  proposals: "Region proposals of an image: the heads' activations grow with their number.",
  lossy: "Matrix products in 8 bits: smaller copies for the products, the weights stay.",
  masks: "Dropout inside the layers: keeps a mask of what it dropped.",
  schedule: "Pipeline schedule: decides how many micro-batches are in flight.",
  harmless: "No GPU memory of its own.",
} as const;

type Extra = Partial<Omit<KeySpec, "key" | "name" | "type" | "effect" | "memory">>;

/** A key that changes GPU memory. */
export function memory(
  key: string,
  name: SettingName | null,
  type: KeySpec["type"],
  effect: string,
  extra: Extra = {},
): KeySpec {
  return { key, name, type, effect, memory: true, ...extra };
}

/** Keys that touch memory in one way and stand for no setting the estimate takes. */
export function touching(effect: string, keys: string): KeySpec[] {
  return keys.split(" ").map((key) => memory(key, null, "any", effect, { nullable: true }));
}

/** Keys that change nothing on the GPU in a training step. */
export function harmless(keys: string): KeySpec[] {
  return keys.split(" ").map((key) => other(key, null, "any", EFFECT.harmless, { nullable: true }));
}

/** A key that costs no GPU memory but decides something about the run. */
export function other(
  key: string,
  name: SettingName | null,
  type: KeySpec["type"],
  effect: string,
  extra: Extra = {},
): KeySpec {
  return { key, name, type, effect, memory: false, ...extra };
}

/** Canonical compute dtypes by the words the frameworks use. */
export const PRECISION: Readonly<Record<string, string>> = table({
  bf16: "bf16",
  bfloat16: "bf16",
  "bf16-mixed": "bf16",
  "bf16-true": "bf16",
  amp_bf16: "bf16",
  "torch.bfloat16": "bf16",
  fp16: "fp16",
  float16: "fp16",
  half: "fp16",
  "16": "fp16",
  "16-mixed": "fp16",
  "16-true": "fp16",
  amp_fp16: "fp16",
  fp32: "fp32",
  float32: "fp32",
  float: "fp32",
  "32": "fp32",
  "32-true": "fp32",
  no: "fp32",
  false: "fp32",
  fp8: "fp8",
  amp_fp8: "fp8",
});

/** Canonical storage dtypes by the words the frameworks use. */
export const STORAGE: Readonly<Record<string, string>> = table({
  bf16: "bfloat16",
  bfloat16: "bfloat16",
  "bf16-true": "bfloat16",
  "torch.bfloat16": "bfloat16",
  fp16: "float16",
  float16: "float16",
  half: "float16",
  "torch.float16": "float16",
  "16-true": "float16",
  fp32: "float32",
  float32: "float32",
  float: "float32",
  "32": "float32",
  "32-true": "float32",
  "bf16-mixed": "float32",
  "16-mixed": "float32",
  "torch.float32": "float32",
});

/** On means the named dtype, off nothing: for boolean keys such as `bf16`. */
export function onlyWhenOn(value: string): Readonly<Record<string, string>> {
  return { true: value };
}
