/** Operators that compute elements: sums, products, powers, limits, reductions, complex numbers. */

import { table } from "../../../../terms/table";
import type { Tensor } from "../../tensor";
import type { Torch } from "../../torch";
import { addcmul } from "../addcmul";
import type { Arguments, Rule } from "../arguments";
import * as arithmetic from "../arithmetic";
import { isTensor } from "../arithmetic";
import * as complex from "../complex";
import * as fourier from "../fourier";
import * as functions from "../functions";
import { unsqueeze } from "../layout";
import { clampHalf } from "../overflow";
import * as pooling from "../pooling";
import { std, variance } from "../spread";
import * as trl from "../trl";
import * as unary from "../unary";
import { likeFirst } from "./like";

function limits(args: Arguments): 1 | 2 {
  const given = (k: number, name: string): boolean => typeof args.get(k, name) === "number";
  return given(1, "min") && given(2, "max") ? 2 : 1;
}

/** How many numbers a transform is asked for; undefined: as many as there are. */
function length(args: Arguments): number | undefined {
  const n = args.get(1, "n");
  return typeof n === "number" ? n : undefined;
}

/** Every product of two vectors' elements: the first as a column, multiplied (aten/src/ATen/native/LinearAlgebra.cpp, `outer`). */
function outer(torch: Torch, args: Arguments): Tensor {
  const column = unsqueeze(torch, args.tensor(0), 1);
  const made = arithmetic.mul(torch, column, args.operand(1));
  column.release();
  return made;
}

export const ARITHMETIC: Readonly<Record<string, Rule>> = table({
  add: (t, a) => arithmetic.add(t, a.operand(0), a.operand(1)),
  sub: (t, a) => arithmetic.sub(t, a.operand(0), a.operand(1)),
  rsub: (t, a) => arithmetic.sub(t, a.operand(1), a.operand(0), "rsub"),
  mul: (t, a) => arithmetic.mul(t, a.operand(0), a.operand(1)),
  addcmul: (t, a) => addcmul(t, a.tensor(0), a.tensor(1), a.tensor(2)),
  outer,
  ger: outer,
  multiply: (t, a) => arithmetic.mul(t, a.operand(0), a.operand(1)),
  // Rounded quotients of whole numbers are whole (aten/src/ATen/native/BinaryOps.cpp, div.Tensor_mode).
  div: (t, a) =>
    typeof a.get(2, "rounding_mode") === "string"
      ? arithmetic.elementwise(t, "div", [a.operand(0), a.operand(1)])
      : arithmetic.div(t, a.operand(0), a.operand(1)),
  true_divide: (t, a) => arithmetic.div(t, a.operand(0), a.operand(1)),
  pow: (t, a) =>
    isTensor(a.positional[1]) ? unary.powers(t, a.operand(0), a.tensor(1)) : unary.pow(t, a.tensor(0), a.number(1, 2)),
  square: (t, a) => unary.pow(t, a.tensor(0), 2),
  where: (t, a) => arithmetic.where(t, a.tensor(0), a.operand(1), a.operand(2), a.dtype(-1)),
  masked_fill: (t, a) => arithmetic.maskedFill(t, a.tensor(0), a.tensor(1)),
  maximum: (t, a) => arithmetic.extremum(t, "maximum", a.operand(0), a.operand(1)),
  minimum: (t, a) => arithmetic.extremum(t, "minimum", a.operand(0), a.operand(1)),
  clamp: (t, a) => arithmetic.clamp(t, a.tensor(0), limits(a)),
  clip: (t, a) => arithmetic.clamp(t, a.tensor(0), limits(a)),
  clamp_half: (t, a) => clampHalf(t, a.tensor(0), a.flag(1)),
  clamp_min: (t, a) => arithmetic.clamp(t, a.tensor(0), 1),
  cumsum: (t, a) => arithmetic.cumsum(t, a.tensor(0), a.dtype(2)),
  sum: (t, a) => arithmetic.sum(t, a.tensor(0), a.numbers(1, "dim"), a.flag(2, "keepdim"), a.dtype(3)),
  std: (t, a) => std(t, a.tensor(0), a.numbers(1, "dim"), a.flag(3, "keepdim")),
  var: (t, a) => variance(t, a.tensor(0), a.numbers(1, "dim"), a.flag(3, "keepdim")),
  mean: (t, a) => arithmetic.mean(t, a.tensor(0), a.numbers(1, "dim"), a.flag(2, "keepdim"), a.dtype(3)),
  nansum: (t, a) => trl.withoutNaN(t, a.tensor(0), false, a.numbers(1, "dim")),
  nanmean: (t, a) => trl.withoutNaN(t, a.tensor(0), true),
  linalg_vector_norm: (t, a) => pooling.vectorNorm(t, a.tensor(0), a.numbers(2, "dim"), a.flag(3, "keepdim")),
  sign: likeFirst("sign"),
  ceil: likeFirst("ceil"),
  bitwise_not: likeFirst("bitwise_not"),
  floor_divide: (t, a) => arithmetic.elementwise(t, "floor_divide", [a.operand(0), a.operand(1)]),
  remainder: (t, a) => arithmetic.elementwise(t, "remainder", [a.operand(0), a.operand(1)]),
  bitwise_and: (t, a) => arithmetic.elementwise(t, "bitwise_and", [a.operand(0), a.operand(1)]),
  bitwise_or: (t, a) => arithmetic.elementwise(t, "bitwise_or", [a.operand(0), a.operand(1)]),
  __and__: (t, a) => arithmetic.elementwise(t, "bitwise_and", [a.operand(0), a.operand(1)]),
  __or__: (t, a) => arithmetic.elementwise(t, "bitwise_or", [a.operand(0), a.operand(1)]),
  prod: (t, a) => arithmetic.prod(t, a.tensor(0), a.numbers(1, "dim"), a.flag(2, "keepdim"), a.dtype(3)),
  histc: (t, a) => t.empty("histc", [a.number(1, 100)], a.tensor(0).dtype),
  fft_rfft: (t, a) => fourier.toFrequencies(t, a.tensor(0), length(a), a.number(2, -1, "dim")),
  fft_irfft: (t, a) => fourier.fromFrequencies(t, a.tensor(0), length(a), a.number(2, -1, "dim")),
  _conj: (t, a) => fourier.conjugate(t, a.tensor(0)),
  fft_fftn: (t, a) => complex.fourier(t, a.tensor(0)),
  real: (t, a) => complex.real(t, a.tensor(0)),
  polar: (t, a) => complex.polar(t, a.tensor(0), a.tensor(1)),
  view_as_complex: (t, a) => complex.viewAsComplex(t, a.tensor(0)),
  view_as_real: (t, a) => complex.viewAsReal(t, a.tensor(0)),
  sqrt_bound_derivative: (t, a) => functions.sqrtBoundDerivative(t, a.tensor(0)),
  phimoe_multiplier: (t, a) => functions.phimoeMultiplier(t, a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3)),
});
