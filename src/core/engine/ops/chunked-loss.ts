/**
 * Cross-entropy over pieces of every sequence (`graph/chunked-loss.ts` cuts them).
 * Sources: torchtune/modules/loss/{ce_chunked_output_loss,cross_entropy_loss}.py, torchtune/modules/transformer.py
 * (chunked_output), torch/_functorch/partitioners.py (the logits are a matrix product's result, which is not recomputed).
 */
import { piecesOf } from "../pieces";
import { numel } from "../shape";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { add, sum } from "./arithmetic";
import { cat, reshape, split } from "./layout";
import { crossEntropy } from "./losses";

/** Loss of one piece: eager code raises the logits to float32 and keeps their log-softmax. */
export function pieceLoss(
  torch: Torch,
  logits: Tensor,
  labels: Tensor,
  compiled: boolean,
  targets: readonly Tensor[] = [],
): Tensor {
  const rows = numel(logits.sizes) / logits.size(-1);
  if (!compiled) {
    const raised = logits.dtype === "float32" ? logits.retain() : torch.toCopy(logits, "float32");
    const flat = reshape(torch, raised, [rows, logits.size(-1)]);
    raised.release();
    // Labels of a piece of several sequences do not lie together.
    const spread = logits.rank > 2 && logits.size(0) > 1;
    const target = spread ? torch.empty("clone", [rows], "int64") : labels.retain();
    const loss = crossEntropy(torch, flat, target, "sum", 0);
    target.release();
    flat.release();
    return loss;
  }
  const { sizes, dtype } = logits;
  const node = torch.record("CompiledFunctionBackward", [logits], (torch, [gradient]) => [
    gradient ? torch.empty("cross_entropy_backward", sizes, dtype) : null,
  ]);
  const sums = torch.empty("logsumexp", [rows], "float32");
  if (node !== null) for (const tensor of [logits, sums, ...targets]) torch.save(node, tensor);
  sums.release();
  return torch.attach(node, torch.empty("nll_loss_forward", [], "float32"));
}

/**
 * The loss of pieces of whole logits, with `chunk`'s lengths: pieces of several sequences are copied to lie row by row, and
 * their gradients wait for one another until the logits' own is put together from them.
 * Source: axolotl/monkeypatch/loss/chunked.py (for_causal_lm_chunked_loss), whose loss of a piece is compiled.
 */
export function crossEntropyOfPieces(torch: Torch, logits: Tensor, labels: Tensor, chunks: number): Tensor {
  const length = logits.size(-2);
  const size = Math.ceil(length / Math.max(1, chunks));
  const sizes = piecesOf(torch, length, size);
  const pieces = split(torch, logits, sizes, logits.rank - 2);
  const rows = pieces.map((piece) => reshape(torch, piece, [-1, logits.size(-1)]));
  let total: Tensor | null = null;
  for (const piece of rows) {
    // So do the labels of a piece, which the compiled loss keeps.
    const spread = logits.rank > 2 && logits.size(0) > 1;
    const target = spread ? torch.empty("clone", [piece.size(0)], "int64") : labels.retain();
    const loss = pieceLoss(torch, piece, labels, true, [target]);
    target.release();
    const sum: Tensor = total === null ? loss.retain() : add(torch, total, loss);
    total?.release();
    loss.release();
    total = sum;
  }
  for (const tensor of [...rows, ...pieces]) tensor.release();
  return total ?? torch.empty("zeros", [], "float32");
}

/** The loss of so many rows of logits at a time, one number a row; litgpt/utils.py (chunked_cross_entropy). */
export function crossEntropyByRows(torch: Torch, logits: Tensor, labels: Tensor, rows: number): Tensor {
  const length = logits.size(0);
  const sizes = piecesOf(torch, length, rows);
  const pieces = split(torch, logits, sizes, 0);
  const targets = split(torch, labels, sizes, 0);
  const losses = pieces.map((piece, k) => crossEntropy(torch, piece, targets[k]!, "none", 0));
  const all = cat(torch, losses, 0);
  const total = sum(torch, all, [0]);
  for (const tensor of [...losses, ...pieces, ...targets, all]) tensor.release();
  return total;
}
