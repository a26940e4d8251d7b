/** What expressions come to, as far as the module says it: names are followed, simple arithmetic is folded. */

import type { SyntaxNode } from "@lezer/common";
import { table } from "../../terms/table";
import { type Message, say } from "../../words/message";
import { MAX_DEPTH } from "../text";
import type { Entry, ListNode, LocatedNode, MapNode, PythonCall, ScalarNode, Span, UnknownNode } from "../tree";
import { Handed, isTooLarge, LONGEST_NAME, MAX_PARTS, partsOf } from "./bounds";
import { classOf, fieldNames } from "./classes";
import { type Collector, PARSES } from "./collect";
import { dataFileKey, fileNamedBy } from "./data-files";
import type { Flow } from "./flow";
import { knownAnswer, knownResult, onlyCuts } from "./idioms";
import { dtypeNamed, fold, truth, unquote } from "./literals";
import type { Binding } from "./names";
import { childNamed, childrenNamed, childrenOf, junction, type Operand, span } from "./nodes";
import { defaultHeld, type Parameter, parametersOf } from "./parameters";
import { pickedName } from "./picked";

/** Values looked through per expression tree; bounds names that refer to each other. */
const MAX_EVALUATIONS = 200_000;

/** A class by its name, wherever it comes from. */
const CLASS_NAME = /^(?:\w{1,80}\.){0,8}[A-Z][a-z]\w{0,80}$/;
/** Calls that make a mapping of their keyword arguments, or an object that has them as attributes. */
const MAPPINGS: ReadonlySet<string> = new Set(
  "dict L OmegaConf.create edict ConfigDict SimpleNamespace types.SimpleNamespace Namespace argparse.Namespace".split(
    " ",
  ),
);
/** Calls that give an object's fields as a mapping. */
const FIELDS: ReadonlySet<string> = new Set(["asdict", "dataclasses.asdict", "vars"]);
/** Items of a range or of a comprehension that are made; longer ones are none of a config's. */
const MAX_ITEMS = 4096;

/** Calls that convert one value. */
const PICKS: Readonly<Record<string, (...values: number[]) => number>> = table({ min: Math.min, max: Math.max });
const CONVERSIONS: ReadonlySet<string> = new Set(["int", "float", "str", "list", "tuple"]);

/** Calls that read a variable of the environment (Lib/os.py). */
const ENVIRONMENT = /^(?:os\.)?(?:getenv|environ\.get)$/;

/** Where a node stands. */
function placeOf(node: LocatedNode): Span {
  return { start: node.start, end: node.end };
}

/** Where a value is really written. */
function sourceOf(value: LocatedNode): Span {
  return (value.kind === "scalar" || value.kind === "unknown" ? value.source : undefined) ?? placeOf(value);
}

/** Whether two values are the same, as far as that can be known: the same plain value, or written in the same place. */
function isSame(a: LocatedNode, b: LocatedNode): boolean {
  if (a.kind === "scalar" && b.kind === "scalar") return a.value === b.value;
  const [one, other] = [sourceOf(a), sourceOf(b)];
  return a.kind === b.kind && one.start === other.start && one.end === other.end;
}

/** What dictionaries that a name may be bound to say together; an item that only some have is taken for theirs. */
function merged(maps: readonly MapNode[], at: MapNode): MapNode {
  const entries = new Map<string, Entry>();
  for (const { entries: own } of maps)
    for (const entry of own) {
      const known = entries.get(entry.key);
      const alternatives = known === undefined ? [entry.value] : [known.value, entry.value];
      const differs = known !== undefined && !isSame(known.value, entry.value);
      const { keySpan, value } = entry;
      const open: UnknownNode = { kind: "unknown", raw: "", reason: say("open.twice"), ...placeOf(value) };
      entries.set(
        entry.key,
        differs ? { key: entry.key, keySpan, value: { ...open, alternatives } } : (known ?? entry),
      );
    }
  return { ...at, entries: [...entries.values()] };
}

function reasonOf(value: LocatedNode): Message {
  return value.kind === "unknown" ? value.reason : say("open.expression");
}

/** Python's truth of a value; undefined: it is not known. */
/** Whether a condition over `len(sys.argv)` holds for a script that is started without arguments of its own. */
function withoutArguments(condition: string): boolean | undefined {
  const [, operator, number] = /^len\(sys\.argv\) ?(>=|>|==|!=|<=|<) ?(\d{1,3})$/.exec(condition) ?? [];
  const given = fold(operator ?? "", [1, Number(number)]);
  return typeof given === "boolean" ? given : undefined;
}

function truthOf(value: LocatedNode): boolean | undefined {
  if (value.kind === "scalar") return truth(value.value);
  if (value.kind === "unknown") return undefined;
  return (value.kind === "list" ? value.items : value.entries).length > 0;
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

/** What a call is given. */
interface Arguments {
  readonly positional: readonly LocatedNode[];
  readonly entries: readonly Entry[];
}

/** What Lightning keeps of a module's arguments (lightning/pytorch/core/mixins/hparams_mixin.py, `save_hyperparameters`). */
const KEPT_ARGUMENT = /^self\.hparams\.(\w{1,80})$/;

export class Evaluator {
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
    private readonly text: string,
    private readonly flow: Flow,
    private readonly found: Collector,
    private readonly attributes: ReadonlyMap<string, LocatedNode>,
    private readonly given: ReadonlyMap<string, ReadonlyMap<string, LocatedNode>>,
    private readonly strict = false,
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
        ? (this.classNamed(callee) ?? this.slice(callee))
        : callee.name === "MemberExpression"
          ? this.memberName(callee)
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

  private arguments(list: SyntaxNode, depth: number): Arguments {
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
      } else if (this.slice(child) === "*") index++;
      else positional.push(this.evaluate(child, depth + 1));
    }
    return { positional, entries };
  }

  /** `**mapping`, as far as there is room for it. */
  private spread(value: LocatedNode, entries: Entry[]): void {
    if (value.kind === "map" && entries.length + value.entries.length <= MAX_PARTS) entries.push(...value.entries);
  }

  private memberName(node: SyntaxNode): string {
    const text = this.slice(node);
    const property = node.lastChild;
    if (/^[\w.]+$/.test(text)) {
      const type = node.firstChild?.name === "VariableName" ? this.classNamed(node.firstChild) : undefined;
      return type === undefined || property === null ? text : `${type}.${this.slice(property)}`;
    }
    if (property === null) return "";
    const whole = this.picked(node);
    if (whole !== undefined) return whole;
    const owner = node.firstChild === null || this.slice(property) === "]" ? undefined : this.picked(node.firstChild);
    return owner === undefined ? this.slice(property) : `${owner}.${this.slice(property)}`;
  }

  private picked(node: SyntaxNode): string | undefined {
    return pickedName(node, {
      slice: (one) => this.slice(one),
      evaluate: (one) => this.evaluate(one, 1),
      bound: (one) => this.flow.bindingsAt(one)?.[0]?.expression ?? null,
    });
  }

  /** The class that a name stands for (`model_class = AutoModelForCausalLM`, `import AutoModel as A`); the first of those it may be. */
  private classNamed(node: SyntaxNode): string | undefined {
    const [binding] = this.flow.bindingsAt(node) ?? [];
    const imported = this.found.bound.get(this.slice(node))?.split(".").at(-1);
    if (binding === undefined && imported !== undefined) return CLASS_NAME.test(imported) ? imported : undefined;
    const expression = binding?.element === undefined ? binding?.expression : undefined;
    if (expression?.name !== "VariableName" && expression?.name !== "MemberExpression") return undefined;
    const name = this.slice(expression);
    return CLASS_NAME.test(name) ? name : undefined;
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
    if (++this.evaluations > MAX_EVALUATIONS) return this.unknown(node, say("open.large"));
    if (this.evaluating.has(place)) {
      this.cycles++;
      return this.unknown(node, say("open.cycle"));
    }
    this.evaluating.add(place);
    const found = this.expression(node, depth);
    this.evaluating.delete(place);
    const makes = node.name !== "VariableName" && node.name !== "MemberExpression";
    if (makes) this.evaluations += partsOf(found) >> 3;
    const value = isTooLarge(found) ? this.unknown(node, say("open.large")) : found;
    if (isShared) this.values.set(place, value);
    return value;
  }

  /** A value where some names stand for what a round of a loop gives them. */
  inRound(node: SyntaxNode, rounds: ReadonlyMap<string, LocatedNode>, depth = 0): LocatedNode {
    const before = this.rounds;
    this.rounds = new Map([...before, ...rounds]);
    const value = this.evaluate(node, depth);
    this.rounds = before;
    return value;
  }

  /** `[f"layers.{i}" for i in range(8)]`, with conditions that are known. */
  private comprehension(node: SyntaxNode, depth: number): LocatedNode {
    const parts = childrenOf(node).filter((child) => !/^(?:[()[\]]|Comment)$/.test(child.name));
    const [item, , target, , over, ...conditions] = parts;
    const names = parts.map(({ name }) => name);
    const tests = conditions.filter(({ name }) => name !== "if");
    const isPlain = names[1] === "for" && names[3] === "in" && tests.length * 2 === conditions.length;
    if (!isPlain || item === undefined || target?.name !== "VariableName" || over === undefined)
      return this.unknown(node, say("open.expression"));
    const list = this.evaluate(over, depth + 1);
    if (list.kind !== "list" || list.items.length > MAX_ITEMS) return this.unknown(node, say("open.expression"));
    const items: LocatedNode[] = [];
    let made = 0;
    for (const given of list.items) {
      if (made > MAX_PARTS || this.evaluations > MAX_EVALUATIONS) return this.unknown(node, say("open.large"));
      const round = new Map([[this.slice(target), given]]);
      const holds = tests.map((test) => truthOf(this.inRound(test, round, depth + 1)));
      if (holds.includes(undefined)) return this.unknown(node, say("open.condition"));
      if (holds.includes(false)) continue;
      const one = this.inRound(item, round, depth + 1);
      made += partsOf(one);
      items.push(one);
    }
    return { kind: "list", items, ...span(node) };
  }

  /** `range(8)`, as the list that it runs over. */
  private counted(node: SyntaxNode, list: SyntaxNode, depth: number): ListNode | undefined {
    const bounds = this.arguments(list, depth + 1).positional.map((one) =>
      one.kind === "scalar" && Number.isInteger(one.value) ? Number(one.value) : Number.NaN,
    );
    const [first = Number.NaN, second, step = 1] = bounds;
    const [from, to] = second === undefined ? [0, first] : [first, second];
    const length = Math.max(0, Math.ceil((to - from) / step));
    if (!(length <= MAX_ITEMS)) return undefined;
    this.evaluations += length >> 2;
    if (this.evaluations > MAX_EVALUATIONS) return undefined;
    const items = Array.from({ length }, (_, k) => this.scalar(node, from + k * step));
    return { kind: "list", items, ...span(node) };
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
        return this.formatted(node, depth);
      case "ParenthesizedExpression": {
        const inner = childrenOf(node).find(
          (child) => child.name !== "(" && child.name !== ")" && child.name !== "Comment",
        );
        return inner === undefined ? this.unknown(node, say("open.no-value")) : this.evaluate(inner, depth + 1);
      }
      case "ArrayExpression":
      case "TupleExpression":
      case "SetExpression":
        return this.sequence(node, depth);
      case "ArrayComprehensionExpression":
      case "SetComprehensionExpression":
      case "ComprehensionExpression":
        return this.comprehension(node, depth);
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
        return this.unknown(node, say("open.expression"));
    }
  }

  /** `f"{organization}/{name}"`, where all that stands in it is known and written as it is. */
  private formatted(node: SyntaxNode, depth: number): LocatedNode {
    let text = "";
    let at = node.from;
    for (const part of childrenNamed(node, "FormatReplacement")) {
      const inner = childrenOf(part).filter(({ name }) => name !== "{" && name !== "}");
      const value = inner.length === 1 && inner[0] !== undefined ? this.evaluate(inner[0], depth + 1) : undefined;
      const plain = value?.kind === "scalar" && (typeof value.value === "string" || Number.isInteger(value.value));
      if (value?.kind !== "scalar" || !plain) return this.unknown(node, say("open.expression"));
      text += this.text.slice(at, part.from).replaceAll(/\{\{|\}\}/g, (twice) => twice.slice(1));
      text += String(value.value);
      at = part.to;
    }
    text += this.text.slice(at, node.to).replaceAll(/\{\{|\}\}/g, (twice) => twice.slice(1));
    return this.scalar(node, unquote(text.replace(/^[a-zA-Z]+/, (prefix) => prefix.replaceAll(/f/gi, ""))));
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
        this.spread(this.evaluate(next, depth + 1), entries);
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
            ? this.unknownAt({ start: next.to, end: next.to }, say("open.no-value"))
            : this.evaluate(value, depth + 1),
        });
        index += missing ? 1 : 2;
      }
    }
    return { kind: "map", entries, ...span(node) };
  }

  private variable(node: SyntaxNode, depth: number): LocatedNode {
    const name = this.slice(node);
    if (name === "__name__") return this.scalar(node, "__main__");
    const given = this.rounds.get(name);
    if (given !== undefined) return this.moved(given, node);
    const bindings = this.flow.bindingsAt(node);
    if (bindings === undefined || bindings.length === 0) return this.unknown(node, say("open.undefined", { name }));
    return this.bound(node, bindings, depth);
  }

  /** What a name is bound to, or may be bound to by conditions that are not known. */
  private bound(node: SyntaxNode, bindings: readonly Binding[], depth: number): LocatedNode {
    const values = bindings.map((binding) => this.ofBinding(binding, node, depth));
    const [first] = values;
    if (first !== undefined && values.every((value) => isSame(value, first))) return first;
    const maps = values.filter((value) => value.kind === "map");
    if (maps.length === values.length && first?.kind === "map") return merged(maps, first);
    return {
      ...this.unknown(node, say("open.is", { name: this.slice(node), reason: say("open.twice") })),
      alternatives: values,
    };
  }

  private ofBinding(binding: Binding, node: SyntaxNode, depth: number): LocatedNode {
    const { expression, reason, element, parameter, items } = binding;
    if (items !== undefined) {
      const { items: _, ...plain } = binding;
      const before = this.ofBinding(plain, node, depth);
      return before.kind === "map" ? this.withItems(before, items, depth) : before;
    }
    if (parameter !== undefined) return this.parameter(parameter, node, depth);
    const name = this.slice(node);
    const turn = binding.loop?.targets === 1 ? this.ofRound(binding.loop.over, depth) : undefined;
    if (turn !== undefined) return this.moved(turn, node);
    if (expression === null) return this.unknown(node, say("open.is", { name, reason }));
    const value = this.evaluate(expression, depth + 1);
    if (element === undefined) return this.moved(value, node);
    const item = value.kind === "list" ? value.items[element] : undefined;
    if (item !== undefined) return this.moved(item, node);
    return { ...this.unknown(node, say("open.is", { name, reason })), source: sourceOf(value) };
  }

  /** What the name of a loop over written values stands for: the only one, or the largest number, whose round takes the most. */
  private ofRound(over: SyntaxNode, depth: number): LocatedNode | undefined {
    if (over.name !== "ArrayExpression" && over.name !== "TupleExpression") return undefined;
    const { items } = this.sequence(over, depth + 1);
    const [first, ...rest] = items;
    if (rest.length === 0) return first;
    const numbers = items.flatMap((one) => (one.kind === "scalar" && typeof one.value === "number" ? [one] : []));
    if (this.strict || numbers.length < items.length) return undefined;
    return numbers.reduce((most, one) => (Number(one.value) > Number(most.value) ? one : most));
  }

  /** A dictionary after `name["key"] = value`. */
  private withItems(map: MapNode, items: NonNullable<Binding["items"]>, depth: number): MapNode {
    this.evaluations += items.length >> 1;
    const entries = new Map(map.entries.map((entry) => [entry.key, entry]));
    for (const { key, value } of items) {
      const text = this.evaluate(key, depth + 1);
      if (text.kind !== "scalar") continue;
      const name = String(text.value);
      entries.set(name, { key: name, keySpan: span(key), value: this.evaluate(value, depth + 1) });
    }
    return { ...map, entries: [...entries.values()] };
  }

  /** The value that the first call of its function gives a parameter, where one does and it can be known, else its default. */
  private parameter(parameter: Parameter, node: SyntaxNode, depth: number): LocatedNode {
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
    const held = parameter.standard.name === "CallExpression" ? this.call(parameter.standard) : null;
    return (held && defaultHeld(held)) ?? this.evaluate(parameter.standard, depth + 1);
  }

  /** What each call of its function gives a parameter, as it is written. */
  argumentNodes({ function: callee, name, index }: Parameter): readonly SyntaxNode[] {
    const calls = callee === undefined ? [] : this.found.callsOf(callee);
    return calls.flatMap((call) => {
      const children = childrenOf(childNamed(call, "ArgList") ?? call).filter(({ name: kind }) => kind !== "Comment");
      const named = children.findIndex(
        (child, k) =>
          child.name === "VariableName" && children[k + 1]?.name === "AssignOp" && this.slice(child) === name,
      );
      const isValue = ({ name: kind }: SyntaxNode, k: number) =>
        !/^(?:[(),]|AssignOp)$/.test(kind) &&
        children[k - 1]?.name !== "AssignOp" &&
        children[k + 1]?.name !== "AssignOp";
      return (named < 0 ? children.filter(isValue)[index] : children[named + 2]) ?? [];
    });
  }

  private argument(call: SyntaxNode, { name, index }: Parameter, depth: number): LocatedNode | undefined {
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
    return entries.find(({ key }) => key === name)?.value ?? positional[index];
  }

  private member(node: SyntaxNode, depth: number): LocatedNode {
    const text = this.slice(node);
    const dtype = dtypeNamed(text);
    if (dtype !== undefined) return this.scalar(node, dtype);
    const bindings = this.flow.bindingsAt(node);
    if (bindings !== undefined && bindings.length > 0) return this.bound(node, bindings, depth);
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
      return this.unknown(node, say("open.element"));
    }
    const kept = KEPT_ARGUMENT.exec(text)?.[1];
    const given = kept === undefined ? undefined : this.makersParameter(node, kept);
    if (given !== undefined)
      return this.bound(
        node,
        [{ expression: null, reason: say("open.parameter"), span: span(given.node), parameter: given }],
        depth,
      );
    // `cfg.lora.r` is `--lora.r` where the command line gives fields of fields (draccus, tyro, jsonargparse).
    const nested = /^[A-Za-z_]\w*\.([\w.]+\.\w+)$/.exec(text)?.[1];
    const said = nested === undefined ? undefined : this.attributes.get(nested);
    if (said !== undefined) return this.moved(said, node);
    if (object !== undefined && property !== null && this.slice(property) === "__dict__") {
      const fields = this.fields(this.evaluate(object, depth + 1), depth);
      if (fields !== undefined) return { kind: "map", entries: fields, ...span(node) };
    }
    const own = object === undefined || property === null ? undefined : this.field(object, this.slice(property), depth);
    if (own !== undefined) return this.moved(own, node);
    if (object !== undefined && property !== null && this.isNamespace(object, depth)) {
      const value = this.attributes.get(this.slice(property));
      if (value !== undefined) return this.moved(value, node);
    }
    return this.unknown(node, say("open.not-here", { name: text.length > 60 ? `${text.slice(0, 57)}…` : text }));
  }

  /** The parameter of a name of the `__init__` of the class around a node. */
  private makersParameter(node: SyntaxNode, name: string): Parameter | undefined {
    let type: SyntaxNode | null = node;
    while (type !== null && type.name !== "ClassDefinition") type = type.parent;
    const methods = childrenNamed(childNamed(type, "Body"), "FunctionDefinition");
    const init = methods.find((one) => this.slice(childNamed(one, "VariableName") ?? one) === "__init__");
    return init && parametersOf(init, (one) => this.slice(one)).find((one) => one.name === name);
  }

  /** A field of an object that a class of the module was called for, or of the class itself. */
  private field(object: SyntaxNode, name: string, depth: number): LocatedNode | undefined {
    const value = this.evaluate(object, depth + 1);
    const own =
      this.fields(value, depth) ?? (value.kind === "unknown" ? this.classFields(object, undefined, depth) : []);
    return own?.findLast(({ key }) => key === name)?.value;
  }

  /** What an object has, where it is a mapping or what a class of the module was called for; undefined: it is something else. */
  private fields(value: LocatedNode, depth: number): readonly Entry[] | undefined {
    if (value.kind === "map") return value.entries;
    const call = value.kind === "unknown" ? this.found.callAt(sourceOf(value)) : undefined;
    return call?.firstChild == null ? undefined : this.classFields(call.firstChild, call, depth);
  }

  /** The defaults of a class by its name, with what a call of it gives in their place. */
  private classFields(name: SyntaxNode, call: SyntaxNode | undefined, depth: number): readonly Entry[] | undefined {
    const type = name.name === "VariableName" ? this.found.classNamed(this.slice(name)) : undefined;
    if (type === undefined) return undefined;
    const place = `${type.from}:${call?.from ?? ""}`;
    const known = this.rounds.size === 0 ? this.objects.get(place) : undefined;
    if (known !== undefined) return known;
    const { cycles } = this;
    const fields = this.fieldsOf(type, call, depth);
    if (this.rounds.size === 0 && this.cycles === cycles && depth < MAX_DEPTH) this.objects.set(place, fields);
    return fields;
  }

  private fieldsOf(type: SyntaxNode, call: SyntaxNode | undefined, depth: number): readonly Entry[] {
    const list = childNamed(call, "ArgList");
    const given = list ? this.arguments(list, depth + 1) : { positional: [], entries: [] };
    const places = fieldNames(type, this);
    const placed = given.positional.flatMap((value, index): Entry[] => {
      const key = places[index];
      return key === undefined ? [] : [{ key, keySpan: placeOf(value), value }];
    });
    const said = new Map(
      [...classOf(type, this).fields.entries, ...placed, ...given.entries].map((one) => [one.key, one]),
    );
    return [...said.values()];
  }

  /** Whether an object holds what the command line says: by what it is bound to, by its name, or by the call that made it. */
  private isNamespace(object: SyntaxNode, depth: number): boolean {
    if (object.name !== "VariableName" && object.name !== "MemberExpression") return false;
    const name = this.slice(object).replace(/^.*\./s, "");
    if (/arg|config|cfg|opt|param|flag|setting|hp/i.test(name)) return true;
    if (object.name === "VariableName" && this.found.namespaces.has(name)) return true;
    const callee = this.found.callAt(sourceOf(this.evaluate(object, depth + 1)))?.firstChild;
    return callee != null && PARSES.test(this.slice(callee));
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

  private callValue(node: SyntaxNode, depth: number): LocatedNode {
    const file = this.dataFile(node, depth);
    const data = file === undefined ? undefined : this.attributes.get(dataFileKey(file));
    if (data !== undefined) return this.moved(data, node);
    const callee = node.firstChild;
    const list = childNamed(node, "ArgList");
    const name = callee === null ? "" : this.slice(callee);
    if (list !== null && MAPPINGS.has(name)) {
      const { positional, entries } = this.arguments(list, depth + 1);
      const base = positional.flatMap((argument) => (argument.kind === "map" ? argument.entries : []));
      return { kind: "map", entries: [...base, ...entries], ...span(node) };
    }
    const plain = list === null ? undefined : this.builtin(node, name, list, depth);
    if (plain !== undefined) return plain;
    const measured = list === null ? undefined : this.measured(node, name, list, depth);
    if (measured !== undefined) return measured;
    const range = list !== null && name === "range" ? this.counted(node, list, depth) : undefined;
    if (range !== undefined) return range;
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
    const item =
      list === null ? undefined : ENVIRONMENT.test(name) ? this.unset(list, depth) : this.gotten(node, list, depth);
    if (item !== undefined) return this.moved(item, node);
    const body = this.found.functionNamed(name);
    const known = body === undefined ? undefined : knownResult(this.slice(body).slice(0, 4000));
    if (known !== undefined) return this.scalar(node, known);
    const answer = body === undefined ? knownAnswer(name) : undefined;
    if (answer !== undefined)
      return Array.isArray(answer)
        ? { kind: "list", items: answer.map((item) => this.scalar(node, item)), ...span(node) }
        : this.scalar(node, answer as boolean);
    const returned = callee === null ? undefined : this.returned(callee, depth);
    if (returned !== undefined) return this.moved(returned, node);
    return this.unknown(node, say("open.result", { name: name.length > 40 ? `${name.slice(0, 37)}…` : name }));
  }

  /** What gives an object's fields: all of them (`asdict(config)`), or the one of a name (`getattr(torch, "bfloat16")`). */
  private builtin(node: SyntaxNode, name: string, list: SyntaxNode, depth: number): LocatedNode | undefined {
    const [object, ...rest] = childrenOf(list).filter((child) => !/^(?:[(),]|Comment)$/.test(child.name));
    if (object === undefined) return undefined;
    if (FIELDS.has(name)) {
      const entries = rest.length === 0 ? this.fields(this.evaluate(object, depth + 1), depth) : undefined;
      return entries === undefined ? undefined : { kind: "map", entries, ...span(node) };
    }
    if (name !== "getattr" || rest[0] === undefined) return undefined;
    const key = this.evaluate(rest[0], depth + 1);
    if (key.kind !== "scalar" || typeof key.value !== "string") return undefined;
    const dtype = dtypeNamed(`${this.slice(object)}.${key.value}`);
    if (dtype !== undefined) return { ...this.scalar(node, dtype), source: sourceOf(key) };
    const own = this.field(object, key.value, depth) ?? (rest[1] && this.evaluate(rest[1], depth + 1));
    return own === undefined ? undefined : this.moved(own, node);
  }

  /** `min(a, b)`, `max(a, b)` of numbers, where what is not known only cuts what is longer; `len` of what is written out. */
  private measured(node: SyntaxNode, name: string, list: SyntaxNode, depth: number): LocatedNode | undefined {
    const pick = Object.hasOwn(PICKS, name) ? PICKS[name] : undefined;
    if (pick === undefined && name !== "len") return undefined;
    const { positional, entries } = this.arguments(list, depth + 1);
    const [only] = positional;
    if (entries.length > 0 || only === undefined) return undefined;
    if (pick === undefined) {
      const size = only.kind === "list" ? only.items.length : only.kind === "map" ? only.entries.length : undefined;
      return size === undefined || positional.length > 1 ? undefined : this.scalar(node, size);
    }
    const told = positional.filter((one) => !(name === "min" && one.kind === "unknown" && onlyCuts(one.raw)));
    const numbers = told.flatMap((one) => (one.kind === "scalar" && typeof one.value === "number" ? [one.value] : []));
    if (numbers.length < told.length || numbers.length === 0 || positional.length < 2) return undefined;
    const value = pick(...numbers);
    const source = told.find((one) => one.kind === "scalar" && one.value === value);
    return { ...this.scalar(node, value), ...(source && { source: sourceOf(source) }) };
  }

  /** What a variable of the environment stands for where nothing sets it. */
  private unset(list: SyntaxNode, depth: number): LocatedNode | undefined {
    const { positional, entries } = this.arguments(list, depth + 1);
    return positional[1] ?? entries.find(({ key }) => key === "default")?.value;
  }

  /** `dictionary.get("key", otherwise)` */
  private gotten(node: SyntaxNode, list: SyntaxNode, depth: number): LocatedNode | undefined {
    const callee = node.firstChild;
    const object = callee?.name === "MemberExpression" ? callee.firstChild : null;
    if (object === null || callee?.lastChild == null || this.slice(callee.lastChild) !== "get") return undefined;
    const container = this.evaluate(object, depth + 1);
    const [key, otherwise] = this.arguments(list, depth + 1).positional;
    if (container.kind !== "map" || key?.kind !== "scalar") return undefined;
    return container.entries.findLast((entry) => entry.key === String(key.value))?.value ?? otherwise;
  }

  /** What a function of the module returns, where it does so in one place. */
  private returned(callee: SyntaxNode, depth: number): LocatedNode | undefined {
    const body = this.flow.functionCalled(callee);
    const [statement, ...more] = body === undefined ? [] : this.flow.returnsOf(body);
    if (statement === undefined || more.length > 0) return undefined;
    const values = childrenOf(statement).filter(({ name }) => !/^(?:return|,|Comment)$/.test(name));
    const items = values.map((value) => this.evaluate(value, depth + 1));
    return items.length === 1 ? items[0] : { kind: "list", items, ...span(statement) };
  }

  /** `a if condition else b`, where the condition is known. */
  private conditional(node: SyntaxNode, depth: number): LocatedNode {
    const [then, , condition, , other] = childrenOf(node).filter(({ name }) => name !== "Comment");
    if (then === undefined || condition === undefined || other === undefined)
      return this.unknown(node, say("open.expression"));
    const alone = withoutArguments(this.slice(condition));
    if (alone !== undefined) {
      const [value, given] = [this.evaluate(alone ? then : other, depth + 1), this.slice(alone ? other : then)];
      return this.moved(value.kind === "scalar" ? { ...value, standard: given } : value, node);
    }
    const decides = truthOf(this.evaluate(condition, depth + 1));
    if (decides !== undefined) return this.moved(this.evaluate(decides ? then : other, depth + 1), node);
    const alternatives = [then, other].map((side) => this.moved(this.evaluate(side, depth + 1), node));
    const [first, second] = alternatives;
    if (first !== undefined && second !== undefined && isSame(first, second)) return first;
    return { ...this.unknown(node, say("open.condition")), alternatives };
  }

  private arithmetic(node: SyntaxNode, depth: number): LocatedNode {
    const parts = childrenOf(node).filter((child) => child.name !== "Comment");
    const lists = junction(node);
    if (lists !== undefined) return this.joined(node, lists, depth);
    const isOperator = ({ name }: SyntaxNode) => /^(?:ArithOp|BitOp|CompareOp|not|and|or|in|is)$/.test(name);
    const operators = parts.filter(isOperator);
    if (operators.length === 0) return this.unknown(node, say("open.expression"));
    const operator = operators.map((part) => this.slice(part)).join(" ");
    const operands = parts.filter((part) => !isOperator(part)).map((child) => this.evaluate(child, depth + 1));
    const [left, right] = operands;
    if (operator === "in" || operator === "not in") {
      const found = left === undefined || right === undefined ? undefined : contains(right, left);
      if (found !== undefined) return this.scalar(node, found === (operator === "in"));
    }
    const values = operands.map((operand) => (operand.kind === "scalar" ? operand.value : undefined));
    const unknown = operands.find((operand) => operand.kind === "unknown");
    if (unknown?.kind === "unknown") return this.unknown(node, unknown.reason);
    const result = fold(operator, values);
    return result === undefined ? this.unknown(node, say("open.expression")) : this.scalar(node, result);
  }

  /** `a or not b and c`: the first operand that decides is the value. */
  private joined(node: SyntaxNode, lists: readonly (readonly Operand[])[], depth: number): LocatedNode {
    let open: LocatedNode | undefined;
    let last: LocatedNode = this.scalar(node, false);
    for (const list of lists) {
      const all = this.conjunction(node, list, depth);
      if (truthOf(all) === true && open === undefined) return this.moved(all, node);
      if (truthOf(all) === undefined) open ??= all;
      // What is known to hold decides a condition, whatever stands before it.
      else if (all.kind === "scalar" && all.value === true) return this.scalar(node, true);
      last = all;
    }
    return open === undefined ? this.moved(last, node) : this.unknown(node, reasonOf(open));
  }

  private conjunction(node: SyntaxNode, operands: readonly Operand[], depth: number): LocatedNode {
    let open: LocatedNode | undefined;
    let last: LocatedNode = this.scalar(node, true);
    for (const { node: one, negated } of operands) {
      const value = this.evaluate(one, depth + 1);
      const holds = truthOf(value);
      const own = !negated ? value : holds === undefined ? value : this.scalar(node, !holds);
      if (holds === undefined) open ??= value;
      else if (holds === negated && open === undefined) return own;
      else if (holds === negated && own.kind === "scalar" && own.value === false) return own;
      last = own;
    }
    return open ?? last;
  }

  /** The value seen from where the name is used; its own place stays as `source`. */
  private moved(value: LocatedNode, node: SyntaxNode): LocatedNode {
    if (value.kind === "scalar")
      return { ...value, ...span(node), raw: this.slice(node), source: value.source ?? placeOf(value) };
    if (value.kind === "unknown")
      return { ...value, ...span(node), raw: this.slice(node), source: value.source ?? placeOf(value) };
    return value;
  }

  private scalar(node: SyntaxNode, value: ScalarNode["value"]): ScalarNode {
    if (typeof value === "number" && Number.isNaN(value)) value = this.slice(node);
    return { kind: "scalar", value, raw: this.slice(node), ...span(node) };
  }

  unknown(node: SyntaxNode, reason: Message): UnknownNode {
    return { kind: "unknown", raw: this.slice(node), reason, ...span(node) };
  }

  private unknownAt(at: Span, reason: Message): UnknownNode {
    return { kind: "unknown", raw: this.text.slice(at.start, at.end), reason, ...at };
  }

  slice(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }
}
