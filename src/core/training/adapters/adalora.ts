/**
 * AdaLoRA: a low-rank product with singular values between, added in place, and a regularisation of both factors that
 * joins the loss. Source: peft/tuners/adalora/{layer.py,model.py}.
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { add, div, elementwise, inplace, mul, sub } from "../../engine/ops/arithmetic";
import { addInPlace } from "../../engine/ops/inplace";
import { transpose } from "../../engine/ops/layout";
import { matmul } from "../../engine/ops/linear";
import { dropout } from "../../engine/ops/nonlinear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, type BaseLayer, castInput, done, parameter } from "./layer";

export function adalora(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const make = (name: string, sizes: readonly number[]): Tensor =>
    parameter(torch, `${base.path}.${name}`, sizes, base.dtype);
  const e = make("lora_E", [adapter.rank, 1]);
  const a = make("lora_A", [adapter.rank, base.inputs]);
  const b = make("lora_B", [base.outputs, adapter.rank]);
  // Made without gradient, it gets one when the adapter is cast and set active.
  const count = make("ranknum", [1]);
  const forward: ModuleForward = (torch, input) => {
    const result = base.forward(torch, input);
    const divisor = add(torch, count, 1);
    const x = castInput(torch, input, a.dtype);
    const dropped = dropout(torch, x, adapter.dropout, true);
    const weighted = mul(torch, a, e);
    const down = done(transpose(torch, weighted, 0, 1), weighted);
    const low = done(matmul(torch, dropped, down), dropped, down);
    const up = transpose(torch, b, 0, 1);
    const high = done(matmul(torch, low, up), low, up);
    const scaled = done(mul(torch, high, 0.5), high);
    const change = done(div(torch, scaled, divisor), scaled);
    return done(addInPlace(torch, result, change), result, change, x, divisor);
  };
  return { parameters: [e, a, b, count], forward };
}

/** `torch.norm(matrix, p="fro")`: keeps the matrix and the norm. */
function norm(torch: Torch, matrix: Tensor): Tensor {
  const node = torch.record("LinalgVectorNormBackward0", [matrix], (torch, [gradient], saved) => {
    if (!gradient) return [null];
    const ratio = elementwise(torch, "div", [gradient, saved[1]!]);
    const zero = elementwise(torch, "eq", [saved[1]!], "bool");
    return [done(elementwise(torch, "mul", [saved[0]!, ratio], saved[0]!.dtype), ratio, zero)];
  });
  if (node !== null) torch.save(node, matrix);
  const out = torch.attach(node, torch.empty("linalg_vector_norm", [], torch.autocasting ? "float32" : matrix.dtype));
  if (node !== null) torch.saveOutput(node, out);
  return out;
}

/** The loss with every factor's distance from orthogonality added to it. */
export function regularised(torch: Torch, factors: readonly Tensor[], loss: Tensor): Tensor {
  let sum: Tensor | null = null;
  let covariance: Tensor | null = null;
  let identity: Tensor | null = null;
  for (const factor of factors) {
    const turned = transpose(torch, factor, 0, 1);
    const wide = factor.name?.endsWith("lora_A") === true;
    const product: Tensor = wide ? matmul(torch, factor, turned) : matmul(torch, turned, factor);
    turned.release();
    covariance?.release();
    covariance = product;
    const eye: Tensor = torch.empty("empty_like", product.sizes, product.dtype);
    identity?.release();
    identity = eye;
    const distance = sub(torch, product, eye);
    const length = done(norm(torch, distance), distance);
    sum = sum === null ? done(add(torch, length, 0), length) : done(inplace(torch, sum, length), sum, length);
  }
  if (sum === null) return loss;
  const mean = done(div(torch, sum, factors.length), sum);
  const weighted = done(mul(torch, mean, 0.5), mean);
  return done(inplace(torch, loss, weighted), weighted, loss, covariance, identity);
}
