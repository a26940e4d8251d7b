/**
 * Seconds of the text that is generated between steps. Prompts run as matrix products; every further token reads the weights
 * and the cache once, whatever the batch, until the products of the batch take longer. Source of the shape: Pope et al.,
 * "Efficiently Scaling Transformer Inference" (arXiv 2211.05102), section 2; cached tokens as transformers/cache_utils.py
 * moves them (a longer copy for every token), or in place in vLLM's pages.
 */
import type { Device } from "../hardware/types";
import type { GenerationSpec, TrainingRun } from "../training/run";
import { matrixRate } from "./kernels";
import { BANDWIDTH, FORWARD_LAUNCH, type Range } from "./rates";
import { type ModelShape, shapeOf } from "./shape";
import { bytesOf, type Counts } from "./work";

/** Kernels that one layer's forward of a token launches in transformers' code: products, norms, rotary, cache, attention. */
const LAUNCHES: Range = [50, 25];

/** Seconds per token that `generate` spends on the host: choosing, masks, stopping. Assumed. */
const CHOOSING: Range = [8e-3, 1e-3];

/** Seconds per token of vLLM's scheduler and sampler, whose forwards are captured graphs. Assumed. */
const SCHEDULING: Range = [5e-3, 0.5e-3];

/** Times that a token moves the cache: attention reads it; a cache that grows is read and written once more. */
const GROWING_CACHE = 3;

export interface GenerationTime {
  /** Seconds per optimizer step. */
  readonly low: number;
  readonly high: number;
  /** Generated tokens per second of one device, at the middle of the range. */
  readonly tokensPerSecond: number;
}

/** What one call generates, and how many there are per optimizer step. */
interface Calls {
  readonly sequences: number;
  readonly prompt: number;
  readonly tokens: number;
  readonly perStep: number;
  readonly engine: "transformers" | "vllm";
}

function callsOf({ trainer, gradientAccumulationSteps: micro }: TrainingRun): Calls | null {
  const rollout = trainer?.rollout;
  if (trainer != null && rollout != null) {
    const vllm = !rollout.generates;
    // Another machine generates: its cards are not known.
    if (vllm && rollout.generatingBytes === 0) return null;
    const lengths = { prompt: trainer.promptLength, tokens: trainer.completionLength };
    const engine = vllm ? "vllm" : "transformers";
    return { sequences: rollout.sequences, ...lengths, perStep: micro / rollout.every, engine };
  }
  const own: GenerationSpec | null | undefined = trainer?.generation;
  if (own == null) return null;
  const { batchSize, beams, promptLength, newTokens } = own;
  return {
    sequences: batchSize * beams,
    prompt: promptLength,
    tokens: newTokens,
    perStep: micro,
    engine: "transformers",
  };
}

/** Bytes that a token leaves in the cache, over all layers. */
function cachedBytes(run: TrainingRun, shape: ModelShape): number {
  const groups = run.model.config["num_key_value_heads"];
  const share = typeof groups === "number" && groups > 0 ? groups / shape.heads : 1;
  return 2 * shape.layers * shape.attention * share * bytesOf({ ...run, loadDtype: run.autocast ?? run.loadDtype });
}

function secondsAt(
  run: TrainingRun,
  counts: Counts,
  shape: ModelShape,
  calls: Calls,
  device: Device,
  end: 0 | 1,
): number | null {
  const dtype = run.autocast ?? run.parallel.deepspeed?.engineDtype ?? run.loadDtype;
  const rate = matrixRate(device, dtype, end, run.tf32);
  if (rate === null || device.bandwidth <= 0) return null;
  const { sequences, prompt, tokens, engine } = calls;
  const split = Math.max(1, run.parallel.tensorParallel);
  const bandwidth = device.bandwidth * BANDWIDTH[end] * split;
  const matrix = rate * split;
  // The fast end meets only the experts of one sequence, the slow end all of them.
  const active = counts.parameters - shape.idleExperts;
  const read = end === 1 ? active : counts.parameters;
  const stored = run.quantization === null || engine === "vllm" ? bytesOf(run) : 0.55;
  const products = (2 * active * sequences) / matrix;
  const moves = engine === "vllm" ? 1 : GROWING_CACHE;
  const held = sequences * Math.min(prompt + tokens / 2, shape.window) * cachedBytes(run, shape) * moves;
  const moved = (read * stored + held) / bandwidth;
  const host = engine === "vllm" ? SCHEDULING[end] : shape.layers * LAUNCHES[end] * FORWARD_LAUNCH[end] + CHOOSING[end];
  // Launches run ahead of the card; what chooses the next token waits for it.
  const perToken = engine === "vllm" ? Math.max(moved, products) + host : Math.max(moved, products, host);
  return prompt * products + tokens * perToken;
}

/** Seconds of generation per optimizer step on `device`; null where nothing is generated there, or rates are unknown. */
export function generationTime(run: TrainingRun, counts: Counts, device: Device | undefined): GenerationTime | null {
  const calls = callsOf(run);
  const shape = shapeOf(run);
  if (calls === null || shape === null || device === undefined) return null;
  const [slow, fast] = ([0, 1] as const).map((end) => secondsAt(run, counts, shape, calls, device, end));
  if (slow == null || fast == null || !Number.isFinite(slow) || fast <= 0) return null;
  const { perStep, sequences, tokens } = calls;
  return {
    low: fast * perStep,
    high: slow * perStep,
    tokensPerSecond: (sequences * tokens) / Math.sqrt(fast * slow),
  };
}
