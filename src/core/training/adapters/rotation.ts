/**
 * OFT: the input is turned, block by block, by matrices that a Cayley transform (its Neumann series of five terms) makes
 * from skew-symmetric ones at every forward. Source: peft/tuners/oft/layer.py (OFTRotationModule).
 */
import type { ModuleForward } from "../../engine/interpreter";
import { inplace, sub } from "../../engine/ops/arithmetic";
import { permute, repeat, reshape, transpose, view } from "../../engine/ops/layout";
import { bmmOperator } from "../../engine/ops/linear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, type BaseLayer, buffer, castInput, done, parameter } from "./layer";

const DEFAULT_BLOCK = 32;

/** A size that divides the width: the asked one, or the nearest that does. */
function dividing(width: number, asked: number): number {
  if (asked >= width) return width;
  let higher = asked;
  while (higher <= width && width % higher !== 0) higher++;
  let lower = asked;
  while (lower > 1 && width % lower !== 0) lower--;
  return asked - lower <= higher - asked ? lower : higher;
}

export function oft(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const asked = adapter.blockSize ?? (adapter.rank > 0 ? 0 : DEFAULT_BLOCK);
  const block = asked > 0 ? dividing(base.inputs, asked) : base.inputs / dividing(base.inputs, adapter.rank);
  const blocks = base.inputs / block;
  const made = adapter.blockShare ? 1 : blocks;
  const elements = (block * (block - 1)) / 2;
  const weight = parameter(torch, `${base.path}.oft_R`, [made, elements], base.dtype);
  // Row and column of every element above the diagonal.
  for (let k = 0; k < 2; k++) buffer(torch, [elements], "int64");
  const forward: ModuleForward = (torch, input) => {
    const x = castInput(torch, input, weight.dtype);
    const turns = rotations(torch, weight, made, block);
    const all = made === blocks ? turns : done(repeat(torch, turns, [blocks, 1, 1]), turns);
    const turned = done(rotate(torch, x, all, blocks, block), all);
    const back = done(castInput(torch, turned, x.dtype), turned);
    x.release();
    const last = done(castInput(torch, back, input.dtype), back);
    const result = done(base.forward(torch, last), last);
    return done(castInput(torch, result, input.dtype), result);
  };
  return { parameters: [weight], forward };
}

/** One orthogonal matrix per block. */
function rotations(torch: Torch, weight: Tensor, blocks: number, block: number): Tensor {
  const skew = skewSymmetric(torch, weight, blocks, block);
  const eye = torch.empty("eye", [block, block], weight.dtype);
  const identity = torch.empty("repeat", [blocks, block, block], weight.dtype);
  eye.release();
  let sum = done(inplace(torch, identity, skew), identity);
  let power = bmmOperator(torch, skew, skew);
  sum = done(inplace(torch, sum, power), sum);
  for (let term = 0; term < 2; term++) {
    power = done(bmmOperator(torch, power, skew), power);
    sum = done(inplace(torch, sum, power), sum);
  }
  return done(sum, power, skew);
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

/** `einsum("...rk,rkc->...rc")` over blocks of the last dimension, laid out as the input was. */
function rotate(torch: Torch, x: Tensor, turns: Tensor, blocks: number, block: number): Tensor {
  const lead = x.sizes.slice(0, -1);
  const rows = lead.reduce((product, size) => product * size, 1);
  const parts = reshape(torch, x, [...lead, blocks, block]);
  const n = lead.length;
  const first = permute(torch, parts, [n, ...lead.map((_, k) => k), n + 1]);
  const flat = reshape(torch, first, [blocks, rows, block]);
  const product = done(bmmOperator(torch, flat, turns), flat, first, parts);
  const spread = done(view(torch, product, [blocks, ...lead, block]), product);
  const turned = done(permute(torch, spread, [...lead.map((_, k) => k + 1), 0, n + 1]), spread);
  return done(reshape(torch, turned, x.sizes), turned);
}
