/**
 * Liger's fused kernels. Sources: liger_kernel/ops/{fused_linear_cross_entropy,rms_norm,swiglu}.py, version 0.8.
 */
import { ELEMENT_BYTES } from "../dtype";
import { numel } from "../shape";
import { alias, sameView, type Tensor } from "../tensor";
import type { Torch } from "../torch";

/** Streaming multiprocessors assumed for sums that kernels make in pieces, one a multiprocessor. */
export const MULTIPROCESSORS = 108;

/** RMSNorm keeps its input and one number per row; its input's gradient overwrites the output's. */
export function ligerRmsNorm(torch: Torch, input: Tensor, weight: Tensor): Tensor {
  const columns = weight.size(0);
  const node = torch.record("LigerRMSNormFunctionBackward", [input, weight], (torch, [gradient], _, node) => {
    if (!gradient) return [null, null];
    const partial = node.edges[1] ? torch.empty("empty", [MULTIPROCESSORS, columns], "float32") : null;
    const summed = partial && torch.empty("sum", [columns], "float32");
    const own =
      summed && (weight.dtype === "float32" ? summed.retain() : torch.empty("_to_copy", [columns], weight.dtype));
    partial?.release();
    summed?.release();
    return [node.edges[0] ? sameView(gradient) : null, own];
  });
  const out = torch.attach(node, torch.empty("empty_like", input.sizes, input.dtype));
  const rstd = torch.empty("empty", [numel(input.sizes) / columns], "float32");
  if (node !== null) for (const tensor of [input, weight, rstd]) torch.save(node, tensor);
  rstd.release();
  return out;
}

/** `act(gate) * up` keeps both factors; their gradients overwrite them. */
export function ligerGatedProduct(torch: Torch, gate: Tensor, up: Tensor): Tensor {
  const node = torch.record("LigerSiLUMulFunctionBackward", [gate, up], (_, [gradient], saved, node) => {
    if (!gradient) return [null, null];
    return saved.map((tensor, k) => (node.edges[k] ? sameView(tensor) : null));
  });
  if (node !== null) for (const tensor of [gate, up]) torch.save(node, tensor);
  return torch.attach(node, torch.empty("empty_like", gate.sizes, gate.dtype));
}

/**
 * Times that the logits cross the memory: written, read twice by the kernel that turns them into their gradient in place, read
 * by the products (liger_kernel/ops/cross_entropy.py: a pass for the sum, a pass for the gradient).
 */
const LOGIT_PASSES = 6;

const powerOfTwo = (value: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, value)));

/**
 * One piece where all float32 logits are within a size, else the next multiple of four that keeps each within it
 * (unsloth_zoo/fused_losses/cross_entropy_loss.py, get_chunk_size).
 */
function piecesWithin(logitBytes: number, pieceBytes: number): number {
  return logitBytes <= pieceBytes ? 1 : 4 * Math.ceil(logitBytes / pieceBytes / 4);
}

/**
 * The head's product and the cross-entropy, chunk by chunk: gradients of the input and the weight are computed in forward
 * and kept, logits of one chunk exist at a time.
 */
export function fusedLinearCrossEntropy(torch: Torch, hidden: Tensor, weight: Tensor, pieceBytes?: number): Tensor {
  const features = hidden.size(-1);
  const rows = numel(hidden.sizes) / features;
  const vocabulary = weight.size(0);
  const chunk =
    pieceBytes === undefined
      ? Math.min(rows, powerOfTwo(Math.ceil(rows / Math.ceil(vocabulary / features))))
      : Math.ceil(rows / piecesWithin(rows * vocabulary * ELEMENT_BYTES.float32, pieceBytes));
  const compute = torch.autocasting ? torch.autocastDtype! : hidden.dtype;
  const node = torch.record(
    "LigerFusedLinearCrossEntropyFunctionBackward",
    [hidden, weight],
    (_, [gradient], saved, node) => {
      if (!gradient) return [null, null];
      const [input, own] = saved as [Tensor, Tensor | undefined];
      return [
        node.edges[0] ? alias(input, hidden.sizes, hidden.strides) : null,
        node.edges[1] && own ? sameView(own) : null,
      ];
    },
  );
  const inputGradient = torch.empty("zeros_like", [rows, features], hidden.dtype);
  const weightGradient = node?.edges[1] ? torch.empty("zeros_like", weight.sizes, weight.dtype) : null;
  const losses = torch.empty("zeros", [rows], "float32");
  const casts = torch.autocasting
    ? [torch.autocast(weight, compute), torch.empty("_to_copy", [chunk, features], compute)]
    : [];
  // The logits of every chunk, and with them both gradients (fused_linear_cross_entropy_forward).
  const products = 2 + (weightGradient === null ? 0 : 1);
  const count = Math.ceil(rows / chunk) * products;
  const product = { count, rows: chunk, columns: vocabulary, inner: features, dtype: compute };
  torch.multiply([chunk, vocabulary], product, rows * vocabulary * ELEMENT_BYTES[compute] * LOGIT_PASSES);
  const logits = torch.empty("mm", [chunk, vocabulary], compute);
  const chunkGradient = compute === hidden.dtype ? null : torch.empty("mm", [chunk, features], compute);
  for (const tensor of [chunkGradient, logits, ...casts]) tensor?.release();
  const loss = torch.attach(node, torch.empty("sum", [], "float32"));
  losses.release();
  if (node !== null) {
    torch.saveOutput(node, inputGradient);
    if (weightGradient !== null) torch.saveOutput(node, weightGradient);
  }
  inputGradient.release();
  weightGradient?.release();
  return loss;
}
