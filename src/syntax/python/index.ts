/**
 * What a Python file says without running it: calls with their keyword arguments, names bound once to a value,
 * dict literals and spreads, dataclass defaults and argparse defaults. Constants and simple arithmetic are folded;
 * everything else is an unknown node with its reason.
 *
 * @lezer/python never fails on broken code, so half-typed files still give what stands in them.
 */
import type { SyntaxNode, Tree } from "@lezer/common";
import { parser } from "@lezer/python";
import type { OwnLoss } from "../../terms/own-loss";
import { emptyMap, MAX_LENGTH, prepareText } from "../text";
import type {
  Entry,
  LocatedNode,
  MapNode,
  ParsedDocument,
  PythonCall,
  PythonClass,
  PythonEffect,
  PythonGuard,
  PythonModule,
} from "../tree";
import { classOf } from "./classes";
import { Collector } from "./collect";
import { Conditions } from "./conditions";
import { cutsOf } from "./cuts";
import { Flow } from "./flow";
import { functionsIn } from "./loss-functions";
import { childNamed, childrenNamed, childrenOf, span } from "./nodes";
import { declaredDefaults, optionsOf, spellingsOf, startedFunctions, writtenOptions } from "./options";
import { type Outside, outsideOf } from "./outside";
import { layersPut } from "./own-layers";
import { functionTree } from "./own-loss";
import { ownModuleOf } from "./own-module";
import { Paths } from "./paths";
import { keyOf, repeatsOf } from "./repeats";
import { roundIn } from "./round";
import { Evaluator } from "./values";
import type { Guard } from "./walking";

/**
 * Values of a program's options by their names, as its command line gives them, and of what stands in files by `dataFileKey`; places are
 * the command's or the file's own.
 */
export type GivenOptions = ReadonlyMap<string, LocatedNode>;

const NOTHING_GIVEN: GivenOptions = new Map();

/**
 * Reads a Python module. Never throws; offsets are those of `original`.
 *
 * @param first where modules begin that it imports and that are read with it
 */
export function parsePython(original: string, given: GivenOptions = NOTHING_GIVEN, first?: number): ParsedDocument {
  const prepared = prepareText(original, MAX_LENGTH.other);
  if (prepared.tooLarge) return { root: null, problems: prepared.problems, syntax: "python" };
  const module = readModule(prepared.text, given, first);
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
 * Calls of results in a text, as many as its tree is gone through for first: in chains of thousands of them, which Python itself
 * refuses, the grammar loses its nodes.
 */
const CHAINED = 1000;

/**
 * Reads the module's text. Syntax errors are not reported: Python's own tools say them better, and the grammar here
 * may be older than the code.
 */
export function readModule(text: string, started: GivenOptions = NOTHING_GIVEN, first?: number): PythonModule {
  let tree: Tree;
  const nothing = emptyMap({ start: 0, end: 0 });
  try {
    tree = parser.parse(text);
    if (text.split(").", CHAINED).length === CHAINED) tree.iterate({ enter: () => true });
  } catch {
    const bare = { calls: [], classes: [], effects: [], imports: [], unpacked: [], dataFiles: [] };
    return {
      ...bare,
      losses: new Map(),
      assignments: nothing,
      bound: new Map(),
      functions: new Set(),
      options: nothing,
      spellings: new Map(),
    };
  }
  const { found, flow, evaluator } = interpreted({ text, tree, first }, started);
  const paths = new Paths(flow, evaluator, found.callNodes);
  const conditions = new Conditions(flow, evaluator, paths);
  const asked = new Map<readonly Guard[], readonly PythonGuard[]>();
  const guardsOf = (guards: readonly Guard[]) => {
    const known = asked.get(guards) ?? testsOf(guards);
    asked.set(guards, known);
    return known;
  };
  const testsOf = (guards: readonly Guard[]) =>
    guards.map(({ test, holds }): PythonGuard => {
      const every = everyOf(test, evaluator);
      const told = every === null ? {} : { every: evaluator.evaluate(every) };
      return { test: conditions.test(test), raw: evaluator.slice(test), holds, ...told, ...span(test) };
    });
  const calls = found.callNodes.flatMap((node) => {
    const call = evaluator.call(node);
    if (call === null) return [];
    const object =
      node.name === "CallExpression" && node.firstChild?.name === "MemberExpression" ? node.firstChild : null;
    const path = object?.firstChild && paths.of(object.firstChild);
    const receiver = evaluator.receiver(node);
    const { order, guards, deferred } = flow.reachedAt(node) ?? NOT_REACHED;
    return [
      {
        ...call,
        order,
        ...(deferred ? { deferred } : {}),
        guards: guardsOf(guards),
        ...(receiver === undefined ? {} : { receiver }),
        ...(path ? { path } : {}),
        ...keyOf(node, (one) => evaluator.slice(one)),
      },
    ];
  });
  const effects = found.assigned.flatMap(({ name, value, statement }): PythonEffect[] => {
    const object = name.name === "MemberExpression" ? name.firstChild : null;
    const reached = flow.reachedAt(statement);
    if (object === null || reached === undefined) return [];
    const item = paths.of(name)?.steps.at(-1);
    const isItem = item?.kind === "items";
    const attribute =
      isItem && typeof item.from === "number" ? `${item.from}` : evaluator.slice(name.lastChild ?? name);
    const said = evaluator.evaluate(value);
    const test = said.kind === "unknown" ? conditions.test(value) : null;
    const source = (said.kind === "unknown" ? paths.of(value) : null) ?? null;
    const guards = guardsOf(reached.guards);
    const { order } = reached;
    return paths.each(object).map((path) => {
      const names = path.steps.flatMap((step) => (step.kind === "attribute" ? [step.name] : []));
      const isNamed = names.length === path.steps.length;
      const layers = isNamed ? layersPut([...names, attribute].join("."), value, found, evaluator) : undefined;
      return {
        ...{ path, attribute, value: said, test, source, order, guards, ...span(statement) },
        ...(layers !== undefined && { layers }),
        ...(isItem && { item }),
      };
    });
  });
  const deletions = found.deleted.flatMap((statement): PythonEffect[] => {
    const reached = flow.reachedAt(statement);
    if (reached === undefined) return [];
    const { order } = reached;
    const guards = guardsOf(reached.guards);
    return childrenNamed(statement, "MemberExpression").flatMap((node) => {
      const value = evaluator.evaluate(node);
      return paths.each(node).flatMap((source): PythonEffect[] => {
        const list = source.steps.at(-2);
        if (!/^(?:items|picked)$/.test(source.steps.at(-1)?.kind ?? "") || list?.kind !== "attribute") return [];
        const path = { ...source, steps: source.steps.slice(0, -2) };
        const deed = { path, attribute: list.name, value, test: null, source, deletes: true as const };
        return [{ ...deed, order, guards, ...span(statement) }];
      });
    });
  });
  const outside = outsideOf(found, evaluator);
  const options = optionsOf(found, evaluator, calls);
  const written = writtenOptions(calls);
  const given = allGiven(written, started);
  const round = roundIn(found, evaluator, outside);
  const cuts = cutsOf(found.indexed, (node) => evaluator.slice(node));
  const repeats = repeatsOf(found.repeated, evaluator);
  const entries = found.assigned.map(
    ({ name, value }): Entry => ({ key: evaluator.slice(name), keySpan: span(name), value: evaluator.evaluate(value) }),
  );
  return {
    calls,
    classes: found.classNodes.map((node) =>
      withLoss(withGiven(classOf(node, evaluator), given), node, found, evaluator, outside),
    ),
    assignments: { kind: "map", entries, start: 0, end: text.length },
    effects: [...effects, ...deletions].toSorted((a, b) => a.order - b.order),
    imports: found.imports,
    bound: found.bound,
    functions: new Set(found.functionNodes.map((node) => nameOf(node, evaluator))),
    options,
    ...(written.length === 0 ? {} : { written }),
    spellings: spellingsOf(found, evaluator, calls),
    unpacked: found.unpacked.filter((callee) => callee !== ""),
    losses: lossesOf(found, evaluator, outside),
    ...(round === undefined ? {} : { round }),
    ...(cuts.length === 0 ? {} : { cuts }),
    ...(repeats.length === 0 ? {} : { repeats }),
    dataFiles: [...new Set(found.callNodes.flatMap((node) => evaluator.dataFile(node) ?? []))],
  };
}

/** Longer conditions are not gone through. */
const LONGEST_TEST = 400;

/** The `n` of a condition that holds in every nth round (`(step + 1) % n == 0`); null: it asks for something else. */
function everyOf(test: SyntaxNode, evaluator: Evaluator): SyntaxNode | null {
  let found: SyntaxNode | null = null;
  if (test.to - test.from > LONGEST_TEST) return found;
  test.cursor().iterate(({ node, name }) => {
    const [, sign, right] = name === "BinaryExpression" && found === null ? childrenOf(node) : [];
    if (sign !== undefined && right !== undefined && evaluator.slice(sign) === "%") found = right;
  });
  return found;
}

/** What no way through the module comes to, such as the default of a parameter. */
const NOT_REACHED = { order: Number.MAX_SAFE_INTEGER, guards: [], deferred: true as const };

/** What is read. */
interface Source {
  readonly text: string;
  readonly tree: Tree;
  /** Where modules begin that it imports. */
  readonly first: number | undefined;
}

interface Interpreted {
  readonly found: Collector;
  readonly flow: Flow;
  readonly evaluator: Evaluator;
}

/** What a module does where something happens with it, and not only what stands in it. */
const TRAINS = /(?:^|\.)(?:train|fit|backward)$/;

/** Values of options: those that a module says itself, and over them those it is given. */
function allGiven(own: readonly Entry[], given: GivenOptions): GivenOptions {
  return new Map([...own.map(({ key, value }) => [key, value] as const), ...given]);
}

/**
 * The module twice: first as if no condition were known, for the options it declares, then with their values. Where nothing is
 * trained by the options' defaults (`if args.do_train:`), they decide nothing.
 */
function interpreted(source: Source, started: GivenOptions): Interpreted {
  const { text } = source;
  const open = walked(source, null, new Map(), new Map());
  const calls = callsOf(open.found, open.evaluator);
  const given = allGiven(writtenOptions(calls), started);
  const attributes = new Map<string, LocatedNode>();
  const declared = declaredDefaults(calls);
  addAttributes(attributes, declared, open);
  for (const [key, value] of given) attributes.set(key, value);
  const parameters = new Map<string, GivenOptions>();
  for (const name of startedFunctions(open.found, open.evaluator)) parameters.set(name, allGiven(declared, given));
  const decided = walked(source, open.found, attributes, parameters);
  if (trains(decided) || !trains(open)) return decided;
  const plain = walked(source, open.found, given, parameters);
  const { found, flow } = trains(plain) ? plain : open;
  return { found, flow, evaluator: new Evaluator(text, flow, found, attributes, parameters) };
}

function trains({ found, evaluator }: Interpreted): boolean {
  return found.callNodes.some(({ firstChild }) => firstChild !== null && TRAINS.test(evaluator.slice(firstChild)));
}

/** @param known what stands in the module whether it runs or not; null: no condition is known yet */
function walked(
  { text, tree, first }: Source,
  known: Collector | null,
  attributes: ReadonlyMap<string, LocatedNode>,
  parameters: ReadonlyMap<string, GivenOptions>,
): Interpreted {
  const found = new Collector(text);
  let judge: Evaluator | null = null;
  const flow: Flow = new Flow(text, (test) => judge?.holds(test));
  judge = new Evaluator(text, flow, known ?? found, attributes, parameters, true);
  if (known === null) judge = null;
  flow.walk(tree, first);
  found.collect(tree, (node) => flow.isDead(node));
  return { found, flow, evaluator: new Evaluator(text, flow, found, attributes, parameters) };
}

/** The method whose body is read. */
const LOSS = "compute_loss";
/** A class with the loss that it writes itself. */
function withLoss(
  type: PythonClass,
  node: SyntaxNode,
  found: Collector,
  evaluator: Evaluator,
  outside: Outside,
): PythonClass {
  const functions = childrenNamed(childNamed(node, "Body"), "FunctionDefinition");
  const own = functions.find((one) => nameOf(one, evaluator) === LOSS);
  const module = ownModuleOf(node, found, evaluator);
  return {
    ...type,
    ...(own === undefined ? {} : { loss: lossIn(own, found, evaluator, outside) }),
    ...(module === undefined ? {} : { module: { ...module, outside: outside(module, node) } }),
  };
}

function nameOf(node: SyntaxNode, evaluator: Evaluator): string {
  return evaluator.slice(childNamed(node, "VariableName") ?? node);
}

/** What a function computes; null: something that is not read. */
function lossIn(own: SyntaxNode, found: Collector, evaluator: Evaluator, outside: Outside): OwnLoss | null {
  const tree = functionTree(own, (one) => evaluator.slice(one), found.bound);
  if (tree === undefined) return null;
  const functions = functionsIn(tree, found, evaluator);
  return { ...tree, outside: outside([tree, functions], own), ...functions };
}

/** Functions of outputs and labels, by their names: they may be a loss (`compute_loss_func`). */
function lossesOf(found: Collector, evaluator: Evaluator, outside: Outside): ReadonlyMap<string, OwnLoss | null> {
  const takes = found.functionNodes.filter((node) =>
    OF_OUTPUTS.test(evaluator.slice(childNamed(node, "ParamList") ?? node)),
  );
  return new Map(takes.map((node) => [nameOf(node, evaluator), lossIn(node, found, evaluator, outside)]));
}

const OF_OUTPUTS = /^\(\s{0,20}\w{0,20}outputs?\b[^,]{0,60},\s{0,20}\w{0,20}(?:labels|targets?)\b/;

/** A field that the command gives has its value. */
function withGiven(type: PythonClass, given: GivenOptions): PythonClass {
  if (given.size === 0) return type;
  const entries = type.fields.entries.map((entry) => ({ ...entry, value: given.get(entry.key) ?? entry.value }));
  return { ...type, fields: { ...type.fields, entries } };
}

function callsOf({ callNodes }: Collector, evaluator: Evaluator): PythonCall[] {
  return callNodes.map((node) => evaluator.call(node)).filter((call) => call !== null);
}

/** `args.x` reads the default of `add_argument("--x")`, or of a dataclass field named `x` when only one class has it. */
function addAttributes(
  attributes: Map<string, LocatedNode>,
  declared: readonly Entry[],
  { found, evaluator }: Interpreted,
): void {
  const ambiguous = new Set<string>();
  const add = ({ key, value }: Entry): void => {
    if (attributes.has(key)) ambiguous.add(key);
    attributes.set(key, value);
  };
  for (const entry of declared) add(entry);
  for (const node of found.classNodes) for (const entry of classOf(node, evaluator).fields.entries) add(entry);
  for (const key of ambiguous) attributes.delete(key);
}
