/** Convolutions and their transposed kind. Source: derivatives.yaml. */
import { say } from "../../../words/message";
import { ImpossibleSizes, refuseSizes } from "../not-modelled";
import { formatStrides, isChannelsLast, type Sizes } from "../shape";
import { type Tensor, tensorBytes } from "../tensor";
import type { Torch } from "../torch";
import { view } from "./layout";
import { lowered } from "./linear";

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

/** Stride, padding and dilation of a convolution. */
export type Windows = readonly [stride: readonly number[], padding: readonly number[], dilation: readonly number[]];

/**
 * Throws where a window does not fit into what it goes over (aten/src/ATen/native/Convolution.cpp, check_shape_forward: "Kernel size
 * can't be greater than actual input size"; Pool.h, pool2d_shape_check: "Output size is too small").
 *
 * @param places how many there are of it, by side
 */
export function refuseTooLarge(window: Sizes, over: Sizes, places: Sizes): void {
  if (places.every((count) => count >= 1)) return;
  refuseSizes([...window, ...over], say("engine.window", { window: window.join(" × "), over: over.join(" × ") }));
}

/** Throws where windows go nowhere or padding takes away (aten/src/ATen/native/Convolution.cpp, ConvParams: `is_stride_nonpos`, `is_padding_neg`). */
export function refuseWindows([stride, padding, dilation]: Windows): void {
  if ([...stride, ...dilation].every((one) => one >= 1) && padding.every((one) => one >= 0)) return;
  const [by, around, apart] = [stride, padding, dilation].map((one) => one.join(" × "));
  throw new ImpossibleSizes(say("engine.windows", { by: by!, around: around!, apart: apart! }));
}

/** `convolution`: saves input and weight; the backward makes the needed gradients in one kernel call. */
export function convolution(
  torch: Torch,
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  windows: Windows,
): Tensor {
  refuseWindows(windows);
  const [stride, padding, dilation] = windows;
  return lowered(torch, [input, weight, bias], (cast) => {
    const [x, w, b] = cast as [Tensor, Tensor, Tensor | null];
    const spatial = x.sizes.slice(2).map((size, k) => {
      const reach = (dilation[k] ?? dilation[0] ?? 1) * (w.size(2 + k) - 1) + 1;
      return Math.floor((size + 2 * (padding[k] ?? padding[0] ?? 0) - reach) / (stride[k] ?? stride[0] ?? 1)) + 1;
    });
    refuseTooLarge(w.sizes.slice(2), x.sizes.slice(2), spatial);
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

/** Sizes of a transposed convolution's windows; `added` is what its result is longer than they make it (`output_padding`). */
export interface Raising {
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly added: readonly number[];
  readonly groups: number;
  readonly dilation: readonly number[];
}

/** `conv_transpose`: `convolution` the other way round; the kernel's first side is the input's (ConvUtils.h, conv_input_size). */
export function transposedConvolution(
  torch: Torch,
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  { stride, padding, added, groups, dilation }: Raising,
): Tensor {
  const of = (list: readonly number[], k: number, standard: number): number => list[k] ?? list[0] ?? standard;
  return lowered(torch, [input, weight, bias], (cast) => {
    const [x, w, b] = cast as [Tensor, Tensor, Tensor | null];
    const spatial = x.sizes.slice(2).map((size, k) => {
      const window = (w.size(2 + k) - 1) * of(dilation, k, 1) + 1;
      return (size - 1) * of(stride, k, 1) - 2 * of(padding, k, 0) + window + of(added, k, 0);
    });
    const channels = w.size(1) * groups;
    const node = torch.record("ConvolutionBackward0", [x, w, b], (torch, [gradient], [self, kernel], node) => {
      if (!gradient) return [null, null, null];
      const operator = "convolution_backward";
      return [
        node.edges[0] ? torch.empty(operator, self!.sizes, self!.dtype) : null,
        node.edges[1] ? torch.empty(operator, kernel!.sizes, kernel!.dtype) : null,
        node.edges[2] ? torch.empty(operator, [channels], kernel!.dtype) : null,
      ];
    });
    if (node !== null) for (const tensor of [x, w]) torch.save(node, tensor);
    return torch.attach(node, torch.empty("convolution", [x.size(0), channels, ...spatial], x.dtype));
  });
}

/**
 * `prelu`: a view of the weight as wide as the input has sides. Backward makes both gradients in one kernel, each of the input's size,
 * and the weight's is summed by the engine (aten/src/ATen/native/Activation.cpp, prelu, _prelu_kernel_backward); of autocast's lower
 * precision (aten/src/ATen/autocast_mode.h).
 */
export function prelu(torch: Torch, input: Tensor, weight: Tensor): Tensor {
  return lowered(torch, [input, weight], (cast) => {
    const [x, given] = cast as [Tensor, Tensor];
    const w = view(torch, given, [1, given.elements, ...x.sizes.slice(2).map(() => 1)]);
    const node = torch.record("PreluKernelBackward0", [x, w], (torch, [gradient], [self], node) => {
      if (!gradient) return [null, null];
      const like = (): Tensor => torch.empty("_prelu_kernel_backward", self!.sizes, self!.dtype);
      const [first, second] = [like(), like()];
      if (node.edges[0] && node.edges[1]) return [first, second];
      (node.edges[0] ? second : first).release();
      return node.edges[0] ? [first, null] : [null, second];
    });
    if (node !== null) for (const tensor of [x, w]) torch.save(node, tensor);
    const out = torch.attach(node, torch.empty("_prelu_kernel", x.sizes, x.dtype, x.strides));
    w.release();
    return out;
  });
}
