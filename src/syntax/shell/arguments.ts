/** Flags, `key=value` overrides and what remains of a command's words. */
import type { Entry, LocatedNode, ShellWord } from "../tree";
import { type Field, spanOf } from "./fields";
import { nodeOf } from "./nodes";

const FLAG = /^--?[A-Za-z][\w.:/-]*/;
const OVERRIDE = /^(?:\+{0,2}|~)[A-Za-z_][\w.@/-]*(?:\[[^\]]*\])?=/;

/** Programs that run another one in an environment or a container, by the words they begin with. */
const RUNNER =
  /^(?:(?:\S{0,200}\/)?(?:(?:uv|poetry|pdm|hatch|pixi|rye|pipenv|conda|mamba|micromamba) run|(?:docker|podman) (?:run|exec)|(?:singularity|apptainer) (?:run|exec)))$/;
/** Programs that train, or start one that does. */
const STARTED =
  /(?:^|\/)(?:python[\d.]{0,6}|torchrun|accelerate|deepspeed|trl|axolotl|swift|llamafactory-cli|tune|litgpt|composer|yolo|openrlhf|nnUNetv2_train)$|\.py$/;

/** What an environment's runner starts (`uv run --extra gpu accelerate launch …`); the words as they are where it is none that trains. */
export function withoutRunner(fields: readonly Field[]): readonly Field[] {
  const [first, second] = fields;
  if (second === undefined || !RUNNER.test(`${first?.text} ${second.text}`)) return fields;
  const at = fields.findIndex(({ text }, index) => index > 1 && STARTED.test(text));
  return at < 0 ? fields : fields.slice(at);
}

function isFlag(text: string): boolean {
  return FLAG.test(text) && !/^-\d/.test(text);
}

export function argumentsOf(
  fields: readonly Field[],
  words: readonly ShellWord[],
  document: string,
): { flags: Entry[]; overrides: Entry[]; positional: ShellWord[] } {
  const flags: Entry[] = [];
  const overrides: Entry[] = [];
  const positional: ShellWord[] = [];
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index] as Field;
    const text = field.text;
    if (isFlag(text) && index > 0) {
      const equals = text.indexOf("=");
      if (equals > 0) flags.push(withEquals(field, equals, document, /^--?/.exec(text)?.[0].length ?? 0));
      else index = spaced(fields, index, document, flags);
    } else if (OVERRIDE.test(text) && index > 0) {
      overrides.push(withEquals(field, text.indexOf("="), document, /^[+~]*/.exec(text)?.[0].length ?? 0));
    } else if (text !== "--" && text !== "\\") positional.push(words[index] as ShellWord);
  }
  return { flags, overrides, positional };
}

/** `--key=value`: the place of each half, when the word itself holds both. */
function withEquals(field: Field, equals: number, document: string, skip: number): Entry {
  const key = field.text.slice(skip, equals);
  const keyStart = field.offsets[skip];
  const keyEnd = field.offsets[equals];
  const exact = keyStart !== undefined && keyEnd !== undefined && keyStart >= 0 && keyEnd - keyStart === equals - skip;
  const keySpan = exact
    ? { start: field.offsets[0] === keyStart - skip ? keyStart - skip : keyStart, end: keyEnd }
    : spanOf(field);
  const at = exact ? { start: keyEnd + 1, end: Math.max(field.end, keyEnd + 1) } : spanOf(field);
  return { key, keySpan, value: nodeOf(field, document, at, equals + 1) };
}

/** A variable whose name says that it holds more options, of which nothing is known: no value of the one before it. */
const OF_OPTIONS = /^\$\{?(?:\w{0,60}(?:ARG|ARGS|OPTS|OPTIONS|FLAGS)|\d{1,2})\}?$/i;

/** `--key value …`: returns the index of the last word that belongs to the flag. */
function spaced(fields: readonly Field[], index: number, document: string, flags: Entry[]): number {
  const field = fields[index] as Field;
  const key = field.text.replace(/^--?/, "");
  const values: LocatedNode[] = [];
  let last = index;
  for (let next = index + 1; next < fields.length; next++) {
    const value = fields[next] as Field;
    if (
      isFlag(value.text) ||
      (value.unknown !== null && OF_OPTIONS.test(value.text) && (values.length > 0 || !/\d/.test(value.text))) ||
      value.text === "--" ||
      (OVERRIDE.test(value.text) && (values.length > 0 || /^-[a-z]$/.test(field.text) === false))
    )
      break;
    const named = values.length === 0 && /(?:script|file|config|path|module|entry)/i.test(key);
    if (isProgram(value.text, fields[next + 1]?.text) && !named) break;
    values.push(nodeOf(value, document, value));
    last = next;
    if (field.text.startsWith("-") && !field.text.startsWith("--")) break;
  }
  const first = values[0];
  const end = field.end;
  const value: LocatedNode =
    first === undefined
      ? { kind: "scalar", value: true, raw: "", start: end, end }
      : values.length === 1
        ? first
        : { kind: "list", items: values, start: first.start, end: values[values.length - 1]?.end ?? first.end };
  flags.push({ key, keySpan: spanOf(field), value });
  return last;
}

/** The script or program a launcher starts ends the launcher's own options. */
function isProgram(text: string, next: string | undefined): boolean {
  return (
    /\.(?:py|sh)$/.test(text) || (/^(?:python3?|torchrun|accelerate|deepspeed|bash)$/.test(text) && next !== undefined)
  );
}
