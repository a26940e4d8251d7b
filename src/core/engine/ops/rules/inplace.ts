/** Operators that write into their first operand. */

import { table } from "../../../../terms/table";
import { activateInPlace, IN_PLACE_ACTIVATIONS } from "../activation-inplace";
import type { Rule } from "../arguments";
import * as arithmetic from "../arithmetic";
import { addInPlace, copyInto, rowsInPlace, scalePart } from "../inplace";
import * as pooling from "../pooling";

function inplace(operand: number | null): Rule {
  return (torch, args) => arithmetic.inplace(torch, args.tensor(0), operand === null ? null : args.operand(operand));
}

export const INPLACE: Readonly<Record<string, Rule>> = table({
  ...Object.fromEntries(
    Object.keys(IN_PLACE_ACTIVATIONS).map((name): [string, Rule] => [
      `${name}_`,
      (t, a) => activateInPlace(t, name, a.tensor(0)),
    ]),
  ),
  dropout_: (t, a) => pooling.dropoutInPlace(t, a.tensor(0), a.number(1, 0, "p"), a.get(2, "train") !== false),
  feature_dropout_: (t, a) =>
    pooling.dropoutInPlace(t, a.tensor(0), a.number(1, 0, "p"), a.get(2, "train") !== false, true),
  add_: (t, a) => addInPlace(t, a.tensor(0), a.operand(1)),
  sub_: inplace(1),
  mul_: (t, a) => scalePart(t, "mul", a.tensor(0), a.operand(1)),
  div_: (t, a) => scalePart(t, "div", a.tensor(0), a.operand(1)),
  masked_fill_: (t, a) => arithmetic.maskedFillInto(t, a.tensor(0), a.tensor(1)),
  copy_: (t, a) => copyInto(t, a.tensor(0), a.operand(1)),
  fill_: inplace(null),
  bernoulli_: inplace(null),
  // Of rates that are drawn (drop paths before transformers 5): no gradient follows.
  floor_: inplace(null),
  exponential_: inplace(null),
  uniform_: inplace(null),
  normal_: inplace(null),
  zero_: inplace(null),
  clamp_: inplace(null),
  // The half that is left is written over itself (aten/src/ATen/native/cuda/TriangularOps.cu, triu_tril_cuda_template).
  triu_: inplace(null),
  tril_: inplace(null),
  index_add_: (t, a) => rowsInPlace(t, "kept", a.tensor(0), a.tensor(2), a.tensor(3)),
  index_copy_: (t, a) => rowsInPlace(t, "cleared", a.tensor(0), a.tensor(2), a.tensor(3)),
  __ior__: inplace(1),
  bitwise_or_: inplace(1),
});
