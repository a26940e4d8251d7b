/**
 * MiSS: the input's parts of `r` features are summed and multiplied with one block; its kind "bat" turns and shifts every block of
 * the weight. Source: peft/tuners/miss/layer.py (MissLinear.forward, get_delta_weight).
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { add, sum } from "../../engine/ops/arithmetic";
import { clone, pad, permute, reshape } from "../../engine/ops/layout";
import { linear, matmul } from "../../engine/ops/linear";
import { dropout } from "../../engine/ops/nonlinear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, type BaseLayer, castInput, done, parameter } from "./layer";

export function miss(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const { rank } = adapter;
  if (adapter.turnsBlocks === true && base.inputs % rank === 0 && base.outputs % rank === 0)
    return turned(torch, rank, base);
  const block = parameter(torch, `${base.path}.miss_block`, [rank, base.outputs], base.dtype);
  const forward: ModuleForward = (torch, input) => {
    const result = base.forward(torch, input);
    const rest = input.size(-1) % rank;
    const even = rest === 0 ? input.retain() : pad(torch, input, [0, rank - rest]);
    const x = done(castInput(torch, even, block.dtype), even);
    const dropped = dropout(torch, x, adapter.dropout, true);
    const parts = done(reshape(torch, dropped, [...x.sizes.slice(0, -1), x.size(-1) / rank, rank]), dropped);
    const sums = done(sum(torch, parts, [-2], false), parts);
    const change = done(matmul(torch, sums, block), sums);
    const both = done(add(torch, result, change), change, result);
    return done(castInput(torch, both, input.dtype), both, x);
  };
  return { parameters: [block], forward };
}

function turned(torch: Torch, rank: number, base: BaseLayer): AdapterLayer {
  const rows = base.outputs / rank;
  const blocks = parameter(torch, `${base.path}.miss_block`, [rows, rank, rank], base.dtype);
  const forward: ModuleForward = (torch, input) => {
    const stored = base.weight(torch);
    const copied = done(clone(torch, stored), stored);
    const change = changeOf(torch, copied, blocks, rows);
    const weight = done(add(torch, copied, change), copied, change);
    const x = castInput(torch, input, weight.dtype);
    const bias = base.bias === null ? null : castInput(torch, base.bias, weight.dtype);
    const result = linear(torch, x, weight, bias);
    return done(castInput(torch, result, input.dtype), result, x, bias, weight);
  };
  return { parameters: [blocks], forward };
}

/** `W @ B + B` of every block of the weight. */
function changeOf(torch: Torch, given: Tensor, blocks: Tensor, rows: number): Tensor {
  const weight = castInput(torch, given, blocks.dtype);
  const rank = blocks.size(-1);
  const parts = reshape(torch, weight, [rows, rank, weight.size(1) / rank, rank]);
  const laid = done(permute(torch, parts, [2, 0, 1, 3]), parts);
  const moved = matmul(torch, laid, blocks);
  const shifted = done(add(torch, moved, blocks), moved);
  const back = permute(torch, shifted, [1, 2, 0, 3]);
  return done(reshape(torch, back, weight.sizes), back, shifted, laid, weight);
}
