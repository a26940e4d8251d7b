/**
 * LoRA and DoRA on a convolution (peft/tuners/lora/layer.py, _ConvNd): one of the layer's own windows to `rank` channels, then one of
 * single places to the layer's channels. Source of what is taken: peft/tuners/lora/layer.py (dispatch_default).
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import type { Argument } from "../../engine/ops/arguments";
import { add, div, mul, sub } from "../../engine/ops/arithmetic";
import { convolution } from "../../engine/ops/convolution";
import { view } from "../../engine/ops/layout";
import { matmul } from "../../engine/ops/linear";
import { dropout } from "../../engine/ops/nonlinear";
import { sameView, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, adapterDtype, castInput, done, inputOf, parameter } from "./layer";
import { rankOf } from "./ranks";

/** How a convolution's windows lie: its operands behind weight and bias. */
type Windows = readonly [stride: readonly number[], padding: readonly number[], dilation: readonly number[]];

/** The convolution under an adapter. */
export interface BaseConvolution {
  readonly path: string;
  readonly weight: Tensor;
  readonly bias: Tensor | null;
}

export function windowsOf(rest: readonly Argument[]): Windows {
  const list = (value: Argument | undefined): number[] =>
    Array.isArray(value) ? value.map(Number) : typeof value === "number" ? [value] : [];
  return [list(rest[2]), list(rest[3]), list(rest[4])];
}

/** Whether each channel is for itself: peft refuses ranks that do not go up in the channels (_ConvNd.__init__). */
export function isDepthwise(weight: Tensor): boolean {
  return weight.size(1) === 1 && weight.size(0) > 1;
}

/** Factors of a convolution, the first of which reads its windows, and DoRA's length of each channel. */
interface Factors {
  readonly a: Tensor;
  readonly b: Tensor;
  readonly offset: Tensor | null;
  readonly magnitude: Tensor | null;
}

/** Adapters of layers whose channels are all read by every window (groups of one). */
export function loraConvolution(torch: Torch, adapter: AdapterSpec, base: BaseConvolution): AdapterLayer {
  const { path, weight, bias } = base;
  const rank = rankOf(adapter, path);
  const dtype = adapterDtype(adapter, weight.dtype);
  const [outputs, inputs, ...kernel] = weight.sizes;
  const places = kernel.map(() => 1);
  const a = parameter(torch, `${path}.lora_A`, [rank, inputs!, ...kernel], dtype);
  const b = parameter(torch, `${path}.lora_B`, [outputs!, rank, ...places], dtype);
  const offset = adapter.loraBias ? parameter(torch, `${path}.lora_B_bias`, [outputs!], dtype) : null;
  const lengths = adapter.castTo === undefined ? dtype : "float32";
  const magnitude =
    adapter.type === "dora"
      ? parameter(torch, `${path}.lora_magnitude_vector`, [1, outputs!, ...places], lengths)
      : null;
  const factors: Factors = { a, b, offset, magnitude };
  const forward: ModuleForward = (torch, input, rest = []) => {
    const windows = windowsOf(rest);
    const result = convolution(torch, input, weight, bias, windows);
    const x = inputOf(torch, adapter, input, dtype);
    const dropped = dropout(torch, x, adapter.dropout, true);
    const change =
      magnitude === null
        ? scaledUpdate(torch, dropped, factors, windows)
        : decomposed(
            torch,
            base,
            { x: dropped, result, dropping: adapter.dropout > 0 && torch.training },
            factors,
            windows,
          );
    dropped.release();
    const { dtype: own } = result;
    const sum = done(add(torch, result, change), change, result);
    return done(castInput(torch, sum, own), sum, x);
  };
  return { parameters: [a, b, offset, magnitude].filter((tensor) => tensor !== null), forward };
}

/** `lora_B(lora_A(x))`; `lora_A` is made without the layer's dilation. */
function update(torch: Torch, x: Tensor, { a, b, offset }: Factors, [stride, padding]: Windows): Tensor {
  const down = convolution(torch, x, a, null, [stride, padding, [1]]);
  return done(convolution(torch, down, b, offset, [[1], [0], [1]]), down);
}

function scaledUpdate(torch: Torch, x: Tensor, factors: Factors, windows: Windows): Tensor {
  const up = update(torch, x, factors, windows);
  return done(mul(torch, up, 0.5), up);
}

/** What DoRA adds (peft/tuners/lora/dora.py, _DoraConvNdLayer.forward): the convolution runs anew on what dropout left. */
function decomposed(
  torch: Torch,
  { weight, bias }: BaseConvolution,
  { x, result, dropping }: { readonly x: Tensor; readonly result: Tensor; readonly dropping: boolean },
  factors: Factors,
  windows: Windows,
): Tensor {
  const { a, b, magnitude } = factors;
  const [rank, outputs] = [a.size(0), b.size(0)];
  const places = weight.sizes.slice(2).map(() => 1);
  const [up, down] = [view(torch, b, [outputs, rank]), view(torch, a, [rank, -1])];
  const product = done(matmul(torch, up, down), up, down);
  const change = done(view(torch, product, weight.sizes), product);
  const detached = sameView(change);
  const scaled = done(mul(torch, detached, 0.5), detached);
  const combined = done(add(torch, weight, scaled), scaled);
  // Under autocast norms are made in float32, without a copy of what they are of.
  const lengths = torch.autocasting ? "float32" : combined.dtype;
  const norm = done(torch.empty("linalg_vector_norm", [1, outputs, ...places], lengths), combined);
  const scale = div(torch, magnitude!, norm);
  const base = dropping
    ? convolution(torch, x, weight, null, windows)
    : bias === null
      ? result.retain()
      : withoutBias(torch, result, bias, places);
  const less = sub(torch, scale, 1);
  const first = done(mul(torch, less, base), less);
  const low = update(torch, x, factors, windows);
  const second = done(mul(torch, scale, low), low);
  const third = done(mul(torch, second, 0.5), second);
  return done(add(torch, first, third), first, third, base, scale, norm, change);
}

function withoutBias(torch: Torch, result: Tensor, bias: Tensor, places: readonly number[]): Tensor {
  const shaped = view(torch, bias, [1, -1, ...places]);
  return done(sub(torch, result, shaped), shaped);
}
