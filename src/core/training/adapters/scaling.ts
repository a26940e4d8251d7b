/**
 * Adapters that scale: IA3's vectors on keys, values and the feed-forward's input, VeRA's vectors around random matrices
 * shared by all modules. Sources: peft/tuners/ia3/layer.py, peft/tuners/vera/{layer.py,model.py}.
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { add, mul } from "../../engine/ops/arithmetic";
import { clone, slice, view } from "../../engine/ops/layout";
import { linear } from "../../engine/ops/linear";
import { dropout } from "../../engine/ops/nonlinear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, type BaseLayer, buffer, castInput, done, parameter } from "./layer";
import { named } from "./targets";

/** `1 * ia3_l.flatten()`, a new tensor of the vector. */
function scaling(torch: Torch, vector: Tensor): Tensor {
  const flat = view(torch, vector, [vector.elements]);
  return done(mul(torch, flat, 1), flat);
}

export function ia3(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const feedforward = named(adapter.feedforwardModules ?? [], base.path);
  const sizes = feedforward ? [1, base.inputs] : [base.outputs, 1];
  const vector = parameter(torch, `${base.path}.ia3_l`, sizes, base.dtype);
  const before: ModuleForward = (torch, input) => {
    const factor = scaling(torch, vector);
    const x = castInput(torch, input, vector.dtype);
    const scaled = mul(torch, x, factor);
    const inner = done(castInput(torch, scaled, input.dtype), scaled);
    return done(base.forward(torch, inner), inner, x, factor);
  };
  const after: ModuleForward = (torch, input) => {
    const factor = scaling(torch, vector);
    const result = base.forward(torch, input);
    const scaled = mul(torch, result, factor);
    return done(castInput(torch, scaled, result.dtype), scaled, result, factor);
  };
  return { parameters: [vector], forward: feedforward ? before : after };
}

/** The matrices every module takes its corner of. */
export interface VeraProjections {
  readonly a: Tensor;
  readonly b: Tensor;
}

/** Frozen matrices as large as the largest adapted module asks for, in the dtype of the adapters. */
export function veraProjections(torch: Torch, adapter: AdapterSpec, layers: readonly BaseLayer[]): VeraProjections {
  const dtype = layers[0]?.dtype ?? "float32";
  const inputs = Math.max(0, ...layers.map((layer) => layer.inputs));
  const outputs = Math.max(0, ...layers.map((layer) => layer.outputs));
  return { a: buffer(torch, [adapter.rank, inputs], dtype), b: buffer(torch, [outputs, adapter.rank], dtype) };
}

export function vera(torch: Torch, adapter: AdapterSpec, base: BaseLayer, shared: VeraProjections): AdapterLayer {
  const b = parameter(torch, `${base.path}.vera_lambda_b`, [base.outputs], base.dtype);
  const d = parameter(torch, `${base.path}.vera_lambda_d`, [adapter.rank], base.dtype);
  const forward: ModuleForward = (torch, input) => {
    const made = base.forward(torch, input);
    const result = base.format === "bnb-4bit" ? done(clone(torch, made), made) : made;
    const down = slice(torch, shared.a, 1, 0, base.inputs);
    const up = slice(torch, shared.b, 0, 0, base.outputs);
    const x = castInput(torch, input, d.dtype);
    const dropped = dropout(torch, x, adapter.dropout, true);
    const low = done(linear(torch, dropped, down, null), dropped);
    const scaled = done(mul(torch, d, low), low);
    const high = done(linear(torch, scaled, up, null), scaled);
    const weighted = done(mul(torch, b, high), high);
    const sum = done(add(torch, result, weighted), weighted);
    const { dtype } = result;
    result.release();
    const out = done(castInput(torch, sum, dtype), sum);
    const back = done(castInput(torch, out, input.dtype), out);
    return done(back, x, up, down);
  };
  return { parameters: [b, d], forward };
}
