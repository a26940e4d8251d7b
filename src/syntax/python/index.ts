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
import type { Entry, LocatedNode, MapNode, ParsedDocument, PythonCall, PythonModule } from "../tree";
import { argparseDefaults } from "./argparse";
import { classOf } from "./classes";
import { Collector } from "./collect";
import { span } from "./nodes";
import { Evaluator } from "./values";

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
  const found = new Collector(text);
  found.collect(tree);
  const attributes = new Map<string, LocatedNode>();
  const evaluator = new Evaluator(text, found.bindings, attributes, (name) => found.callsOf(name));
  addAttributes(attributes, found, evaluator);
  evaluator.forget();
  const calls = callsOf(found, evaluator);
  const entries = found.assigned.map(
    ({ name, value }): Entry => ({ key: evaluator.slice(name), keySpan: span(name), value: evaluator.evaluate(value) }),
  );
  return {
    calls,
    classes: found.classNodes.map((node) => classOf(node, evaluator)),
    assignments: { kind: "map", entries, start: 0, end: text.length },
    imports: found.imports,
  };
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
  for (const entry of argparseDefaults(callsOf(found, evaluator))) add(entry);
  for (const node of found.classNodes) for (const entry of classOf(node, evaluator).fields.entries) add(entry);
  for (const key of ambiguous) attributes.delete(key);
}
