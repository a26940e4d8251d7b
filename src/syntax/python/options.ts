/**
 * The options that a program takes on its command line, as its own text declares them: argparse and click by calls,
 * dataclasses by their fields (`HfArgumentParser`, TRL, draccus, tyro, simple-parsing), fire and typer by the parameters of
 * the function they start. Keyed by the attribute or parameter that the program reads.
 */

import type { SyntaxNode } from "@lezer/common";
import { say } from "../../words/message";
import { emptyMap } from "../text";
import type { Entry, LocatedNode, MapNode, PythonCall, UnknownNode } from "../tree";
import { classOf } from "./classes";
import type { Collector } from "./collect";
import { childNamed, childrenNamed, childrenOf, span } from "./nodes";
import { defaultHeld } from "./parameters";
import type { Evaluator } from "./values";

/** Calls that declare one option by its spelling (`argparse`, `click`). */
const DECLARES = /(?:^|\.)(?:add_argument|option)$/;
/** absl's: a name, a default, a sentence (`flags.DEFINE_integer("batch_size", 4, "…")`). */
const DEFINES = /(?:^|\.)DEFINE_\w{1,40}$/;
/** Calls that make a function's parameters the program's options (`fire.Fire(f)`, `typer.run(f)`, `tyro.cli(f)`). */
const STARTS = /(?:^|\.)(?:Fire|run|cli|CLI|entrypoint)$/;
/** Decorators that do (`@click.command()`, typer's `@app.command()`). */
const COMMAND = /(?:^|\.)(?:command|main|callback|cli)\b/;
/** Decorators of classes whose fields are options. */
const DATACLASS = /(?:^|\.)(?:dataclass|dataclasses|attrs|define|chz)\b/;
/** Bases of classes that parsers turn into options. */
const ARGUMENTS = /(?:Arguments|Config|Args|BaseModel|Tap|FlatArguments)$/;

function required(at: { readonly start: number; readonly end: number }): UnknownNode {
  return { kind: "unknown", raw: "", reason: say("open.command"), start: at.start, end: at.end };
}

/** Defaults that declaring calls give, keyed by the attribute they set; `undefined`: none is stated. */
function declared(call: PythonCall): (Omit<Entry, "value"> & { readonly value: LocatedNode | undefined }) | undefined {
  if (DEFINES.test(call.callee)) return defined(call);
  if (!DECLARES.test(call.callee)) return undefined;
  const texts = call.positional.flatMap((node) =>
    node.kind === "scalar" && typeof node.value === "string" ? [{ node, text: node.value }] : [],
  );
  const spelled = texts.filter(({ text }) => text.startsWith("-"));
  const long = spelled.find(({ text }) => text.startsWith("--")) ?? spelled[0];
  if (long === undefined) return undefined;
  const keyword = (name: string) => call.keywords.entries.find((entry) => entry.key === name)?.value;
  const [action, dest, stated] = [keyword("action"), keyword("dest"), keyword("default")];
  // click names the parameter by a text without dashes.
  const bare = texts.find(({ text }) => /^\w+$/.test(text))?.text;
  const own = dest?.kind === "scalar" && typeof dest.value === "string" ? dest.value : bare;
  const key = own ?? (long.text.replace(/^-+/, "").split("/", 1)[0] ?? "").replaceAll("-", "_");
  const isFlag = keyword("is_flag");
  const off: LocatedNode = { kind: "scalar", value: false, raw: "", start: call.end, end: call.end };
  const switched =
    action?.kind === "scalar" && (action.value === "store_true" || action.value === "store_false")
      ? { ...off, value: action.value === "store_false" }
      : isFlag?.kind === "scalar" && isFlag.value === true
        ? off
        : undefined;
  return { key, keySpan: { start: long.node.start, end: long.node.end }, value: stated ?? switched };
}

function defined({ positional, keywords }: PythonCall): ReturnType<typeof declared> {
  const [name, standard] = positional;
  if (name?.kind !== "scalar" || typeof name.value !== "string") return undefined;
  const value = standard ?? keywords.entries.find(({ key }) => key === "default")?.value;
  return { key: name.value, keySpan: { start: name.start, end: name.end }, value };
}

/** Defaults of `add_argument` and `option` calls. */
export function declaredDefaults(calls: readonly PythonCall[]): Entry[] {
  return calls.flatMap((call) => {
    const found = declared(call);
    return found?.value === undefined ? [] : [{ ...found, value: found.value }];
  });
}

function decoratorsOf(node: SyntaxNode, evaluator: Evaluator): string[] {
  const around = node.parent?.name === "DecoratedStatement" ? node.parent : null;
  return childrenNamed(around, "Decorator").map((one) => evaluator.slice(one).slice(1));
}

function takesFields(node: SyntaxNode, evaluator: Evaluator): boolean {
  return (
    decoratorsOf(node, evaluator).some((text) => DATACLASS.test(text.replace(/\(.*$/s, ""))) ||
    classOf(node, evaluator).bases.some((base) => ARGUMENTS.test(base))
  );
}

/** Names of the fields that a class annotates without a default. */
function bareFields(node: SyntaxNode, evaluator: Evaluator): Entry[] {
  return childrenNamed(childNamed(node, "Body"), "AssignStatement").flatMap((statement) => {
    const field = statement.firstChild;
    if (field?.name !== "VariableName" || statement.lastChild?.name !== "TypeDef") return [];
    return [{ key: evaluator.slice(field), keySpan: span(field), value: required(span(field)) }];
  });
}

/** Names of the functions whose parameters the command line gives. */
export function startedFunctions(found: Collector, evaluator: Evaluator): ReadonlySet<string> {
  const names = new Set<string>();
  for (const node of found.callNodes) {
    const callee = node.firstChild;
    if (callee === null || !STARTS.test(evaluator.slice(callee))) continue;
    const first = childrenOf(childNamed(node, "ArgList") ?? node).find((child) => child.name === "VariableName");
    if (first !== undefined) names.add(evaluator.slice(first));
  }
  for (const node of found.functionNodes) {
    const name = childNamed(node, "VariableName");
    if (name !== null && decoratorsOf(node, evaluator).some((text) => COMMAND.test(text.replace(/\(.*$/s, ""))))
      names.add(evaluator.slice(name));
  }
  return names;
}

function parametersOf(node: SyntaxNode, evaluator: Evaluator): Entry[] {
  const children = childrenOf(childNamed(node, "ParamList") ?? node);
  return children.flatMap((child, index): Entry[] => {
    const before = children[index - 1];
    if (child.name !== "VariableName" || before?.name === "AssignOp" || /^\*\*?$/.test(before?.name ?? "")) return [];
    const typed = children[index + 1]?.name === "TypeDef" ? index + 2 : index + 1;
    const standard = children[typed]?.name === "AssignOp" ? children[typed + 1] : undefined;
    const value = standard === undefined ? required(span(child)) : defaultOf(standard, evaluator);
    return [{ key: evaluator.slice(child), keySpan: span(child), value }];
  });
}

/** `typer.Option(8, …)` stands for its default. */
function defaultOf(node: SyntaxNode, evaluator: Evaluator): LocatedNode {
  const call = node.name === "CallExpression" ? evaluator.call(node) : null;
  const held = call === null ? undefined : defaultHeld(call);
  return held === undefined ? evaluator.evaluate(node) : (held ?? required(span(node)));
}

/** Texts that spell an option (`"--lr", "-l"`), without their dashes. */
function spelledBy(positional: readonly LocatedNode[]): readonly string[] {
  return positional.flatMap((node) =>
    node.kind === "scalar" && typeof node.value === "string" && node.value.startsWith("-")
      ? [(node.value.split("/", 1)[0] ?? "").replace(/^-+/, "").replaceAll("-", "_")]
      : [],
  );
}

/** Names that options have on the command line beside their own: those of a declaring call, and typer's of a parameter. */
export function spellingsOf(
  found: Collector,
  evaluator: Evaluator,
  calls: readonly PythonCall[],
): ReadonlyMap<string, string> {
  const spellings = new Map<string, string>();
  const add = (key: string, names: readonly string[]): void => {
    for (const name of names) if (name !== key) spellings.set(name, key);
  };
  for (const call of calls) {
    const option = declared(call);
    if (option !== undefined) add(option.key, spelledBy(call.positional));
  }
  for (const node of found.functionNodes) {
    const children = childrenOf(childNamed(node, "ParamList") ?? node);
    for (const [index, child] of children.entries()) {
      if (child.name !== "VariableName" || children[index - 1]?.name === "AssignOp") continue;
      // `lr: Annotated[float, typer.Option("--lr")] = 1` or `lr: float = typer.Option(1, "--lr")`
      const after = children.slice(index + 1, index + 4);
      const end = after.findIndex(({ name }) => name === ",");
      for (const part of end < 0 ? after : after.slice(0, end))
        add(evaluator.slice(child), optionNames(part, evaluator));
    }
  }
  return spellings;
}

/** What the `Option` calls in a parameter's type or default spell. */
function optionNames(node: SyntaxNode, evaluator: Evaluator): readonly string[] {
  if (node.name !== "CallExpression") return childrenOf(node).flatMap((child) => optionNames(child, evaluator));
  const call = evaluator.call(node);
  return call !== null && /(?:^|\.)Option$/.test(call.callee) ? spelledBy(call.positional) : [];
}

/** Calls of parsers that are given the words of a command line as a list. */
const PARSES_LIST = /(?:^|\.)parse_(?:args|known_args|args_into_dataclasses|args_and_config)$/;
const NUMBER = /^-?\d+(?:\.\d*)?(?:e-?\d+)?$/i;

/** A word as what an option makes of it. */
function typed(text: string): string | number | boolean {
  return NUMBER.test(text) ? Number(text) : /^(?:true|false)$/i.test(text) ? text.toLowerCase() === "true" : text;
}

/** Options that a module gives its own parser: `parse_args_into_dataclasses(args=["--bf16", "True"])`. */
export function writtenOptions(calls: readonly PythonCall[]): readonly Entry[] {
  const call = calls.find(({ callee }) => PARSES_LIST.test(callee));
  const list = call?.keywords.entries.find(({ key }) => key === "args")?.value ?? call?.positional[0];
  if (list?.kind !== "list") return [];
  const words = list.items.flatMap((node) => (node.kind === "scalar" ? [{ node, text: String(node.value) }] : []));
  if (words.length < list.items.length) return [];
  return words.flatMap(({ node, text }, index): Entry[] => {
    const [, name = "", joined] = /^--([\w-]{1,80})(?:=(.*))?$/s.exec(text) ?? [];
    if (name === "") return [];
    const next = words[index + 1];
    const value = joined ?? (next === undefined || next.text.startsWith("--") ? "True" : next.text);
    const at = joined === undefined && next !== undefined && value === next.text ? next.node : node;
    const keySpan = { start: node.start, end: node.end };
    return [
      { key: name.replaceAll("-", "_"), keySpan, value: { ...at, kind: "scalar", raw: value, value: typed(value) } },
    ];
  });
}

/** Every option with its default; those without one are unknown. */
export function optionsOf(found: Collector, evaluator: Evaluator, calls: readonly PythonCall[]): MapNode {
  const fromCalls = calls.flatMap((call): Entry[] => {
    const option = declared(call);
    return option === undefined ? [] : [{ ...option, value: option.value ?? required(option.keySpan) }];
  });
  const fromClasses = found.classNodes
    .filter((node) => takesFields(node, evaluator))
    .flatMap((node) => [...bareFields(node, evaluator), ...classOf(node, evaluator).fields.entries]);
  const started = startedFunctions(found, evaluator);
  const fromFunctions = found.functionNodes
    .filter((node) => started.has(evaluator.slice(childNamed(node, "VariableName") ?? node)))
    .flatMap((node) => parametersOf(node, evaluator));
  const entries = new Map<string, Entry>();
  // What a call declares says more than a parameter without a default that receives it (click).
  for (const entry of [...fromFunctions, ...fromClasses, ...fromCalls]) entries.set(entry.key, entry);
  return { ...emptyMap({ start: 0, end: 0 }), entries: [...entries.values()] };
}
