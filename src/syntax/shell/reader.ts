/** Walks through a script, command by command. */
import { say } from "../../words/message";
import type {
  Entry,
  LocatedNode,
  ShellCommand,
  ShellScript,
  ShellWord,
  Span,
  SyntaxProblem,
  WrittenText,
} from "../tree";
import { argumentsOf, withoutRunner } from "./arguments";
import { Branches } from "./branches";
import { directivesOf, jobVariables } from "./directives";
import { dockerfile } from "./dockerfile";
import { apartByBlanks, type Field, FieldBuilder, literal, sourceOf, spanOf } from "./fields";
import { lexShell } from "./lexer";
import { sizeOf } from "./main-command";
import { makefile } from "./makefile";
import { nodeOf } from "./nodes";
import type { LexOptions, ShellSource, Token } from "./tokens";
import { type Variable, Variables } from "./variables";

export type ShellFlavour = "shell" | "makefile" | "dockerfile";

const KEYWORDS = new Set([
  "if",
  "then",
  "else",
  "elif",
  "fi",
  "for",
  "while",
  "until",
  "do",
  "done",
  "case",
  "esac",
  "function",
  "{",
  "}",
  "!",
  "select",
  "time",
]);
const LAUNCH_STRING = /^(?:bash|sh|zsh|\/bin\/bash|\/bin\/sh)$/;
const MAX_NESTING = 8;
/** Files that a script writes. */
const MAX_WRITTEN = 16;
/** Variables that commands inherit. */
const MAX_EXPORTED = 256;
/** Where a value stands that another script sets. */
const ELSEWHERE: Span = { start: -1, end: -1 };

export class ScriptReader {
  private readonly commands: ShellCommand[] = [];
  private readonly written: WrittenText[] = [];
  private readonly variables = new Variables();
  private readonly exported = new Map<string, Field>();
  private readonly options: LexOptions;
  private textOfDocument = "";
  private readonly branches = new Branches((word) => this.variables.expand(word));

  constructor(
    private readonly flavour: ShellFlavour,
    private readonly problems: SyntaxProblem[],
  ) {
    this.options = { make: flavour === "makefile" };
  }

  /** Values that names have before the script runs. */
  know(entries: readonly Entry[]): void {
    for (const { key, value } of entries) {
      const field = fieldOf(value);
      if (field !== undefined) this.variables.set(key, { kind: "text", field });
      else if (value.kind === "list")
        this.variables.set(key, { kind: "array", fields: value.items.flatMap((item) => fieldOf(item) ?? []) });
    }
  }

  /** Arguments that the script is started with, which are written elsewhere. */
  give(texts: readonly string[]): void {
    if (texts.length === 0) return;
    const fields = texts.map(
      (text): Field => ({ text, offsets: [...text].map(() => -1), unknown: null, ...ELSEWHERE }),
    );
    for (const [index, field] of fields.entries()) this.variables.set(String(index + 1), { kind: "text", field });
    for (const name of ["@", "*"]) this.variables.set(name, { kind: "array", fields });
  }

  read(text: string): void {
    const prepared =
      this.flavour === "makefile"
        ? makefile(text, this.variables)
        : this.flavour === "dockerfile"
          ? dockerfile(text)
          : text;
    this.know(jobVariables(directivesOf(text)));
    this.source({ text: prepared, at: (index) => index }, 0);
  }

  script(text: string): ShellScript {
    const entries: Entry[] = [];
    for (const [key, variable] of this.variables.entries()) {
      if (variable.kind === "text")
        entries.push({
          key,
          keySpan: variable.field.name ?? spanOf(variable.field),
          value: nodeOf(variable.field, text, variable.field),
        });
      else if (variable.kind === "array") {
        const items = variable.fields.map((field) => nodeOf(field, text, field));
        const at = { start: items[0]?.start ?? 0, end: items.at(-1)?.end ?? 0 };
        entries.push({ key, keySpan: at, value: { kind: "list", items, ...at } });
      }
    }
    return {
      commands: [
        ...this.commands,
        ...this.sourced().filter((options) => this.commands.every((command) => sizeOf(command) < sizeOf(options))),
      ],
      variables: { kind: "map", entries, start: 0, end: text.length },
      directives: directivesOf(text),
      ...(this.written.length === 0 ? {} : { written: this.written }),
    };
  }

  /** Scripts that others source, or submit as text, only define options: all of them together stand for the command. */
  private sourced(): ShellCommand[] {
    const fields: Field[] = [];
    for (const [, variable] of this.variables.entries()) {
      const own =
        variable.kind === "array"
          ? variable.fields.flatMap((field) => (/^--\S+\s/.test(field.text) ? this.words(field) : [field]))
          : variable.kind === "text"
            ? this.words(variable.field)
            : [];
      const here = own.every(({ start }) => start > ELSEWHERE.start);
      if (here && own.filter((field) => field.text.startsWith("--")).length >= 2) fields.push(...own);
    }
    const first = fields[0];
    if (first === undefined) return [];
    const program: Field = { text: "", offsets: [], unknown: null, start: first.start, end: first.start };
    return [this.build([program, ...fields], new Map())];
  }

  /** The words of a text of options. */
  private words(field: Field): readonly Field[] {
    if (!/(?:^|\s)--\w/.test(field.text)) return [];
    const builder = new FieldBuilder({ pieces: [], start: field.start, end: field.end });
    builder.splitting(field);
    return builder.finish();
  }

  private source(source: ShellSource, nesting: number): void {
    if (nesting === 0) this.textOfDocument = source.text;
    const tokens = lexShell(source, this.options, nesting === 0 ? this.problems : []);
    let pending: Token[] = [];
    for (let index = 0; index < tokens.length; index++) {
      const token = tokens[index] as Token;
      if (token.kind === "operator" && /^[)|]$/.test(token.text)) pending = this.startCase(pending, nesting);
      if (token.kind === "operator" && this.branches.pattern(token.text, pending)) {
        if (token.text !== "|") pending = [];
        continue;
      }
      if (token.kind === "operator") {
        const heredocs: Token[] = [];
        while (token.text === "\n" && tokens[index + 1]?.kind === "heredoc") heredocs.push(tokens[++index] as Token);
        this.simpleCommand(pending, heredocs, nesting);
        pending = [];
        if (token.text === ";;") this.branches.endClause();
      } else if (token.kind !== "heredoc") pending.push(token);
    }
    this.simpleCommand(pending, [], nesting);
  }

  /** `case X in pattern)` on one line: the head runs, the pattern remains. */
  private startCase(pending: Token[], nesting: number): Token[] {
    const first = pending[0];
    if (first?.kind !== "word" || literal(first.word) !== "case") return pending;
    const head = pending.findIndex((token) => token.kind === "word" && literal(token.word) === "in") + 1;
    if (head === 0) return pending;
    this.simpleCommand(pending.slice(0, head), [], nesting);
    return pending.slice(head);
  }

  private simpleCommand(tokens: readonly Token[], heredocs: readonly Token[], nesting: number): void {
    let rest = [...tokens];
    while (rest[0]?.kind === "word") {
      const word = literal(rest[0].word);
      if (word === null || !KEYWORDS.has(word)) break;
      rest = rest.slice(1);
      if (this.branches.follow(word, rest)) return;
      if (word === "for" || word === "select") {
        const name = rest[0]?.kind === "word" ? literal(rest[0].word) : null;
        if (name !== null) this.variables.set(name, { kind: "unknown", reason: say("open.loop") });
        return;
      }
      if (word === "case") {
        this.branches.matches(rest[0]);
        return;
      }
    }
    if (this.branches.skipped) return;
    const environment = new Map<string, Field>(this.exported);
    const local: [string, Variable][] = [];
    while (rest.length > 0) {
      const token = rest[0] as Token;
      const assignment = this.variables.assignment(token);
      if (assignment === null) break;
      local.push(assignment);
      rest = rest.slice(1);
    }
    if (rest.length === 0) {
      for (const [name, value] of local) this.assign(name, value);
      return;
    }
    for (const [name, value] of local) if (value.kind === "text") environment.set(name, value.field);
    this.command(rest, environment, heredocs, nesting);
  }

  private assign(name: string, value: Variable): void {
    this.variables.assign(name, value, this.branches.uncertain);
  }

  private export(name: string, field: Field): void {
    if (this.exported.size < MAX_EXPORTED || this.exported.has(name)) this.exported.set(name, field);
  }

  private command(
    tokens: readonly Token[],
    environment: Map<string, Field>,
    heredocs: readonly Token[],
    nesting: number,
  ): void {
    const first = tokens[0];
    const program = first?.kind === "word" ? literal(first.word) : null;
    if (
      program === "export" ||
      program === "local" ||
      program === "declare" ||
      program === "readonly" ||
      program === "typeset"
    ) {
      for (const token of tokens.slice(1)) {
        const assignment = this.variables.assignment(token);
        if (assignment === null) {
          const name = token.kind === "word" ? literal(token.word) : null;
          const known = name === null ? undefined : this.variables.get(name);
          if (program === "export" && name !== null && known?.kind === "text") this.export(name, known.field);
          continue;
        }
        this.assign(...assignment);
        if (program === "export" && assignment[1].kind === "text") this.export(assignment[0], assignment[1].field);
      }
      return;
    }
    const fields = tokens.flatMap((token) => (token.kind === "word" ? this.variables.expand(token.word) : []));
    if (fields.length === 0) return;
    if (program === "read" && heredocs.length > 0) {
      const name = fields[fields.length - 1]?.text ?? "";
      const body = heredocs[0];
      if (body?.kind === "heredoc") this.assign(name, { kind: "text", field: this.variables.joined(body.body) });
      return;
    }
    if (nesting < MAX_NESTING && this.nested(fields, heredocs, nesting)) return;
    this.writes(program, fields, tokens, heredocs[0]);
    this.commands.push(this.build(fields, environment));
  }

  /** A here-document that a file gets: `cat > ds.json <<EOF`, `tee ds.json <<EOF`. */
  private writes(
    program: string | null,
    fields: readonly Field[],
    tokens: readonly Token[],
    body: Token | undefined,
  ): void {
    if (body?.kind !== "heredoc" || this.written.length >= MAX_WRITTEN) return;
    const output = tokens.find((token) => token.kind === "output");
    const target =
      program === "cat" && output?.kind === "output"
        ? this.variables.joined(output.word)
        : program === "tee"
          ? fields.slice(1).find(({ text }) => !text.startsWith("-"))
          : undefined;
    if (target === undefined || target.unknown !== null || target.text === "") return;
    const { start, end } = body.body;
    this.written.push({ path: target.text, start, end, literal: body.quoted });
  }

  /** `bash -c "…"`, `eval "…"` and here-documents given to a shell or to sbatch hold a script of their own. */
  private nested(fields: readonly Field[], heredocs: readonly Token[], nesting: number): boolean {
    const words = fields.map((field) => field.text);
    const program = words[0] ?? "";
    if (program === "eval") {
      // Its arguments are one text (bash's manual, eval).
      const [, first, ...others] = fields;
      if (first !== undefined) this.source(sourceOf(apartByBlanks(first, others)), nesting + 1);
      return true;
    }
    const dash = words.findIndex((word, index) => /^-\w*c$/.test(word) && LAUNCH_STRING.test(words[index - 1] ?? ""));
    const script = dash > 0 ? fields[dash + 1] : undefined;
    if (script !== undefined) {
      this.source(sourceOf(script), nesting + 1);
      return true;
    }
    const body = heredocs[0];
    if (body?.kind === "heredoc" && (LAUNCH_STRING.test(program) || /^(?:sbatch|srun|ssh|qsub)$/.test(program))) {
      this.source(sourceOf(this.variables.joined(body.body)), nesting + 1);
      return true;
    }
    return false;
  }

  private build(written: readonly Field[], environment: ReadonlyMap<string, Field>): ShellCommand {
    const document = this.textOfDocument;
    const start = Math.min(...written.map((field) => field.start));
    const end = Math.max(...written.map((field) => field.end));
    const fields = withoutRunner(written);
    const words = fields.map((field): ShellWord => ({ node: nodeOf(field, document, field), text: field.text }));
    const { flags, overrides, positional } = argumentsOf(fields, words, document);
    const at: Span = { start, end };
    const variables = [...environment].map(
      ([key, field]): Entry => ({ key, keySpan: field.name ?? spanOf(field), value: nodeOf(field, document, field) }),
    );
    return {
      words,
      environment: { kind: "map", entries: variables, ...at },
      flags: { kind: "map", entries: flags, ...at },
      overrides: { kind: "map", entries: overrides, ...at },
      positional,
      ...at,
    };
  }
}

/** A known value as text with the place of each character; undefined where it is none. */
function fieldOf(value: LocatedNode): Field | undefined {
  if (value.kind !== "scalar" || value.value === null) return undefined;
  const text = String(value.value);
  const { start, end } = value.source ?? value;
  const written = end - start === text.length;
  const offsets = Array.from({ length: text.length }, (_, index) => (written ? start + index : -1));
  return { text, offsets, unknown: null, start, end };
}
