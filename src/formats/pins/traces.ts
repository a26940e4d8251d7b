/**
 * How models of somebody's own are traced, as `.vramlens.yaml` keeps it under `traces`, by the name of the graph: read for the next
 * trace, written after one.
 */
import * as z from "zod/mini";
import { nodeAt } from "../../syntax/text";
import type { LocatedNode, MapNode, Span } from "../../syntax/tree";
import { problem } from "../table";
import type { ConfigDocument, FormatProblem } from "../types";

/** What a graph may be called (python/vram_lens/commands.py, `trace`). */
export const GRAPH_NAME = /^[A-Za-z_][\w.-]{0,99}$/;

/** `idx=int64[B,S]`, `x=float[B,3,I//8,2*I]` (python/vram_lens/tracing/inputs.py). */
const TENSOR =
  /^[A-Za-z_]\w{0,99}=(?:float|float32|float16|bfloat16|int64|int32|bool|uint8|complex64)\[[BSTIA\d+*/(), -]{0,200}\]$/;
/** `return_loss=True`, `scale=0.5`, `mode='train'`: a value of Python's. */
const VALUE =
  /^[A-Za-z_]\w{0,99}=(?:None|True|False|-?\d[\d.e+-]{0,30}|'[^']{0,200}'|"[^"]{0,200}"|[[({][^\n]{0,1000}[\])}])$/;

export const traceSchema = z.strictObject({
  file: z.optional(z.string()),
  entry: z.optional(z.string()),
  script: z.optional(z.boolean()),
  arguments: z.optional(z.string()),
  inputs: z.optional(z.string()),
  loss: z.optional(z.string()),
});

/** How one model is traced. */
export interface KeptTrace {
  /** The Python file or the model's folder, relative to the pins file. */
  readonly file?: string | undefined;
  /** A class, a function, or a call that makes the model; the class of the graph's name where it is left out. */
  readonly entry?: string | undefined;
  /** The file is a script that trains the model. */
  readonly script?: boolean | undefined;
  /** Arguments of that script. */
  readonly arguments?: string | undefined;
  readonly inputs?: string | undefined;
  readonly loss?: string | undefined;
}

const FIELDS = [
  "file",
  "entry",
  "script",
  "arguments",
  "inputs",
  "loss",
] as const satisfies readonly (keyof KeptTrace)[];

/** Words of a line of inputs; blanks inside brackets and quotes belong to theirs. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  let [word, depth, quote] = ["", 0, ""];
  for (const sign of text) {
    if (quote !== "") quote = sign === quote ? "" : quote;
    else if (sign === "'" || sign === '"') quote = sign;
    else if ("[({".includes(sign)) depth++;
    else if ("])}".includes(sign)) depth--;
    else if (/\s/.test(sign) && depth === 0) {
      words.push(word);
      word = "";
      continue;
    }
    word += sign;
  }
  return [...words, word].filter((one) => one !== "");
}

/** The first word of a line of inputs that is none; undefined where all are. */
export function wrongInput(text: string): string | undefined {
  return wordsOf(text).find((word) => !TENSOR.test(word) && !VALUE.test(word));
}

/** What is wrong in the block beyond the types of its values. */
export function traceProblems(root: LocatedNode): FormatProblem[] {
  const block = nodeAt(root, "traces");
  if (block?.kind !== "map") return [];
  return block.entries.flatMap(({ key, keySpan, value }) => {
    const found: FormatProblem[] = [];
    if (!GRAPH_NAME.test(key))
      found.push(problem("invalid-value", "error", keySpan, "invalid-value.graph-name", { name: key }, []));
    const inputs = nodeAt(value, "inputs");
    const wrong = inputs?.kind === "scalar" && typeof inputs.value === "string" ? wrongInput(inputs.value) : undefined;
    if (inputs !== undefined && wrong !== undefined)
      found.push(problem("invalid-value", "error", inputs, "invalid-value.inputs", { word: wrong }, []));
    return found;
  });
}

/** All that a pins file keeps of traces, by the graph's name; what is not of its form is left out. */
export function keptTraces({ parsed }: ConfigDocument): ReadonlyMap<string, KeptTrace> {
  const block = parsed.root === null ? undefined : nodeAt(parsed.root, "traces");
  const found = new Map<string, KeptTrace>();
  for (const { key, value } of block?.kind === "map" ? block.entries : []) {
    if (value.kind !== "map" || !GRAPH_NAME.test(key)) continue;
    const plain = Object.fromEntries(
      value.entries.flatMap(({ key: field, value: said }) => (said.kind === "scalar" ? [[field, said.value]] : [])),
    );
    const read = traceSchema.safeParse(plain);
    if (read.success) found.set(key, read.data);
  }
  return found;
}

/** The trace that is kept for what a person names: a file, with or without the entry in it. */
export function keptFor(
  traces: ReadonlyMap<string, KeptTrace>,
  file: string,
  entry: string,
  script: boolean,
): KeptTrace | undefined {
  const ofFile = [...traces].filter(([, one]) => one.file === file && (one.script ?? false) === script);
  const named = ofFile.find(([name, one]) => name === entry || (one.entry ?? name) === entry);
  return (named ?? (entry === "" && ofFile.length === 1 ? ofFile[0] : undefined))?.[1];
}

/** An edit of a pins file that keeps how a model was traced; null: it says so already; undefined: it cannot be edited. */
export function keepTrace(
  document: ConfigDocument,
  name: string,
  trace: KeptTrace,
): { readonly span: Span; readonly text: string } | null | undefined {
  const { text, parsed } = document;
  if (parsed.problems.length > 0) return undefined;
  const end = { start: text.length, end: text.length };
  const lead = text === "" || text.endsWith("\n") ? "" : "\n";
  const { root } = parsed;
  const whole = `${lead}traces:\n${blockOf(name, trace, 2)}`;
  if (root === null || (root.kind === "scalar" && root.value === null)) return { span: end, text: whole };
  if (root.kind !== "map" || isFlow(text, root)) return undefined;
  const block = root.entries.find(({ key }) => key === "traces")?.value;
  if (block === undefined) return { span: end, text: whole };
  if (block.kind !== "map" || block.entries.length === 0 || isFlow(text, block)) return undefined;
  const stated = block.entries.find(({ key }) => key === name);
  if (stated === undefined) return added(text, block, name, trace);
  const known = keptTraces(document).get(name);
  if (known !== undefined && FIELDS.every((field) => (known[field] || "") === (trace[field] || ""))) return null;
  const column = columnOf(text, stated.keySpan.start);
  const span = { start: stated.keySpan.start, end: lastSign(text, stated.value.end) };
  return { span, text: blockOf(name, trace, column).trim() };
}

function added(text: string, block: MapNode, name: string, trace: KeptTrace) {
  const [first, last] = [block.entries[0], block.entries.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const at = lastSign(text, last.value.end);
  return {
    span: { start: at, end: at },
    text: `\n${blockOf(name, trace, columnOf(text, first.keySpan.start)).trimEnd()}`,
  };
}

const isFlow = (text: string, map: MapNode): boolean => text[map.start] === "{";

/** The lines of one trace. */
function blockOf(name: string, trace: KeptTrace, column: number): string {
  const indent = " ".repeat(column);
  const lines = FIELDS.flatMap((field) => {
    const value = trace[field];
    return value === undefined || value === "" || value === false ? [] : [`${indent}  ${field}: ${scalar(value)}\n`];
  });
  return `${indent}${name}:${lines.length === 0 ? " {}" : ""}\n${lines.join("")}`;
}

/** Words and paths as they are, all else in quotes. */
function scalar(value: string | boolean): string {
  if (typeof value === "boolean") return String(value);
  return /^[A-Za-z_./][\w./-]*$/.test(value) && !/^(?:yes|no|on|off|true|false|null|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value);
}

/** Behind the last character before `offset` that is no white space. */
function lastSign(text: string, offset: number): number {
  let end = offset;
  while (end > 0 && /\s/.test(text[end - 1] ?? "")) end--;
  return end;
}

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf("\n", offset - 1) + 1);
}
