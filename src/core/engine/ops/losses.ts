/** Losses over classes, elements and distances. Sources: derivatives.yaml; aten/src/ATen/native/LossNLL.cpp. */
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, mean, sub, unary } from "./arithmetic";
import { softmax } from "./nonlinear";

/** `nll_loss` over rows: the loss and the total weight; the gradient is as large as the log-probabilities. */
export function nllLoss(torch: Torch, input: Tensor, target: Tensor, reduction: "none" | "mean" | "sum"): Tensor {
  const operator = input.rank === 4 ? "nll_loss2d" : "nll_loss";
  const x = torch.autocasting ? torch.autocast(input, "float32") : input.retain();
  const node = torch.record("NllLossBackward0", [x], (torch, [gradient], [self]) => [
    gradient ? torch.empty(`${operator}_backward`, self!.sizes, self!.dtype) : null,
  ]);
  if (node !== null) for (const tensor of [x, target]) torch.save(node, tensor);
  const sizes = reduction === "none" ? target.sizes : [];
  const out = torch.attach(node, torch.empty(`${operator}_forward`, sizes, x.dtype));
  const total = torch.empty(`${operator}_forward`, [], x.dtype);
  if (node !== null) torch.saveOutput(node, total);
  total.release();
  x.release();
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
  // The dtype is passed on explicitly, so autocast leaves this log-softmax as it is.
  const logs = softmax(torch, input, input.dtype, true);
  const loss = nllLoss(torch, logs, target, reduction);
  if (smoothing === 0) {
    logs.release();
    return loss;
  }
  // smooth loss: -log_probs.sum(dim), masked, reduced, mixed with the label loss
  const node = torch.record("SmoothLossBackward0", [logs, loss], (torch, [gradient], _, node) => {
    if (!gradient) return [null, null];
    const wide = node.edges[0] ? torch.empty("mul", logs.sizes, gradient.dtype) : null;
    return [wide, node.edges[1] ? elementwise(torch, "mul", [gradient]) : null];
  });
  const sums = torch.empty("sum", [logs.size(0)], logs.dtype);
  const out = torch.attach(node, torch.empty("add", loss.sizes, loss.dtype));
  for (const tensor of [sums, logs, loss]) tensor.release();
  return out;
}

const LOGITS_LOSS = "binary_cross_entropy_with_logits";

/** `binary_cross_entropy_with_logits` and `mse_loss`: elementwise losses, their result reduced or not. */
export function elementwiseLoss(torch: Torch, operator: string, input: Tensor, target: Tensor, reduces = true): Tensor {
  const x = torch.autocasting ? torch.autocast(input, "float32") : input.retain();
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
  if (node !== null) for (const tensor of [x, target]) torch.save(node, tensor);
  const out = torch.attach(node, torch.empty(operator, reduces ? [] : x.sizes, x.dtype));
  x.release();
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
