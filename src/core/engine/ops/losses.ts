/** Losses over classes, elements and distances. Sources: derivatives.yaml; aten/src/ATen/native/LossNLL.cpp. */
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { add, div, elementwise, mean, mul, sub, sum } from "./arithmetic";
import { contiguous } from "./layout";
import { softmax } from "./nonlinear";
import { splitCrossEntropy } from "./split-logits";
import { unary } from "./unary";

/**
 * `nll_loss` over rows: the loss and the total weight; the gradient is as large as the log-probabilities. Of three dimensions, or more than
 * four, both are made contiguous and seen as pictures of one row (LossNLL.cpp, `nll_loss_nd`).
 */
export function nllLoss(torch: Torch, input: Tensor, target: Tensor, reduction: "none" | "mean" | "sum"): Tensor {
  const [logs, labels] =
    input.rank < 3 || input.rank === 4
      ? [input.retain(), target.retain()]
      : [contiguous(torch, input), contiguous(torch, target)];
  const operator = input.rank < 3 ? "nll_loss" : "nll_loss2d";
  const x = torch.autocasting ? torch.autocast(logs, "float32") : logs.retain();
  const node = torch.record("NllLossBackward0", [x], (torch, [gradient], [self]) => [
    gradient ? torch.empty(`${operator}_backward`, self!.sizes, self!.dtype) : null,
  ]);
  if (node !== null) for (const tensor of [x, labels]) torch.save(node, tensor);
  const sizes = reduction === "none" ? target.sizes : [];
  const out = torch.attach(node, torch.empty(`${operator}_forward`, sizes, x.dtype));
  const total = torch.empty(`${operator}_forward`, [], x.dtype);
  if (node !== null) torch.saveOutput(node, total);
  for (const tensor of [total, x, logs, labels]) tensor.release();
  return out;
}

/** `cross_entropy_loss` with class indices: log-softmax over dimension 1 (0 for one row), then `nll_loss`. */
export function crossEntropy(
  torch: Torch,
  input: Tensor,
  target: Tensor,
  reduction: "none" | "mean" | "sum",
  smoothing: number,
): Tensor {
  if (torch.splitsLogits && smoothing === 0) return splitCrossEntropy(torch, input, target, reduction);
  // The dtype is passed on explicitly, so autocast leaves this log-softmax as it is.
  const logs = softmax(torch, input, input.dtype, true);
  const loss = nllLoss(torch, logs, target, reduction);
  if (smoothing === 0) {
    logs.release();
    return loss;
  }
  // The logarithms' sum over the classes, as large as the labels: its gradient is a view (cross_entropy_loss_label_smoothing).
  const sums = sum(torch, logs, [logs.rank === 1 ? 0 : 1]);
  logs.release();
  const negative = unary(torch, "neg", sums);
  const smooth = reduction === "none" ? negative.retain() : sum(torch, negative, []);
  const shared = reduction === "mean" ? div(torch, smooth, 1) : smooth.retain();
  const [first, second] = [mul(torch, shared, smoothing), mul(torch, loss, 1 - smoothing)];
  const out = add(torch, first, second);
  for (const tensor of [sums, negative, smooth, shared, loss, first, second]) tensor.release();
  return out;
}

const LOGITS_LOSS = "binary_cross_entropy_with_logits";

/**
 * `binary_cross_entropy_with_logits` and `mse_loss`: elementwise losses, their result reduced or not. Autocast takes the input and
 * what it is compared with in float32 (aten/src/ATen/autocast_mode.h, AT_FORALL_FP32), and both are kept.
 */
export function elementwiseLoss(torch: Torch, operator: string, input: Tensor, target: Tensor, reduces = true): Tensor {
  const cast = torch.autocasting ? torch.castAll("float32", input, target) : [input.retain(), target.retain()];
  const [x, y] = [cast[0]!, cast[1]!];
  const node = torch.record("ElementwiseLossBackward0", [x], (torch, [gradient], [self]) => {
    if (!gradient) return [null];
    if (operator !== LOGITS_LOSS) return [elementwise(torch, `${operator}_backward`, [self!])];
    // (sigmoid(input) - target) * grad (FunctionsManual.cpp, binary_cross_entropy_with_logits_backward)
    const sigmoid = elementwise(torch, "sigmoid", [self!]);
    const difference = elementwise(torch, "sub", [sigmoid]);
    sigmoid.release();
    const out = elementwise(torch, "mul", [difference]);
    difference.release();
    return [out];
  });
  if (node !== null) for (const tensor of [x, y]) torch.save(node, tensor);
  const out = torch.attach(node, torch.empty(operator, reduces ? [] : x.sizes, x.dtype));
  for (const tensor of [x, y]) tensor.release();
  return out;
}

/** `l1_loss`, in float32 under autocast: the difference's absolute value, reduced or not (aten/src/ATen/native/Loss.cpp). */
export function absoluteLoss(torch: Torch, input: Tensor, target: Tensor, reduces: boolean): Tensor {
  const [x, y] = torch.autocasting ? torch.castAll("float32", input, target) : [input.retain(), target.retain()];
  const difference = sub(torch, x!, y!);
  const distance = unary(torch, "abs", difference);
  const out = reduces ? mean(torch, distance, []) : distance.retain();
  for (const tensor of [x, y, difference, distance]) tensor?.release();
  return out;
}
