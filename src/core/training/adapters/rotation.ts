/**
 * OFT: the input is turned, block by block, by matrices that a Cayley transform (its Neumann series of five terms) makes
 * from skew-symmetric ones at every forward. Source: peft/tuners/oft/layer.py (OFTRotationModule).
 */

import { divisorAtLeast, divisorAtMost } from "../../../terms/divisors";
import type { DType } from "../../engine/dtype";
import type { ModuleForward } from "../../engine/interpreter/options";
import { elementwise, inplace, mul, sub } from "../../engine/ops/arithmetic";
import { convolution } from "../../engine/ops/convolution";
import { contiguous, permute, repeat, reshape, transpose, view } from "../../engine/ops/layout";
import { bmmOperator, lowered } from "../../engine/ops/linear";
import { columnsToPicture } from "../../engine/ops/pooling";
import { slidingWindows } from "../../engine/ops/strided";
import { sameView, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type BaseConvolution, isDepthwise, windowsOf } from "./convolution";
import { type AdapterLayer, adapterDtype, type BaseLayer, buffer, castInput, done, parameter } from "./layer";

const DEFAULT_BLOCK = 32;

/** A size that divides the width: the asked one, or the nearest that does. */
function dividing(width: number, asked: number): number {
  if (asked >= width) return width;
  const lower = divisorAtMost(width, asked) ?? 1;
  const higher = divisorAtLeast(width, asked) ?? width;
  return asked - lower <= higher - asked ? lower : higher;
}

/** The matrices of one layer. */
interface Turning {
  readonly weight: Tensor;
  readonly blocks: number;
  readonly block: number;
  /** One matrix a block, made anew. */
  readonly turns: (torch: Torch) => Tensor;
}

/** Makes the parameters that turn vectors of `width` numbers (OFTRotationModule.__init__). */
function turning(torch: Torch, adapter: AdapterSpec, path: string, width: number, dtype: DType): Turning {
  const asked = adapter.blockSize ?? (adapter.rank > 0 ? 0 : DEFAULT_BLOCK);
  const block = asked > 0 ? dividing(width, asked) : width / dividing(width, adapter.rank);
  const blocks = width / block;
  const made = adapter.blockShare ? 1 : blocks;
  const elements = (block * (block - 1)) / 2;
  const weight = parameter(torch, `${path}.oft_R`, [made, elements], dtype);
  // Row and column of every element above the diagonal.
  for (let k = 0; k < 2; k++) buffer(torch, [elements], "int64");
  const turns = (torch: Torch): Tensor => {
    const own = rotations(torch, weight, made, block);
    return made === blocks ? own : done(repeat(torch, own, [blocks, 1, 1]), own);
  };
  return { weight, blocks, block, turns };
}

export function oft(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const { weight, blocks, block, turns } = turning(torch, adapter, base.path, base.inputs, base.dtype);
  const forward: ModuleForward = (torch, input) => {
    const x = castInput(torch, input, weight.dtype);
    const all = turns(torch);
    // Names of the rotation's code keep all of these until it returns.
    const parts = rotate(torch, x, all, blocks, block);
    const turned = reshape(torch, parts, x.sizes);
    const back = done(castInput(torch, turned, x.dtype), all, parts, turned);
    x.release();
    const last = castInput(torch, back, input.dtype);
    const result = done(base.forward(torch, last), last);
    return done(castInput(torch, result, input.dtype), result, back);
  };
  return { parameters: [weight], forward };
}

/** OFT on a convolution of two dimensions: what each window reads is turned, and added up to a picture again (Conv2d). */
export function oftConvolution(torch: Torch, adapter: AdapterSpec, base: BaseConvolution): AdapterLayer {
  const { weight: kernels, bias, path } = base;
  const [outputs = 1, read = 1, ...kernel] = kernels.sizes;
  const channels = isDepthwise(kernels) ? outputs : read;
  const width = channels * kernel[0]! ** 2;
  const own = turning(torch, adapter, path, width, adapterDtype(adapter, kernels.dtype));
  const forward: ModuleForward = (torch, input, rest = []) => {
    const x = castInput(torch, input, own.weight.dtype);
    const turned = done(turnedWindows(torch, x, own, kernel), x);
    const last = castInput(torch, turned, input.dtype);
    const result = done(convolution(torch, last, kernels, bias, windowsOf(rest)), last);
    return done(castInput(torch, result, input.dtype), result, turned);
  };
  return { parameters: [own.weight], forward };
}

/** OFTRotationModule.forward with `_unfold` and `_fold`: names of the code keep their tensors until it returns. */
function turnedWindows(torch: Torch, x: Tensor, own: Turning, kernel: readonly number[]): Tensor {
  const [samples = 1, channels = 1, height = 1, width = 1] = x.sizes;
  const [high = 1, wide = 1] = kernel;
  const [rows, columns] = [height - high + 1, width - wide + 1];
  const all = own.turns(torch);
  const down = slidingWindows(torch, x, 2, [high, 1]);
  const across = done(slidingWindows(torch, down, 3, [wide, 1]), down);
  const windows = done(permute(torch, across, [0, 2, 3, 1, 4, 5]), across);
  const laid = done(contiguous(torch, windows), windows);
  const unfolded = done(view(torch, laid, [samples * rows * columns, channels * high * wide]), laid);
  const parts = rotate(torch, unfolded, all, own.blocks, own.block);
  const rotated = reshape(torch, parts, unfolded.sizes);
  const places = view(torch, rotated, [samples, rows, columns, channels, high, wide]);
  const back = done(permute(torch, places, [0, 3, 1, 2, 4, 5]), places);
  const whole = done(contiguous(torch, back), back);
  const flat = view(torch, whole, [samples, channels * high * wide, rows * columns]);
  const folded = done(columnsToPicture(torch, flat, [height, width], kernel), flat, whole);
  const result = done(castInput(torch, folded, x.dtype), folded);
  return done(result, unfolded, all, parts, rotated);
}

/** One orthogonal matrix per block. */
function rotations(torch: Torch, weight: Tensor, blocks: number, block: number): Tensor {
  const skew = skewSymmetric(torch, weight, blocks, block);
  const eye = torch.empty("eye", [block, block], weight.dtype);
  const identity = torch.empty("repeat", [blocks, block, block], weight.dtype);
  eye.release();
  let sum = done(addTwice(torch, identity, skew), identity);
  let power = bmmOperator(torch, skew, skew);
  sum = done(addTwice(torch, sum, power), sum);
  power = done(bmmOperator(torch, power, skew), power);
  sum = done(addTwice(torch, sum, power), sum);
  power = done(bmmOperator(torch, power, skew), power);
  sum = done(inplace(torch, sum, power), sum);
  return done(sum, power, skew);
}

/** `sum.add_(term, alpha=2.0)`, whose term gets twice the gradient (derivatives.yaml, add_). */
function addTwice(torch: Torch, sum: Tensor, term: Tensor): Tensor {
  const node = torch.record("AddBackward0", [sum, term], (torch, [gradient], _, node) => [
    gradient && node.edges[0] ? gradient.retain() : null,
    gradient && node.edges[1] ? elementwise(torch, "mul", [gradient]) : null,
  ]);
  return node === null ? sum.retain() : torch.attach(node, sameView(sum));
}

/** `matrix[:, rows, cols] = vec; matrix - matrix.T`. */
function skewSymmetric(torch: Torch, weight: Tensor, blocks: number, block: number): Tensor {
  const zeros = torch.empty("zeros", [blocks, block, block], weight.dtype);
  const node = torch.record("IndexPutBackward0", [weight], (torch, [gradient]) => [
    gradient ? torch.empty("index", weight.sizes, gradient.dtype) : null,
  ]);
  const matrix = torch.attach(node, zeros);
  const turned = transpose(torch, matrix, -2, -1);
  return done(sub(torch, matrix, turned), turned, matrix);
}

/** `einsum("...rk,rkc->...rc")` over blocks of the last dimension, which stay apart. */
function rotate(torch: Torch, x: Tensor, turns: Tensor, blocks: number, block: number): Tensor {
  const lead = x.sizes.slice(0, -1);
  const rows = lead.reduce((product, size) => product * size, 1);
  const parts = reshape(torch, x, [...lead, blocks, block]);
  if (block === 1) {
    // Nothing to sum over: einsum, which autocast casts for, multiplies (aten/src/ATen/native/Linear.cpp). Prime widths have such blocks.
    const each = view(torch, turns, [blocks, 1]);
    return done(
      lowered(torch, [parts, each], ([a, b]) => mul(torch, a!, b!)),
      each,
      parts,
    );
  }
  const n = lead.length;
  const first = permute(torch, parts, [n, ...lead.map((_, k) => k), n + 1]);
  const flat = reshape(torch, first, [blocks, rows, block]);
  const product = done(bmmOperator(torch, flat, turns), flat, first, parts);
  const spread = done(view(torch, product, [blocks, ...lead, block]), product);
  return done(permute(torch, spread, [...lead.map((_, k) => k + 1), 0, n + 1]), spread);
}
