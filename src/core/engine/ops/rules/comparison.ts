/** Operators that answer with truth values or places, which no gradient flows through. */

import { table } from "../../../../terms/table";
import type { Arguments, Rule } from "../arguments";
import * as arithmetic from "../arithmetic";

const comparison =
  (operator: string): Rule =>
  (torch, args) =>
    arithmetic.compare(torch, operator, args.operand(0), args.positional.length > 1 ? args.operand(1) : 0);

/** Sizes of `any` and `all`: one value, or one along each dimension that is not asked about. */
function tested(args: Arguments): number[] {
  if (args.get(1, "dim") === undefined) return [];
  return arithmetic.reducedSizes(args.tensor(0).sizes, args.numbers(1), args.flag(2, "keepdim"));
}

export const COMPARISON: Readonly<Record<string, Rule>> = table({
  eq: comparison("eq"),
  ne: comparison("ne"),
  lt: comparison("lt"),
  le: comparison("le"),
  gt: comparison("gt"),
  ge: comparison("ge"),
  greater: comparison("gt"),
  logical_and: comparison("logical_and"),
  logical_or: comparison("logical_or"),
  logical_not: comparison("logical_not"),
  isnan: comparison("isnan"),
  isinf: comparison("isinf"),
  any: (t, a) => t.empty("any", tested(a), a.tensor(0).dtype === "uint8" ? "uint8" : "bool"),
  all: (t, a) => t.empty("all", tested(a), "bool"),
  bucketize: (t, a) => t.empty("bucketize", a.tensor(0).sizes, "int64"),
  argmax: (t, a) => t.empty("argmax", a.numbers(1).length > 0 ? a.tensor(0).sizes.slice(0, -1) : [], "int64"),
});
