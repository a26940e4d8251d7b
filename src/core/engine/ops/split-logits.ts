/**
 * The loss over rows of logits of which every GPU has a part. Source: torch/distributed/tensor/parallel/loss.py (`_log_softmax`,
 * `_nll_loss_and_log_softmax_backward`; what is as small as the labels is left out).
 */
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise } from "./arithmetic";

/** `cross_entropy` under `loss_parallel`: its gradient is made whole steps at a time, each as large as the logits. */
export function splitCrossEntropy(
  torch: Torch,
  input: Tensor,
  target: Tensor,
  reduction: "none" | "mean" | "sum",
): Tensor {
  const node = torch.record("NllLossBackward0", [input], (torch, [gradient], [logs]) => [
    gradient ? splitGradient(torch, logs!) : null,
  ]);
  const shifted = elementwise(torch, "sub", [input]);
  const powers = elementwise(torch, "exp", [shifted]);
  powers.release();
  const logs = elementwise(torch, "sub", [shifted]);
  shifted.release();
  if (node !== null) for (const tensor of [logs, target]) torch.save(node, tensor);
  logs.release();
  return torch.attach(node, torch.empty("nll_loss_forward", reduction === "none" ? target.sizes : [], input.dtype));
}

/** `(grad_input + torch.exp(x)) * grad_output`, `grad_input` being zeros but for the labels. */
function splitGradient(torch: Torch, logs: Tensor): Tensor {
  const picked = elementwise(torch, "zeros_like", [logs]);
  const powers = elementwise(torch, "exp", [logs]);
  const sum = elementwise(torch, "add", [picked, powers]);
  powers.release();
  const out = elementwise(torch, "mul", [sum]);
  for (const tensor of [sum, picked]) tensor.release();
  return out;
}
