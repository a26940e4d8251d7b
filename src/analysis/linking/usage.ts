/** The command that a program says it is started with: in the comments it begins with, or in its docstring. */
import type { CommandLine } from "../compose/overrides";
import { LinesElsewhere } from "../documents/lines";
import { LoadedDocument } from "../documents/store";
import { baseName } from "../documents/uris";
import { hands } from "./launch";

/** Longest head that is looked through. UTF-16 units. */
const LONGEST_HEAD = 16_384;
/** What begins a text of its own, as docstrings are. */
const QUOTES = /^[rR]?("""|''')/;
/** Marks of a comment, a prompt or a quotation, and behind them a word that may be a command's first. */
const STARTS = /^[\s#$>]{0,40}(?:[A-Z][A-Z0-9_]{0,60}=|[a-z])/;
const MARKS = /^[\s#$>]{0,40}/;

/** Which lines of a Python text are written for its reader: the comments that it begins with, and texts of their own. */
function wordsFor(lines: readonly string[]): readonly boolean[] {
  let inHead = true;
  let open: string | undefined;
  return lines.map((line) => {
    if (open !== undefined) {
      if (line.includes(open)) open = undefined;
      return open !== undefined;
    }
    const quote = QUOTES.exec(line);
    if (quote?.[1] !== undefined) {
      if (!line.slice(quote[0].length).includes(quote[1])) open = quote[1];
      return false;
    }
    const isComment = line.startsWith("#");
    inHead &&= isComment || line.trim() === "";
    return inHead && isComment;
  });
}

/** Lines of a text in groups that a backslash joins. */
function joined(lines: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let goesOn = false;
  for (const line of lines) {
    const last = groups.at(-1);
    if (goesOn && last !== undefined) last.push(line);
    else groups.push([line]);
    goesOn = line.trimEnd().endsWith("\\");
  }
  return groups;
}

/** A text of which only commands that name a program with options are left where they are, if its reader is told of them. */
function commandsOf(text: string, program: string): string {
  const lines = text.slice(0, LONGEST_HEAD).split("\n");
  const words = wordsFor(lines);
  const blank = (line: string): string => " ".repeat(line.length);
  const told = lines.map((line, at) => (words[at] === true ? line : blank(line)));
  const kept = joined(told).flatMap((group) => {
    const whole = group.join("");
    const isCommand = STARTS.test(group[0] ?? "") && whole.includes(program) && whole.includes(" -");
    return group.map((line) => (isCommand ? line.replace(MARKS, blank) : blank(line)));
  });
  return kept.join("\n");
}

/**
 * That command, which is no document's of its own: nothing is written into it. The first counts that names the program; undefined
 * where none does.
 */
export function usageOf(program: LoadedDocument): CommandLine | undefined {
  const name = baseName(program.uri);
  if (program.config?.parsed.python === undefined || !program.text.slice(0, LONGEST_HEAD).includes(name))
    return undefined;
  const text = commandsOf(program.text, name);
  const lines = new LinesElsewhere(program.lines, (at) => at, text.length);
  const span = { start: 0, end: text.length };
  const script = new LoadedDocument(`${program.uri}.sh`, text, undefined, undefined, {
    document: program,
    lines,
    span,
  });
  const command = script.config?.parsed.shell?.commands.find((one) => hands(one, program.uri));
  return command && { script, command };
}
