/**
 * What models of pictures and text do beside plain layers. Sources: derivatives.yaml (upsample_bilinear2d, grid_sampler_2d);
 * transformers/integrations/sdpa_attention.py and the vision attention of transformers/models/qwen2_5_vl.
 */
import { piecesOf, repeated } from "../pieces";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { mul } from "./arithmetic";
import { attention } from "./attention";
import { cat, contiguous, expand, reshape, split, transpose, unbind, unsqueeze } from "./layout";
import { matmul } from "./linear";
import { softmax } from "./nonlinear";

/** Rows taken apart, one part per picture, and put together again. */
export function splitCat(torch: Torch, self: Tensor, parts: number): Tensor {
  const views = split(torch, self, equalParts(torch, self.size(0), parts), 0);
  const out = cat(torch, views, 0);
  for (const view of views) view.release();
  return out;
}

/**
 * Rows of one picture among those that stand behind each other: the view that `split` hands out, made with its first. Their
 * gradients are put together once, when all are there (SplitBackward0). Python keeps the views until the last is used.
 */
export function picturePart(torch: Torch, self: Tensor, length: number, index: number, dim = 0): Tensor {
  const count = Math.floor(self.size(dim) / length);
  const lengths = repeated(torch, count, () => length);
  return nextPart(torch, self, index, count, () => split(torch, self, lengths, dim));
}

/** One of `count` views that are made with the first of them and let go of with the last. */
export function nextPart(
  torch: Torch,
  self: Tensor,
  index: number,
  count: number,
  parts: () => readonly Tensor[],
): Tensor {
  const views = (index > 0 ? torch.parts.get(self) : undefined) ?? parts();
  const own = views[index]!.retain();
  if (index + 1 < count) torch.parts.set(self, views);
  else {
    torch.parts.delete(self);
    for (const view of views) view.release();
  }
  return own;
}

/** One part per picture, put together along the next dimension. */
export function unbindCat(torch: Torch, self: Tensor): Tensor {
  const views = unbind(torch, self, 0);
  const out = cat(torch, views, 0);
  for (const view of views) view.release();
  return out;
}

function equalParts(torch: Torch, size: number, parts: number): number[] {
  const each = Math.floor(size / parts);
  return repeated(torch, parts, (k) => (k + 1 < parts ? each : size - each * (parts - 1)));
}

/** Square pictures, and the windows they are cut into. */
interface Windows {
  readonly patches: number;
  readonly pictures: number;
  readonly window: number;
  readonly merge: number;
}

/** Patches in each window of square pictures: `window` tokens a side, `merge` patches a side to a token, less at the edges. */
function windowParts(torch: Torch, { patches, pictures, window, merge }: Windows): number[] {
  const tokens = Math.round(Math.sqrt(patches / pictures)) / merge;
  const sides = piecesOf(torch, tokens, window);
  torch.ledger.checkAllocations(pictures * sides.length ** 2);
  const one = sides.flatMap((a) => sides.map((b) => a * b * merge * merge));
  return repeated(torch, pictures, () => one).flat();
}

/** Frames in each window of recordings of like length, less in the last of each (`get_audio_cu_seqlens` of modeling_qwen3_asr.py). */
function stretchParts(torch: Torch, frames: number, recordings: number, window: number): number[] {
  const one = piecesOf(torch, Math.floor(frames / recordings), window);
  torch.ledger.checkAllocations(recordings * one.length);
  return repeated(torch, recordings, () => one).flat();
}

/** How patches attend: whole pictures (`window` 0) or windows of them, each for itself. */
export interface PictureAttention {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly pictures: number;
  readonly window: number;
  readonly merge: number;
  /** Recordings in place of pictures: windows of frames that follow each other. */
  readonly heard?: boolean;
  /** The code of the model in place of a fused kernel. */
  readonly eager?: boolean;
}

function partsOf(torch: Torch, patches: number, { pictures, window, merge, heard }: PictureAttention): number[] {
  if (heard) return stretchParts(torch, patches, pictures, window);
  return window > 0 ? windowParts(torch, { patches, pictures, window, merge }) : equalParts(torch, patches, pictures);
}

/** Attention of one part. */
type PartAttention = (torch: Torch, query: Tensor, key: Tensor, value: Tensor) => Tensor;

const fused: PartAttention = (torch, query, key, value) =>
  attention(torch, {
    query,
    key,
    value,
    mask: null,
    dropout: 0,
    causal: false,
    // heads that share keys (`use_gqa_in_sdpa` of transformers/integrations/sdpa_attention.py)
    groupedQuery: query.size(1) !== key.size(1),
  });

/** A copy for every head of those that share it (`repeat_kv`). */
function forEveryHead(torch: Torch, shared: Tensor, heads: number): Tensor {
  const [rows = 1, own = 1, length = 1, width = 1] = shared.sizes;
  if (own === heads) return shared.retain();
  const apart = unsqueeze(torch, shared, 2);
  const wide = expand(torch, apart, [rows, own, heads / own, length, width]);
  const repeated = reshape(torch, wide, [rows, heads, length, width]);
  for (const tensor of [apart, wide]) tensor.release();
  return repeated;
}

/**
 * `eager_attention_forward` without a mask (transformers/models/qwen2_vl/modeling_qwen2_vl.py): the scores are scaled, made
 * probabilities in float32 and brought back to the dtype of the queries.
 */
const eager: PartAttention = (torch, query, key, value) => {
  const keys = forEveryHead(torch, key, query.size(1));
  const values = forEveryHead(torch, value, query.size(1));
  const turned = transpose(torch, keys, 2, 3);
  const product = matmul(torch, query, turned);
  const scores = mul(torch, product, 1);
  product.release();
  const probabilities = softmax(torch, scores, "float32");
  const weights =
    probabilities.dtype === query.dtype ? probabilities.retain() : torch.toCopy(probabilities, query.dtype);
  for (const tensor of [scores, probabilities]) tensor.release();
  const out = matmul(torch, weights, values);
  for (const tensor of [weights, turned, keys, values]) tensor.release();
  return out;
};

/** Attention over (1, heads, patches, width), one part after the other; the outputs are put together. */
export function attentionByParts(torch: Torch, operands: PictureAttention): Tensor {
  const { query, key, value } = operands;
  const lengths = partsOf(torch, query.size(2), operands);
  const [queries, keys, values] = [query, key, value].map((tensor) => split(torch, tensor, lengths, 2));
  const attend = operands.eager ? eager : fused;
  const outputs = lengths.map((_, k) => {
    const out = attend(torch, queries![k]!, keys![k]!, values![k]!);
    const turned = transpose(torch, out, 1, 2);
    out.release();
    const dense = contiguous(torch, turned);
    turned.release();
    return dense;
  });
  const joined = cat(torch, outputs, 1);
  for (const tensor of [...queries!, ...keys!, ...values!, ...outputs]) tensor.release();
  return joined;
}

/**
 * Interpolation of a picture's or a row's values: backward needs the sizes only (derivatives.yaml); float32 under autocast
 * (aten/src/ATen/autocast_mode.h lists every kind).
 */
export function interpolate(
  torch: Torch,
  input: Tensor,
  target: readonly number[],
  operator = "upsample_bilinear2d",
): Tensor {
  const x = torch.autocasting ? torch.autocast(input, "float32") : input.retain();
  const { sizes } = x;
  const node = torch.record("UpsampleBackward0", [x], (torch, [gradient]) => [
    gradient ? torch.empty(`${operator}_backward`, sizes, gradient.dtype) : null,
  ]);
  const out = torch.attach(node, torch.empty(operator, [...sizes.slice(0, 2), ...target], x.dtype));
  x.release();
  return out;
}

/**
 * `upsample_nearest*d.vec` (aten/native/UpSample.h, compute_output_size): nothing is kept; float32 under autocast (aten/autocast_mode.h).
 *
 * @param target the sides, or none where `scales` says how many times as long each becomes
 */
export function repeatNearest(
  torch: Torch,
  input: Tensor,
  target: readonly number[],
  scales: readonly number[],
  operator: string,
): Tensor {
  const x = torch.autocasting ? torch.autocast(input, "float32") : input.retain();
  const { sizes } = x;
  const sides = target.length > 0 ? target : sizes.slice(2).map((size, k) => Math.floor(size * (scales[k] ?? 1)));
  const node = torch.record("UpsampleBackward0", [x], (torch, [gradient]) => [
    gradient ? torch.empty(`${operator}_backward`, sizes, gradient.dtype) : null,
  ]);
  const out = torch.attach(node, torch.empty(operator, [...sizes.slice(0, 2), ...sides], x.dtype));
  x.release();
  return out;
}

/**
 * `grid_sampler` of pictures (aten/src/ATen/native/cuda/GridSampler.cpp): keeps the picture and the places; its backward makes
 * a gradient of the places whether anyone asks for it or not.
 */
export function sampleAtPlaces(torch: Torch, input: Tensor, places: Tensor): Tensor {
  const node = torch.record("GridSampler2DBackward0", [input, places], (torch, [gradient], [self, grid]) => {
    if (!gradient) return [null, null];
    const ofInput = torch.empty("grid_sampler_2d_backward", self!.sizes, gradient.dtype);
    torch.empty("grid_sampler_2d_backward", grid!.sizes, grid!.dtype).release();
    return [ofInput, null];
  });
  if (node !== null) {
    torch.save(node, input);
    torch.save(node, places);
  }
  const sizes = [...input.sizes.slice(0, 2), ...places.sizes.slice(1, 3)];
  return torch.attach(node, torch.empty("grid_sampler_2d", sizes, input.dtype));
}
