/**
 * Operators that models are made of beyond arithmetic: embedding, scaled dot-product attention, losses, convolution,
 * indexing. Sources: derivatives.yaml; aten/src/ATen/native/transformers/{attention.cpp,cuda/sdp_utils.cpp};
 * aten/src/ATen/native/LossNLL.cpp.
 */

import type { Tape } from "../compiled/tape";
import { type DType, ELEMENT_BYTES } from "../dtype";
import { formatStrides, isChannelsLast, preservedStrides } from "../shape";
import { type Tensor, tensorBytes } from "../tensor";
import type { Torch } from "../torch";
import { add, elementwise, mean, product, sub, unary } from "./arithmetic";
import { expand, pad, slice, transpose } from "./layout";
import { lowered, matmul } from "./linear";
import { dropout, softmax } from "./nonlinear";

export function embedding(torch: Torch, weight: Tensor, indices: Tensor): Tensor {
  const node = torch.record("EmbeddingBackward0", [weight], (torch, [gradient]) => [
    gradient ? torch.empty("embedding_dense_backward", weight.sizes, gradient.dtype) : null,
  ]);
  if (node !== null) torch.save(node, indices);
  return torch.attach(node, picked(torch, "embedding", [...indices.sizes, weight.size(1)], weight.dtype));
}

/** What reads only the elements that it writes, wherever they are. */
function picked(torch: Torch, operator: string, sizes: readonly number[], dtype: DType): Tensor {
  torch.launch();
  return torch.empty(operator, sizes, dtype);
}

export interface AttentionOperands {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly mask: Tensor | null;
  readonly dropout: number;
  readonly causal: boolean;
  readonly groupedQuery: boolean;
}

/**
 * `scaled_dot_product_attention`: which kernel runs is decided as `sdp_utils.cpp` decides on Ampere and later — flash
 * for half precision without a mask, memory-efficient for aligned heads without grouped queries, else the math path.
 */
export function attention(torch: Torch, operands: AttentionOperands): Tensor {
  const { mask } = operands;
  const cast = (tensor: Tensor): Tensor =>
    torch.autocasting ? torch.autocast(tensor, torch.autocastDtype!) : tensor.retain();
  const query = cast(operands.query);
  const key = cast(operands.key);
  const value = cast(operands.value);
  const bias = mask === null ? null : mask.dtype === "bool" ? mask.retain() : cast(mask);
  const enabled = torch.autocastEnabled;
  torch.autocastEnabled = false;
  const out = chooseKernel(torch, { ...operands, query, key, value, mask: bias });
  torch.autocastEnabled = enabled;
  for (const tensor of [query, key, value, bias]) tensor?.release();
  return out;
}

/**
 * Attention of traced code that could not look whether it needs a mask: it gets one, and with it key and value heads for
 * every query head (transformers/integrations/sdpa_attention.py, use_gqa_in_sdpa).
 */
function withTracedMask(torch: Torch, tape: Tape, operands: AttentionOperands): Tensor {
  const { query } = operands;
  const groups = query.size(1) / operands.key.size(1);
  const repeat = (tensor: Tensor): Tensor => (groups === 1 ? tensor.retain() : repeatHeads(torch, tensor, groups));
  const [key, value] = [repeat(operands.key), repeat(operands.value)];
  const out = efficient(torch, { ...operands, key, value, mask: tape.maskFor(torch, query, key.size(2)) });
  key.release();
  value.release();
  return out;
}

function chooseKernel(torch: Torch, operands: AttentionOperands): Tensor {
  const { query, key, value, mask } = operands;
  if (torch.tape?.parts.masks && mask === null) return withTracedMask(torch, torch.tape, operands);
  const half = query.dtype === "float16" || query.dtype === "bfloat16";
  const head = query.size(-1);
  const sameHead = head === key.size(-1) && head === value.size(-1);
  if (half && mask === null && sameHead && head <= 256) return flashPadded(torch, query, key, value, operands.causal);
  const grouped = query.size(1) !== key.size(1);
  const align = half ? 8 : 4;
  if (!grouped && head % align === 0 && value.size(-1) % align === 0) return efficient(torch, operands);
  return math(torch, operands);
}

/** Flash attention needs heads of a multiple of 8: others are padded and the result is cut back. */
function flashPadded(torch: Torch, query: Tensor, key: Tensor, value: Tensor, causal: boolean): Tensor {
  const missing = (8 - (query.size(-1) % 8)) % 8;
  if (missing === 0) return flash(torch, query, key, value, causal);
  const [q, k, v] = [query, key, value].map((tensor) => pad(torch, tensor, [0, missing])) as [Tensor, Tensor, Tensor];
  const wide = flash(torch, q, k, v, causal);
  const out = slice(torch, wide, -1, 0, query.size(-1));
  for (const tensor of [q, k, v, wide]) tensor.release();
  return out;
}

/** Output in the layout of the query seen as (batch, tokens, heads, head). */
function likeTransposed(torch: Torch, operator: string, query: Tensor, sizes: readonly number[]): Tensor {
  const order = [0, 2, 1, 3];
  const turned = preservedStrides(
    order.map((k) => query.sizes[k]!),
    order.map((k) => query.strides[k]!),
  );
  const strides = order.map((k) => turned[k]!);
  return torch.empty(
    operator,
    sizes,
    query.dtype,
    query.sizes.every((size, k) => size === sizes[k]) ? strides : undefined,
  );
}

/** Backward multiplies five times where forward does twice: the scores again, and four gradients (arXiv 2307.08691, 4.1). */
const BACKWARD_PRODUCTS = 2.5;

/** A kernel of attention begins: two products with every key, or with the half of them that causality leaves. */
function attend(torch: Torch, query: Tensor, key: Tensor, value: Tensor, causal: boolean, times: number): void {
  const [batch, heads, tokens, head] = query.sizes as [number, number, number, number];
  const scores = batch * heads * tokens * key.size(2) * (causal ? 0.5 : 1);
  const width = head + value.size(-1);
  // In float32 the kernel multiplies as a product of matrices does.
  if (query.dtype === "float32") {
    const product = { count: 1, rows: scores, columns: width * times, inner: 1, dtype: query.dtype };
    torch.multiply([], product, (query.elements + key.elements + value.elements) * ELEMENT_BYTES[query.dtype]);
    return;
  }
  torch.attend([query, key, value], (2 * scores * width * times) / (torch.share?.([]) ?? 1));
}

function flash(torch: Torch, query: Tensor, key: Tensor, value: Tensor, causal: boolean): Tensor {
  const operator = "_scaled_dot_product_flash_attention";
  const node = torch.record(
    "ScaledDotProductFlashAttentionBackward0",
    [query, key, value],
    (torch, [gradient], saved) => {
      if (!gradient) return [null, null, null];
      const [k, q, v] = saved as [Tensor, Tensor, Tensor];
      attend(torch, q, k, v, causal, BACKWARD_PRODUCTS);
      return [q, k, v].map((tensor) => likeTransposed(torch, `${operator}_backward`, tensor, tensor.sizes));
    },
  );
  // Saved variables are kept and freed in the order of their names, outputs after inputs.
  if (node !== null) for (const tensor of [key, query, value]) torch.save(node, tensor);
  attend(torch, query, key, value, causal, 1);
  const out = torch.attach(node, likeTransposed(torch, operator, query, query.sizes));
  const sums = torch.empty(operator, [query.size(0), query.size(1), query.size(2)], "float32");
  // Two words of random state each (seed and offset), whether dropout is used or not.
  const seed = torch.empty(operator, [2], "int64");
  const offset = torch.empty(operator, [], "int64");
  for (const tensor of [sums, out, seed, offset]) if (node !== null) torch.saveOutput(node, tensor);
  for (const tensor of [sums, seed, offset]) tensor.release();
  return out;
}

/** A tensor of (batch, heads, tokens, head) laid out as (batch, tokens, heads, head), whatever the operands' layout. */
function tokensFirst(torch: Torch, operator: string, sizes: readonly number[], dtype: DType): Tensor {
  const [, heads, tokens, head] = sizes as [number, number, number, number];
  return torch.empty(operator, sizes, dtype, [heads * tokens * head, head, heads * head, 1]);
}

function efficient(torch: Torch, operands: AttentionOperands): Tensor {
  const operator = "_scaled_dot_product_efficient_attention";
  const { query, key, value } = operands;
  const causal = operands.causal && operands.mask === null;
  const bias = operands.mask === null ? null : attentionBias(torch, operands.mask, query, key);
  const node = torch.record(
    "ScaledDotProductEfficientAttentionBackward0",
    [query, key, value, bias],
    (torch, [gradient], saved, node) => {
      if (!gradient) return [null, null, null, null];
      const [k, q, v] = saved.slice(bias === null ? 0 : 1) as [Tensor, Tensor, Tensor];
      attend(torch, q, k, v, causal, BACKWARD_PRODUCTS);
      const grads = [q, k, v].map((tensor) => tokensFirst(torch, `${operator}_backward`, tensor.sizes, tensor.dtype));
      const wide = node.edges[3] && bias !== null ? saved[0]! : null;
      return [...grads, wide && torch.empty(`${operator}_backward`, wide.sizes, wide.dtype)];
    },
  );
  if (node !== null) for (const tensor of [bias, key, query, value]) if (tensor !== null) torch.save(node, tensor);
  const sizes = [...query.sizes.slice(0, 3), value.size(-1)];
  attend(torch, query, key, value, causal, 1);
  const out = torch.attach(node, tokensFirst(torch, operator, sizes, query.dtype));
  // The log-sum-exp is padded to a multiple of 32 rows, and only computed when a gradient is needed; that of a trained mask
  // alone does not ask for it (aten/native/transformers/attention.cpp, should_compute_logsumexp).
  const needed = node !== null && [query, key, value].some(({ requiresGrad }) => requiresGrad);
  const rows = needed ? Math.ceil(query.size(2) / 32) * 32 : 0;
  const sums = torch.empty(operator, [query.size(0), query.size(1), rows], "float32");
  const seed = torch.empty(operator, [], "int64");
  const offset = torch.empty(operator, [], "int64");
  for (const tensor of [sums, out, offset, seed]) if (node !== null) torch.saveOutput(node, tensor);
  for (const tensor of [sums, seed, offset]) tensor.release();
  bias?.release();
  return out;
}

/** A boolean mask becomes an additive one, padded to 16 columns, and is seen once per head. */
function attentionBias(torch: Torch, mask: Tensor, query: Tensor, key: Tensor): Tensor {
  let additive = mask.retain();
  if (mask.dtype === "bool") {
    additive.release();
    additive = elementwise(torch, "zeros_like", [mask], query.dtype);
    const inverted = elementwise(torch, "logical_not", [mask]);
    inverted.release();
  }
  const columns = additive.size(-1);
  const missing = (16 - (columns % 16)) % 16;
  if (missing > 0) {
    const padded = pad(torch, additive, [0, missing]);
    const cut = slice(torch, padded, -1, 0, columns);
    additive.release();
    padded.release();
    additive = cut;
  }
  const wide = expand(torch, additive, [query.size(0), query.size(1), query.size(2), key.size(2)]);
  additive.release();
  return wide;
}

/**
 * `_scaled_dot_product_attention_math`: scores and probabilities are materialised, in float32 for half-precision
 * operands. The mask is added out of place, as PyTorch does for tensor subclasses; a plain CUDA tensor is added to in
 * place, which this path's peak bounds.
 */
function math(torch: Torch, operands: AttentionOperands): Tensor {
  const { mask } = operands;
  const { dtype } = operands.query;
  const raise = (tensor: Tensor): Tensor =>
    tensor.dtype === "float16" || tensor.dtype === "bfloat16" ? torch.toCopy(tensor, "float32") : tensor.retain();
  // A boolean mask is made additive before the path is chosen.
  const given = mask && additiveMask(torch, mask, operands.query);
  const [queryAcc, keyAcc, valueAcc] = [operands.query, operands.key, operands.value].map(raise) as [
    Tensor,
    Tensor,
    Tensor,
  ];
  const query = scaled(torch, queryAcc);
  const bias = given ?? (operands.causal ? causalBias(torch, query, keyAcc) : null);
  // Without `enable_gqa` fewer heads of keys are broadcast by the products (pre_process_group_query_attention_input).
  const groups = operands.groupedQuery ? query.size(1) / keyAcc.size(1) : 1;
  const repeat = (tensor: Tensor): Tensor => (groups === 1 ? tensor.retain() : repeatHeads(torch, tensor, groups));
  const key = repeat(keyAcc);
  const value = repeat(valueAcc);
  const turned = transpose(torch, key, -2, -1);
  const scaledKey = scaled(torch, turned);
  turned.release();
  let scores = matmul(torch, query, scaledKey);
  scaledKey.release();
  if (bias !== null) {
    const sum = add(torch, scores, bias);
    scores.release();
    scores = sum;
  }
  const probabilities = softmax(torch, scores, null);
  scores.release();
  const dropped = dropout(torch, probabilities, operands.dropout, true);
  probabilities.release();
  // The arguments of the returned tuple are evaluated from the right: the probabilities first, which nobody takes.
  const weights = castTo(torch, dropped, dtype);
  const product = matmul(torch, dropped, value);
  const out = castTo(torch, product, dtype);
  for (const tensor of [product, value, key, bias, query, valueAcc, keyAcc, queryAcc, dropped, weights])
    tensor?.release();
  return out;
}

function castTo(torch: Torch, tensor: Tensor, dtype: DType): Tensor {
  return tensor.dtype === dtype ? tensor.retain() : torch.toCopy(tensor, dtype);
}

function scaled(torch: Torch, tensor: Tensor): Tensor {
  const node = torch.record("MulBackward0", [tensor], (torch, [gradient]) => [
    gradient ? elementwise(torch, "mul", [gradient]) : null,
  ]);
  return torch.attach(node, elementwise(torch, "mul", [tensor]));
}

/** Every head of keys or values as often as heads of queries share it. */
export function repeatHeads(torch: Torch, tensor: Tensor, groups: number): Tensor {
  const [batch, heads, tokens, head] = tensor.sizes as [number, number, number, number];
  const node = torch.record("RepeatInterleaveBackward0", [tensor], (torch, [gradient]) => [
    gradient ? torch.empty("sum", tensor.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(node, torch.empty("clone", [batch, heads * groups, tokens, head], tensor.dtype));
}

function causalBias(torch: Torch, query: Tensor, key: Tensor): Tensor {
  const sizes = [query.size(2), key.size(2)];
  const ones = torch.empty("ones", sizes, "bool");
  const lower = torch.empty("tril", sizes, "bool");
  ones.release();
  const bias = additiveMask(torch, lower, query);
  lower.release();
  return bias;
}

/** `convert_boolean_attn_mask`: where(mask, 0, -inf) with both numbers on the device. */
function additiveMask(torch: Torch, mask: Tensor, query: Tensor): Tensor {
  if (mask.dtype !== "bool") return mask.retain();
  const numbers = [torch.empty("scalar_tensor", [], query.dtype), torch.empty("scalar_tensor", [], query.dtype)];
  const bias = elementwise(torch, "where", [mask], query.dtype);
  for (const number of numbers) number.release();
  return bias;
}

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

/**
 * A convolution begins: for each group the product of the kernel with every window. Its gradients multiply as often; tiles
 * are cut from the result's side in all three.
 */
function convolve(torch: Torch, input: Tensor, kernel: Tensor, result: readonly number[], last: boolean): void {
  const count = input.size(1) / kernel.size(1);
  const [samples = 1, channels = 1, ...spatial] = result;
  const windows = spatial.reduce((all, size) => all * size, samples);
  const inner = kernel.sizes.slice(1).reduce((all, size) => all * size, 1);
  const convolution = last ? "channels-last" : "channels-first";
  const product = { count, rows: windows, columns: channels / count, inner, dtype: input.dtype, convolution } as const;
  torch.multiply(result, product, tensorBytes(input.sizes, input.dtype) + tensorBytes(kernel.sizes, kernel.dtype));
}

/** `convolution`: saves input and weight; the backward makes the needed gradients in one kernel call. */
export function convolution(
  torch: Torch,
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: readonly number[],
  padding: readonly number[],
  dilation: readonly number[],
): Tensor {
  return lowered(torch, [input, weight, bias], (cast) => {
    const [x, w, b] = cast as [Tensor, Tensor, Tensor | null];
    const spatial = x.sizes.slice(2).map((size, k) => {
      const reach = (dilation[k] ?? dilation[0] ?? 1) * (w.size(2 + k) - 1) + 1;
      return Math.floor((size + 2 * (padding[k] ?? padding[0] ?? 0) - reach) / (stride[k] ?? stride[0] ?? 1)) + 1;
    });
    // cuDNN works in the channels-last format when the input or the kernel has it (cudnn_conv_suggest_memory_format).
    const last = isChannelsLast(x.sizes, x.strides) || isChannelsLast(w.sizes, w.strides);
    const node = torch.record("ConvolutionBackward0", [x, w, b], (torch, [gradient], [self, kernel], node) => {
      if (!gradient) return [null, null, null];
      const operator = "convolution_backward";
      const like = ({ sizes, dtype }: Tensor): Tensor => {
        convolve(torch, self!, kernel!, gradient.sizes, last);
        return torch.empty(operator, sizes, dtype, formatStrides(sizes, last));
      };
      return [
        node.edges[0] ? like(self!) : null,
        node.edges[1] ? like(kernel!) : null,
        node.edges[2] ? torch.empty(operator, [kernel!.size(0)], kernel!.dtype) : null,
      ];
    });
    if (node !== null) for (const tensor of [x, w]) torch.save(node, tensor);
    const sizes = [x.size(0), w.size(0), ...spatial];
    convolve(torch, x, w, sizes, last);
    return torch.attach(node, torch.empty("convolution", sizes, x.dtype, formatStrides(sizes, last)));
  });
}

/** `conv_transpose`: `convolution` the other way round; the kernel's first side is the input's. */
export function transposedConvolution(
  torch: Torch,
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: readonly number[],
): Tensor {
  return lowered(torch, [input, weight, bias], (cast) => {
    const [x, w, b] = cast as [Tensor, Tensor, Tensor | null];
    const spatial = x.sizes.slice(2).map((size, k) => (size - 1) * (stride[k] ?? stride[0] ?? 1) + w.size(2 + k));
    const node = torch.record("ConvolutionBackward0", [x, w, b], (torch, [gradient], [self, kernel], node) => {
      if (!gradient) return [null, null, null];
      const operator = "convolution_backward";
      return [
        node.edges[0] ? torch.empty(operator, self!.sizes, self!.dtype) : null,
        node.edges[1] ? torch.empty(operator, kernel!.sizes, kernel!.dtype) : null,
        node.edges[2] ? torch.empty(operator, [kernel!.size(1)], kernel!.dtype) : null,
      ];
    });
    if (node !== null) for (const tensor of [x, w]) torch.save(node, tensor);
    return torch.attach(node, torch.empty("convolution", [x.size(0), w.size(1), ...spatial], x.dtype));
  });
}

/**
 * How the gradient gets into zeros: out of place, as for the reference's tensor subclasses (FunctionsManual.cpp,
 * index_backward; TensorAdvancedIndexing.cpp, gather_backward). A plain CUDA tensor is scattered into in place, one
 * tensor of the input's size less, which this bounds.
 */
const SCATTERED: Readonly<Record<string, string>> = { index: "_index_put_impl_", gather: "scatter_add" };

/** `index`/`index_select`/`gather`: the gradient is scattered into zeros of the input's size. */
export function gatherLike(
  torch: Torch,
  operator: string,
  input: Tensor,
  indices: readonly Tensor[],
  sizes: readonly number[],
): Tensor {
  const back = input.sizes;
  const node = torch.record("IndexBackward0", [input], (torch, [gradient]) => {
    if (!gradient) return [null];
    const zeros = torch.empty("new_zeros", back, gradient.dtype);
    const scattered = SCATTERED[operator];
    if (scattered === undefined) return [zeros];
    const out = torch.empty(scattered, back, gradient.dtype);
    zeros.release();
    return [out];
  });
  // gather_backward asks for the input itself, though only for its sizes.
  if (node !== null && operator === "gather") torch.save(node, input);
  if (node !== null) for (const index of indices) torch.save(node, index);
  return torch.attach(node, picked(torch, operator, sizes, input.dtype));
}

/** `take_along_dim`: places from the end become ones from the start, then it gathers (aten/native/TensorAdvancedIndexing.cpp). */
export function takeAlongDim(torch: Torch, input: Tensor, index: Tensor): Tensor {
  const wrapped = torch.empty("remainder", index.sizes, index.dtype);
  const out = gatherLike(torch, "gather", input, [wrapped], index.sizes);
  wrapped.release();
  return out;
}

/**
 * PhiMoE's `PhimoeMultiplier` (models/phimoe/modeling_phimoe.py), an autograd function of its own: it saves three tensors,
 * and its backward scatters into the product of gates and gradient.
 */
export function phimoeMultiplier(
  torch: Torch,
  scores: Tensor,
  multiplier: Tensor,
  experts: Tensor,
  gates: Tensor,
): Tensor {
  const node = torch.record("PhimoeMultiplierBackward", [scores], (torch, [gradient], [factor, , saved]) => {
    if (!gradient) return [null];
    const scaled = product(torch, gradient, factor!);
    const negated = product(torch, scaled, -1);
    const out = product(torch, saved!, negated);
    scaled.release();
    negated.release();
    return [out];
  });
  if (node !== null) for (const tensor of [multiplier, experts, gates]) torch.save(node, tensor);
  return torch.attach(node, torch.empty("mul", multiplier.sizes, multiplier.dtype));
}

/**
 * RecurrentGemma's root whose slope has a bound: what it reads is saved, and roots are taken of it in backward
 * (transformers/models/recurrent_gemma/modeling_recurrent_gemma.py, SqrtBoundDerivative).
 */
export function sqrtBoundDerivative(torch: Torch, self: Tensor): Tensor {
  const node = torch.record("SqrtBoundDerivativeBackward", [self], (torch, [gradient], [x]) => {
    if (!gradient) return [null];
    const scaled = product(torch, x!, 4);
    const clipped = elementwise(torch, "clamp", [scaled], scaled.dtype);
    scaled.release();
    const root = elementwise(torch, "sqrt", [clipped], clipped.dtype);
    const out = elementwise(torch, "div", [gradient, root], gradient.dtype);
    root.release();
    clipped.release();
    return [out];
  });
  if (node !== null) torch.save(node, self);
  return torch.attach(node, elementwise(torch, "sqrt", [self], self.dtype));
}
