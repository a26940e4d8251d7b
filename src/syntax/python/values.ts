/** What expressions come to, as far as the module says it: names are followed, simple arithmetic is folded. */

import type { SyntaxNode } from "@lezer/common";
import { type Message, say } from "../../words/message";
import { MAX_DEPTH } from "../text";
import type { Entry, LocatedNode, PythonCall, ScalarNode, Span, UnknownNode } from "../tree";
import { bound } from "./bound";
import { Handed, isTooLarge, LONGEST_NAME, MAX_PARTS, partsOf } from "./bounds";
import { classNamed, memberName } from "./callees";
import type { Collector } from "./collect";
import { isSame, placeOf, sourceOf, truthOf } from "./compared";
import { dataFileKey, fileNamedBy } from "./data-files";
import type { Arguments, Evaluating } from "./evaluating";
import type { Flow } from "./flow";
import { unquote } from "./literals";
import { childNamed, childrenOf, span } from "./nodes";
import { classWithin, fieldsOf, member, onlyCall } from "./objects";
import { arithmetic, conditional } from "./operations";
import { argumentNode, defaultHeld, namesBeside, type Parameter } from "./parameters";
import { callValue } from "./results";
import { comprehension, dictionary, formatted, sequence } from "./written";

/** Values looked through per expression tree; bounds names that refer to each other. */
const MAX_EVALUATIONS = 200_000;

export class Evaluator implements Evaluating {
  private readonly values = new Map<string, LocatedNode>();
  private readonly evaluating = new Set<string>();
  private evaluations = 0;
  /** Times that a value was asked for while it was being found out. */
  private cycles = 0;
  private readonly handed = new Handed();
  private readonly lists = new Map<string, Arguments>();
  private readonly objects = new Map<string, readonly Entry[]>();
  private readonly parameters = new Map<string, LocatedNode | undefined>();
  /** What the names of comprehensions stand for while their items are made. */
  private rounds: ReadonlyMap<string, LocatedNode> = new Map();

  /**
   * @param attributes those of namespaces, whose values are known from elsewhere in the module (`args.x`)
   * @param given values of parameters, by the name of the function that the command line calls
   * @param strict a parameter has a value only where every call gives the same
   */
  constructor(
    readonly text: string,
    readonly flow: Flow,
    readonly found: Collector,
    readonly attributes: ReadonlyMap<string, LocatedNode>,
    private readonly given: ReadonlyMap<string, ReadonlyMap<string, LocatedNode>>,
    readonly strict = false,
  ) {}

  /** More attributes are known now: what was evaluated before is forgotten. */
  forget(): void {
    this.values.clear();
    this.lists.clear();
    this.objects.clear();
    this.parameters.clear();
  }

  /** A call by a name, with its arguments; null: what is called has none. */
  call(node: SyntaxNode): PythonCall | null {
    const callee = node.firstChild;
    const list = childNamed(node, "ArgList");
    if (callee === null || list === null) return null;
    if (node.name === "Decorator") return this.decorator(node, list);
    const name =
      callee.name === "VariableName"
        ? (classNamed(this, callee) ?? this.slice(callee))
        : callee.name === "MemberExpression"
          ? memberName(this, callee)
          : null;
    if (name === null || name.length > LONGEST_NAME) return null;
    const calleeSpan =
      callee.name === "MemberExpression" && !/^[\w.]+$/.test(this.slice(callee))
        ? span(callee.lastChild ?? callee)
        : span(callee);
    const { positional, entries } = this.arguments(list, 0);
    return { callee: name, calleeSpan, positional, keywords: { kind: "map", entries, ...span(list) }, ...span(node) };
  }

  /** Whether a condition holds; undefined: that is not known. */
  holds(test: SyntaxNode): boolean | undefined {
    return truthOf(this.evaluate(test));
  }

  /** The object whose method a call names. */
  receiver(node: SyntaxNode): LocatedNode | undefined {
    const [callee] = childrenOf(node);
    const object = callee?.name === "MemberExpression" ? callee.firstChild : null;
    return object === null || object === undefined ? undefined : this.evaluate(object);
  }

  /** `@name.of(…)`: a call whose name the grammar gives as one text. */
  private decorator(node: SyntaxNode, list: SyntaxNode): PythonCall {
    const start = node.from + 1;
    const callee = this.text.slice(start, Math.min(list.from, start + LONGEST_NAME)).trim();
    const { positional, entries } = this.arguments(list, 0);
    const calleeSpan = { start, end: start + callee.length };
    return { callee, calleeSpan, positional, keywords: { kind: "map", entries, ...span(list) }, ...span(node) };
  }

  arguments(list: SyntaxNode, depth: number): Arguments {
    const place = `${list.from}:${list.to}`;
    const known = this.rounds.size === 0 ? this.lists.get(place) : undefined;
    if (known !== undefined) return known;
    const { cycles } = this;
    const found = this.argumentsIn(list, depth);
    if (this.rounds.size === 0 && this.cycles === cycles && depth < MAX_DEPTH) this.lists.set(place, found);
    return found;
  }

  private argumentsIn(list: SyntaxNode, depth: number): Arguments {
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
          ? this.unknownAt({ start: next.to, end: next.to }, say("open.no-value"))
          : this.evaluate(value, depth + 1);
        entries.push({ key: this.slice(child), keySpan: span(child), value: node });
        index += missing ? 1 : 2;
      } else if (this.slice(child) === "**" && next !== undefined) {
        this.spread(this.evaluate(next, depth + 1), entries);
        index++;
      } else if (this.slice(child) === "*" && next !== undefined) {
        const items = this.evaluate(next, depth + 1);
        if (items.kind === "list" && !this.spend(items.items.length)) positional.push(...items.items);
        index++;
      } else positional.push(this.evaluate(child, depth + 1));
    }
    return { positional, entries };
  }

  /** `**mapping`, as far as there is room for it. */
  spread(value: LocatedNode, entries: Entry[]): void {
    if (value.kind === "map" && entries.length + value.entries.length <= MAX_PARTS) entries.push(...value.entries);
  }

  evaluate(node: SyntaxNode, depth = 0): LocatedNode {
    const value = this.valueOf(node, depth);
    // What stands alone or as an argument is gone through by those who ask.
    return depth > 1 || this.handed.takes(value) ? value : this.unknown(node, say("open.large"));
  }

  private valueOf(node: SyntaxNode, depth: number): LocatedNode {
    if (depth > MAX_DEPTH) return this.unknown(node, say("open.deep"));
    const place = `${node.from}:${node.to}`;
    const isShared = this.rounds.size === 0;
    const known = isShared ? this.values.get(place) : undefined;
    if (known !== undefined) return known;
    if (this.spend(1)) return this.unknown(node, say("open.large"));
    if (this.evaluating.has(place)) {
      this.cycles++;
      return this.unknown(node, say("open.cycle"));
    }
    this.evaluating.add(place);
    const found = this.expression(node, depth);
    this.evaluating.delete(place);
    const makes = node.name !== "VariableName" && node.name !== "MemberExpression";
    if (makes) this.spend(partsOf(found) >> 3);
    const value = isTooLarge(found) ? this.unknown(node, say("open.large")) : found;
    if (isShared) this.values.set(place, value);
    return value;
  }

  spend(work: number): boolean {
    this.evaluations += work;
    return this.evaluations > MAX_EVALUATIONS;
  }

  /** A value where some names stand for what a round of a loop gives them. */
  inRound(node: SyntaxNode, rounds: ReadonlyMap<string, LocatedNode>, depth = 0): LocatedNode {
    const before = this.rounds;
    this.rounds = new Map([...before, ...rounds]);
    const value = this.evaluate(node, depth);
    this.rounds = before;
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
          : this.unknown(node, say("open.expression"));
      }
      case "FormatString":
        return formatted(this, node, depth);
      case "ParenthesizedExpression": {
        const inner = childrenOf(node).find(
          (child) => child.name !== "(" && child.name !== ")" && child.name !== "Comment",
        );
        return inner === undefined ? this.unknown(node, say("open.no-value")) : this.evaluate(inner, depth + 1);
      }
      case "ArrayExpression":
      case "TupleExpression":
      case "SetExpression":
        return sequence(this, node, depth);
      case "ArrayComprehensionExpression":
      case "SetComprehensionExpression":
      case "ComprehensionExpression":
        return comprehension(this, node, depth);
      case "DictionaryExpression":
        return dictionary(this, node, depth);
      case "VariableName":
        return this.variable(node, depth);
      case "MemberExpression":
        return member(this, node, depth);
      case "UnaryExpression":
      case "BinaryExpression":
        return arithmetic(this, node, depth);
      case "ConditionalExpression":
        return conditional(this, node, depth);
      case "CallExpression":
        return callValue(this, node, depth);
      default:
        return this.unknown(node, say("open.expression"));
    }
  }

  private variable(node: SyntaxNode, depth: number): LocatedNode {
    const name = this.slice(node);
    if (name === "__name__") return this.scalar(node, "__main__");
    const given = this.rounds.get(name);
    if (given !== undefined) return this.moved(given, node);
    const bindings = this.flow.bindingsAt(node);
    if (bindings === undefined || bindings.length === 0) return this.unknown(node, say("open.undefined", { name }));
    return bound(this, node, bindings, depth);
  }

  /** The value that the first call of its function gives a parameter, where one does and it can be known, else its default. */
  parameter(parameter: Parameter, node: SyntaxNode, depth: number): LocatedNode {
    const said = parameter.function === undefined ? undefined : this.given.get(parameter.function)?.get(parameter.name);
    if (said !== undefined) return this.moved(said, node);
    const place = `${parameter.node.from}:${parameter.node.to}`;
    const isShared = this.rounds.size === 0;
    const known = isShared && this.parameters.has(place);
    const { cycles } = this;
    const value = known ? this.parameters.get(place) : this.argumentOrDefault(parameter, depth);
    if (isShared && !known && this.cycles === cycles && depth < MAX_DEPTH) this.parameters.set(place, value);
    return value === undefined
      ? this.unknown(node, say("open.is", { name: parameter.name, reason: say("open.parameter") }))
      : this.moved(value, node);
  }

  private argumentOrDefault(parameter: Parameter, depth: number): LocatedNode | undefined {
    const calls = parameter.function === undefined ? [] : this.found.callsOf(parameter.function);
    const values = calls.map((call) => this.argument(call, parameter, depth));
    const known = values.filter((value) => value !== undefined && value.kind !== "unknown");
    const [first] =
      known.length > 0 || parameter.standard !== null ? known : values.filter((value) => value !== undefined);
    // A condition holds for every call, or it is not known.
    const differs = first !== undefined && values.some((value) => value === undefined || !isSame(value, first));
    if (first !== undefined && !(this.strict && differs)) return first;
    if (parameter.standard === null || (this.strict && differs)) return undefined;
    // `None` only says that a caller may leave it out: what one gives in its place is something, whatever it is.
    const [handed] = parameter.standard.name === "None" ? values.filter((value) => value !== undefined) : [];
    if (handed !== undefined) return handed;
    const held = parameter.standard.name === "CallExpression" ? this.call(parameter.standard) : null;
    return (held && defaultHeld(held)) ?? this.evaluate(parameter.standard, depth + 1);
  }

  /** What each call of its function gives a parameter, as it is written. */
  argumentNodes(parameter: Parameter): readonly SyntaxNode[] {
    const calls = parameter.function === undefined ? [] : this.found.callsOf(parameter.function);
    return calls.flatMap((call) => argumentNode(call, parameter, (node) => this.slice(node)) ?? []);
  }

  private argument(call: SyntaxNode, parameter: Parameter, depth: number): LocatedNode | undefined {
    const { name, index, rest } = parameter;
    const list = childNamed(call, "ArgList");
    const place = `${list?.from}:${list?.to}`;
    if (list === null || depth > MAX_DEPTH) return undefined;
    if (this.evaluating.has(place)) {
      this.cycles++;
      return undefined;
    }
    this.evaluating.add(place);
    const { positional, entries } = this.arguments(list, depth + 1);
    this.evaluating.delete(place);
    if (rest === true) {
      const beside = namesBeside(parameter, (node) => this.slice(node));
      return { kind: "map", entries: entries.filter(({ key }) => !beside.has(key)), ...span(list) };
    }
    return entries.find(({ key }) => key === name)?.value ?? positional[index];
  }

  /** A field of an object that a class of the module was called for, or of the class itself. */
  field(object: SyntaxNode, name: string, depth: number): LocatedNode | undefined {
    const type = classWithin(this, object);
    const value = this.evaluate(object, depth + 1);
    const own =
      this.fields(value, depth) ??
      (type !== null
        ? this.fieldsOfClass(type, onlyCall(this, type), depth)
        : value.kind === "unknown"
          ? this.classFields(object, undefined, depth)
          : []);
    return own?.findLast(({ key }) => key === name)?.value;
  }

  /** What an object has, where it is a mapping or what a class of the module was called for; undefined: it is something else. */
  fields(value: LocatedNode, depth: number): readonly Entry[] | undefined {
    if (value.kind === "map") return value.entries;
    const call = value.kind === "unknown" ? this.found.callAt(sourceOf(value)) : undefined;
    return call?.firstChild == null ? undefined : this.classFields(call.firstChild, call, depth);
  }

  /** The defaults of a class by its name, with what a call of it gives in their place. */
  private classFields(name: SyntaxNode, call: SyntaxNode | undefined, depth: number): readonly Entry[] | undefined {
    const type = name.name === "VariableName" ? this.found.classNamed(this.slice(name)) : undefined;
    return type && this.fieldsOfClass(type, call, depth);
  }

  private fieldsOfClass(type: SyntaxNode, call: SyntaxNode | undefined, depth: number): readonly Entry[] {
    const place = `${type.from}:${call?.from ?? ""}`;
    const known = this.rounds.size === 0 ? this.objects.get(place) : undefined;
    if (known !== undefined) return known;
    const { cycles } = this;
    const fields = fieldsOf(this, type, call, depth);
    if (this.rounds.size === 0 && this.cycles === cycles && depth < MAX_DEPTH) this.objects.set(place, fields);
    return fields;
  }

  dataRead(node: SyntaxNode, depth: number): LocatedNode | undefined {
    const file = this.dataFile(node, depth);
    return file === undefined ? undefined : this.attributes.get(dataFileKey(file));
  }

  /** The path of the file of data that a call reads; undefined: it reads none, or one that cannot be told. */
  dataFile(node: SyntaxNode, depth = 0): string | undefined {
    const named = fileNamedBy(node, {
      slice: (part) => this.slice(part),
      bound: (name) => {
        const [binding, ...others] = this.flow.bindingsAt(name) ?? [];
        return others.length === 0 ? (binding?.expression ?? null) : null;
      },
    });
    const path = named === null ? undefined : this.evaluate(named, depth + 1);
    return path?.kind === "scalar" && typeof path.value === "string" ? path.value : undefined;
  }

  /** The value seen from where the name is used; its own place stays as `source`. */
  moved(value: LocatedNode, node: SyntaxNode): LocatedNode {
    if (value.kind === "scalar")
      return { ...value, ...span(node), raw: this.slice(node), source: value.source ?? placeOf(value) };
    if (value.kind === "unknown")
      return { ...value, ...span(node), raw: this.slice(node), source: value.source ?? placeOf(value) };
    return value;
  }

  scalar(node: SyntaxNode, value: ScalarNode["value"]): ScalarNode {
    if (typeof value === "number" && Number.isNaN(value)) value = this.slice(node);
    return { kind: "scalar", value, raw: this.slice(node), ...span(node) };
  }

  unknown(node: SyntaxNode, reason: Message): UnknownNode {
    return { kind: "unknown", raw: this.slice(node), reason, ...span(node) };
  }

  unknownAt(at: Span, reason: Message): UnknownNode {
    return { kind: "unknown", raw: this.text.slice(at.start, at.end), reason, ...at };
  }

  slice(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }
}
