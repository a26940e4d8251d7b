/**
 * The dispatcher: operators of captured graphs by their ATen name. An entry takes resolved operands and gives owned
 * tensors; operands are borrowed.
 */
import { table } from "../../../terms/table";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import type { Arguments, Rule } from "./arguments";
import { ARITHMETIC } from "./rules/arithmetic";
import { CHOOSING } from "./rules/choosing";
import { COMPARISON } from "./rules/comparison";
import { FACTORIES } from "./rules/factories";
import { INDEXING } from "./rules/indexing";
import { INPLACE } from "./rules/inplace";
import { LAYOUT } from "./rules/layout";
import { LOSSES } from "./rules/losses";
import { MODULES } from "./rules/modules";
import { PICTURES } from "./rules/pictures";
import { PRODUCTS } from "./rules/products";
import { UNARY_OPERATORS, unary } from "./unary";

const UNARY: Readonly<Record<string, Rule>> = Object.fromEntries(
  UNARY_OPERATORS.map((name): [string, Rule] => [name, (torch, args) => unary(torch, name, args.tensor(0))]),
);

const RULES: Readonly<Record<string, Rule>> = table({
  ...UNARY,
  ...ARITHMETIC,
  ...COMPARISON,
  ...INPLACE,
  ...PRODUCTS,
  ...LOSSES,
  ...MODULES,
  ...PICTURES,
  ...INDEXING,
  ...CHOOSING,
  ...LAYOUT,
  ...FACTORIES,
});

/** Whether the engine knows an operator (with or without its overload). */
export function knows(operator: string): boolean {
  return ruleOf(operator) !== null;
}

/** The rule of an operator as graphs name it, with its overload or without. */
function ruleOf(operator: string): Rule | null {
  const dot = operator.indexOf(".");
  const name = dot < 0 ? operator : operator.slice(0, dot);
  return RULES[name] ?? null;
}

/** Runs one operator. An unknown one gives no tensors; the caller reports it. */
export function dispatch(torch: Torch, operator: string, args: Arguments): Tensor | Tensor[] | null {
  const rule = ruleOf(operator);
  torch.launchOn(args.positional);
  return rule === null ? null : rule(torch, args);
}
