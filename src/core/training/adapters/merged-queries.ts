/**
 * LoRA on a layer that makes queries, keys and values at once, on some of them: the low-rank products are convolutions of one step
 * over the sequence, a group or a call for each part, and parts without factors are zeros. Source: litgpt/lora.py (LoRAQKVLinear).
 */
import { add, mul } from "../../engine/ops/arithmetic";
import { convolution } from "../../engine/ops/convolution";
import { cat, split, transpose, unsqueeze } from "../../engine/ops/layout";
import { linear } from "../../engine/ops/linear";
import { dropout } from "../../engine/ops/nonlinear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec, MergedParts } from "../run";
import { type AdapterLayer, type BaseLayer, buffer, done, parameter } from "./layer";
import { rankOf } from "./ranks";

/** The adapter of a layer whose outputs are the parts one after the other. */
export function mergedLora(torch: Torch, adapter: AdapterSpec, base: BaseLayer, parts: MergedParts): AdapterLayer {
  const { path, dtype, inputs } = base;
  const rank = rankOf(adapter, path);
  const adapted = parts.sizes.filter((_, k) => parts.adapted[k]);
  const outputs = adapted.reduce((sum, size) => sum + size, 0);
  const a = parameter(torch, `${path}.lora_A`, [rank * adapted.length, inputs], dtype);
  const b = parameter(torch, `${path}.lora_B`, [outputs, rank], dtype);
  let indices: Tensor | null = null;
  const forward: AdapterLayer["forward"] = (torch, input) => {
    const pretrained = base.forward(torch, input);
    const dropped = dropout(torch, input, adapter.dropout, true);
    const down = done(linear(torch, dropped, a, null), dropped);
    const turned = done(transpose(torch, down, -2, -1), down);
    const kernels = unsqueeze(torch, b, -1);
    const made = done(byParts(torch, turned, kernels, adapted, rank), turned, kernels);
    const back = done(transpose(torch, made, -2, -1), made);
    const whole = adapted.length === parts.sizes.length;
    if (!whole) indices ??= buffer(torch, [outputs], "int64");
    const padded = whole ? back : done(zeroPadded(torch, back, base.outputs, indices!), back);
    const scaled = done(mul(torch, padded, 0.5), padded);
    return done(add(torch, pretrained, scaled), pretrained, scaled);
  };
  return { parameters: [a, b], forward };
}

/** Equal parts are groups of one convolution; others have one each. */
function byParts(torch: Torch, input: Tensor, kernels: Tensor, sizes: readonly number[], rank: number): Tensor {
  const step = [[1], [0], [1]] as const;
  if (sizes.every((size) => size === sizes[0])) return convolution(torch, input, kernels, null, step);
  const pieces = split(
    torch,
    input,
    sizes.map(() => rank),
    1,
  );
  const weights = split(torch, kernels, sizes, 0);
  const made = pieces.map((piece, k) => convolution(torch, piece, weights[k]!, null, step));
  return done(cat(torch, made, 1), ...made, ...pieces, ...weights);
}

/** Zeros of every output, in which the parts are put; a copy of the indices is kept for backward. */
function zeroPadded(torch: Torch, source: Tensor, outputs: number, indices: Tensor): Tensor {
  const sizes = [...source.sizes.slice(0, -1), outputs];
  const node = torch.record("IndexCopyBackward0", [source], (torch, [gradient]) => [
    gradient ? torch.empty("index_select", source.sizes, gradient.dtype) : null,
  ]);
  const index = torch.empty("clone", indices.sizes, "int64");
  if (node !== null) for (const tensor of [index, source]) torch.save(node, tensor);
  index.release();
  return torch.attach(node, torch.empty("new_zeros", sizes, source.dtype));
}
