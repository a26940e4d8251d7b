/** What operators and conditions make of values. */
import type { SyntaxNode } from "@lezer/common";
import { type Message, say } from "../../words/message";
import type { LocatedNode } from "../tree";
import { isSame, truthOf } from "./compared";
import type { Evaluating } from "./evaluating";
import { fold } from "./literals";
import { childrenOf, junction, type Operand } from "./nodes";

function reasonOf(value: LocatedNode): Message {
  return value.kind === "unknown" ? value.reason : say("open.expression");
}

/** Whether a condition over `len(sys.argv)` holds for a script that is started without arguments of its own. */
function withoutArguments(condition: string): boolean | undefined {
  const [, operator, number] = /^len\(sys\.argv\) ?(>=|>|==|!=|<=|<) ?(\d{1,3})$/.exec(condition) ?? [];
  const given = fold(operator ?? "", [1, Number(number)]);
  return typeof given === "boolean" ? given : undefined;
}

function contains(container: LocatedNode, item: LocatedNode): boolean | undefined {
  if (item.kind !== "scalar") return undefined;
  if (container.kind === "scalar")
    return typeof container.value === "string" && typeof item.value === "string"
      ? container.value.includes(item.value)
      : undefined;
  if (container.kind === "map") return container.entries.some(({ key }) => key === String(item.value));
  if (container.kind === "unknown" || container.items.some(({ kind }) => kind !== "scalar")) return undefined;
  return container.items.some((one) => one.kind === "scalar" && one.value === item.value);
}

/** What launchers set for each of their processes (torch/distributed/elastic/agent/server/local_elastic_agent.py). */
const OF_LAUNCHER = /RANK|WORLD_SIZE|MASTER_|TORCHELASTIC/;

/** Whether a variable of the environment is asked for that nothing is known to set (`"STEPS" in os.environ`). */
function isUnset(name: LocatedNode | undefined, container: SyntaxNode | undefined, on: Evaluating): boolean {
  if (name?.kind !== "scalar" || typeof name.value !== "string" || container === undefined) return false;
  return /^(?:os\.)?environ$/.test(on.slice(container)) && !OF_LAUNCHER.test(name.value);
}

/** `a if condition else b`, where the condition is known. */
export function conditional(on: Evaluating, node: SyntaxNode, depth: number): LocatedNode {
  const [then, , condition, , other] = childrenOf(node).filter(({ name }) => name !== "Comment");
  if (then === undefined || condition === undefined || other === undefined)
    return on.unknown(node, say("open.expression"));
  const alone = withoutArguments(on.slice(condition));
  if (alone !== undefined) {
    const [value, given] = [on.evaluate(alone ? then : other, depth + 1), on.slice(alone ? other : then)];
    return on.moved(value.kind === "scalar" ? { ...value, standard: given } : value, node);
  }
  const decides = truthOf(on.evaluate(condition, depth + 1));
  if (decides !== undefined) return on.moved(on.evaluate(decides ? then : other, depth + 1), node);
  const alternatives = [then, other].map((side) => on.moved(on.evaluate(side, depth + 1), node));
  const [first, second] = alternatives;
  if (first !== undefined && second !== undefined && isSame(first, second)) return first;
  return { ...on.unknown(node, say("open.condition")), alternatives };
}

export function arithmetic(on: Evaluating, node: SyntaxNode, depth: number): LocatedNode {
  const parts = childrenOf(node).filter((child) => child.name !== "Comment");
  const lists = junction(node);
  if (lists !== undefined) return joined(on, node, lists, depth);
  const isOperator = ({ name }: SyntaxNode) => /^(?:ArithOp|BitOp|CompareOp|not|and|or|in|is)$/.test(name);
  const operators = parts.filter(isOperator);
  if (operators.length === 0) return on.unknown(node, say("open.expression"));
  const operator = operators.map((part) => on.slice(part)).join(" ");
  const operands = parts.filter((part) => !isOperator(part)).map((child) => on.evaluate(child, depth + 1));
  const [left, right] = operands;
  if (operator === "in" || operator === "not in") {
    const set = isUnset(left, parts.at(-1), on);
    if (set) return on.scalar(node, operator === "not in");
    const found = left === undefined || right === undefined ? undefined : contains(right, left);
    if (found !== undefined) return on.scalar(node, found === (operator === "in"));
  }
  if (operator === "+" && left?.kind === "list" && right?.kind === "list") {
    if (on.spend(left.items.length + right.items.length)) return on.unknown(node, say("open.large"));
    return on.moved({ ...left, items: [...left.items, ...right.items] }, node);
  }
  const values = operands.map((operand) => (operand.kind === "scalar" ? operand.value : undefined));
  const unknown = operands.find((operand) => operand.kind === "unknown");
  if (unknown?.kind === "unknown") return on.unknown(node, unknown.reason);
  const result = fold(operator, values);
  return result === undefined ? on.unknown(node, say("open.expression")) : on.scalar(node, result);
}

/** `a or not b and c`: the first operand that decides is the value. */
function joined(on: Evaluating, node: SyntaxNode, lists: readonly (readonly Operand[])[], depth: number): LocatedNode {
  let open: LocatedNode | undefined;
  let last: LocatedNode = on.scalar(node, false);
  for (const list of lists) {
    const all = conjunction(on, node, list, depth);
    if (truthOf(all) === true && open === undefined) return on.moved(all, node);
    if (truthOf(all) === undefined) open ??= all;
    // What is known to hold decides a condition, whatever stands before it.
    else if (all.kind === "scalar" && all.value === true) return on.scalar(node, true);
    last = all;
  }
  return open === undefined ? on.moved(last, node) : on.unknown(node, reasonOf(open));
}

function conjunction(on: Evaluating, node: SyntaxNode, operands: readonly Operand[], depth: number): LocatedNode {
  let open: LocatedNode | undefined;
  let last: LocatedNode = on.scalar(node, true);
  for (const { node: one, negated } of operands) {
    const value = on.evaluate(one, depth + 1);
    const holds = truthOf(value);
    const own = !negated ? value : holds === undefined ? value : on.scalar(node, !holds);
    if (holds === undefined) open ??= value;
    else if (holds === negated && open === undefined) return own;
    else if (holds === negated && own.kind === "scalar" && own.value === false) return own;
    last = own;
  }
  return open ?? last;
}
