/**
 * `torch.nn.functional.linear` as deepspeed.zero.Init replaces it for good: one autograd function, which keeps its input even
 * where the weight is frozen. Sources: deepspeed/runtime/zero/partition_parameters.py (`_enable_mem_efficient_linear`),
 * deepspeed/runtime/zero/linear.py (LinearFunctionForZeroStage3).
 */
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { reshape, transpose } from "./layout";
import { addmm, matmulPlain, mm } from "./linear";

function product(torch: Torch, input: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  const turned = transpose(torch, weight, 0, 1);
  // `output += bias` otherwise: nothing new.
  const out = bias !== null && input.rank === 2 ? addmm(torch, bias, input, turned) : matmulPlain(torch, input, turned);
  turned.release();
  return out;
}

/** `grad_output.reshape(-1, n).t().matmul(input.reshape(-1, k))`. */
function weightGradient(torch: Torch, gradient: Tensor, input: Tensor): Tensor {
  const rows = reshape(torch, gradient, [-1, gradient.size(-1)]);
  const turned = transpose(torch, rows, 0, 1);
  const flat = reshape(torch, input, [-1, input.size(-1)]);
  const out = mm(torch, turned, flat);
  for (const tensor of [rows, turned, flat]) tensor.release();
  return out;
}

export function zero3Linear(torch: Torch, input: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  const node = torch.record(
    "LinearFunctionForZeroStage3Backward",
    [input, weight, bias],
    (torch, [gradient], [kept], node) => {
      if (!gradient) return [null, null, null];
      const ofInput = node.edges[0] ? matmulPlain(torch, gradient, weight) : null;
      const ofWeight = node.edges[1] ? weightGradient(torch, gradient, kept!) : null;
      const ofBias = node.edges[2] ? torch.empty("sum", [weight.size(0)], gradient.dtype) : null;
      return [ofInput, ofWeight, ofBias];
    },
  );
  const { gradEnabled } = torch;
  torch.gradEnabled = false;
  const out = product(torch, input, weight, bias);
  torch.gradEnabled = gradEnabled;
  if (node !== null) for (const saved of [input, weight, ...(bias === null ? [] : [bias])]) torch.save(node, saved);
  return torch.attach(node, out);
}
