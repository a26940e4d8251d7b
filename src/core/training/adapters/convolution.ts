/**
 * LoRA on a convolution: a narrow one of the same kernel and steps, then one of a single point.
 * Source: peft/tuners/lora/layer.py (_ConvNd.update_layer, _ConvNd.forward).
 */
import type { ModuleForward } from "../../engine/interpreter";
import { add, mul } from "../../engine/ops/arithmetic";
import { convolution } from "../../engine/ops/model";
import { dropout } from "../../engine/ops/nonlinear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, adapterDtype, castInput, done, parameter } from "./layer";
import { rankOf } from "./targets";

/** Whether the rank can be taken apart into a part for each channel: peft refuses convolutions of single channels otherwise. */
export function isDepthwise(weight: Tensor): boolean {
  return weight.size(1) === 1 && weight.size(0) > 1;
}

export function convolutionLora(
  torch: Torch,
  adapter: AdapterSpec,
  path: string,
  weight: Tensor,
  bias: Tensor | null,
): AdapterLayer {
  const rank = rankOf(adapter, path);
  const dtype = adapterDtype(adapter, weight.dtype);
  const [outputs, ...reach] = weight.sizes as [number, ...number[]];
  const a = parameter(torch, `${path}.lora_A`, [rank, ...reach], dtype);
  const b = parameter(torch, `${path}.lora_B`, [outputs, rank, ...reach.slice(1).map(() => 1)], dtype);
  const shift = adapter.loraBias ? parameter(torch, `${path}.lora_B_bias`, [outputs], dtype) : null;
  const forward: ModuleForward = (torch, input, _rest, geometry) => {
    const { stride = [1], padding = [0], dilation = [1] } = geometry ?? {};
    const result = convolution(torch, input, weight, bias, stride, padding, dilation);
    const x = castInput(torch, input, dtype);
    const dropped = dropout(torch, x, adapter.dropout, true);
    const down = done(convolution(torch, dropped, a, null, stride, padding, [1]), dropped);
    const up = done(convolution(torch, down, b, shift, [1], [0], [1]), down);
    const scaled = done(mul(torch, up, 0.5), up);
    const sum = done(add(torch, result, scaled), scaled);
    const out = done(castInput(torch, sum, result.dtype), sum);
    result.release();
    x.release();
    return out;
  };
  return { parameters: [a, b, shift].filter((tensor) => tensor !== null), forward };
}
