/**
 * What encoders of sound use beside plain layers. Sources: aten/src/ATen/native/{WeightNorm.cpp,LossCTC.cpp,
 * cuda/LossCTC.cu}; derivatives.yaml (_weight_norm_interface, _ctc_loss).
 */
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { div, mean } from "./arithmetic";

/** `_weight_norm` over the first or last dimension: direction times magnitude in one kernel, which keeps the norms (float32). */
export function weightNorm(torch: Torch, direction: Tensor, magnitude: Tensor): Tensor {
  const operator = "_weight_norm_interface";
  const node = torch.record(
    "WeightNormInterfaceBackward0",
    [direction, magnitude],
    (torch, [gradient], [g, v], node) => {
      if (!gradient) return [null, null];
      const like = ({ sizes, dtype }: Tensor): Tensor => torch.empty(`${operator}_backward`, sizes, dtype);
      return [node.edges[0] ? like(v!) : null, node.edges[1] ? like(g!) : null];
    },
  );
  if (node !== null) for (const tensor of [magnitude, direction]) torch.save(node, tensor);
  const out = torch.attach(node, torch.empty(operator, direction.sizes, direction.dtype));
  const norms = torch.empty(operator, magnitude.sizes, direction.dtype === "float64" ? "float64" : "float32");
  if (node !== null) torch.saveOutput(node, norms);
  norms.release();
  return out;
}

/**
 * `ctc_loss` with PyTorch's own kernel over log-probabilities of (frames, batch, symbols): two states a label and one more,
 * per frame, once for each direction. Every recording is whole, every label counts.
 */
export function ctcLoss(torch: Torch, logProbabilities: Tensor, targets: Tensor, reduction = "sum"): Tensor {
  const [frames, batch] = logProbabilities.sizes as [number, number, number];
  const states = [batch, frames, 2 * (targets.elements / batch) + 1];
  const { sizes, dtype } = logProbabilities;
  const node = torch.record("CtcLossBackward0", [logProbabilities], (torch, [gradient]) => {
    if (!gradient) return [null];
    const beta = torch.empty("_ctc_loss_backward", states, dtype);
    const out = torch.empty("_ctc_loss_backward", sizes, dtype);
    beta.release();
    return [out];
  });
  if (node !== null) for (const tensor of [logProbabilities, targets]) torch.save(node, tensor);
  const alpha = torch.empty("_ctc_loss", states, dtype);
  const losses = torch.empty("_ctc_loss", [batch], dtype);
  if (node !== null) for (const tensor of [losses, alpha]) torch.saveOutput(node, tensor);
  alpha.release();
  if (reduction === "mean") return meanPerLabel(torch, torch.attach(node, losses));
  const out = torch.attach(node, torch.empty("sum", [], dtype));
  losses.release();
  return out;
}

/** `(losses / target_lengths.clamp_min(1)).mean()` of losses that are given up. */
function meanPerLabel(torch: Torch, losses: Tensor): Tensor {
  const lengths = torch.empty("clamp_min", losses.sizes, "int64");
  const each = div(torch, losses, lengths);
  lengths.release();
  losses.release();
  const out = mean(torch, each, [], false, null);
  each.release();
  return out;
}
