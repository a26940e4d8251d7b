/**
 * What GRPO and RLOO do before the steps that learn from a generation: the completions of the whole generation batch are
 * scored in micro-batches without gradients, and kept, shuffled, until the next generation. Sources:
 * trl/trainer/{grpo,rloo}_trainer.py (_prepare_inputs, _generate_and_score_completions), trl/trainer/utils.py
 * (shuffle_sequence_dict, split_tensor_dict), trl/generation/vllm_generation.py (sleep mode).
 */

import { isFloating } from "../../engine/dtype";
import { playRegion } from "../../engine/folding/region";
import type { Ledger } from "../../engine/ledger";
import { slice } from "../../engine/ops/layout";
import { repeated } from "../../engine/pieces";
import { hostTensor, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { ComponentKind } from "../../report/estimate";
import { allocateBatch, type BatchTensor, type PassFactory } from "../forward";
import type { Strategy } from "../parallel";
import { reserveWhole } from "../parallel/strategy";
import { type Prediction, predict, taken } from "../prediction";
import type { GenerationSpec, RolloutSpec, TrainerSpec } from "../run";
import type { Before } from "../step-options";

export interface RolloutOptions {
  readonly spec: TrainerSpec & { readonly rollout: RolloutSpec };
  /** Sequences scored at once. */
  readonly microBatch: number;
  readonly autocast: "bfloat16" | "float16" | null;
  /** What the samples have besides text, of the whole generation and of a micro-batch; nothing where they are text. */
  readonly media: { readonly whole: readonly BatchTensor[]; readonly each: readonly BatchTensor[] };
  /** Scoring passes over a micro-batch, in their order: the policy's, the reference's. */
  readonly scoring: readonly PassFactory[];
  /** Generates with the policy, on the phase in force. */
  readonly generate: (spec: GenerationSpec) => void;
  /** Hands the policy's weights over to what generates with them. */
  readonly sync?: (() => void) | undefined;
  /** Bytes of vLLM's weights. */
  readonly engineBytes: number;
}

/**
 * Scoring passes that are followed one by one. Each allocates and frees what the one before did and leaves its result, which is all
 * that is counted of those after these: hundreds of them are a stream of millions of events in which nothing is new.
 */
const MOST_PLAYED = 64;

/** Shape of one kept tensor per sequence; null for one number per sequence. */
type Width = number | null;

export class Rollout implements Before {
  readonly holdsBatch = true;
  private buffer: Tensor[] = [];
  private readonly predictions = new Map<PassFactory, Prediction>();
  /** vLLM's weights and cache while they stay beside training. */
  readonly resident: Tensor | null;
  /** Bytes of the models that wait on the host. */
  private readonly loadedBytes: number;
  /** What vLLM takes beside the models while it generates, and while it sleeps. */
  private readonly engine: { readonly generating: number; readonly sleeping: number };
  /** Bytes of all there was before there were states of the optimizer. */
  private stateless: number | undefined;

  constructor(
    private readonly torch: Torch,
    private readonly options: RolloutOptions,
    private readonly strategy: Strategy,
  ) {
    const { generatingBytes, sleepingBytes, sharesWeights, parks } = options.spec.rollout;
    const kinds: readonly ComponentKind[] = parks?.mainParameters === true ? [...LOADED, "gradients"] : LOADED;
    this.loadedBytes = parks?.weights === true ? bytesOf(torch.ledger, kinds) : 0;
    const shared = sharesWeights === true ? bytesOf(torch.ledger, ["weights"]) : 0;
    const beside = (bytes: number): number => Math.max(0, bytes - shared);
    this.engine = { generating: beside(generatingBytes), sleeping: beside(sleepingBytes) };
    this.resident = this.vllm(this.engine.sleeping);
  }

  /** Before micro-batch `micro` of a step: whether a generation is due. */
  due(micro: number): boolean {
    return micro % this.options.spec.rollout.every === 0;
  }

  next(micro: number): number {
    const { every } = this.options.spec.rollout;
    return Math.ceil(micro / every) * every;
  }

  run(step: number): void {
    const { torch, options } = this;
    const { spec, microBatch } = options;
    const { sequences, generates } = spec.rollout;
    const woken = this.engine.generating - this.engine.sleeping - this.parkedBytes;
    const { promptLength, completionLength } = spec;
    torch.ledger.enter("generation", step);
    // Of an engine that slept, only the weights are awake (trl/generation/vllm_generation.py, sync_weights).
    if (options.sync !== undefined) {
      const awake = this.vllm(Math.min(woken, options.engineBytes));
      options.sync();
      awake?.release();
    }
    this.vllm(woken)?.release();
    // All of the generation batch at once.
    if (generates)
      options.generate({
        batchSize: sequences,
        promptLength,
        newTokens: completionLength,
        beams: 1,
        samples: true,
        cache: options.spec.rollout.cache ?? "dynamic",
        ...(options.spec.rollout.paged === undefined ? {} : { paged: options.spec.rollout.paged }),
      });
    torch.ledger.enter("data", step);
    const rows = (width: Width, dtype: "int64" | "float32"): Tensor =>
      torch.empty("empty", width === null ? [sequences] : [sequences, width], dtype);
    const kept = (widths: readonly [Width, "int64" | "float32"][]): Tensor[] =>
      widths.map(([width, dtype]) => rows(width, dtype));
    torch.kind = "inputs";
    const generated = kept([
      [promptLength, "int64"],
      [promptLength, "int64"],
      [completionLength, "int64"],
      [completionLength, "int64"],
    ]);
    const whole = kept([
      [promptLength + completionLength, "int64"],
      [promptLength + completionLength, "int64"],
    ]);
    const media = spec.mediaOnHost === true ? [] : allocateBatch(torch, options.media.whole);
    torch.ledger.enter("forward", step);
    const scores = options.scoring.map((passes) => this.score(passes, whole, step, microBatch));
    torch.kind = "inputs";
    // RLOO learns from sums: one number per completion, with the reference in the rewards.
    const learned = spec.kind === "rloo" ? [rows(null, "float32")] : scores;
    const results = [...generated, rows(null, "float32"), ...learned];
    const released = spec.kind === "rloo" ? [...whole, ...scores] : whole;
    for (const tensor of released) tensor.release();
    // Shuffled: a copy of each, beside all of them.
    const shuffled = results.map(({ sizes, dtype }) => torch.empty("index", sizes, dtype));
    if (spec.kind === "grpo") shuffled.push(torch.empty("sum", [], "int64"));
    shuffled.push(...this.dealt(media));
    for (const tensor of [...media, ...results, ...this.buffer]) tensor.release();
    this.buffer = shuffled;
  }

  /**
   * Pictures are taken apart by sample, and those of each micro-batch joined again; what has a row for each token is shuffled with
   * the rest (split_pixel_values_by_grid, unsplit_pixel_values_by_grid).
   */
  private dealt(media: readonly Tensor[]): Tensor[] {
    const { torch, options } = this;
    const each = options.spec.mediaOnHost === true ? [] : options.media.each;
    const pieces = Math.ceil(options.spec.rollout.sequences / options.microBatch);
    const shuffled = media.flatMap((tensor) =>
      isFloating(tensor.dtype) ? [] : [torch.empty("index", tensor.sizes, tensor.dtype)],
    );
    const joined = each.flatMap(({ sizes, dtype }) =>
      isFloating(dtype) ? repeated(torch, pieces, () => torch.empty("cat", sizes, dtype)) : [],
    );
    return [...shuffled, ...joined];
  }

  /** Log-probabilities of every completion under one model, micro-batch by micro-batch. */
  private score(passes: PassFactory, whole: readonly Tensor[], step: number, microBatch: number): Tensor {
    const { torch, options, strategy } = this;
    const { sequences } = options.spec.rollout;
    const { gradEnabled } = torch;
    torch.gradEnabled = false;
    const texts = whole.map((tensor) => slice(torch, tensor, 0, 0, Math.min(microBatch, sequences), 1));
    // Views of what the whole generation has.
    const views = options.media.each.map(({ sizes, dtype }) => hostTensor(torch.ledger, sizes, dtype));
    const inputs = [...texts, ...views];
    let prediction = this.predictions.get(passes);
    if (prediction === undefined) {
      prediction = predict(torch, passes, inputs, options.autocast, strategy);
      this.predictions.set(passes, prediction);
    }
    const parts: Tensor[] = [];
    const passesOfAll = Math.ceil(sequences / microBatch);
    const played = Math.min(passesOfAll, MOST_PLAYED);
    torch.ledger.checkRoom(played * prediction.region.script.events.length);
    let each: readonly Tensor[] = [];
    for (let pass = 0; pass < played; pass++) {
      playRegion(torch, prediction.region, step);
      each = taken(prediction);
      parts.push(...each);
    }
    const left = passesOfAll - played;
    // The kernel of the first is told from those that only follow it, which are all alike.
    const rounds = repeated(torch, Math.min(left, 2), () =>
      each.map((one) => torch.empty("cat", one.sizes, one.dtype)),
    );
    parts.push(...rounds.flat());
    const last = (rounds.at(-1) ?? []).map(({ storage }) => storage.id).filter((id) => id >= 0);
    const again = Math.max(0, left - 2);
    const others = torch.ledger.makeAgain(last, again);
    for (const tensor of inputs) tensor.release();
    torch.kind = "inputs";
    const all = torch.empty("cat", [sequences, options.spec.completionLength], "float32");
    for (const part of parts) part.release();
    torch.ledger.freeRow(others, last.length * again);
    torch.gradEnabled = gradEnabled;
    return all;
  }

  /** What is sent to the host for vLLM (verl/workers/engine/fsdp/transformer_impl.py, `param_offload`, `optimizer_offload`). */
  private get parkedBytes(): number {
    const { parks } = this.options.spec.rollout;
    const { ledger } = this.torch;
    this.stateless ??= ledger.live;
    if (parks?.optimizer !== true) return this.loadedBytes;
    const states = parks.mainParameters === true ? bytesOf(ledger, ["optimizer"]) : ledger.live - this.stateless;
    return this.loadedBytes + Math.max(0, states);
  }

  private vllm(bytes: number): Tensor | null {
    return vllmBlock(this.torch, bytes);
  }
}

/** Kinds of what is loaded as a model. */
const LOADED: readonly ComponentKind[] = ["weights", "adapters", "buffers"];

/** Bytes that are alive, of some kinds. */
function bytesOf(ledger: Ledger, kinds: readonly ComponentKind[]): number {
  const alive = ledger.aliveByLabel(ledger.events.length - 1);
  return alive.reduce((sum, { label, bytes }) => (kinds.includes(label.kind) ? sum + bytes : sum), 0);
}

/** What vLLM takes of the card: blocks of its own allocator, which no split of the trained model makes smaller. */
export function vllmBlock(torch: Torch, bytes: number): Tensor | null {
  if (bytes <= 0) return null;
  const block = reserveWhole(torch, "vllm", bytes, "uint8", "buffers");
  torch.ledger.apart.add(block.storage.id);
  return block;
}
