/** What expressions come to, as far as the module says it: names are followed, simple arithmetic is folded. */
import type { SyntaxNode } from "@lezer/common";
import { MAX_DEPTH } from "../text";
import type { Entry, ListNode, LocatedNode, MapNode, PythonCall, ScalarNode, Span, UnknownNode } from "../tree";
import type { Collector } from "./collect";
import { knownResult } from "./idioms";
import { dtypeNamed, fold, truth, unquote } from "./literals";
import { childrenOf, span } from "./nodes";
import { type Parameter, parameterAt } from "./parameters";

/** Values looked through per expression tree; bounds names that refer to each other. */
const MAX_EVALUATIONS = 200_000;

/** Calls that make a mapping of their keyword arguments. */
const MAPPINGS: ReadonlySet<string> = new Set(["dict", "L", "OmegaConf.create", "edict", "ConfigDict"]);
/** Calls that convert one value. */
const CONVERSIONS: ReadonlySet<string> = new Set(["int", "float", "str", "list", "tuple"]);

/** Where a node stands. */
function placeOf(node: LocatedNode): Span {
  return { start: node.start, end: node.end };
}

export class Evaluator {
  private readonly values = new Map<string, LocatedNode>();
  private readonly evaluating = new Set<string>();
  private evaluations = 0;

  /**
   * @param attributes those of namespaces, whose values are known from elsewhere in the module (`args.x`)
   * @param given values of parameters, by the name of the function that the command line calls
   */
  constructor(
    private readonly text: string,
    private readonly found: Collector,
    private readonly attributes: ReadonlyMap<string, LocatedNode>,
    private readonly given: ReadonlyMap<string, ReadonlyMap<string, LocatedNode>>,
  ) {}

  /** More attributes are known now: what was evaluated before is forgotten. */
  forget(): void {
    this.values.clear();
  }

  /** A call by a name, with its arguments; null: what is called has none. */
  call(node: SyntaxNode): PythonCall | null {
    const callee = node.firstChild;
    const list = node.getChild("ArgList");
    if (callee === null || list === null) return null;
    if (node.name === "Decorator") return this.decorator(node, list);
    const name =
      callee.name === "VariableName"
        ? this.slice(callee)
        : callee.name === "MemberExpression"
          ? this.memberName(callee)
          : null;
    if (name === null) return null;
    const calleeSpan =
      callee.name === "MemberExpression" && !this.slice(callee).endsWith(name)
        ? span(callee.lastChild ?? callee)
        : span(callee);
    const { positional, entries } = this.arguments(list, 0);
    return { callee: name, calleeSpan, positional, keywords: { kind: "map", entries, ...span(list) }, ...span(node) };
  }

  /** `@name.of(…)`: a call whose name the grammar gives as one text. */
  private decorator(node: SyntaxNode, list: SyntaxNode): PythonCall {
    const start = node.from + 1;
    const callee = this.text.slice(start, list.from).trim();
    const { positional, entries } = this.arguments(list, 0);
    const calleeSpan = { start, end: start + callee.length };
    return { callee, calleeSpan, positional, keywords: { kind: "map", entries, ...span(list) }, ...span(node) };
  }

  private arguments(list: SyntaxNode, depth: number): { positional: LocatedNode[]; entries: Entry[] } {
    const positional: LocatedNode[] = [];
    const entries: Entry[] = [];
    const children = childrenOf(list);
    for (let index = 0; index < children.length; index++) {
      const child = children[index] as SyntaxNode;
      if (
        child.name === "(" ||
        child.name === ")" ||
        child.name === "," ||
        child.name === "⚠" ||
        child.name === "Comment"
      )
        continue;
      const next = children[index + 1];
      if (child.name === "VariableName" && next?.name === "AssignOp") {
        const value = children[index + 2];
        const missing = value === undefined || value.name === "," || value.name === ")" || value.name === "⚠";
        const node = missing
          ? this.unknownAt({ start: next.to, end: next.to }, "no value")
          : this.evaluate(value, depth + 1);
        entries.push({ key: this.slice(child), keySpan: span(child), value: node });
        index += missing ? 1 : 2;
      } else if (this.slice(child) === "**" && next !== undefined) {
        const spread = this.evaluate(next, depth + 1);
        if (spread.kind === "map") entries.push(...spread.entries);
        index++;
      } else if (this.slice(child) === "*") index++;
      else positional.push(this.evaluate(child, depth + 1));
    }
    return { positional, entries };
  }

  private memberName(node: SyntaxNode): string {
    const text = this.slice(node);
    if (/^[\w.]+$/.test(text)) return text;
    const property = node.lastChild;
    return property === null ? "" : this.slice(property);
  }

  evaluate(node: SyntaxNode, depth = 0): LocatedNode {
    if (depth > MAX_DEPTH) return this.unknown(node, "nested too deeply");
    const place = `${node.from}:${node.to}`;
    const known = this.values.get(place);
    if (known !== undefined) return known;
    if (++this.evaluations > MAX_EVALUATIONS) return this.unknown(node, "too large to follow");
    if (this.evaluating.has(place)) return this.unknown(node, "refers to itself");
    this.evaluating.add(place);
    const value = this.expression(node, depth);
    this.evaluating.delete(place);
    this.values.set(place, value);
    return value;
  }

  private expression(node: SyntaxNode, depth: number): LocatedNode {
    switch (node.name) {
      case "Number":
        return this.scalar(node, Number(this.slice(node).replaceAll("_", "")));
      case "Boolean":
        return this.scalar(node, this.slice(node) === "True");
      case "None":
        return this.scalar(node, null);
      case "String":
        return this.scalar(node, unquote(this.slice(node)));
      case "ContinuedString": {
        const parts = childrenOf(node).map((part) => this.evaluate(part, depth + 1));
        const texts = parts.map((part) => (part.kind === "scalar" ? part.value : null));
        return texts.every((text) => typeof text === "string")
          ? this.scalar(node, texts.join(""))
          : this.unknown(node, "a computed string");
      }
      case "FormatString":
        return this.unknown(node, "a formatted string");
      case "ParenthesizedExpression": {
        const inner = childrenOf(node).find(
          (child) => child.name !== "(" && child.name !== ")" && child.name !== "Comment",
        );
        return inner === undefined ? this.unknown(node, "empty") : this.evaluate(inner, depth + 1);
      }
      case "ArrayExpression":
      case "TupleExpression":
      case "SetExpression":
        return this.sequence(node, depth);
      case "DictionaryExpression":
        return this.dictionary(node, depth);
      case "VariableName":
        return this.variable(node, depth);
      case "MemberExpression":
        return this.member(node, depth);
      case "UnaryExpression":
      case "BinaryExpression":
        return this.arithmetic(node, depth);
      case "ConditionalExpression":
        return this.conditional(node, depth);
      case "CallExpression":
        return this.callValue(node, depth);
      default:
        return this.unknown(node, "an expression");
    }
  }

  private sequence(node: SyntaxNode, depth: number): ListNode {
    const items = childrenOf(node)
      .filter((child) => !/^[[\](){},]$/.test(child.name) && child.name !== "Comment" && child.name !== "⚠")
      .map((child) => this.evaluate(child, depth + 1));
    return { kind: "list", items, ...span(node) };
  }

  private dictionary(node: SyntaxNode, depth: number): MapNode {
    const entries: Entry[] = [];
    const children = childrenOf(node).filter((child) => child.name !== "Comment" && child.name !== "⚠");
    for (let index = 0; index < children.length; index++) {
      const child = children[index] as SyntaxNode;
      if (/^[{},:]$/.test(child.name)) continue;
      const next = children[index + 1];
      if (this.slice(child) === "**" && next !== undefined) {
        const spread = this.evaluate(next, depth + 1);
        if (spread.kind === "map") entries.push(...spread.entries);
        index++;
      } else if (next?.name === ":") {
        const value = children[index + 2];
        const key = this.evaluate(child, depth + 1);
        const text = key.kind === "scalar" ? String(key.value) : this.slice(child);
        const missing = value === undefined || value.name === "," || value.name === "}";
        entries.push({
          key: text,
          keySpan: span(child),
          value: missing
            ? this.unknownAt({ start: next.to, end: next.to }, "no value")
            : this.evaluate(value, depth + 1),
        });
        index += missing ? 1 : 2;
      }
    }
    return { kind: "map", entries, ...span(node) };
  }

  private variable(node: SyntaxNode, depth: number): LocatedNode {
    const name = this.slice(node);
    const parameter = parameterAt(node, name, (part) => this.slice(part));
    if (parameter !== undefined) return this.parameter(parameter, node, depth);
    const binding = this.found.bindings.get(name);
    if (binding === undefined) return this.unknown(node, `\`${name}\` is not defined in this file`);
    if (binding.expression === null) return this.unknown(node, `\`${name}\` is ${binding.reason}`);
    return this.moved(this.evaluate(binding.expression, depth + 1), node);
  }

  /** The value that the first call of its function gives a parameter, where one does and it can be known, else its default. */
  private parameter(parameter: Parameter, node: SyntaxNode, depth: number): LocatedNode {
    const calls = parameter.function === undefined ? [] : this.found.callsOf(parameter.function);
    const said = parameter.function === undefined ? undefined : this.given.get(parameter.function)?.get(parameter.name);
    if (said !== undefined) return this.moved(said, node);
    for (const call of calls) {
      const found = this.argument(call, parameter, depth);
      if (found !== undefined && found.kind !== "unknown") return this.moved(found, node);
    }
    if (parameter.standard === null) return this.unknown(node, `\`${parameter.name}\` is a parameter`);
    return this.moved(this.evaluate(parameter.standard, depth + 1), node);
  }

  private argument(call: SyntaxNode, { name, index }: Parameter, depth: number): LocatedNode | undefined {
    const list = call.getChild("ArgList");
    const place = `${list?.from}:${list?.to}`;
    if (list === null || depth > MAX_DEPTH || this.evaluating.has(place)) return undefined;
    this.evaluating.add(place);
    const { positional, entries } = this.arguments(list, depth + 1);
    this.evaluating.delete(place);
    return entries.find(({ key }) => key === name)?.value ?? positional[index];
  }

  private member(node: SyntaxNode, depth: number): LocatedNode {
    const text = this.slice(node);
    const dtype = dtypeNamed(text);
    if (dtype !== undefined) return this.scalar(node, dtype);
    const subscript = childrenOf(node);
    const object = subscript[0];
    const property = node.lastChild;
    if (object !== undefined && subscript[1]?.name === "[") {
      const container = this.evaluate(object, depth + 1);
      const key = subscript[2] === undefined ? null : this.evaluate(subscript[2], depth + 1);
      if (container.kind === "map" && key?.kind === "scalar") {
        const found = container.entries.findLast((entry) => entry.key === String(key.value));
        if (found !== undefined) return this.moved(found.value, node);
      }
      if (container.kind === "list" && key?.kind === "scalar" && typeof key.value === "number") {
        const found = container.items[key.value];
        if (found !== undefined) return this.moved(found, node);
      }
      return this.unknown(node, "an element that is not known here");
    }
    if (object !== undefined && property !== null && this.isNamespace(object)) {
      const value = this.attributes.get(this.slice(property));
      if (value !== undefined) return this.moved(value, node);
    }
    return this.unknown(node, `\`${text.length > 60 ? `${text.slice(0, 57)}…` : text}\` is not known here`);
  }

  /** Whether an object holds what the command line says: by what it is bound to, or by its name. */
  private isNamespace(object: SyntaxNode): boolean {
    if (object.name !== "VariableName" && object.name !== "MemberExpression") return false;
    const name = this.slice(object).replace(/^.*\./s, "");
    return (
      /arg|config|cfg|opt|param|flag|setting|hp/i.test(name) ||
      (object.name === "VariableName" && this.found.namespaces.has(name))
    );
  }

  private callValue(node: SyntaxNode, depth: number): LocatedNode {
    const callee = node.firstChild;
    const list = node.getChild("ArgList");
    const name = callee === null ? "" : this.slice(callee);
    if (list !== null && MAPPINGS.has(name)) {
      const { positional, entries } = this.arguments(list, depth + 1);
      const base = positional.flatMap((argument) => (argument.kind === "map" ? argument.entries : []));
      return { kind: "map", entries: [...base, ...entries], ...span(node) };
    }
    if (list !== null && CONVERSIONS.has(name)) {
      const { positional } = this.arguments(list, depth + 1);
      const inner = positional.length === 1 ? positional[0] : undefined;
      if (inner?.kind === "list" && (name === "list" || name === "tuple")) return inner;
      if (inner?.kind === "scalar" && inner.value !== null) {
        if (name === "str")
          return { ...this.scalar(node, String(inner.value)), source: inner.source ?? placeOf(inner) };
        const number = Number(inner.value);
        if (Number.isFinite(number))
          return {
            ...this.scalar(node, name === "int" ? Math.trunc(number) : number),
            source: inner.source ?? placeOf(inner),
          };
      }
    }
    const body = this.found.functionNodes.find((candidate) => {
      const own = candidate.getChild("VariableName");
      return own !== null && this.slice(own) === name;
    });
    const known = body === undefined ? undefined : knownResult(this.slice(body).slice(0, 4000));
    if (known !== undefined) return this.scalar(node, known);
    return this.unknown(node, `the result of \`${name.length > 40 ? `${name.slice(0, 37)}…` : name}(…)\``);
  }

  /** `a if condition else b`, where the condition is known. */
  private conditional(node: SyntaxNode, depth: number): LocatedNode {
    const [then, , condition, , other] = childrenOf(node).filter(({ name }) => name !== "Comment");
    if (then === undefined || condition === undefined || other === undefined)
      return this.unknown(node, "an expression");
    const decides = this.evaluate(condition, depth + 1);
    if (decides.kind !== "scalar") return this.unknown(node, "depends on a condition");
    return this.moved(this.evaluate(truth(decides.value) ? then : other, depth + 1), node);
  }

  private arithmetic(node: SyntaxNode, depth: number): LocatedNode {
    const parts = childrenOf(node).filter((child) => child.name !== "Comment");
    const operator = parts.find(
      (child) =>
        child.name === "ArithOp" ||
        child.name === "BitOp" ||
        child.name === "CompareOp" ||
        /^(?:not|and|or|in|is)$/.test(child.name),
    );
    if (operator === undefined) return this.unknown(node, "an expression");
    const operands = parts.filter((child) => child !== operator).map((child) => this.evaluate(child, depth + 1));
    const values = operands.map((operand) => (operand.kind === "scalar" ? operand.value : undefined));
    const unknown = operands.find((operand) => operand.kind === "unknown");
    if (unknown?.kind === "unknown") return this.unknown(node, unknown.reason);
    const result = fold(this.slice(operator), values);
    return result === undefined ? this.unknown(node, "an expression") : this.scalar(node, result);
  }

  /** The value seen from where the name is used; its own place stays as `source`. */
  private moved(value: LocatedNode, node: SyntaxNode): LocatedNode {
    if (value.kind === "scalar")
      return { ...value, ...span(node), raw: this.slice(node), source: value.source ?? placeOf(value) };
    if (value.kind === "unknown") return { ...value, ...span(node), raw: this.slice(node) };
    return value;
  }

  private scalar(node: SyntaxNode, value: ScalarNode["value"]): ScalarNode {
    if (typeof value === "number" && Number.isNaN(value)) value = this.slice(node);
    return { kind: "scalar", value, raw: this.slice(node), ...span(node) };
  }

  unknown(node: SyntaxNode, reason: string): UnknownNode {
    return { kind: "unknown", raw: this.slice(node), reason, ...span(node) };
  }

  private unknownAt(at: Span, reason: string): UnknownNode {
    return { kind: "unknown", raw: this.text.slice(at.start, at.end), reason, ...at };
  }

  slice(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }
}
