/** What calls give: of what Python itself has, and of functions of the module. */
import type { SyntaxNode } from "@lezer/common";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import type { ListNode, LocatedNode } from "../tree";
import { MAX_ITEMS } from "./bounds";
import { placeOf, sourceOf } from "./compared";
import type { Evaluating } from "./evaluating";
import { knownAnswer, knownResult, onlyCuts } from "./idioms";
import { dtypeNamed } from "./literals";
import { argumentsOf, childNamed, childrenOf, span } from "./nodes";
import { textMethod } from "./text-methods";

/** Calls that make a mapping of their keyword arguments, or an object that has them as attributes. */
const MAPPINGS: ReadonlySet<string> = new Set(
  "dict L OmegaConf.create edict ConfigDict SimpleNamespace types.SimpleNamespace Namespace argparse.Namespace".split(
    " ",
  ),
);
/** Calls that give an object's fields as a mapping. */
const FIELDS: ReadonlySet<string> = new Set(["asdict", "dataclasses.asdict", "vars"]);
/** Calls that convert one value. */
const PICKS: Readonly<Record<string, (...values: number[]) => number>> = table({ min: Math.min, max: Math.max });
const CONVERSIONS: ReadonlySet<string> = new Set(["int", "float", "str", "list", "tuple"]);

/** Calls that read a variable of the environment (Lib/os.py). */
const ENVIRONMENT = /^(?:os\.)?(?:getenv|environ\.get)$/;

export function callValue(on: Evaluating, node: SyntaxNode, depth: number): LocatedNode {
  const data = on.dataRead(node, depth);
  if (data !== undefined) return on.moved(data, node);
  const callee = node.firstChild;
  const list = childNamed(node, "ArgList");
  const name = callee === null ? "" : on.slice(callee);
  if (list !== null && MAPPINGS.has(name)) {
    const { positional, entries } = on.arguments(list, depth + 1);
    const base = positional.flatMap((argument) => (argument.kind === "map" ? argument.entries : []));
    return { kind: "map", entries: [...base, ...entries], ...span(node) };
  }
  const plain = list === null ? undefined : builtin(on, node, name, list, depth);
  if (plain !== undefined) return plain;
  const measured = list === null ? undefined : sizeOf(on, node, name, list, depth);
  if (measured !== undefined) return measured;
  const text = list === null ? undefined : textMethod(on, node, list, depth);
  if (text !== undefined) return text;
  const range = list !== null && name === "range" ? counted(on, node, list, depth) : undefined;
  if (range !== undefined) return range;
  if (list !== null && CONVERSIONS.has(name)) {
    const { positional } = on.arguments(list, depth + 1);
    const inner = positional.length === 1 ? positional[0] : undefined;
    if (inner?.kind === "list" && (name === "list" || name === "tuple")) return inner;
    if (inner?.kind === "scalar" && inner.value !== null) {
      if (name === "str") return { ...on.scalar(node, String(inner.value)), source: inner.source ?? placeOf(inner) };
      const number = Number(inner.value);
      if (Number.isFinite(number))
        return {
          ...on.scalar(node, name === "int" ? Math.trunc(number) : number),
          source: inner.source ?? placeOf(inner),
        };
    }
  }
  const item =
    list === null ? undefined : ENVIRONMENT.test(name) ? unset(on, list, depth) : gotten(on, node, list, depth);
  if (item !== undefined) return on.moved(item, node);
  const body = on.found.functionNamed(name);
  const known = body === undefined ? undefined : knownResult(on.slice(body).slice(0, 4000));
  if (known !== undefined) return on.scalar(node, known);
  const answer = body === undefined ? knownAnswer(name) : undefined;
  if (answer !== undefined)
    return Array.isArray(answer)
      ? { kind: "list", items: answer.map((item) => on.scalar(node, item)), ...span(node) }
      : on.scalar(node, answer as boolean);
  const returned = callee === null ? undefined : resultOf(on, callee, depth);
  if (returned !== undefined) return on.moved(returned, node);
  return on.unknown(node, say("open.result", { name: name.length > 40 ? `${name.slice(0, 37)}…` : name }));
}

/** What gives an object's fields: all of them (`asdict(config)`), or the one of a name (`getattr(torch, "bfloat16")`). */
function builtin(
  on: Evaluating,
  node: SyntaxNode,
  name: string,
  list: SyntaxNode,
  depth: number,
): LocatedNode | undefined {
  const [object, ...rest] = argumentsOf(list);
  if (object === undefined) return undefined;
  if (FIELDS.has(name)) {
    const entries = rest.length === 0 ? on.fields(on.evaluate(object, depth + 1), depth) : undefined;
    return entries === undefined ? undefined : { kind: "map", entries, ...span(node) };
  }
  if (name !== "getattr" || rest[0] === undefined) return undefined;
  const key = on.evaluate(rest[0], depth + 1);
  if (key.kind !== "scalar" || typeof key.value !== "string") return undefined;
  const dtype = dtypeNamed(`${on.slice(object)}.${key.value}`);
  if (dtype !== undefined) return { ...on.scalar(node, dtype), source: sourceOf(key) };
  const own = on.field(object, key.value, depth) ?? (rest[1] && on.evaluate(rest[1], depth + 1));
  return own === undefined ? undefined : on.moved(own, node);
}

/** `min(a, b)`, `max(a, b)` of numbers, where what is not known only cuts what is longer; `len` of what is written out. */
function sizeOf(
  on: Evaluating,
  node: SyntaxNode,
  name: string,
  list: SyntaxNode,
  depth: number,
): LocatedNode | undefined {
  const pick = Object.hasOwn(PICKS, name) ? PICKS[name] : undefined;
  if (pick === undefined && name !== "len") return undefined;
  const { positional, entries } = on.arguments(list, depth + 1);
  const [only] = positional;
  if (entries.length > 0 || only === undefined) return undefined;
  if (pick === undefined) {
    const size = only.kind === "list" ? only.items.length : only.kind === "map" ? only.entries.length : undefined;
    return size === undefined || positional.length > 1 ? undefined : on.scalar(node, size);
  }
  const told = positional.filter((one) => !(name === "min" && one.kind === "unknown" && onlyCuts(one.raw)));
  const numbers = told.flatMap((one) => (one.kind === "scalar" && typeof one.value === "number" ? [one.value] : []));
  if (numbers.length < told.length || numbers.length === 0 || positional.length < 2) return undefined;
  const value = pick(...numbers);
  const source = told.find((one) => one.kind === "scalar" && one.value === value);
  return { ...on.scalar(node, value), ...(source && { source: sourceOf(source) }) };
}

/** `range(8)`, as the list that it runs over. */
function counted(on: Evaluating, node: SyntaxNode, list: SyntaxNode, depth: number): ListNode | undefined {
  const bounds = on
    .arguments(list, depth + 1)
    .positional.map((one) => (one.kind === "scalar" && Number.isInteger(one.value) ? Number(one.value) : Number.NaN));
  const [first = Number.NaN, second, step = 1] = bounds;
  const [from, to] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((to - from) / step));
  if (!(length <= MAX_ITEMS)) return undefined;
  if (on.spend(length >> 2)) return undefined;
  const items = Array.from({ length }, (_, k) => on.scalar(node, from + k * step));
  return { kind: "list", items, ...span(node) };
}

/** What a variable of the environment stands for where nothing sets it. */
function unset(on: Evaluating, list: SyntaxNode, depth: number): LocatedNode | undefined {
  const { positional, entries } = on.arguments(list, depth + 1);
  const otherwise = positional[1] ?? entries.find(({ key }) => key === "default")?.value;
  if (otherwise !== undefined || positional.length !== 1) return otherwise;
  // Nothing, which another value stands in for (`os.getenv("STEPS") or 8`); alone it stays open.
  return isAlternated(on, list.parent) ? on.scalar(list, null) : undefined;
}

/** Whether another value is given in a call's place where it gives nothing. */
function isAlternated(on: Evaluating, call: SyntaxNode | null): boolean {
  const operator = call?.parent?.name === "BinaryExpression" ? call.nextSibling : null;
  return operator !== null && on.slice(operator) === "or";
}

/** `dictionary.get("key", otherwise)` */
function gotten(on: Evaluating, node: SyntaxNode, list: SyntaxNode, depth: number): LocatedNode | undefined {
  const callee = node.firstChild;
  const object = callee?.name === "MemberExpression" ? callee.firstChild : null;
  if (object === null || callee?.lastChild == null || on.slice(callee.lastChild) !== "get") return undefined;
  const container = on.evaluate(object, depth + 1);
  const [key, otherwise] = on.arguments(list, depth + 1).positional;
  if (container.kind !== "map" || key?.kind !== "scalar") return undefined;
  return container.entries.findLast((entry) => entry.key === String(key.value))?.value ?? otherwise;
}

/** What a function of the module returns, where it does so in one place. */
function resultOf(on: Evaluating, callee: SyntaxNode, depth: number): LocatedNode | undefined {
  const body = on.flow.functionCalled(callee);
  const [statement, ...more] = body === undefined ? [] : on.flow.returnsOf(body);
  if (statement === undefined || more.length > 0) return undefined;
  const values = childrenOf(statement).filter(({ name }) => !/^(?:return|,|Comment)$/.test(name));
  const items = values.map((value) => on.evaluate(value, depth + 1));
  return items.length === 1 ? items[0] : { kind: "list", items, ...span(statement) };
}
