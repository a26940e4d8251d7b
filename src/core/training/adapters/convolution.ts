/**
 * LoRA on a convolution (peft/tuners/lora/layer.py, _ConvNd): one of the layer's own windows to `rank` channels, then one of
 * single places to the layer's channels. Source of what is taken: peft/tuners/lora/layer.py (dispatch_default).
 */
import type { ModuleForward } from "../../engine/interpreter";
import { add, mul } from "../../engine/ops/arithmetic";
import { convolution } from "../../engine/ops/model";
import { dropout } from "../../engine/ops/nonlinear";
import type { Argument } from "../../engine/ops/table";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, adapterDtype, castInput, done, parameter } from "./layer";
import { rankOf } from "./targets";

/** How a convolution's windows lie: its operands behind weight and bias. */
type Windows = readonly [stride: readonly number[], padding: readonly number[], dilation: readonly number[]];

function windowsOf(rest: readonly Argument[]): Windows {
  const list = (value: Argument | undefined): number[] =>
    Array.isArray(value) ? value.map(Number) : typeof value === "number" ? [value] : [];
  return [list(rest[2]), list(rest[3]), list(rest[4])];
}

/** Whether each channel is for itself: peft refuses ranks that do not go up in the channels (_ConvNd.__init__). */
export function isDepthwise(weight: Tensor): boolean {
  return weight.size(1) === 1 && weight.size(0) > 1;
}

/** Adapters of layers whose channels are all read by every window (groups of one). */
export function loraConvolution(
  torch: Torch,
  adapter: AdapterSpec,
  path: string,
  weight: Tensor,
  bias: Tensor | null,
): AdapterLayer {
  const rank = rankOf(adapter, path);
  const dtype = adapterDtype(adapter, weight.dtype);
  const [outputs, inputs, ...kernel] = weight.sizes;
  const a = parameter(torch, `${path}.lora_A`, [rank, inputs!, ...kernel], dtype);
  const b = parameter(torch, `${path}.lora_B`, [outputs!, rank, ...kernel.map(() => 1)], dtype);
  const offset = adapter.loraBias ? parameter(torch, `${path}.lora_B_bias`, [outputs!], dtype) : null;
  const forward: ModuleForward = (torch, input, rest = []) => {
    const windows = windowsOf(rest);
    const result = convolution(torch, input, weight, bias, ...windows);
    const x = castInput(torch, input, dtype);
    const dropped = dropout(torch, x, adapter.dropout, true);
    // `lora_A` is made without the layer's dilation.
    const [stride, padding] = windows;
    const down = done(convolution(torch, dropped, a, null, stride, padding, [1]), dropped);
    const up = done(convolution(torch, down, b, offset, [1], [0], [1]), down);
    const scaled = done(mul(torch, up, 0.5), up);
    const { dtype: own } = result;
    const sum = done(add(torch, result, scaled), scaled, result);
    return done(castInput(torch, sum, own), sum, x);
  };
  return { parameters: [a, b, ...(offset === null ? [] : [offset])], forward };
}
