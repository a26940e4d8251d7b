/** What one optimizer step of a run asks of a card: arithmetic, traffic, launches. Counts only; no rates. */
import type { TrainingRun } from "../training/run";
import type { ModelShape } from "./shape";
import { encoderLength, isEncoderDecoder, shapeOf, tokensPerSample } from "./shape";

/** `[least, most]` of a count. */
export type Bounds = readonly [least: number, most: number];

/** Per device and micro-batch unless said otherwise. */
export interface Work {
  /** FLOP of matrix products. */
  readonly matrixFlops: Bounds;
  /** FLOP of the attention products. */
  readonly attentionFlops: Bounds;
  /** Bytes that norms, activations, residuals, casts, dropout and the loss move. */
  readonly elementBytes: Bounds;
  /** Bytes of weights that casts and dequantization move. */
  readonly weightBytes: Bounds;
  /** Kernels launched. */
  readonly launches: Bounds;
  /** Bytes that clipping and the optimizer move, once a step. */
  readonly optimizerBytes: Bounds;
  /** Kernels that the optimizer's step launches. */
  readonly optimizerLaunches: Bounds;
}

export interface Counts {
  readonly parameters: number;
  readonly trainableParameters: number;
}

const scale = ([least, most]: Bounds, by: number): Bounds => [least * by, most * by];
const add = (a: Bounds, b: Bounds): Bounds => [a[0] + b[0], a[1] + b[1]];

export function bytesOf(run: TrainingRun): number {
  return run.loadDtype === "float32" ? 4 : 2;
}

/** Whether matrix products run in 16 bits. */
export function halfPrecision(run: TrainingRun): boolean {
  return run.autocast !== null || run.loadDtype !== "float32" || (run.parallel.deepspeed?.engineDtype ?? null) !== null;
}

/**
 * Passes over the layers, in forwards: forward, backward for the inputs, backward for the weights (of what trains),
 * and once more forward where activations are recomputed, where a reference model scores the same tokens, and where the
 * trained one scores its completions before it learns from them.
 */
export function passes(run: TrainingRun): number {
  const { adapter, checkpointing, trainer } = run;
  const extra = [
    adapter === null,
    checkpointing !== null,
    trainer != null && (trainer.variant["reference"] ?? "none") !== "none" && trainer.companion === undefined,
    trainer?.rollout?.scores === true,
  ];
  return 2 + extra.filter(Boolean).length;
}

/**
 * Bytes that one layer moves for one token in a forward, per byte of the compute dtype: per element of the hidden
 * width two norms, two residual additions, rotary embedding and layout copies; per element of the inner width the
 * activation and its gate. Least: fused norms and activations; most: PyTorch's own, norms in float32.
 */
const HIDDEN_TRAFFIC: Bounds = [14, 48];
const INNER_TRAFFIC: Bounds = [3, 7];
/** Backward reads and writes about twice as much; an adapter adds the scaled sum on every adapted output. */
const BACKWARD_TRAFFIC = 2;
const ADAPTER_TRAFFIC: Bounds = [2, 10];
/** Bytes per logit over the loss and its backward: 16-bit logits, float32 copy, log-softmax, two gradients, cast. */
const LOGIT_TRAFFIC: Bounds = [16, 44];
const FUSED_LOGIT_TRAFFIC: Bounds = [4, 16];
/** Bytes per score of attention that is written out (scores, mask, softmax, dropout; again in backward). */
const SCORE_TRAFFIC: Bounds = [16, 60];
/** Kernels of one layer: forward, and as many again one and a half times backward. */
const LAYER_LAUNCHES: Bounds = [22, 55];
const ADAPTER_LAUNCHES: Bounds = [28, 70];
const QUANTIZED_LAUNCHES: Bounds = [14, 110];
/** ZeRO-3's hooks around every module (fetch, wait, release) take as long as this many launches. */
const ZERO3_LAUNCHES: Bounds = [40, 250];

/** Autocast casts the weights of every linear layer, some activations, and their gradients back. */
const AUTOCAST_LAUNCHES: Bounds = [6, 14];
/** Saving and restoring the random states around a checkpointed layer (torch/utils/checkpoint.py), in launches. */
const CHECKPOINT_LAUNCHES: Bounds = [10, 60];
/** A gradient that is there already is added to: one kernel per trained tensor and micro-batch after the first. */
const ACCUMULATION_LAUNCHES = 1;
/** Trained tensors of a layer: seven matrices and two norms of a llama, sixteen of a bert; adapters have two each. */
const TENSORS: Bounds = [9, 16];
const ADAPTER_TENSORS: Bounds = [4, 14];

/**
 * Kernels that an optimizer's step launches per trained tensor. Multi-tensor and fused forms launch a few for all of
 * them; the loops of transformers' own AdamW (transformers/optimization.py), Adafactor and the low-rank ones launch each
 * operation for each tensor; bitsandbytes one kernel a tensor, with a good deal of Python around it.
 */
const OPTIMIZER_LAUNCHES: readonly (readonly [RegExp, Bounds])[] = [
  [/adamw_hf|for_loop|anyprecision/, [7, 12]],
  [/adafactor/, [18, 30]],
  [/8bit|paged|lion/, [1, 4]],
  [/galore|apollo|muon|ademamix|grok|stable|schedule/, [15, 50]],
];
const FUSED_LAUNCHES: Bounds = [0.02, 0.4];

/** Bytes per trained float32 parameter that an optimizer step moves: gradients and states read, states and weights written. */
const OPTIMIZER_TRAFFIC: readonly (readonly [RegExp, Bounds])[] = [
  [/adafactor/, [40, 80]],
  [/8bit/, [14, 22]],
  [/adamw_torch$|adamw_torch_xla/, [44, 80]],
  [/lion|sgd|adagrad|rmsprop/, [16, 40]],
  [/galore|apollo|muon/, [30, 120]],
];
const FUSED_ADAM_TRAFFIC: Bounds = [26, 36];
/** Norm and scaling of the gradients. */
const CLIP_TRAFFIC = 12;

/** Bytes of a layer for one token, per byte of the compute dtype, that backward needs: around the norms, in the middle. */
const KEPT_HIDDEN: Bounds = [6, 16];
const KEPT_INNER: Bounds = [2, 4];

/** Bytes that offloaded activations send to the host and fetch again, per micro-batch. */
export function offloadedBytes(run: TrainingRun, shape: ModelShape): Bounds {
  const tokens = (run.microBatchSize * tokensPerSample(run)) / run.parallel.contextParallel;
  const rows = 2 * tokens * shape.layers * (halfPrecision(run) ? 2 : 4);
  if (run.checkpointing !== null) {
    const moved = run.checkpointing.offloads === true || run.offloadsActivations !== undefined;
    return scale([1, 1], moved ? rows * shape.hidden : 0);
  }
  if (run.offloadsActivations === undefined) return [0, 0];
  return scale(add(scale(KEPT_HIDDEN, shape.hidden), scale(KEPT_INNER, shape.inner)), rows);
}

/** Tasks whose loss is over the vocabulary at every position. */
const WRITES_WORDS: ReadonlySet<TrainingRun["task"]> = new Set([
  "causal-lm",
  "masked-lm",
  "seq2seq-lm",
  "speech-seq2seq",
  "image-text-to-text",
]);

/** The work of one micro-batch, and of the step's end, on the busiest device. */
/** FLOP of a forward of another model beside the trained one: a teacher's, from its config's sizes. */
function companionFlops(run: TrainingRun, tokens: number): number {
  const model = run.trainer?.companion?.model;
  const shape = model === undefined ? null : shapeOf({ ...run, model });
  if (model === undefined || shape === null) return 0;
  const groups = model.config["num_key_value_heads"];
  const keys = typeof groups === "number" && groups > 0 ? groups / shape.heads : 1;
  const layer = shape.hidden * (shape.attention * (2 + 2 * keys) + 3 * shape.inner);
  return 2 * tokens * (shape.layers * layer + shape.vocabulary * shape.hidden);
}

export function workOf(run: TrainingRun, shape: ModelShape, counts: Counts): Work {
  const split = run.parallel.tensorParallel * run.parallel.pipelineParallel;
  const tokens = (run.microBatchSize * tokensPerSample(run)) / run.parallel.contextParallel;
  const embedding = run.task === "image-cls" ? 0 : shape.vocabulary * shape.hidden;
  const active = Math.max(0, counts.parameters - shape.idleExperts - (shape.tied ? 0 : embedding));
  const head = WRITES_WORDS.has(run.task) ? embedding : 0;
  const body = Math.max(0, active - embedding);
  const times = passes(run);
  // The head is not recomputed. Each side of an encoder-decoder sees only its own half of the tokens.
  const share = isEncoderDecoder(run) ? 0.5 : 1;
  const adapters = run.adapter === null ? 0 : 6 * counts.trainableParameters;
  const headTimes = run.adapter === null ? 3 : 2;
  const matrix = tokens * share * (2 * body * times + 2 * head * headTimes + adapters);
  const beside = companionFlops(run, tokens);

  const length = encoderLength(run);
  const seen = Math.min(length, shape.window);
  const attentionTimes = 3.5 + (run.checkpointing === null ? 0 : 1);
  const products = tokens * shape.layers * 4 * seen * shape.attention * attentionTimes;
  const causal = run.task === "causal-lm" && run.attention !== "eager";

  const dtype = halfPrecision(run) ? 2 : 4;
  const forward = add(scale(HIDDEN_TRAFFIC, shape.hidden), scale(INNER_TRAFFIC, shape.inner));
  const adapted = run.adapter === null ? ([0, 0] as const) : scale(ADAPTER_TRAFFIC, shape.hidden + shape.inner);
  const rounds = 1 + BACKWARD_TRAFFIC + (run.checkpointing === null ? 0 : 1);
  const layers = scale(add(forward, adapted), tokens * shape.layers * dtype * rounds);
  const logits = scale(
    run.fusedLoss ? FUSED_LOGIT_TRAFFIC : LOGIT_TRAFFIC,
    head === 0 ? 0 : tokens * shape.vocabulary * share,
  );
  const scores =
    run.attention === "eager" ? scale(SCORE_TRAFFIC, tokens * shape.layers * shape.heads * seen) : ([0, 0] as const);

  return {
    matrixFlops: scale([matrix + beside, matrix + beside], 1 / split),
    attentionFlops: scale([causal ? products / 2 : products, products], 1 / split),
    elementBytes: scale(add(layers, add(logits, scores)), 1 / split),
    weightBytes: scale(weightTraffic(run, body + head), 1 / split),
    launches: scale(launchesOf(run), shape.layers / run.parallel.pipelineParallel),
    optimizerBytes: scale(optimizerTraffic(run), counts.trainableParameters / split),
    optimizerLaunches: scale(optimizerLaunches(run), shape.layers / run.parallel.pipelineParallel),
  };
}

/**
 * Weights read by the products (hidden behind the arithmetic when there are many tokens), casts of float32 weights (once
 * a forward: the cast is cached, unless the weight is frozen) and unpacking of quantized ones (at every use).
 */
function weightTraffic(run: TrainingRun, parameters: number): Bounds {
  const reads: Bounds = [0, parameters * passes(run) * (halfPrecision(run) ? 2 : 4)];
  if (run.quantization !== null) {
    const uses = 2 + (run.checkpointing === null ? 0 : 1);
    return add(reads, scale([2.6, 6], parameters * uses));
  }
  if (run.autocast === null || run.loadDtype !== "float32") return reads;
  return add(reads, scale([6, run.adapter === null ? 12 : 18], parameters));
}

function launchesOf(run: TrainingRun): Bounds {
  const extra = add(
    run.adapter === null ? [0, 0] : ADAPTER_LAUNCHES,
    run.quantization === null ? [0, 0] : QUANTIZED_LAUNCHES,
  );
  const hooks: Bounds = run.parallel.deepspeed?.zeroStage === 3 ? ZERO3_LAUNCHES : [0, 0];
  const casts: Bounds = run.autocast !== null && run.loadDtype === "float32" ? AUTOCAST_LAUNCHES : [0, 0];
  const passes = scale(add(add(add(LAYER_LAUNCHES, extra), hooks), casts), 2.5 + (run.checkpointing === null ? 0 : 1));
  const again = (ACCUMULATION_LAUNCHES * (run.gradientAccumulationSteps - 1)) / run.gradientAccumulationSteps;
  const kept: Bounds = run.checkpointing === null ? [0, 0] : CHECKPOINT_LAUNCHES;
  return add(add(passes, kept), scale(trainedTensors(run), again));
}

function trainedTensors(run: TrainingRun): Bounds {
  return run.adapter === null ? TENSORS : ADAPTER_TENSORS;
}

/** Kernels of the step per layer; ZeRO and FSDP step on a few flat partitions, or on the layer's shards. */
function optimizerLaunches(run: TrainingRun): Bounds {
  const each = OPTIMIZER_LAUNCHES.find(([pattern]) => pattern.test(run.optimizer.name))?.[1] ?? FUSED_LAUNCHES;
  if (run.parallel.deepspeed !== null) return [0, 0.1];
  const [few, many] = trainedTensors(run);
  return [few * each[0], many * each[1]];
}

function optimizerTraffic(run: TrainingRun): Bounds {
  const known = OPTIMIZER_TRAFFIC.find(([pattern]) => pattern.test(run.optimizer.name))?.[1] ?? FUSED_ADAM_TRAFFIC;
  const clip = run.maxGradNorm > 0 ? CLIP_TRAFFIC : 0;
  const { deepspeed, fsdp, worldSize } = run.parallel;
  const sharded = (deepspeed !== null && deepspeed.zeroStage >= 1) || fsdp !== null;
  const width = run.adapter !== null || run.loadDtype === "float32" || sharded ? 1 : 0.5;
  return scale(add(known, [clip, clip]), width / (sharded ? worldSize : 1));
}
