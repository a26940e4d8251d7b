/**
 * Pooling and what else convolutional networks use. Sources: derivatives.yaml;
 * aten/src/ATen/native/{Pooling.cpp,AdaptiveAveragePooling.cpp,Dropout.cpp,LinearAlgebra.cpp}.
 */
import { ELEMENT_BYTES } from "../dtype";
import type { Node } from "../node";
import { formatStrides, isChannelsLast } from "../shape";
import { sameView, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, expandReduced, mean, mul, product, reducedSizes } from "./arithmetic";
import { refuseTooLarge } from "./convolution";
import { contiguous, squeeze, unsqueeze } from "./layout";

/** How a window goes over a picture; a list of one number stands for both sides, an empty one for the default. */
export interface Window {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  /** Windows that end behind the picture count, too. */
  readonly ceiling: boolean;
}

/** `max_pool2d`: `max_pool2d_with_indices`, which keeps the input and where each maximum was (int64). */
export function maxPool(torch: Torch, input: Tensor, window: Window): Tensor {
  const sides = input.rank - 2;
  const operator = `max_pool${sides}d_with_indices`;
  const kept = `MaxPool${sides}DWithIndicesBackward0`;
  const { node, out } = keepingInput(torch, operator, kept, input, pooled(input, window));
  const indices = torch.empty(operator, out.sizes, "int64");
  if (node !== null) torch.saveOutput(node, indices);
  indices.release();
  return out;
}

/**
 * `replication_pad*d` to the sides of another picture (F.pad with "replicate"): a copy even where nothing is added, which keeps its
 * input for the sizes (tools/autograd/derivatives.yaml, replication_pad3d).
 */
export function padLike(torch: Torch, input: Tensor, other: Tensor): Tensor {
  const sides = input.rank - 2;
  const sizes = [...input.sizes.slice(0, 2), ...other.sizes.slice(2)];
  return keepingInput(torch, `replication_pad${sides}d`, `ReplicationPad${sides}DBackward0`, input, sizes).out;
}

/**
 * `pad` with the picture's own values (`reflect`, `replicate`): `reflection_pad*d` or `replication_pad*d`, a copy even where nothing is added,
 * which keeps its input for the sizes (aten/src/ATen/native/PadNd.cpp, tools/autograd/derivatives.yaml).
 */
export function padWithItself(torch: Torch, input: Tensor, amounts: readonly number[], mode: string): Tensor {
  const sides = amounts.length / 2;
  const first = input.rank - sides;
  const sizes = input.sizes.map((size, k) => {
    const at = 2 * (input.rank - 1 - k);
    return k < first ? size : size + amounts[at]! + amounts[at + 1]!;
  });
  const [operator, node] =
    mode === "reflect" ? ["reflection_pad", "ReflectionPad"] : ["replication_pad", "ReplicationPad"];
  return keepingInput(torch, `${operator}${sides}d`, `${node}${sides}DBackward0`, input, sizes.slice(first)).out;
}

/** `avg_pool2d` and `avg_pool3d`: keep the input for its sizes. */
export function averagePool(torch: Torch, input: Tensor, window: Window): Tensor {
  const sides = input.rank - 2;
  return keepingInput(torch, `avg_pool${sides}d`, `AvgPool${sides}DBackward0`, input, pooled(input, window)).out;
}

/** `avg_pool1d` and `max_pool1d`: those of a picture of one row (Pooling.cpp). */
export function poolOfRows(pool: typeof averagePool): typeof averagePool {
  return (torch, input, window) => {
    const row = unsqueeze(torch, input, -2);
    const one = (list: readonly number[], of: number): number[] => (list.length === 0 ? [] : [of, ...list]);
    const { kernel, stride, padding, dilation } = window;
    const pooled = pool(torch, row, {
      ...window,
      kernel: one(kernel, 1),
      stride: one(stride, 1),
      padding: one(padding, 0),
      dilation: one(dilation, 1),
    });
    row.release();
    const out = squeeze(torch, pooled, [-2]);
    pooled.release();
    return out;
  };
}

/** `adaptive_avg_pool1d` and `2d`: the mean over the sides when one value is left, else a kernel that keeps its input. */
export function adaptiveAveragePool(torch: Torch, input: Tensor, target: readonly number[]): Tensor {
  if (target.every((size) => size === 1))
    return mean(
      torch,
      input,
      target.map((_, k) => -1 - k),
      true,
    );
  return keepingInput(torch, "_adaptive_avg_pool2d", "AdaptiveAvgPool2DBackward0", input, target).out;
}

/** A kernel whose backward asks for the input; its result has the sides `spatial`. */
function keepingInput(
  torch: Torch,
  operator: string,
  name: string,
  input: Tensor,
  spatial: readonly number[],
): { node: Node | null; out: Tensor } {
  const last = isChannelsLast(input.sizes, input.strides);
  const node = torch.record(name, [input], (torch, [gradient], [self]) => [
    gradient ? torch.empty(`${operator}_backward`, self!.sizes, self!.dtype, formatStrides(self!.sizes, last)) : null,
  ]);
  if (node !== null) torch.save(node, input);
  const sizes = [...input.sizes.slice(0, input.rank - spatial.length), ...spatial];
  return { node, out: torch.attach(node, torch.empty(operator, sizes, input.dtype, formatStrides(sizes, last))) };
}

/** Sides of a pooled picture (`pooling_output_shape`); a window may not start in the padding on the right. */
function pooled(input: Tensor, { kernel, stride, padding, dilation, ceiling }: Window): number[] {
  const at = (list: readonly number[], k: number, fallback: number): number => list[k] ?? list[0] ?? fallback;
  const sides = input.sizes.slice(2);
  const places = sides.map((size, k) => {
    const window = at(dilation, k, 1) * (at(kernel, k, 1) - 1) + 1;
    const step = at(stride, k, at(kernel, k, 1));
    const pad = at(padding, k, 0);
    const places = (size + 2 * pad - window) / step;
    const count = (ceiling ? Math.ceil(places) : Math.floor(places)) + 1;
    return ceiling && (count - 1) * step >= size + pad ? count - 1 : count;
  });
  refuseTooLarge(kernel, sides, places);
  return places;
}

/**
 * `im2col` (`unfold` of a picture): every window's values in a column; backward adds them up again and keeps nothing of the
 * input but its sides (aten/native/cuda/Im2Col.cu, derivatives.yaml).
 */
export function windowsInColumns(torch: Torch, input: Tensor, window: Window): Tensor {
  const { sizes } = input;
  const count = pooled(input, window).reduce((product, side) => product * side, 1);
  const values = window.kernel.reduce((product, side) => product * side, sizes[sizes.length - 3]!);
  return rearranged(torch, input, ["im2col", "col2im", "Im2ColBackward0"], [...sizes.slice(0, -3), values, count]);
}

/** `col2im` (`fold`): columns of windows added up to a picture; backward takes the windows out again (aten/native/cuda/Col2Im.cu). */
export function columnsToPicture(
  torch: Torch,
  input: Tensor,
  sides: readonly number[],
  kernel: readonly number[],
): Tensor {
  const { sizes } = input;
  const channels = sizes[sizes.length - 2]! / kernel.reduce((product, side) => product * side, 1);
  const picture = [...sizes.slice(0, -2), channels, ...sides];
  return rearranged(torch, input, ["col2im", "im2col", "Col2ImBackward0"], picture);
}

/** What one of the two kernels makes of a tensor that lies row by row; the other one is its backward, and nothing is kept. */
function rearranged(
  torch: Torch,
  input: Tensor,
  [forward, backward, name]: readonly [forward: string, backward: string, node: string],
  sizes: readonly number[],
): Tensor {
  const { sizes: given, dtype } = input;
  const node = torch.record(name, [input], (torch, [gradient]) => {
    if (!gradient) return [null];
    const whole = contiguous(torch, gradient);
    const out = torch.empty(backward, given, dtype);
    whole.release();
    return [out];
  });
  const whole = contiguous(torch, input);
  const out = torch.attach(node, torch.empty(forward, sizes, dtype));
  whole.release();
  return out;
}

/**
 * `pixel_shuffle`: channels become points of a picture larger by `factor`, below one fewer (`pixel_unshuffle`); a copy both ways
 * (aten/src/ATen/native/PixelShuffle.cpp).
 */
export function pixelShuffle(torch: Torch, input: Tensor, factor: number): Tensor {
  const [samples = 1, channels = 1, high = 1, wide = 1] = input.sizes;
  const [out, back] = factor < 1 ? ["pixel_unshuffle", "pixel_shuffle"] : ["pixel_shuffle", "pixel_unshuffle"];
  const node = torch.record("PixelShuffleBackward0", [input], (torch, [gradient]) => [
    gradient ? torch.empty(back, [samples, channels, high, wide], gradient.dtype) : null,
  ]);
  // By a whole number, either way: the inverse of three is none.
  const by = Math.round(1 / factor);
  const sizes =
    factor < 1
      ? [samples, channels * by ** 2, high / by, wide / by]
      : [samples, channels / factor ** 2, high * factor, wide * factor];
  return torch.attach(node, torch.empty(out, sizes, input.dtype));
}

/** `feature_dropout` (`nn.Dropout2d`): a factor for each channel (aten/src/ATen/native/Dropout.cpp, make_feature_noise). */
export function dropoutOfChannels(torch: Torch, input: Tensor, p: number, train: boolean): Tensor {
  if (p === 0 || !train || !torch.training || input.elements === 0) return input.retain();
  const noise = noiseOfChannels(torch, input);
  const out = mul(torch, input, noise);
  noise.release();
  return out;
}

function noiseOfChannels(torch: Torch, { sizes, dtype }: Tensor): Tensor {
  const [samples = 1, channels = 1, ...sides] = sizes;
  return torch.empty("empty", [samples, channels, ...sides.map(() => 1)], dtype);
}

/** `dropout_`: noise of the input's size, or of its channels, is drawn and multiplied in; backward multiplies by it again. */
export function dropoutInPlace(torch: Torch, self: Tensor, p: number, train: boolean, channels = false): Tensor {
  if (p === 0 || !train || self.elements === 0) return self.retain();
  const noise = channels ? noiseOfChannels(torch, self) : elementwise(torch, "empty_like", [self]);
  const node = torch.record("MulBackward0", [self], (torch, [gradient], [factor]) => [
    gradient ? product(torch, gradient, factor!) : null,
  ]);
  if (node !== null) torch.save(node, noise);
  noise.release();
  return node === null ? self.retain() : torch.attach(node, sameView(self));
}

/**
 * `linalg_vector_norm`, order two. Autocast asks for a float32 result and leaves the input as it is. The gradient is
 * `grad * (self / norm).masked_fill_(norm == 0, 0)` (`norm_backward` in torch/csrc/autograd/FunctionsManual.cpp).
 */
export function vectorNorm(torch: Torch, input: Tensor, dims: readonly number[], keepdim: boolean): Tensor {
  const { sizes } = input;
  const dtype = torch.autocasting && ELEMENT_BYTES[input.dtype] < 4 ? "float32" : input.dtype;
  const node = torch.record("LinalgVectorNormBackward0", [input], (torch, [gradient], [self, norm]) => {
    if (!gradient) return [null];
    const wide = expandReduced(torch, gradient, sizes, dims, keepdim);
    const wideNorm = expandReduced(torch, norm!, sizes, dims, keepdim);
    const quotient = elementwise(torch, "div", [self!, wideNorm]);
    const zero = elementwise(torch, "eq", [norm!], "bool");
    const out = product(torch, wide, quotient);
    for (const tensor of [wide, wideNorm, quotient, zero]) tensor.release();
    return [out];
  });
  if (node !== null) torch.save(node, input);
  const out = torch.attach(node, torch.empty("linalg_vector_norm", reducedSizes(sizes, dims, keepdim), dtype));
  if (node !== null) torch.saveOutput(node, out);
  return out;
}
