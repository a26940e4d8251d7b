/**
 * Adapters that make a matrix as large as the weight in every forward: HRA's reflections, FourierFT's inverse transform of a few
 * frequencies, RandLoRA's sums of random bases. Sources: peft/tuners/hra/layer.py, peft/tuners/fourierft/layer.py,
 * peft/tuners/randlora/{layer.py,model.py}.
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { add, div, mul, product, sub } from "../../engine/ops/arithmetic";
import { fourier, real } from "../../engine/ops/complex";
import { reshape, slice, transpose, view } from "../../engine/ops/layout";
import { linear, mmOperator } from "../../engine/ops/linear";
import { dropout } from "../../engine/ops/nonlinear";
import { vectorNorm } from "../../engine/ops/pooling";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { withDelta } from "./factored";
import { type AdapterLayer, type BaseLayer, buffer, castInput, done, parameter } from "./layer";

/** A product of as many reflections as the rank says, after which the weight is multiplied with it. */
export function hra(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const { inputs, path } = base;
  const vectors = parameter(torch, `${path}.hra_u`, [inputs, adapter.rank], base.dtype);
  const forward: ModuleForward = (torch, input) => {
    const whole = torch.empty("eye", [inputs, inputs], "float32");
    const reflected = reflections(torch, vectors, adapter.rank);
    const rotation = done(mmOperator(torch, whole, reflected), whole);
    const weight = base.weight(torch);
    // `.data`: no gradient flows to it.
    const own = done(castInput(torch, weight, rotation.dtype), weight);
    const turned = done(mmOperator(torch, own, rotation), rotation);
    const bias = base.bias === null ? null : castInput(torch, base.bias, turned.dtype);
    const x = castInput(torch, input, turned.dtype);
    const result = linear(torch, x, turned, bias);
    return done(castInput(torch, result, input.dtype), result, x, bias, turned, own, reflected);
  };
  return { parameters: [vectors], forward };
}

/** `weight - 2 * weight @ u @ u.t()`, one vector after another, from the identity. */
function reflections(torch: Torch, vectors: Tensor, rank: number): Tensor {
  const inputs = vectors.size(0);
  const norms = vectorNorm(torch, vectors, [0], false);
  const units = done(div(torch, vectors, norms), norms);
  let weight = torch.empty("eye", [inputs, inputs], vectors.dtype);
  let last: Tensor | null = null;
  for (let k = 0; k < rank; k++) {
    const column = slice(torch, units, 1, k, k + 1);
    const vector = done(view(torch, column, [-1, 1]), column);
    const twice = mul(torch, weight, 2);
    const along = done(mmOperator(torch, twice, vector), twice);
    const across = transpose(torch, vector, 0, 1);
    const change = done(mmOperator(torch, along, across), along, across);
    weight = done(sub(torch, weight, change), weight, change);
    last?.release();
    last = vector;
  }
  return done(weight, units, last);
}

/** A few frequencies are trained; the rank is their number. */
export function fourierft(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const spectrum = parameter(torch, `${base.path}.fourierft_spectrum`, [adapter.rank], base.dtype);
  const { inputs, outputs } = base;
  const delta = (t: Torch): Tensor => {
    const places = t.empty("_to_copy", [2, adapter.rank], "int64");
    const node = t.record("IndexPutBackward0", [spectrum], (t, [gradient]) => [
      gradient ? t.empty("index", spectrum.sizes, gradient.dtype) : null,
    ]);
    if (node !== null) t.save(node, places);
    const dense = t.attach(node, t.empty("zeros", [outputs, inputs], "float32"));
    const complex = fourier(t, dense);
    const numbers = done(real(t, complex), complex);
    const scaled = done(mul(t, numbers, 0.5), numbers);
    const out = castInput(t, scaled, spectrum.dtype);
    return done(out, scaled, dense, places);
  };
  return { parameters: [spectrum], forward: withDelta(base, delta) };
}

/** The random matrices that all layers share. */
export interface RandomBases {
  readonly a: Tensor;
  readonly b: Tensor;
}

/** Bases of the largest adapted module, which its smaller side counts. */
export function randomBases(torch: Torch, adapter: AdapterSpec, layers: readonly BaseLayer[]): RandomBases {
  const inputs = Math.max(0, ...layers.map((layer) => layer.inputs));
  const outputs = Math.max(0, ...layers.map((layer) => layer.outputs));
  const [small, large] = [Math.min(inputs, outputs), Math.max(inputs, outputs)];
  const { rank } = adapter;
  return {
    a: buffer(torch, [rank, 1, small], "float32"),
    b: buffer(torch, [large, Math.ceil(small / rank), rank], "float32"),
  };
}

export function randlora(torch: Torch, adapter: AdapterSpec, base: BaseLayer, shared: RandomBases): AdapterLayer {
  const { inputs, outputs, path } = base;
  const { rank } = adapter;
  const [small, large] = [Math.min(inputs, outputs), Math.max(inputs, outputs)];
  const bases = Math.ceil(small / rank);
  const lambda = parameter(torch, `${path}.randlora_lambda`, [rank, bases], base.dtype);
  const gamma = parameter(torch, `${path}.randlora_gamma`, [bases, small], base.dtype);
  const forward: ModuleForward = (torch, input) => {
    const result = base.forward(torch, input);
    const a = slice(torch, shared.a, 2, 0, small);
    const rows = slice(torch, shared.b, 0, 0, large);
    const own = done(slice(torch, rows, 1, 0, bases), rows);
    const wide = done(reshape(torch, own, [large, bases * rank]), own);
    const scaled = scaledBase(torch, a, lambda, gamma);
    const flat = done(view(torch, scaled, [rank * bases, small]), scaled, a);
    const swapped = small !== inputs;
    const down = swapped ? done(transpose(torch, wide, 0, 1), wide) : flat;
    const up = swapped ? done(transpose(torch, flat, 0, 1), flat) : wide;
    const x = castInput(torch, input, up.dtype);
    const dropped = dropout(torch, x, adapter.dropout, true);
    const low = done(linear(torch, dropped, down, null), dropped);
    const high = done(linear(torch, low, up, null), low);
    const change = done(mul(torch, high, 0.5), high);
    const sum = done(add(torch, result, change), change, result);
    return done(castInput(torch, sum, input.dtype), sum, x, down, up);
  };
  return { parameters: [lambda, gamma], forward };
}

/** `UniqueBaseGrad`: keeps what it is given, and multiplies it again in backward. */
function scaledBase(torch: Torch, a: Tensor, lambda: Tensor, gamma: Tensor): Tensor {
  const sizes = [lambda.size(0), lambda.size(1), gamma.size(1)];
  const node = torch.record("UniqueBaseGradBackward", [lambda, gamma], (torch, [gradient]) => {
    if (!gradient) return [null, null];
    const side = (of: Tensor): Tensor => {
      const terms = product(torch, gradient, a);
      const made = torch.empty("bmm", of.sizes, gradient.dtype);
      terms.release();
      return made;
    };
    return [side(lambda), side(gamma)];
  });
  if (node !== null) for (const tensor of [a, lambda, gamma]) torch.save(node, tensor);
  const first = torch.empty("mul", sizes, lambda.dtype);
  return torch.attach(node, done(torch.empty("mul", sizes, lambda.dtype), first));
}
