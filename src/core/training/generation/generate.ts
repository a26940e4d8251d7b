/**
 * Text generated with the model that is being trained, beside its optimizer's states: prefill, then token by token with a
 * key-value cache. Source: transformers/generation/utils.py (generate, _sample, _beam_search).
 */

import type { DType } from "../../engine/dtype";
import { isFloating } from "../../engine/dtype";
import { ordinalOf, REPEATS_EACH, repeatOf } from "../../engine/folding/label";
import type { Folding } from "../../engine/folding/plan";
import type { Interpreter } from "../../engine/interpreter";
import { hostTensor, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { allocateBatch, type BatchTensor } from "../forward";
import type { GenerationSpec } from "../run";
import { MASK } from "../trainers/models";
import type { SimulatedCache } from "./cache";

export interface GenerationOptions {
  readonly spec: GenerationSpec;
  readonly autocast: DType | null;
  readonly vocabulary: number;
  /** Makes an interpreter for queries of `tokens` tokens, over the same cache. */
  readonly interpreter: (tokens: number) => Interpreter;
  /** What the prompts have besides text. */
  readonly media: readonly BatchTensor[];
  /** Whether the forward of so many tokens takes it. */
  readonly sees: (tokens: number) => boolean;
  /** What an encoder that reads the prompts leaves for each token; null: there is none. Its decoder starts with one token. */
  readonly encoder: { readonly width: number; readonly dtype: DType } | null;
  readonly cache: SimulatedCache;
}

/** Lengths at which the growing cache is looked at between the first and the last token: it churns the allocator's pool. */
const LENGTHS_BETWEEN = 8;

/** What a call of `generate` came to. */
export interface Generated {
  /** Bytes of the key-value cache at its longest. */
  readonly cacheBytes: number;
  /** Layers that its forwards left out, and the stretches between them in which every layer's cache grows or goes. */
  readonly foldings: readonly Folding[];
}

/** Counts the forwards and the stretches between them, whose layers are told apart so. */
class Turns {
  readonly foldings: Folding[] = [];
  private turn = 0;
  /** What the first forward left out, and how many stacks of layers it went through. */
  private first: readonly Folding[] = [];
  private stacks = 0;

  constructor(private readonly torch: Torch) {}

  /** A forward: later ones, which may see no pictures, go through the last of the first one's stacks. */
  forward<T>({
    stacks,
    run,
    foldings,
  }: {
    readonly stacks: number;
    run: () => T;
    foldings: () => readonly Folding[];
  }): T {
    if (this.turn === 0) this.stacks = stacks;
    this.torch.firstRepeat = REPEATS_EACH * this.turn + Math.max(0, this.stacks - stacks);
    const result = run();
    const left = foldings();
    if (this.turn++ === 0) this.first = left;
    this.foldings.push(...left);
    return result;
  }

  /** Something that is done to every layer's cache. */
  between(body: () => void): void {
    const { torch } = this;
    const shift = REPEATS_EACH * this.turn++;
    const { ledger } = torch;
    const before = ledger.marks.length;
    torch.firstRepeat = shift;
    body();
    // A cache that has its full size from the start does nothing then.
    const met = new Set<number>();
    for (let k = before; k < ledger.marks.length; k++)
      if ((ledger.marks[k + 1]?.event ?? ledger.eventCount) > ledger.marks[k]!.event)
        met.add(repeatOf(ledger.marks[k]!.label));
    const left = this.first.map((folding) => ({ ...folding, repeat: folding.repeat + shift }));
    this.foldings.push(...left.filter(({ repeat }) => met.has(repeat)));
  }

  /** Layers of the model that one of those of the first forward stands for. */
  times(layer: number): number {
    const ordinal = ordinalOf(layer);
    const own = this.first.find(
      ({ repeat, from, to }) => repeat === repeatOf(layer) && ordinal >= from && ordinal <= to,
    );
    return 1 + (own?.copies ?? 0);
  }

  end(): void {
    this.torch.firstRepeat = 0;
  }
}

/**
 * Books one call of `generate` on the phase in force. What the caller holds (prompts, optimizer states) is there already;
 * everything made here is gone at the end. To be called with gradients off and `torch.training` false.
 */
export function runGeneration(torch: Torch, options: GenerationOptions): Generated {
  const { spec, cache, encoder } = options;
  const turns = new Turns(torch);
  const rows = spec.batchSize * spec.beams;
  const first = encoder === null ? spec.promptLength : 1;
  const last = first + spec.newTokens - 1;
  torch.kind = "inputs";
  // The caller's prompts with their mask; the ids, the mask and the positions that grow begin as those and as one more.
  const prompts = encoder === null ? rows : spec.batchSize;
  const held = [tokenIds(torch, prompts, spec.promptLength), tokenIds(torch, prompts, spec.promptLength)];
  held.push(torch.empty("ones", [rows], "int64"));
  const media = allocateBatch(torch, options.media);
  held.push(...media);
  const seen = new Map(options.media.map(({ name }, at) => [name, media[at]!]));
  let grown = [tokenIds(torch, rows, first)];
  /** The scores' name outlives its step. */
  let scores: Tensor[] = [];
  const keepsScores = (tokens: number): void => {
    for (let k = 0; spec.keepsScores && k < tokens; k++) held.push(scoresOf(torch, options, "scores"));
  };
  const choose = (length: number): void => {
    scores = select(torch, options, scores);
    torch.kind = "inputs";
    const longer = [1, 2, 3].map(() => tokenIds(torch, rows, length + 1));
    for (const tensor of grown) tensor.release();
    grown = longer;
  };
  const step = (tokens: number, length: number): void => {
    cache.begin();
    const logits = nextLogits(torch, options, turns, tokens, options.sees(tokens) ? seen : new Map());
    keepsScores(1);
    choose(length);
    logits.release();
    if (spec.beams > 1) turns.between(() => cache.reorder(torch));
  };
  step(first, first);
  if (encoder !== null)
    held.push(torch.empty("repeat_interleave", [rows, spec.promptLength, encoder.width], encoder.dtype));
  const between = Math.max(1, Math.ceil((last - first) / LENGTHS_BETWEEN));
  for (let length = first; length < last; ) {
    // All but the last of a stretch only make the cache longer.
    const stretch = length === first ? 1 : Math.min(between, last - length);
    length += stretch;
    keepsScores(stretch - 1);
    if (encoder === null) {
      turns.between(() => cache.skip(torch, stretch - 1));
      step(1, length);
      continue;
    }
    // The captured forward runs the encoder, too; single tokens of the decoder alone are small beside the cache.
    turns.between(() => cache.skip(torch, stretch));
    if (spec.beams > 1) turns.between(() => cache.reorder(torch));
    choose(length);
  }
  for (const tensor of [...held, ...grown, ...scores]) tensor.release();
  const cacheBytes = cache.bytes((layer) => turns.times(layer));
  turns.between(() => cache.releaseEach(torch));
  turns.end();
  return { cacheBytes, foldings: turns.foldings };
}

/** A forward of `tokens` tokens per sequence as the trainer wraps it; logits of the last one, owned by the caller. */
function nextLogits(
  torch: Torch,
  options: GenerationOptions,
  turns: Turns,
  tokens: number,
  media: ReadonlyMap<string, Tensor>,
): Tensor {
  const { spec, encoder, interpreter } = options;
  const rows = encoder === null ? spec.batchSize * spec.beams : spec.batchSize;
  const query = tokenIds(torch, rows, encoder === null ? tokens : spec.promptLength);
  const start = encoder === null ? [] : [tokenIds(torch, rows, tokens)];
  // A view of the positions that are booked beside the ids.
  const positions = hostTensor(torch.ledger, [rows, tokens], "int64");
  torch.kind = "activations";
  torch.autocastEnabled = options.autocast !== null;
  torch.autocastDtype = options.autocast;
  // A view of the mask that is booked with the prompts; earlier releases' models read it themselves.
  const mask = hostTensor(torch.ledger, [rows, tokens], "int64");
  const named = new Map([...media, [MASK, mask]]);
  const forward = interpreter(tokens);
  let logits = turns.forward({
    stacks: forward.stacks,
    run: () => forward.nextToken([query, ...start], positions, named),
    foldings: () => forward.foldings,
  });
  torch.autocastEnabled = false;
  torch.clearCastCache();
  for (const tensor of [query, ...start, positions, mask]) tensor.release();
  if (options.autocast !== null && isFloating(logits.dtype) && logits.dtype !== "float32") {
    const converted = torch.toCopy(logits, "float32");
    logits.release();
    logits = converted;
  }
  torch.logits = false;
  return logits;
}

/** One float32 number per word of the vocabulary for every sequence. */
function scoresOf(torch: Torch, { spec, vocabulary }: GenerationOptions, operator: string): Tensor {
  const { logits } = torch;
  torch.logits = true;
  const made = torch.empty(operator, [spec.batchSize * spec.beams, vocabulary], "float32");
  torch.logits = logits;
  return made;
}

/** Scores of the next token in float32, and what choosing makes of them; the step before's go as the new ones come. */
function select(torch: Torch, options: GenerationOptions, before: readonly Tensor[]): Tensor[] {
  const { spec } = options;
  const scores = (operator: string): Tensor => scoresOf(torch, options, operator);
  const made = [scores("_to_copy")];
  for (const tensor of before) tensor.release();
  if (spec.beams > 1) {
    // The scores become log-probabilities, to which the beams' running scores are added.
    made.push(scores("log_softmax"), scores("add"));
    made.shift()!.release();
  }
  if (spec.samples) made.push(scores("softmax"));
  return made;
}

/** Ids, masks or positions: one integer per token. */
function tokenIds(torch: Torch, rows: number, tokens: number): Tensor {
  return torch.empty("cat", [rows, tokens], "int64");
}
