/**
 * Log-probabilities and entropies of whole logits, sequence by sequence, as TRL took them before its fused head. Source:
 * trl/trainer/utils.py (selective_log_softmax, entropy_from_logits) of 0.20 to 1.13. What divergences of them need, too.
 */
import { piecesOf } from "../pieces";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, mul, product, sub, sum } from "./arithmetic";
import { gatherLike } from "./gathering";
import { cat, reshape, split, squeeze, stack, unbind, unsqueeze } from "./layout";
import { softmax } from "./nonlinear";
import { unary } from "./unary";

/** Rows of the vocabulary whose entropy is taken at once. */
const ENTROPY_ROWS = 128;

/**
 * `logsumexp` over one dimension, in float32 under autocast. Sources: aten/native/ReduceOps.cpp (logsumexp_out_impl),
 * torch/csrc/autograd/FunctionsManual.cpp (logsumexp_backward), aten/autocast_mode.h (AT_FORALL_FP32).
 */
export function logSumExp(torch: Torch, given: Tensor, dim = -1, keepsDim = false): Tensor {
  const input = torch.autocasting ? torch.autocast(given, "float32") : given.retain();
  const over = dim < 0 ? dim + input.rank : dim;
  const kept = input.sizes.map((size, k) => (k === over ? 1 : size));
  const reduced = keepsDim ? kept : input.sizes.filter((_, k) => k !== over);
  const node = torch.record("LogsumexpBackward0", [input], (torch, [gradient], [self, result]) => {
    if (!gradient || self === undefined || result === undefined) return [null];
    const widened = (tensor: Tensor): Tensor => (keepsDim ? tensor.retain() : unsqueeze(torch, tensor, over));
    const wide = widened(result);
    const shifted = elementwise(torch, "sub", [self, wide]);
    const probabilities = elementwise(torch, "exp", [shifted]);
    const grown = widened(gradient);
    const out = product(torch, grown, probabilities);
    for (const tensor of [wide, shifted, probabilities, grown]) tensor.release();
    return [out];
  });
  if (node !== null) torch.save(node, input);
  const maxima = torch.empty("amax", kept, input.dtype);
  const absolute = torch.empty("abs", kept, input.dtype);
  const infinite = torch.empty("eq", kept, "bool");
  absolute.release();
  infinite.release();
  const shifted = elementwise(torch, "sub", [input, maxima]);
  const out = torch.attach(node, torch.empty("logsumexp", reduced, input.dtype));
  shifted.release();
  maxima.release();
  if (node !== null) torch.saveOutput(node, out);
  input.release();
  return out;
}

/** `kl_div` of logarithms without a reduction: `target.exp() * (target - input)` (aten/native/Loss.cpp). */
export function klDivergence(torch: Torch, input: Tensor, target: Tensor): Tensor {
  const probabilities = unary(torch, "exp", target);
  const difference = sub(torch, target, input);
  const out = mul(torch, probabilities, difference);
  free(probabilities, difference);
  return out;
}

/** Releases tensors that a Python list or name let go of. */
function free(...tensors: readonly Tensor[]): void {
  for (const tensor of tensors) tensor.release();
}

/** `selective_log_softmax`: float32 logits through `logsumexp`, others through a whole `log_softmax` of each sequence. */
export function selectiveLogSoftmax(torch: Torch, logits: Tensor, index: Tensor): Tensor {
  const wide = unsqueeze(torch, index, -1);
  if (logits.dtype === "float32") {
    const selected = gatherLike(torch, "gather", logits, [wide], wide.sizes);
    const rows = unbind(torch, logits, 0);
    const sums = rows.map((row) => logSumExp(torch, row));
    free(...rows);
    const stacked = stack(torch, sums, 0);
    free(...sums);
    const grown = unsqueeze(torch, stacked, -1);
    const difference = sub(torch, selected, grown);
    const out = squeeze(torch, difference, [-1]);
    free(wide, selected, stacked, grown, difference);
    return out;
  }
  const rows = unbind(torch, logits, 0);
  const labels = unbind(torch, wide, 0);
  let before: Tensor | null = null;
  const picked = rows.map((row, k) => {
    const logProbs = softmax(torch, row, null, true);
    before?.release();
    before = logProbs;
    return gatherLike(torch, "gather", logProbs, [labels[k]!], labels[k]!.sizes);
  });
  const stacked = stack(torch, picked, 0);
  (before as Tensor | null)?.release();
  const out = squeeze(torch, stacked, [-1]);
  free(wide, ...rows, ...labels, ...picked, stacked);
  return out;
}

/** `entropy_from_logits`: flattened (a copy where the logits were sliced), then a piece of the tokens after the other. */
export function entropyFromLogits(torch: Torch, logits: Tensor): Tensor {
  const flat = reshape(torch, logits, [-1, logits.size(-1)]);
  const total = flat.size(0);
  const chunks = split(torch, flat, piecesOf(torch, total, ENTROPY_ROWS), 0);
  let before: Tensor | null = null;
  const entropies = chunks.map((chunk) => {
    const logProbs = softmax(torch, chunk, null, true);
    before?.release();
    before = logProbs;
    const probabilities = unary(torch, "exp", logProbs);
    const weighted = mul(torch, probabilities, logProbs);
    free(probabilities);
    const summed = sum(torch, weighted, [-1]);
    free(weighted);
    const entropy = unary(torch, "neg", summed);
    free(summed);
    return entropy;
  });
  const joined = cat(torch, entropies, 0);
  (before as Tensor | null)?.release();
  free(...entropies);
  const out = reshape(torch, joined, logits.sizes.slice(0, -1));
  free(...chunks, flat, joined);
  return out;
}
