/**
 * Softmax, dropout, normalisations. Sources: derivatives.yaml; aten/src/ATen/native/{SoftMax.cpp,Dropout.cpp,
 * layer_norm.cpp}; aten/src/ATen/autocast_mode.h for the float32 lists.
 */
import type { DType } from "../dtype";
import type { Node } from "../node";
import { isChannelsLast } from "../shape";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, mean, mul } from "./arithmetic";
import { contiguous, repeat, view } from "./layout";
import { pow, unary } from "./unary";

/** Statistics of half-precision normalisations are float32 (`acc_type`). */
function accumulate(dtype: DType): DType {
  return dtype === "float64" ? "float64" : "float32";
}

/**
 * `softmax.int`/`log_softmax.int`. float16 to float32 is fused into the kernel on CUDA (`half_to_float`); any other
 * dtype is converted first. Under autocast a missing dtype is float32.
 */
export function softmax(torch: Torch, input: Tensor, dtype: DType | null, log = false): Tensor {
  const wanted = dtype ?? (torch.autocasting ? "float32" : null);
  const fused = input.dtype === "float16" && wanted === "float32";
  const x = wanted === null || fused || wanted === input.dtype ? input.retain() : torch.toCopy(input, wanted);
  const operator = log ? "_log_softmax" : "_softmax";
  const inputDtype = x.dtype;
  const node = torch.record(log ? "LogSoftmaxBackward0" : "SoftmaxBackward0", [x], (torch, [gradient]) => [
    gradient ? torch.empty(`${operator}_backward_data`, gradient.sizes, inputDtype) : null,
  ]);
  if (node !== null && torch.quirks.keepsSoftmaxInputs) torch.save(node, x);
  // The kernel writes a dense output whatever the input's strides.
  const out = torch.attach(node, torch.empty(operator, x.sizes, fused ? "float32" : x.dtype));
  if (node !== null) torch.saveOutput(node, out);
  x.release();
  return out;
}

/** `dropout`: nothing for p = 0, else `native_dropout` and its boolean mask. */
export function dropout(torch: Torch, input: Tensor, p: number, train: boolean): Tensor {
  if (p === 0 || !train || !torch.training || input.elements === 0) return input.retain();
  const node = torch.record("NativeDropoutBackward0", [input], (torch, [gradient], [mask]) => [
    gradient ? elementwise(torch, "native_dropout_backward", [gradient, mask!], gradient.dtype) : null,
  ]);
  const out = torch.attach(node, elementwise(torch, "native_dropout", [input]));
  const mask = elementwise(torch, "native_dropout", [input], "bool");
  if (node !== null) torch.saveOutput(node, mask);
  mask.release();
  return out;
}

/** The mean and the reciprocal deviation a normalisation gives beside its output; both exist before either is dropped. */
function saveStatistics(
  torch: Torch,
  node: Node | null,
  operator: string,
  sizes: readonly number[],
  dtype: DType,
): void {
  const statistics = [torch.empty(operator, sizes, dtype), torch.empty(operator, sizes, dtype)];
  for (const statistic of statistics) {
    if (node !== null) torch.saveOutput(node, statistic);
  }
  for (const statistic of statistics) statistic.release();
}

/** What a norm computes with, owned by the caller: float32 under autocast (aten/src/ATen/autocast_mode.h, fp32 list). */
function normOperands(
  torch: Torch,
  input: Tensor,
  weight: Tensor | null,
  bias: Tensor | null,
): readonly [Tensor, Tensor | null, Tensor | null] {
  if (!torch.autocasting) return [input.retain(), weight?.retain() ?? null, bias?.retain() ?? null];
  const [x, w = null, b = null] = torch.castAll("float32", input, weight, bias);
  return [x!, w, b];
}

/** `layer_norm` over the last dimensions: output, mean and rstd; float32 under autocast. */
export function layerNorm(
  torch: Torch,
  input: Tensor,
  normalized: readonly number[],
  weight: Tensor | null,
  bias: Tensor | null,
): Tensor {
  const [x, w, b] = normOperands(torch, input, weight, bias);
  const node = torch.record("NativeLayerNormBackward0", [x, w, b], (torch, [gradient], saved, node) => {
    if (!gradient) return [null, null, null];
    const backward = "native_layer_norm_backward";
    const self = saved[b === null ? 0 : 1]!;
    return [
      node.edges[0] ? torch.empty(backward, self.sizes, self.dtype) : null,
      node.edges[1] ? torch.empty(backward, normalized, w!.dtype) : null,
      node.edges[2] ? torch.empty(backward, normalized, b!.dtype) : null,
    ];
  });
  // Saved variables are kept and freed in the order of their names: bias, input, weight.
  if (node !== null) for (const tensor of [b, x, w]) if (tensor !== null) torch.save(node, tensor);
  const outer = x.sizes.slice(0, x.rank - normalized.length);
  const statistics = [...outer, ...normalized.map(() => 1)];
  const out = torch.attach(node, torch.empty("native_layer_norm", x.sizes, x.dtype));
  saveStatistics(torch, node, "native_layer_norm", statistics, accumulate(x.dtype));
  for (const tensor of [x, w, b]) tensor?.release();
  return out;
}

/**
 * `rms_norm`: fused, with output and rstd; a weight of another dtype than the input's has no fused kernel
 * (aten/src/ATen/native/layer_norm.cpp, rms_norm_symint and rms_norm_composite).
 */
export function rmsNorm(torch: Torch, input: Tensor, normalized: readonly number[], weight: Tensor | null): Tensor {
  if (weight !== null && weight.dtype !== input.dtype) return rmsNormInSteps(torch, input, normalized, weight);
  const node = torch.record("FusedRmsNormBackward0", [input, weight], (torch, [gradient], [self], node) => {
    if (!gradient) return [null, null];
    return [
      node.edges[0] ? torch.empty("_fused_rms_norm_backward", self!.sizes, self!.dtype) : null,
      node.edges[1] ? torch.empty("_fused_rms_norm_backward", normalized, weight!.dtype) : null,
    ];
  });
  if (node !== null) for (const tensor of [input, weight]) if (tensor !== null) torch.save(node, tensor);
  const out = torch.attach(node, torch.empty("_fused_rms_norm", input.sizes, input.dtype));
  const outer = input.sizes.slice(0, input.rank - normalized.length);
  const rstd = torch.empty("_fused_rms_norm", [...outer, ...normalized.map(() => 1)], accumulate(input.dtype));
  if (node !== null) torch.saveOutput(node, rstd);
  rstd.release();
  return out;
}

/** The operators of a norm that has no fused kernel, in float32. */
function rmsNormInSteps(torch: Torch, input: Tensor, normalized: readonly number[], weight: Tensor): Tensor {
  const wide = accumulate(input.dtype);
  const raised = input.dtype === wide ? input.retain() : torch.toCopy(input, wide);
  const dims = normalized.map((_, k) => input.rank - normalized.length + k);
  const squares = pow(torch, raised, 2);
  const means = mean(torch, squares, dims, true, null);
  squares.release();
  const rates = unary(torch, "rsqrt", means);
  means.release();
  const scaled = mul(torch, raised, rates);
  rates.release();
  raised.release();
  const weighted = mul(torch, scaled, weight);
  scaled.release();
  if (weighted.dtype === input.dtype) return weighted;
  const out = torch.toCopy(weighted, input.dtype);
  weighted.release();
  return out;
}

/** `group_norm`: statistics per sample and group. */
export function groupNorm(
  torch: Torch,
  input: Tensor,
  groups: number,
  weight: Tensor | null,
  bias: Tensor | null,
): Tensor {
  const [x, w, b] = normOperands(torch, input, weight, bias);
  const node = torch.record("NativeGroupNormBackward0", [x, w, b], (torch, [gradient], [self], node) => {
    if (!gradient) return [null, null, null];
    const backward = "native_group_norm_backward";
    return [
      node.edges[0] ? torch.empty(backward, self!.sizes, self!.dtype) : null,
      node.edges[1] ? torch.empty(backward, w!.sizes, w!.dtype) : null,
      node.edges[2] ? torch.empty(backward, b!.sizes, b!.dtype) : null,
    ];
  });
  if (node !== null) for (const tensor of [x, w]) if (tensor !== null) torch.save(node, tensor);
  const out = torch.attach(node, torch.empty("native_group_norm", x.sizes, x.dtype));
  saveStatistics(torch, node, "native_group_norm", [x.size(0), groups], x.dtype);
  for (const tensor of [x, w, b]) tensor?.release();
  return out;
}

/**
 * `batch_norm` in training: cuDNN's or the native kernel saves the input and two statistics per channel. cuDNN's is given a contiguous copy of
 * an input that is neither that nor channels-last (aten/src/ATen/native/Normalization.cpp, `_batch_norm_impl_index`).
 */
export function batchNorm(torch: Torch, input: Tensor, weight: Tensor | null, bias: Tensor | null): Tensor {
  const channels = [input.size(1)];
  const copies = isCudnns(input, weight, bias) && !isChannelsLast(input.sizes, input.strides);
  const x = copies ? contiguous(torch, input) : input.retain();
  const node = torch.record("NativeBatchNormBackward0", [x, weight, bias], (torch, [gradient], [self], node) => {
    if (!gradient) return [null, null, null];
    const backward = "native_batch_norm_backward";
    return [
      node.edges[0] ? elementwise(torch, backward, [self!]) : null,
      node.edges[1] ? torch.empty(backward, channels, weight!.dtype) : null,
      node.edges[2] ? torch.empty(backward, channels, bias!.dtype) : null,
    ];
  });
  if (node !== null) for (const tensor of [x, weight]) if (tensor !== null) torch.save(node, tensor);
  const out = torch.attach(node, elementwise(torch, "native_batch_norm", [x]));
  saveStatistics(torch, node, "native_batch_norm", channels, accumulate(x.dtype));
  x.release();
  return out;
}

/** Whether cuDNN norms it, by dtypes (Normalization.cpp, `use_cudnn`); sizes beyond its own are rare. */
function isCudnns(input: Tensor, weight: Tensor | null, bias: Tensor | null): boolean {
  if (weight === null || bias === null || input.dtype === "bfloat16" || weight.dtype === "bfloat16") return false;
  return input.dtype !== "float16" || weight.dtype === "float32";
}

/**
 * `instance_norm`: a batch norm of one sample with the channels of all, weight and bias repeated for each
 * (aten/src/ATen/native/Normalization.cpp). The result is a view of that norm's.
 */
export function instanceNorm(torch: Torch, input: Tensor, weight: Tensor | null, bias: Tensor | null): Tensor {
  const [samples = 1, channels = 1, ...sides] = input.sizes;
  const flat = view(torch, input, [1, samples * channels, ...sides]);
  const [w, b] = [weight, bias].map((tensor) => (tensor === null ? null : repeat(torch, tensor, [samples])));
  const normed = batchNorm(torch, flat, w ?? null, b ?? null);
  const out = view(torch, normed, input.sizes);
  for (const tensor of [flat, w, b, normed]) tensor?.release();
  return out;
}

/** `glu`: one half times the sigmoid of the other, in one kernel, which keeps the input (aten/src/ATen/native/GatedLinearUnit.cpp). */
export function gatedLinearUnit(torch: Torch, input: Tensor, dim: number): Tensor {
  const node = torch.record("GluBackward0", [input], (torch, [gradient], [self]) => [
    gradient ? torch.empty("glu_backward", self!.sizes, self!.dtype) : null,
  ]);
  if (node !== null) torch.save(node, input);
  const at = dim < 0 ? dim + input.rank : dim;
  const sizes = input.sizes.map((size, k) => (k === at ? size / 2 : size));
  return torch.attach(node, torch.empty("glu", sizes, input.dtype));
}
