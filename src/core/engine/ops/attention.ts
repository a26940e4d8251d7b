/**
 * Attention by the kernels that PyTorch chooses between, and its composite form.
 * Sources: derivatives.yaml; aten/src/ATen/native/transformers/{attention.cpp,cuda/sdp_utils.cpp}.
 */
import { say } from "../../../words/message";
import type { Tape } from "../compiled/tape";
import { type DType, ELEMENT_BYTES } from "../dtype";
import { NotModelled, refuseSizes } from "../not-modelled";
import { preservedStrides } from "../shape";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { add, elementwise } from "./arithmetic";
import { exchanging } from "./head-exchange";
import { expand, pad, slice, transpose } from "./layout";
import { matmul } from "./linear";
import { dropout, softmax } from "./nonlinear";
import { around } from "./ring-attention";

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
  const { headExchange: degree } = torch;
  return degree > 1 ? exchanging(torch, operands, degree, castAttention) : castAttention(torch, operands);
}

function castAttention(torch: Torch, operands: AttentionOperands): Tensor {
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

/**
 * Query heads are as many as key heads, or a multiple of them where they are grouped (`enable_gqa`); one head of either is
 * broadcast by the products (transformers/attention.cpp, pre_process_group_query_attention_input; sdp_utils.cpp,
 * check_batch_size_and_num_heads_dense).
 */
function checkHeads({ query, key, groupedQuery }: AttentionOperands): void {
  const [heads, of] = [query.size(-3), key.size(-3)];
  if (groupedQuery ? heads % of !== 0 : heads !== of && heads !== 1 && of !== 1)
    refuseSizes([heads, of], say("engine.heads", { heads, of }));
}

function chooseKernel(torch: Torch, operands: AttentionOperands): Tensor {
  const { query, key, value, mask } = operands;
  if (query.sizes.length !== 4) return composed(torch, operands);
  if (torch.ring !== null && mask !== null) throw new NotModelled(say("engine.ring-mask"));
  if (torch.tape?.parts.masks && mask === null) return withTracedMask(torch, torch.tape, operands);
  checkHeads(operands);
  const half = query.dtype === "float16" || query.dtype === "bfloat16";
  const head = query.size(-1);
  const sameHead = head === key.size(-1) && head === value.size(-1);
  if (half && mask === null && sameHead && head <= 256) return flashPadded(torch, query, key, value, operands.causal);
  const grouped = query.size(1) !== key.size(1);
  const align = half ? 8 : 4;
  if (!grouped && head % align === 0 && value.size(-1) % align === 0) return efficient(torch, operands);
  return composed(torch, operands);
}

/**
 * The math path, which tensors of other than four dimensions take as well (sdp_utils_cpp.h, check_tensor_shapes).
 * Distributed tensors split as keys and queries are have no rule for its products.
 */
function composed(torch: Torch, operands: AttentionOperands): Tensor {
  if (torch.ring !== null) throw new NotModelled(say("engine.ring-kernel"));
  return math(torch, operands);
}

/** Flash attention needs heads of a multiple of 8: others are padded and the result is cut back. */
function flashPadded(torch: Torch, query: Tensor, key: Tensor, value: Tensor, causal: boolean): Tensor {
  const missing = (8 - (query.size(-1) % 8)) % 8;
  if (missing === 0) return flash(torch, query, key, value, causal);
  // Distributed tensors come out of padding whole (torch 2.11), with sizes that no longer fit the model's.
  if (torch.ring !== null) throw new NotModelled(say("engine.ring-kernel"));
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

/** What a kernel of attention allocates. */
export interface AttentionKernel {
  readonly operator: string;
  /** The output, the sums of exponentials, and two words of random state. */
  forward(torch: Torch, query: Tensor, key: Tensor, value: Tensor, causal: boolean): [Tensor, Tensor, Tensor, Tensor];
  /** Gradients of query, key and value. */
  backward(torch: Torch, query: Tensor, key: Tensor, value: Tensor, causal: boolean): [Tensor, Tensor, Tensor];
}

const FLASH: AttentionKernel = {
  operator: "_scaled_dot_product_flash_attention",
  forward(torch, query, key, value, causal) {
    attend(torch, query, key, value, causal, 1);
    const out = likeTransposed(torch, this.operator, query, query.sizes);
    const sums = torch.empty(this.operator, query.sizes.slice(0, 3), "float32");
    // Two words of random state each (seed and offset), whether dropout is used or not.
    const seed = torch.empty(this.operator, [2], "int64");
    return [out, sums, seed, torch.empty(this.operator, [], "int64")];
  },
  backward(torch, query, key, value, causal) {
    attend(torch, query, key, value, causal, BACKWARD_PRODUCTS);
    const like = (tensor: Tensor): Tensor => likeTransposed(torch, `${this.operator}_backward`, tensor, tensor.sizes);
    return [like(query), like(key), like(value)];
  },
};

/** The kernel on this rank's tokens alone, or on all ranks' in turn. */
function spread(torch: Torch, kernel: AttentionKernel): AttentionKernel {
  return torch.ring === null ? kernel : around(kernel, torch.ring);
}

function flash(torch: Torch, query: Tensor, key: Tensor, value: Tensor, causal: boolean): Tensor {
  const kernel = spread(torch, FLASH);
  const node = torch.record(
    "ScaledDotProductFlashAttentionBackward0",
    [query, key, value],
    (torch, [gradient], saved) => {
      if (!gradient) return [null, null, null];
      const [k, q, v] = saved as [Tensor, Tensor, Tensor];
      return kernel.backward(torch, q, k, v, causal);
    },
  );
  // Saved variables are kept and freed in the order of their names, outputs after inputs.
  if (node !== null) for (const tensor of [key, query, value]) torch.save(node, tensor);
  const [made, sums, seed, offset] = kernel.forward(torch, query, key, value, causal);
  const out = torch.attach(node, made);
  for (const tensor of [sums, out, seed, offset]) if (node !== null) torch.saveOutput(node, tensor);
  for (const tensor of [sums, seed, offset]) tensor.release();
  return out;
}

/** A tensor of (batch, heads, tokens, head) laid out as (batch, tokens, heads, head), whatever the operands' layout. */
function tokensFirst(torch: Torch, operator: string, sizes: readonly number[], dtype: DType): Tensor {
  const [, heads, tokens, head] = sizes as [number, number, number, number];
  return torch.empty(operator, sizes, dtype, [heads * tokens * head, head, heads * head, 1]);
}

/** The memory-efficient kernel; `needed`: the sums are kept for a gradient. */
function efficientKernel(needed: boolean): AttentionKernel {
  return {
    operator: "_scaled_dot_product_efficient_attention",
    forward(torch, query, key, value, causal) {
      attend(torch, query, key, value, causal, 1);
      const out = tokensFirst(torch, this.operator, [...query.sizes.slice(0, 3), value.size(-1)], query.dtype);
      // The log-sum-exp is padded to a multiple of 32 rows.
      const rows = needed ? Math.ceil(query.size(2) / 32) * 32 : 0;
      const sums = torch.empty(this.operator, [query.size(0), query.size(1), rows], "float32");
      const seed = torch.empty(this.operator, [], "int64");
      return [out, sums, seed, torch.empty(this.operator, [], "int64")];
    },
    backward(torch, query, key, value, causal) {
      attend(torch, query, key, value, causal, BACKWARD_PRODUCTS);
      const like = ({ sizes, dtype }: Tensor): Tensor => tokensFirst(torch, `${this.operator}_backward`, sizes, dtype);
      return [like(query), like(key), like(value)];
    },
  };
}

function efficient(torch: Torch, operands: AttentionOperands): Tensor {
  const { query, key, value } = operands;
  const causal = operands.causal && operands.mask === null;
  // Sums are only computed when a gradient is needed; that of a trained mask alone does not ask for them
  // (aten/native/transformers/attention.cpp, should_compute_logsumexp).
  const asks = [query, key, value].some(({ requiresGrad }) => requiresGrad);
  const kernel = spread(torch, efficientKernel(torch.gradEnabled && asks));
  const bias = operands.mask === null ? null : attentionBias(torch, operands.mask, query, key);
  const node = torch.record(
    "ScaledDotProductEfficientAttentionBackward0",
    [query, key, value, bias],
    (torch, [gradient], saved, node) => {
      if (!gradient) return [null, null, null, null];
      const [k, q, v] = saved.slice(bias === null ? 0 : 1) as [Tensor, Tensor, Tensor];
      const grads = kernel.backward(torch, q, k, v, causal);
      const wide = node.edges[3] && bias !== null ? saved[0]! : null;
      return [...grads, wide && torch.empty(`${kernel.operator}_backward`, wide.sizes, wide.dtype)];
    },
  );
  if (node !== null) for (const tensor of [bias, key, query, value]) if (tensor !== null) torch.save(node, tensor);
  const [made, sums, seed, offset] = kernel.forward(torch, query, key, value, causal);
  const out = torch.attach(node, made);
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
  const groups = operands.groupedQuery ? query.size(-3) / keyAcc.size(-3) : 1;
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
  const sizes = tensor.sizes.with(-3, tensor.size(-3) * groups);
  const node = torch.record("RepeatInterleaveBackward0", [tensor], (torch, [gradient]) => [
    gradient ? torch.empty("sum", tensor.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(node, torch.empty("clone", sizes, tensor.dtype));
}

function causalBias(torch: Torch, query: Tensor, key: Tensor): Tensor {
  const sizes = [query.size(-2), key.size(-2)];
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
