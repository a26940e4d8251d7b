/** Operators of one tensor, element by element. */

import { table } from "../../../terms/table";
import { say } from "../../../words/message";
import { isFloating } from "../dtype";
import { NotModelled } from "../not-modelled";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, inputs, isTensor, type Operand, product } from "./arithmetic";

/** An operator of one tensor: what it saves and what its backward allocates. */
interface UnaryRule {
  readonly node: string;
  readonly saves: "input" | "output" | "nothing";
  /** Backward given the gradient and the saved tensor (the gradient itself when nothing is saved). */
  readonly backward: (torch: Torch, gradient: Tensor, saved: Tensor) => Tensor;
  /** Runs in float32 under autocast. */
  readonly float32?: true;
}

/** Evaluates `gradient * f(saved)` where `f` needs `count` temporaries, all alive together with the result. */
function chain(names: readonly string[]): UnaryRule["backward"] {
  return (torch, gradient, saved) => {
    const temporaries = names.slice(0, -1).map((name) => elementwise(torch, name, [saved]));
    const result = elementwise(torch, names[names.length - 1]!, [gradient, saved]);
    for (const tensor of temporaries) tensor.release();
    return result;
  };
}

const UNARY: Readonly<Record<string, UnaryRule>> = table({
  neg: { node: "NegBackward0", saves: "nothing", backward: chain(["neg"]) },
  exp: { node: "ExpBackward0", saves: "output", backward: chain(["mul"]), float32: true },
  // grad * (result + 1)
  expm1: { node: "Expm1Backward0", saves: "output", backward: chain(["add", "mul"]), float32: true },
  log: { node: "LogBackward0", saves: "input", backward: chain(["div"]), float32: true },
  // grad / (self + 1)
  log1p: { node: "Log1PBackward0", saves: "input", backward: chain(["add", "div"]), float32: true },
  floor: { node: "FloorBackward0", saves: "nothing", backward: chain(["zeros_like"]) },
  // grad * self.isfinite()
  nan_to_num: { node: "NanToNumBackward0", saves: "input", backward: chain(["isfinite", "mul"]) },
  // -0.5 * grad * result.pow(3)
  rsqrt: {
    node: "RsqrtBackward0",
    saves: "output",
    float32: true,
    backward: (torch, gradient, result) => {
      const half = product(torch, gradient, -0.5);
      const cube = elementwise(torch, "pow", [result]);
      const out = product(torch, half, cube);
      half.release();
      cube.release();
      return out;
    },
  },
  // grad / (2 * result)
  sqrt: { node: "SqrtBackward0", saves: "output", backward: chain(["mul", "div"]) },
  // grad * self.cos()
  sin: { node: "SinBackward0", saves: "input", backward: chain(["cos", "mul"]) },
  // grad * -self.sin()
  cos: { node: "CosBackward0", saves: "input", backward: chain(["sin", "neg", "mul"]) },
  tanh: { node: "TanhBackward0", saves: "output", backward: chain(["tanh_backward"]) },
  sigmoid: { node: "SigmoidBackward0", saves: "output", backward: chain(["sigmoid_backward"]) },
  relu: { node: "ReluBackward0", saves: "output", backward: chain(["threshold_backward"]) },
  silu: { node: "SiluBackward0", saves: "input", backward: chain(["silu_backward"]) },
  gelu: { node: "GeluBackward0", saves: "input", backward: chain(["gelu_backward"]) },
  mish: { node: "MishBackward0", saves: "input", backward: chain(["mish_backward"]) },
  elu: { node: "EluBackward0", saves: "input", backward: chain(["elu_backward"]) },
  leaky_relu: { node: "LeakyReluBackward0", saves: "input", backward: chain(["leaky_relu_backward"]) },
  hardtanh: { node: "HardtanhBackward0", saves: "input", backward: chain(["hardtanh_backward"]) },
  hardswish: { node: "HardswishBackward0", saves: "input", backward: chain(["hardswish_backward"]) },
  hardsigmoid: { node: "HardsigmoidBackward0", saves: "input", backward: chain(["hardsigmoid_backward"]) },
  softplus: { node: "SoftplusBackward0", saves: "input", backward: chain(["softplus_backward"]), float32: true },
  log_sigmoid: { node: "LogSigmoidBackward0", saves: "input", backward: chain(["log_sigmoid_backward"]) },
  // grad * self.sgn()
  abs: { node: "AbsBackward0", saves: "input", backward: chain(["sgn", "mul"]) },
  // -grad * (result * result)
  reciprocal: { node: "ReciprocalBackward0", saves: "output", backward: chain(["neg", "mul", "mul"]), float32: true },
  erf: { node: "ErfBackward0", saves: "input", backward: chain(["pow", "neg", "exp", "mul", "mul"]) },
  // 0.5 * sqrt(pi) * exp(self.erfinv().pow(2)) * grad
  erfinv: {
    node: "ErfinvBackward0",
    saves: "input",
    backward: chain(["erfinv", "pow", "exp", "mul", "mul"]),
    float32: true,
  },
});

export const UNARY_OPERATORS: readonly string[] = Object.keys(UNARY);

export function unary(torch: Torch, operator: string, input: Tensor): Tensor {
  const rule = UNARY[operator]!;
  const x = rule.float32 && torch.autocasting ? torch.autocast(input, "float32") : input.retain();
  const node = torch.record(rule.node, [x], (torch, [gradient], saved) => [
    gradient ? rule.backward(torch, gradient, saved[0] ?? gradient) : null,
  ]);
  if (node !== null && rule.saves === "input") torch.save(node, x);
  const dtype = isFloating(x.dtype) || operator === "neg" || operator === "abs" ? x.dtype : "float32";
  const out = torch.attach(node, elementwise(torch, operator, [x], dtype));
  if (node !== null && rule.saves === "output") torch.saveOutput(node, out);
  x.release();
  return out;
}

/** `pow(tensor, number)`; float32 under autocast. */
export function pow(torch: Torch, input: Tensor, exponent: number): Tensor {
  const x = torch.autocasting ? torch.autocast(input, "float32") : input.retain();
  const node = torch.record("PowBackward0", [x], (torch, [gradient], [self]) => {
    if (!gradient) return [null];
    // grad * (exponent * self.pow(exponent - 1))
    const power = elementwise(torch, "pow", [self!]);
    const scaled = product(torch, power, exponent);
    const out = product(torch, gradient, scaled);
    power.release();
    scaled.release();
    return [out];
  });
  if (node !== null) torch.save(node, x);
  const out = torch.attach(node, elementwise(torch, "pow", [x, exponent]));
  x.release();
  return out;
}

/**
 * `pow` with a tensor of exponents (ALiBi's slopes, decays of every step); float32 under autocast. The base's gradient is nought where
 * the exponent is (FunctionsManual.cpp, pow_backward_self); the result is kept for the exponent's, which no rule follows.
 */
export function powers(torch: Torch, base: Operand, exponent: Tensor): Tensor {
  const x = isTensor(base) ? (torch.autocasting ? torch.autocast(base, "float32") : base.retain()) : base;
  const learned = exponent.requiresGrad;
  const node = torch.record("PowBackward1", inputs(x, exponent), (torch, [gradient], [power, self]) => {
    if (!gradient) return [null, null];
    if (learned || !self) throw new NotModelled(say("engine.operator", { name: "pow" }));
    const less = elementwise(torch, "sub", [power!, 1]);
    const lower = elementwise(torch, "pow", [self, less]);
    const scaled = product(torch, power!, lower);
    const whole = product(torch, gradient, scaled);
    const nought = torch.empty("scalar_tensor", [], gradient.dtype);
    const none = elementwise(torch, "eq", [power!, 0], "bool");
    const out = elementwise(torch, "where", [none, nought, whole], gradient.dtype);
    for (const one of [none, nought, whole, scaled, lower, less]) one.release();
    return [out, null];
  });
  const out = torch.attach(node, elementwise(torch, "pow", [x, exponent]));
  if (node !== null) {
    torch.save(node, exponent);
    if (isTensor(x)) torch.save(node, x);
    torch.saveOutput(node, out);
  }
  if (isTensor(x)) x.release();
  return out;
}
