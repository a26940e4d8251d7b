/** Losses, and what trainers compute of logits. */

import { table } from "../../../../terms/table";
import type { Tensor } from "../../tensor";
import type { Torch } from "../../torch";
import type { Arguments, Rule } from "../arguments";
import { crossEntropyByRows, crossEntropyOfPieces, pieceLoss } from "../chunked-loss";
import * as liger from "../liger";
import { entropyFromLogits, klDivergence, logSumExp, selectiveLogSoftmax } from "../log-probs";
import * as losses from "../losses";
import * as sound from "../sound";
import * as trl from "../trl";

const REDUCTIONS = ["none", "mean", "sum"] as const;

function crossEntropy(torch: Torch, args: Arguments): Tensor {
  const reduction = REDUCTIONS[args.number(3, 1, "reduction")] ?? "mean";
  return losses.crossEntropy(torch, args.tensor(0), args.tensor(1), reduction, args.number(5, 0, "label_smoothing"));
}

export const LOSSES: Readonly<Record<string, Rule>> = table({
  liger_fused_linear_cross_entropy: (t, a) =>
    liger.fusedLinearCrossEntropy(t, a.tensor(0), a.tensor(1), a.number(3, 0) || undefined),
  piece_cross_entropy: (t, a) => pieceLoss(t, a.tensor(0), a.tensor(1), a.flag(2)),
  // The loop's name of the logits is bound before it takes the loss of them.
  loop_binds: (t) => {
    t.rebinds?.();
    return [];
  },
  cross_entropy_by_rows: (t, a) => crossEntropyByRows(t, a.tensor(0), a.tensor(1), a.number(2, 128)),
  cross_entropy_of_pieces: (t, a) => crossEntropyOfPieces(t, a.tensor(0), a.tensor(1), a.number(2, 8)),
  trl_chunked_log_probs: (t, a) =>
    trl.chunkedLogProbs(
      t,
      a.tensor(0),
      { weight: a.tensor(1), bias: a.maybeTensor(2) },
      a.tensor(3),
      a.number(4, 0),
      String(a.get(5)).split(","),
    ),
  trl_advantages: (t, a) => trl.advantages(t, a.tensor(0)),
  trl_logprob_entropy: (t, a) => trl.logProbEntropy(t, a.tensor(0), a.tensor(1)),
  logsumexp: (t, a) => logSumExp(t, a.tensor(0), a.numbers(1)[0], a.flag(2, "keepdim")),
  kl_div: (t, a) => klDivergence(t, a.tensor(0), a.tensor(1)),
  flash_log_probs: (t, a) => trl.flashLogProbs(t, a.tensor(0), a.tensor(1), a.flag(2, "inplace_backward")),
  compiled_entropy: (t, a) => trl.compiledEntropy(t, a.tensor(0)),
  trl_selective_log_softmax: (t, a) => selectiveLogSoftmax(t, a.tensor(0), a.tensor(1)),
  trl_entropy_from_logits: (t, a) => entropyFromLogits(t, a.tensor(0)),
  cross_entropy_loss: crossEntropy,
  nll_loss_nd: (t, a) => losses.nllLoss(t, a.tensor(0), a.tensor(1), "mean"),
  nll_loss: (t, a) => losses.nllLoss(t, a.tensor(0), a.tensor(1), "mean"),
  l1_loss: (t, a) => losses.absoluteLoss(t, a.tensor(0), a.tensor(1), a.number(2, 1) !== 0),
  mse_loss: (t, a) => losses.elementwiseLoss(t, "mse_loss", a.tensor(0), a.tensor(1)),
  binary_cross_entropy_with_logits: (t, a) =>
    losses.elementwiseLoss(t, "binary_cross_entropy_with_logits", a.tensor(0), a.tensor(1), a.number(4, 1) !== 0),
  ctc_loss: (t, a) => sound.ctcLoss(t, a.tensor(0), a.tensor(1), a.get(2) === "mean" ? "mean" : "sum"),
});
