/**
 * What a Python file says without running it: calls with their keyword arguments, names bound once to a value,
 * dict literals and spreads, dataclass defaults and argparse defaults. Constants and simple arithmetic are folded;
 * everything else is an unknown node with its reason.
 *
 * @lezer/python never fails on broken code, so half-typed files still give what stands in them.
 */
import type { SyntaxNode, Tree } from "@lezer/common";
import { parser } from "@lezer/python";
import { emptyMap, MAX_DEPTH, MAX_LENGTH, prepareText } from "./text";
import type {
  Entry,
  ListNode,
  LocatedNode,
  MapNode,
  ParsedDocument,
  PythonCall,
  PythonClass,
  PythonModule,
  ScalarNode,
  Span,
  UnknownNode,
} from "./tree";

const TORCH_DTYPE =
  /^(?:torch|jnp|np|numpy|mx)\.(float16|bfloat16|float32|float64|half|float|double|int8|uint8|int16|int32|int64|float8_e4m3fn|float8_e5m2)$/;
const DTYPE_ALIAS: Readonly<Record<string, string>> = { half: "float16", float: "float32", double: "float64" };
/** Values looked through per expression tree; bounds names that refer to each other. */
const MAX_EVALUATIONS = 200_000;

/** Reads a Python module. Never throws; offsets are those of `original`. */
export function parsePython(original: string): ParsedDocument {
  const prepared = prepareText(original, MAX_LENGTH.other);
  if (prepared.tooLarge) return { root: null, problems: prepared.problems, syntax: "python" };
  const module = readModule(prepared.text);
  return {
    root: rootOf(module, original.length),
    problems: prepared.problems,
    syntax: "python",
    python: module,
  };
}

/** The module as one map: a call's name gives the map of its keyword arguments, then the assigned names. */
export function rootOf(module: PythonModule, length: number): MapNode {
  const calls = module.calls
    .filter((call) => call.keywords.entries.length > 0)
    .map((call): Entry => ({ key: call.callee, keySpan: call.calleeSpan, value: call.keywords }));
  return { kind: "map", entries: [...calls, ...module.assignments.entries], start: 0, end: length };
}

/**
 * Reads the module's text. Syntax errors are not reported: Python's own tools say them better, and the grammar here
 * may be older than the code.
 */
export function readModule(text: string): PythonModule {
  let tree: Tree;
  try {
    tree = parser.parse(text);
  } catch {
    return { calls: [], classes: [], assignments: emptyMap({ start: 0, end: 0 }), imports: [] };
  }
  const reader = new PythonReader(text);
  reader.collect(tree);
  return reader.module();
}

interface Binding {
  /** null: bound in a way that gives no value (loop variable, parameter, several assignments). */
  expression: SyntaxNode | null;
  reason: string;
  span: Span;
}

class PythonReader {
  private readonly bindings = new Map<string, Binding>();
  private readonly callNodes: SyntaxNode[] = [];
  private readonly classNodes: SyntaxNode[] = [];
  private readonly assigned: { name: SyntaxNode; value: SyntaxNode }[] = [];
  private readonly imports: string[] = [];
  private readonly attributes = new Map<string, LocatedNode>();
  private readonly values = new Map<string, LocatedNode>();
  private readonly evaluating = new Set<string>();
  private evaluations = 0;

  constructor(private readonly text: string) {}

  collect(tree: Tree): void {
    tree.iterate({
      enter: (cursor) => {
        switch (cursor.name) {
          case "CallExpression":
          case "Decorator":
            this.callNodes.push(cursor.node);
            break;
          case "ClassDefinition":
            this.classNodes.push(cursor.node);
            break;
          case "AssignStatement":
            this.assignment(cursor.node);
            break;
          case "UpdateStatement":
            this.rebind(cursor.node.firstChild, "changed by an augmented assignment");
            break;
          case "ForStatement":
            this.rebind(cursor.node.getChild("VariableName"), "a loop variable");
            break;
          case "NamedExpression":
            this.rebind(cursor.node.firstChild, "assigned in an expression");
            break;
          case "ParamList":
            for (const name of cursor.node.getChildren("VariableName")) this.parameter(name);
            break;
          case "ImportStatement":
            this.importStatement(cursor.node);
            break;
        }
      },
    });
    this.collectAttributes();
  }

  module(): PythonModule {
    const calls = this.callNodes.map((node) => this.call(node)).filter((call) => call !== null);
    const entries = this.assigned.map(
      ({ name, value }): Entry => ({ key: this.slice(name), keySpan: span(name), value: this.evaluate(value, 0) }),
    );
    return {
      calls,
      classes: this.classNodes.map((node) => this.classOf(node)),
      assignments: { kind: "map", entries, start: 0, end: this.text.length },
      imports: this.imports,
    };
  }

  private assignment(node: SyntaxNode): void {
    const children = childrenOf(node);
    const sides: SyntaxNode[][] = [[]];
    for (const child of children) {
      if (child.name === "AssignOp") sides.push([]);
      else if (child.name !== "TypeDef") sides[sides.length - 1]?.push(child);
    }
    const value = sides[sides.length - 1];
    if (sides.length < 2 || value === undefined) return;
    for (const targets of sides.slice(0, -1)) {
      const names = targets.filter((child) => child.name !== ",");
      const values = value.filter((child) => child.name !== ",");
      names.forEach((name, index) => {
        const expression =
          names.length === 1
            ? values.length === 1
              ? values[0]
              : undefined
            : values.length === names.length
              ? values[index]
              : undefined;
        if (name.name === "VariableName") this.bind(name, expression ?? null, "unpacked from an expression");
        if (expression !== undefined && (name.name === "VariableName" || name.name === "MemberExpression"))
          this.assigned.push({ name, value: expression });
      });
    }
  }

  private bind(name: SyntaxNode, expression: SyntaxNode | null, reason: string): void {
    const key = this.slice(name);
    const existing = this.bindings.get(key);
    if (existing === undefined) this.bindings.set(key, { expression, reason, span: span(name) });
    else this.bindings.set(key, { expression: null, reason: "assigned more than once", span: existing.span });
  }

  private rebind(name: SyntaxNode | null, reason: string): void {
    if (name === null || name.name !== "VariableName") return;
    this.bindings.set(this.slice(name), { expression: null, reason, span: span(name) });
  }

  private parameter(name: SyntaxNode): void {
    const key = this.slice(name);
    if (this.bindings.has(key))
      this.bindings.set(key, { expression: null, reason: "also a parameter", span: span(name) });
    else {
      const next = name.nextSibling;
      const typed = next?.name === "TypeDef" ? next.nextSibling : next;
      const value = typed?.name === "AssignOp" ? typed.nextSibling : null;
      this.bindings.set(key, { expression: value, reason: "a parameter", span: span(name) });
    }
  }

  private importStatement(node: SyntaxNode): void {
    const words = this.slice(node).replace(/[()\\\n]/g, " ");
    const from = /^\s*from\s+([\w.]+)\s+import\s+(.*)$/s.exec(words);
    if (from !== null) {
      for (const part of (from[2] ?? "").split(",")) {
        const name = part.trim().split(/\s+as\s+/)[0];
        if (name !== undefined && name !== "") this.imports.push(`${from[1]}.${name}`);
      }
      return;
    }
    for (const part of words.replace(/^\s*import\s+/, "").split(",")) {
      const name = part.trim().split(/\s+as\s+/)[0];
      if (name !== undefined && name !== "") this.imports.push(name);
    }
  }

  /** `args.x` reads the default of `add_argument("--x")`, or of a dataclass field named `x` when only one class has it. */
  private collectAttributes(): void {
    const ambiguous = new Set<string>();
    const add = (key: string, value: LocatedNode): void => {
      if (this.attributes.has(key)) ambiguous.add(key);
      this.attributes.set(key, value);
    };
    for (const entry of argparseDefaults(this.callNodes.map((node) => this.call(node)).filter((call) => call !== null)))
      add(entry.key, entry.value);
    for (const node of this.classNodes)
      for (const entry of this.classOf(node).fields.entries) add(entry.key, entry.value);
    for (const key of ambiguous) this.attributes.delete(key);
    this.values.clear();
  }

  private classOf(node: SyntaxNode): PythonClass {
    const name = node.getChild("VariableName");
    const bases = (node.getChild("ArgList")?.getChildren("VariableName") ?? []).concat(
      node.getChild("ArgList")?.getChildren("MemberExpression") ?? [],
    );
    const body = node.getChild("Body");
    const entries: Entry[] = [];
    for (const statement of body?.getChildren("AssignStatement") ?? []) {
      const field = statement.firstChild;
      const value = statement.lastChild;
      if (field?.name !== "VariableName" || value === null || value === field || value.name === "TypeDef") continue;
      entries.push({ key: this.slice(field), keySpan: span(field), value: this.fieldDefault(value) });
    }
    return {
      name: name === null ? "" : this.slice(name),
      bases: bases.map((base) => this.slice(base)),
      fields: { kind: "map", entries, ...span(body ?? node) },
      ...span(node),
    };
  }

  /** `field(default=8, …)` stands for its default. */
  private fieldDefault(value: SyntaxNode): LocatedNode {
    if (value.name !== "CallExpression") return this.evaluate(value, 0);
    const call = this.call(value);
    if (call === null || !/(?:^|\.)(?:field|Field|Arg|HfArg)$/.test(call.callee)) return this.evaluate(value, 0);
    return (
      call.keywords.entries.find((entry) => entry.key === "default")?.value ?? this.unknown(value, "no plain default")
    );
  }

  private call(node: SyntaxNode): PythonCall | null {
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

  private evaluate(node: SyntaxNode, depth: number): LocatedNode {
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
    const binding = this.bindings.get(name);
    if (binding === undefined) return this.unknown(node, `\`${name}\` is not defined in this file`);
    if (binding.expression === null) return this.unknown(node, `\`${name}\` is ${binding.reason}`);
    return this.moved(this.evaluate(binding.expression, depth + 1), node);
  }

  private member(node: SyntaxNode, depth: number): LocatedNode {
    const text = this.slice(node);
    const dtype = TORCH_DTYPE.exec(text)?.[1];
    if (dtype !== undefined) return this.scalar(node, DTYPE_ALIAS[dtype] ?? dtype);
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
    if (
      object?.name === "VariableName" &&
      property !== null &&
      /arg|config|cfg|opt|param|flag|setting|hp/i.test(this.slice(object))
    ) {
      const value = this.attributes.get(this.slice(property));
      if (value !== undefined) return this.moved(value, node);
    }
    return this.unknown(node, `\`${text.length > 60 ? `${text.slice(0, 57)}…` : text}\` is not known here`);
  }

  private callValue(node: SyntaxNode, depth: number): LocatedNode {
    const callee = node.firstChild;
    const list = node.getChild("ArgList");
    const name = callee === null ? "" : this.slice(callee);
    if (
      list !== null &&
      (name === "dict" || name === "L" || name === "OmegaConf.create" || name === "edict" || name === "ConfigDict")
    ) {
      const { positional, entries } = this.arguments(list, depth + 1);
      const base = positional.flatMap((argument) => (argument.kind === "map" ? argument.entries : []));
      return { kind: "map", entries: [...base, ...entries], ...span(node) };
    }
    if (
      list !== null &&
      (name === "int" || name === "float" || name === "str" || name === "list" || name === "tuple")
    ) {
      const { positional } = this.arguments(list, depth + 1);
      const inner = positional.length === 1 ? positional[0] : undefined;
      if (inner?.kind === "list" && (name === "list" || name === "tuple")) return inner;
      if (inner?.kind === "scalar" && inner.value !== null) {
        if (name === "str") return { ...this.scalar(node, String(inner.value)), source: inner.source ?? span2(inner) };
        const number = Number(inner.value);
        if (Number.isFinite(number))
          return {
            ...this.scalar(node, name === "int" ? Math.trunc(number) : number),
            source: inner.source ?? span2(inner),
          };
      }
    }
    return this.unknown(node, `the result of \`${name.length > 40 ? `${name.slice(0, 37)}…` : name}(…)\``);
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
      return { ...value, ...span(node), raw: this.slice(node), source: value.source ?? span2(value) };
    if (value.kind === "unknown") return { ...value, ...span(node), raw: this.slice(node) };
    return value;
  }

  private scalar(node: SyntaxNode, value: ScalarNode["value"]): ScalarNode {
    if (typeof value === "number" && Number.isNaN(value)) value = this.slice(node);
    return { kind: "scalar", value, raw: this.slice(node), ...span(node) };
  }

  private unknown(node: SyntaxNode, reason: string): UnknownNode {
    return { kind: "unknown", raw: this.slice(node), reason, ...span(node) };
  }

  private unknownAt(at: Span, reason: string): UnknownNode {
    return { kind: "unknown", raw: this.text.slice(at.start, at.end), reason, ...at };
  }

  private slice(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }
}

/** Defaults that `parser.add_argument("--name", default=…)` calls give, keyed by the attribute argparse sets. */
export function argparseDefaults(calls: readonly PythonCall[]): Entry[] {
  const entries: Entry[] = [];
  for (const call of calls) {
    if (!/(?:^|\.)add_argument$/.test(call.callee)) continue;
    const options = call.positional.filter(
      (node) => node.kind === "scalar" && typeof node.value === "string" && node.value.startsWith("-"),
    );
    const long = options.find((node) => node.kind === "scalar" && String(node.value).startsWith("--")) ?? options[0];
    if (long?.kind !== "scalar") continue;
    const action = call.keywords.entries.find((entry) => entry.key === "action")?.value;
    const stated = call.keywords.entries.find((entry) => entry.key === "default")?.value;
    const dest = call.keywords.entries.find((entry) => entry.key === "dest")?.value;
    const key =
      dest?.kind === "scalar" && typeof dest.value === "string"
        ? dest.value
        : String(long.value).replace(/^-+/, "").replaceAll("-", "_");
    const flag = action?.kind === "scalar" && (action.value === "store_true" || action.value === "store_false");
    const value =
      stated ??
      (flag
        ? ({ kind: "scalar", value: action.value === "store_false", raw: "", start: call.end, end: call.end } as const)
        : undefined);
    if (value !== undefined) entries.push({ key, keySpan: { start: long.start, end: long.end }, value });
  }
  return entries;
}

function span(node: SyntaxNode): Span {
  return { start: node.from, end: node.to };
}

function span2(node: LocatedNode): Span {
  return { start: node.start, end: node.end };
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

function fold(operator: string, values: readonly (ScalarNode["value"] | undefined)[]): ScalarNode["value"] | undefined {
  const [left, right] = values;
  if (values.length === 1) {
    if (operator === "not" && typeof left === "boolean") return !left;
    if (typeof left !== "number") return undefined;
    return operator === "-" ? -left : operator === "+" ? left : undefined;
  }
  if (values.length !== 2) return undefined;
  if (operator === "+" && typeof left === "string" && typeof right === "string") return left + right;
  if (typeof left !== "number" || typeof right !== "number") return undefined;
  const result = ARITHMETIC[operator]?.(left, right);
  return result !== undefined && Number.isFinite(result) ? result : undefined;
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => a - b * Math.floor(a / b),
  "**": (a, b) => a ** b,
  "<<": (a, b) => a * 2 ** b,
};

/** Content of a Python string literal (prefix, quotes and the common escapes removed). */
function unquote(literal: string): string {
  const match = /^([rRbBuU]*)("""|'''|"|')([\s\S]*)$/.exec(literal);
  if (match === null) return literal;
  const [, prefix = "", quotes = "", rest = ""] = match;
  const body = rest.endsWith(quotes) ? rest.slice(0, -quotes.length) : rest;
  if (/r/i.test(prefix)) return body;
  return body.replace(
    /\\(\r?\n|[\\'"abfnrtv])/g,
    (_, escaped: string) => PYTHON_ESCAPES[escaped] ?? (escaped.endsWith("\n") ? "" : escaped),
  );
}

const PYTHON_ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
};
