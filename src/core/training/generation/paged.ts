/**
 * The paged key-value cache of transformers' continuous batching: blocks for as many tokens as fit into a share of what the
 * card has left, made before the first token. Source: transformers/generation/continuous_batching/cache.py
 * (group_layers_by_attn_type, PagedAttentionMemoryHandler: activation_peak, _equation_coefficients).
 */
import type { Torch } from "../../engine/torch";
import type { PagedSpec } from "../run";

/** Sizes of the model and of the machine that the handler asks for. */
export interface PagedModel {
  readonly layers: number;
  readonly hidden: number;
  readonly vocabulary: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headWidth: number;
  /** Bytes of an element of cache and activations. */
  readonly elementBytes: number;
  /** Layers of each kind of attention. */
  readonly kinds: readonly number[];
  /** Flash attention takes no mask. */
  readonly masks: number;
}

export const PAGED_DEFAULTS: PagedSpec = { blockTokens: 256, share: 0.9, blocks: null, batchTokens: null };

/** Tokens that a forward takes where nothing is said: at most, at least, and no more than so much of the cache. */
const BATCH_TOKENS = 8192;
const FEWEST_TOKENS = 256;
const CACHE_SHARE = 0.1;
/** Blocks of one sequence in the table of blocks. */
const BLOCKS_PER_REQUEST = 32;
/** Float32 logits. */
const LOGIT_BYTES = 4;
const INT = 4;
const INDEX = 8;
/** Rows of integers for a token of the batch: packed inputs and the chosen ids. */
const ROWS = 8;

export interface PagedPool {
  readonly cacheBytes: number;
  /** Static inputs, indices and masks beside it. */
  readonly staticBytes: number;
  /** What a forward holds at its peak. */
  readonly activationBytes: number;
}

/** @param available bytes of the card that are not reserved; null: nobody knows, and only what `tokens` need is taken */
export function pagedPool(model: PagedModel, spec: PagedSpec, available: number | null, tokens: number): PagedPool {
  const { elementBytes: size, masks } = model;
  const groupLayers = model.kinds.reduce(commonDivisor, 0) || model.layers;
  const groups = model.layers / groupLayers;
  const page = model.keyValueHeads * model.headWidth;
  const perToken = ROWS * INT + groups * (BLOCKS_PER_REQUEST * INT + 2 * INDEX);
  const perPage = 2 * groupLayers * page * size + groups * INDEX;
  // Where hidden states become logits, and where attention reads all that is cached.
  const peaks = [
    { perToken: model.hidden * size + model.vocabulary * LOGIT_BYTES, perPage: 0 },
    { perToken: size * (model.hidden + model.heads * model.headWidth + 2 * page), perPage: 2 * page * size },
  ];
  const mask = masks * size;
  const batch =
    spec.batchTokens ??
    defaultBatch(
      available === null ? null : available * spec.share,
      mask,
      peaks.map((peak) => [perToken + peak.perToken, perPage + peak.perPage]),
    );
  const pagesFor = (bytes: number): number =>
    Math.min(
      ...peaks.map((peak) =>
        Math.floor(
          (bytes - (perToken + peak.perToken) * batch - mask * batch * batch) / (perPage + peak.perPage + mask * batch),
        ),
      ),
    );
  const { blockTokens } = spec;
  const wanted =
    spec.blocks ??
    (available === null
      ? groups * Math.ceil(tokens / blockTokens)
      : Math.floor(Math.max(0, pagesFor(available * spec.share)) / blockTokens));
  const pages = wanted * blockTokens;
  return {
    cacheBytes: 2 * groupLayers * page * size * pages,
    staticBytes: perToken * batch + groups * INDEX * pages + mask * batch * (pages + batch),
    activationBytes: Math.max(...peaks.map((peak) => peak.perToken * batch + peak.perPage * pages)),
  };
}

/** Tokens of a forward where neither they nor the blocks are stated; costs are bytes for each of them and for each page. */
function defaultBatch(bytes: number | null, mask: number, costs: readonly (readonly [number, number])[]): number {
  if (bytes === null) return BATCH_TOKENS;
  const bounds = costs.map(([perToken, perPage]) => {
    const square = mask * CACHE_SHARE * (1 + CACHE_SHARE);
    const linear = perPage + perToken * CACHE_SHARE;
    const pages = square === 0 ? bytes / linear : (Math.sqrt(linear ** 2 + 4 * square * bytes) - linear) / (2 * square);
    return Math.floor(Math.floor(pages) * CACHE_SHARE);
  });
  return Math.max(FEWEST_TOKENS, Math.min(BATCH_TOKENS, ...bounds));
}

/** Books a generation with such a cache on the phase in force. @returns bytes of the cache */
export function runPaged(torch: Torch, { cacheBytes, staticBytes, activationBytes }: PagedPool): number {
  torch.kind = "activations";
  const made = [cacheBytes, staticBytes, activationBytes].map((bytes) => torch.empty("empty", [bytes], "uint8"));
  for (const tensor of made) tensor.release();
  return cacheBytes;
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
