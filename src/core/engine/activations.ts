/**
 * Activation modules by the name configs use (`hidden_act`), as transformers/activations.py evaluates them; the order of
 * the operations and what Python holds meanwhile decide the temporaries.
 */
import { table } from "../../terms/table";
import { add, elementwise, mul } from "./ops/arithmetic";
import { pow, unary } from "./ops/unary";
import type { Tensor } from "./tensor";
import type { Torch } from "./torch";

type Activation = (torch: Torch, input: Tensor) => Tensor;

/** Releases the operands of a finished expression and gives its value. */
function done(value: Tensor, ...operands: Tensor[]): Tensor {
  for (const tensor of operands) tensor.release();
  return value;
}

const kernel =
  (operator: string): Activation =>
  (torch, input) =>
    unary(torch, operator, input);

/** 0.5 * x * (1 + tanh(c * (x + 0.044715 * x^3))) */
function geluNew(torch: Torch, input: Tensor): Tensor {
  const half = mul(torch, input, 0.5);
  const cube = pow(torch, input, 3);
  const weighted = done(mul(torch, cube, 0.044715), cube);
  const inner = done(add(torch, input, weighted), weighted);
  const scaled = done(mul(torch, inner, Math.sqrt(2 / Math.PI)), inner);
  const tanh = done(unary(torch, "tanh", scaled), scaled);
  const one = done(add(torch, tanh, 1), tanh);
  return done(mul(torch, half, one), half, one);
}

/** 0.5 * x * (1 + tanh(x * c * (1 + 0.044715 * x * x))) */
function geluFast(torch: Torch, input: Tensor): Tensor {
  const half = mul(torch, input, 0.5);
  const scaled = mul(torch, input, 0.7978845608);
  const weighted = mul(torch, input, 0.044715);
  const squared = done(mul(torch, weighted, input), weighted);
  const one = done(add(torch, squared, 1), squared);
  const inner = done(mul(torch, scaled, one), scaled, one);
  const tanh = done(unary(torch, "tanh", inner), inner);
  const sum = done(add(torch, tanh, 1), tanh);
  return done(mul(torch, half, sum), half, sum);
}

/** x * sigmoid(1.702 * x) */
function quickGelu(torch: Torch, input: Tensor): Tensor {
  const scaled = mul(torch, input, 1.702);
  const gate = done(unary(torch, "sigmoid", scaled), scaled);
  return done(mul(torch, input, gate), gate);
}

/** relu(x)^2 */
function relu2(torch: Torch, input: Tensor): Tensor {
  const positive = unary(torch, "relu", input);
  return done(pow(torch, positive, 2), positive);
}

/** x * 0.5 * (1 + erf(x / sqrt(2))) */
function geluPython(torch: Torch, input: Tensor): Tensor {
  const half = mul(torch, input, 0.5);
  const scaled = mul(torch, input, Math.SQRT1_2);
  const erf = done(unary(torch, "erf", scaled), scaled);
  const one = done(add(torch, erf, 1), erf);
  return done(mul(torch, half, one), half, one);
}

/** Releases the operands of an unrecorded expression as Python does, one operator after the other. */
function evaluate(torch: Torch, input: Tensor, operators: readonly string[]): Tensor {
  let value = input.retain();
  for (const operator of operators) value = done(elementwise(torch, operator, [value]), value);
  return value;
}

/** 0.79788456 * x * (1 + 0.044715 * x * x), the argument of the tangent: three products beside the first one. */
function bloomInner(torch: Torch, input: Tensor): Tensor {
  const scaled = elementwise(torch, "mul", [input]);
  const factor = evaluate(torch, input, ["mul", "mul", "add"]);
  return done(elementwise(torch, "mul", [scaled, factor]), scaled, factor);
}

/**
 * BLOOM's own gelu, an autograd function that saves its input and recomputes in backward
 * (transformers/models/bloom/modeling_bloom.py, GeLUFunction).
 */
function bloomGelu(torch: Torch, input: Tensor): Tensor {
  const node = torch.record("GeLUFunctionBackward", [input], (torch, [gradient], [self]) => {
    if (!gradient) return [null];
    const x = self!;
    const inner = bloomInner(torch, x);
    const tanh = done(elementwise(torch, "tanh", [inner]), inner);
    // 0.5 * x * ((1 - t * t) * (a + b * x * x)) + 0.5 * (1 + t)
    const half = elementwise(torch, "mul", [x]);
    const slope = evaluate(torch, tanh, ["mul", "rsub"]);
    const square = evaluate(torch, x, ["mul", "mul", "add"]);
    const product = done(elementwise(torch, "mul", [slope, square]), slope, square);
    const first = done(elementwise(torch, "mul", [half, product]), half, product);
    const second = evaluate(torch, tanh, ["add", "mul"]);
    const factor = done(elementwise(torch, "add", [first, second]), first, second);
    const out = elementwise(torch, "mul", [factor, gradient]);
    tanh.release();
    factor.release();
    return [out];
  });
  if (node !== null) torch.save(node, input);
  const { gradEnabled } = torch;
  torch.gradEnabled = false;
  const half = elementwise(torch, "mul", [input]);
  const inner = bloomInner(torch, input);
  const tanh = done(elementwise(torch, "tanh", [inner]), inner);
  const one = done(elementwise(torch, "add", [tanh]), tanh);
  const out = done(elementwise(torch, "mul", [half, one]), half, one);
  torch.gradEnabled = gradEnabled;
  return torch.attach(node, out);
}

const ACTIVATIONS: Readonly<Record<string, Activation>> = table({
  gelu: kernel("gelu"),
  bloom_gelu: bloomGelu,
  gelu_pytorch_tanh: kernel("gelu"),
  gelu_python_tanh: kernel("gelu"),
  gelu_accurate: geluNew,
  gelu_new: geluNew,
  gelu_fast: geluFast,
  gelu_python: geluPython,
  quick_gelu: quickGelu,
  silu: kernel("silu"),
  swish: kernel("silu"),
  relu: kernel("relu"),
  relu6: kernel("hardtanh"),
  relu2: relu2,
  leaky_relu: kernel("leaky_relu"),
  mish: kernel("mish"),
  tanh: kernel("tanh"),
  sigmoid: kernel("sigmoid"),
  linear: (_, input) => input.retain(),
});

/** The activation's output, or null when the name is unknown. */
export function activate(torch: Torch, name: string, input: Tensor): Tensor | null {
  return ACTIVATIONS[name]?.(torch, input) ?? null;
}
