/**
 * What a Python file says without running it: calls with their keyword arguments, names bound once to a value,
 * dict literals and spreads, dataclass defaults and argparse defaults. Constants and simple arithmetic are folded;
 * everything else is an unknown node with its reason.
 *
 * @lezer/python never fails on broken code, so half-typed files still give what stands in them.
 */
import type { Tree } from "@lezer/common";
import { parser } from "@lezer/python";
import { emptyMap, MAX_LENGTH, prepareText } from "../text";
import type { Entry, LocatedNode, MapNode, ParsedDocument, PythonCall, PythonClass, PythonModule } from "../tree";
import { classOf } from "./classes";
import { Collector } from "./collect";
import { span } from "./nodes";
import { declaredDefaults, optionsOf, startedFunctions } from "./options";
import { Evaluator } from "./values";

/** Values of a program's options by their names, as its command line gives them; places are the command's own. */
export type GivenOptions = ReadonlyMap<string, LocatedNode>;

const NOTHING_GIVEN: GivenOptions = new Map();

/** Reads a Python module. Never throws; offsets are those of `original`. */
export function parsePython(original: string, given: GivenOptions = NOTHING_GIVEN): ParsedDocument {
  const prepared = prepareText(original, MAX_LENGTH.other);
  if (prepared.tooLarge) return { root: null, problems: prepared.problems, syntax: "python" };
  const module = readModule(prepared.text, given);
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
export function readModule(text: string, given: GivenOptions = NOTHING_GIVEN): PythonModule {
  let tree: Tree;
  const nothing = emptyMap({ start: 0, end: 0 });
  try {
    tree = parser.parse(text);
  } catch {
    return { calls: [], classes: [], assignments: nothing, imports: [], options: nothing };
  }
  const found = new Collector(text);
  found.collect(tree);
  const attributes = new Map<string, LocatedNode>();
  const parameters = new Map<string, GivenOptions>();
  const evaluator = new Evaluator(text, found, attributes, parameters);
  addAttributes(attributes, found, evaluator);
  for (const [key, value] of given) attributes.set(key, value);
  const declared = declaredDefaults(callsOf(found, evaluator)).map(({ key, value }) => [key, value] as const);
  for (const name of startedFunctions(found, evaluator)) parameters.set(name, new Map([...declared, ...given]));
  evaluator.forget();
  const calls = callsOf(found, evaluator);
  const options = optionsOf(found, evaluator, calls);
  const entries = found.assigned.map(
    ({ name, value }): Entry => ({ key: evaluator.slice(name), keySpan: span(name), value: evaluator.evaluate(value) }),
  );
  return {
    calls,
    classes: found.classNodes.map((node) => withGiven(classOf(node, evaluator), given)),
    assignments: { kind: "map", entries, start: 0, end: text.length },
    imports: found.imports,
    options,
  };
}

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
function addAttributes(attributes: Map<string, LocatedNode>, found: Collector, evaluator: Evaluator): void {
  const ambiguous = new Set<string>();
  const add = ({ key, value }: Entry): void => {
    if (attributes.has(key)) ambiguous.add(key);
    attributes.set(key, value);
  };
  for (const entry of declaredDefaults(callsOf(found, evaluator))) add(entry);
  for (const node of found.classNodes) for (const entry of classOf(node, evaluator).fields.entries) add(entry);
  for (const key of ambiguous) attributes.delete(key);
}
