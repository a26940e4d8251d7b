/**
 * What the commands of a script receive, as far as the script itself tells: variables, defaults (`${X:-8}`), arrays,
 * arithmetic and here-documents are followed, nothing is executed. A value that depends on the outside is unknown,
 * never zero. Reads bash, Slurm jobs, Makefiles and Dockerfiles.
 */
import { type LexOptions, lexShell, type Piece, type ShellSource, type Token, type Word } from "./shell-lexer";
import { emptyMap, MAX_LENGTH, prepareText } from "./text";
import type {
  Entry,
  LocatedNode,
  MapNode,
  ParsedDocument,
  ScalarNode,
  ShellCommand,
  ShellScript,
  ShellWord,
  Span,
  SyntaxProblem,
} from "./tree";

export type ShellFlavour = "shell" | "makefile" | "dockerfile";

/** Expanded text with the place of each character; `unknown` says why it is not complete. */
interface Field extends Span {
  readonly text: string;
  readonly offsets: readonly number[];
  readonly unknown: string | null;
  /** Where the variable's name is written, for the value of an assignment. */
  readonly name?: Span;
}

type Variable =
  | { readonly kind: "text"; readonly field: Field }
  | { readonly kind: "array"; readonly fields: readonly Field[] }
  | { readonly kind: "unknown"; readonly reason: string };

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
const OPENS = new Set(["if", "for", "while", "until", "case", "select"]);
const CLOSES = new Set(["fi", "done", "esac"]);
/** Commands whose arguments configure no training. */
const PLAIN =
  /^(?:\[{1,2}|test|echo|printf|cd|mkdir|rm|cp|mv|ls|set|unset|source|\.|exit|return|sleep|wait|trap|shift|true|false|conda|pip|pip3|uv|apt|apt-get|git|wget|curl|tar|unzip|module|nvidia-smi|which|kill|pkill|grep|sed|awk|tee|cat|date|hostname|scontrol|chmod|ulimit|export|read|local|declare|let|break|continue|huggingface-cli|hf|wandb)$/;
const LAUNCH_STRING = /^(?:bash|sh|zsh|\/bin\/bash|\/bin\/sh)$/;
const MAX_FIELDS = 20_000;
const MAX_NESTING = 8;

/** Reads a script. Never throws; offsets are those of `original`. */
export function parseShell(original: string, flavour: ShellFlavour = "shell"): ParsedDocument {
  const prepared = prepareText(original, MAX_LENGTH.other);
  if (prepared.tooLarge) return { root: null, problems: prepared.problems, syntax: "shell" };
  const problems: SyntaxProblem[] = [...prepared.problems];
  const reader = new ScriptReader(flavour, problems);
  reader.read(prepared.text);
  const shell = reader.script(prepared.text);
  return { root: mainCommandMap(shell, original.length), problems: problems.slice(0, 200), syntax: "shell", shell };
}

/** The command that trains: the one with the most arguments among those that are not shell housekeeping. */
export function mainCommand(shell: ShellScript): ShellCommand | null {
  let best: ShellCommand | null = null;
  let most = 0;
  for (const command of shell.commands) {
    const size = sizeOf(command);
    if (size > most) {
      best = command;
      most = size;
    }
  }
  return best;
}

/** Number of arguments a command has that may configure a training. */
function sizeOf(command: ShellCommand): number {
  if (PLAIN.test(command.words[0]?.text ?? "")) return 0;
  return command.flags.entries.length + command.overrides.entries.length;
}

function mainCommandMap(shell: ShellScript, length: number): MapNode {
  const command = mainCommand(shell);
  const entries = command === null ? [] : [...command.flags.entries, ...command.overrides.entries];
  return { kind: "map", entries, start: 0, end: length };
}

class ScriptReader {
  private readonly commands: ShellCommand[] = [];
  private readonly variables = new Map<string, Variable>();
  private readonly exported = new Map<string, Field>();
  private readonly options: LexOptions;
  private textOfDocument = "";
  private readonly branches: Branch[] = [];
  private fields = 0;

  constructor(
    private readonly flavour: ShellFlavour,
    private readonly problems: SyntaxProblem[],
  ) {
    this.options = { make: flavour === "makefile" };
  }

  read(text: string): void {
    const prepared =
      this.flavour === "makefile" ? this.makefile(text) : this.flavour === "dockerfile" ? dockerfile(text) : text;
    this.source({ text: prepared, at: (index) => index }, 0);
  }

  script(text: string): ShellScript {
    const entries: Entry[] = [];
    for (const [key, variable] of this.variables) {
      if (variable.kind === "text")
        entries.push({
          key,
          keySpan: variable.field.name ?? spanOf(variable.field),
          value: nodeOf(variable.field, text, variable.field),
        });
    }
    return {
      commands: [
        ...this.commands,
        ...this.sourced().filter((options) => this.commands.every((command) => sizeOf(command) < sizeOf(options))),
      ],
      variables: { kind: "map", entries, start: 0, end: text.length },
      directives: directivesOf(text),
    };
  }

  /** Scripts that others source, or submit as text, only define options: all of them together stand for the command. */
  private sourced(): ShellCommand[] {
    const fields: Field[] = [];
    for (const variable of this.variables.values()) {
      const own =
        variable.kind === "array" ? variable.fields : variable.kind === "text" ? this.words(variable.field) : [];
      if (own.filter((field) => field.text.startsWith("--")).length >= 2) fields.push(...own);
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
      if (token.kind === "operator" && this.casePattern(token.text, pending)) {
        if (token.text !== "|") pending = [];
        continue;
      }
      if (token.kind === "operator") {
        const heredocs: Token[] = [];
        while (token.text === "\n" && tokens[index + 1]?.kind === "heredoc") heredocs.push(tokens[++index] as Token);
        this.simpleCommand(pending, heredocs, nesting);
        pending = [];
        const top = this.branches[this.branches.length - 1];
        if (token.text === ";;" && top?.word === "case") {
          top.expecting = true;
          top.taken = false;
        }
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

  /** `pattern)` of a case: decides whether the clause runs; true when the operator belonged to the pattern. */
  private casePattern(operator: string, pending: readonly Token[]): boolean {
    const top = this.branches[this.branches.length - 1];
    if (top?.word !== "case" || top.expecting !== true) return false;
    if (operator === "|") return true;
    if (operator !== ")") return false;
    const patterns = pending.map((token) => (token.kind === "word" ? literal(token.word) : null));
    top.expecting = false;
    const subject = top.subject ?? null;
    if (subject === null || patterns.includes(null)) top.taken = null;
    else if (patterns.some((pattern) => pattern === "*" || pattern === subject)) top.taken = !top.decided;
    else top.taken = patterns.some((pattern) => /[*?[]/.test(pattern ?? "")) && !top.decided ? null : false;
    top.decided ||= top.taken === true;
    return true;
  }

  private simpleCommand(tokens: readonly Token[], heredocs: readonly Token[], nesting: number): void {
    let rest = [...tokens];
    while (rest[0]?.kind === "word") {
      const word = literal(rest[0].word);
      if (word === null || !KEYWORDS.has(word)) break;
      rest = rest.slice(1);
      if (this.controlFlow(word, rest)) return;
      if (word === "for" || word === "select") {
        const name = rest[0]?.kind === "word" ? literal(rest[0].word) : null;
        if (name !== null) this.variables.set(name, { kind: "unknown", reason: "a loop variable" });
        return;
      }
      if (word === "case") {
        const subject = rest[0]?.kind === "word" ? this.expand(quotedWord(rest[0].word), 0)[0] : undefined;
        const top = this.branches[this.branches.length - 1];
        if (top !== undefined) {
          top.taken = false;
          top.expecting = true;
          top.subject = subject === undefined || subject.unknown !== null ? null : subject.text;
        }
        return;
      }
    }
    if (this.branches.some((branch) => branch.taken === false)) return;
    const environment = new Map<string, Field>(this.exported);
    const local: [string, Variable][] = [];
    while (rest.length > 0) {
      const token = rest[0] as Token;
      const assignment = this.assignment(token);
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

  /** Follows if/else whose condition the script itself decides; true when the rest of the command is its condition. */
  private controlFlow(word: string, rest: readonly Token[]): boolean {
    const top = this.branches[this.branches.length - 1];
    if (OPENS.has(word)) {
      const taken = word === "if" ? this.condition(rest) : null;
      this.branches.push({ word, taken, decided: taken === true });
      return word === "if" || word === "while" || word === "until";
    }
    if (CLOSES.has(word)) this.branches.pop();
    if (top === undefined || top.word !== "if") return false;
    if (word === "elif") {
      const next = top.decided ? false : this.condition(rest);
      // After a branch that may have been taken, nothing below it is certain.
      top.taken = top.taken === null && next === true ? null : next;
      top.decided ||= next === true;
      return true;
    }
    if (word === "else") top.taken = top.decided ? false : top.taken === null || top.uncertain === true ? null : true;
    if (top.taken === null) top.uncertain = true;
    return false;
  }

  /** Value of `[ … ]` or `[[ … ]]` when both sides are known, else null. */
  private condition(tokens: readonly Token[]): boolean | null {
    const fields = tokens.flatMap((token) => (token.kind === "word" ? this.expand(quotedWord(token.word), 0) : []));
    const open = fields[0]?.text;
    const close = fields[fields.length - 1]?.text;
    if (!((open === "[" && close === "]") || (open === "[[" && close === "]]"))) return null;
    const inner = fields.slice(1, -1);
    if (inner.some((field) => field.unknown !== null)) return null;
    const words = inner.map((field) => field.text);
    const [first = "", second = "", third = ""] = words;
    if (words.length === 2) return first === "-z" ? second === "" : first === "-n" ? second !== "" : null;
    if (words.length !== 3 || /[*?]/.test(third)) return null;
    return COMPARE[second]?.(first, third) ?? null;
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
        const assignment = this.assignment(token);
        if (assignment === null) {
          const name = token.kind === "word" ? literal(token.word) : null;
          const known = name === null ? undefined : this.variables.get(name);
          if (program === "export" && name !== null && known?.kind === "text") this.exported.set(name, known.field);
          continue;
        }
        this.assign(...assignment);
        if (program === "export" && assignment[1].kind === "text")
          this.exported.set(assignment[0], assignment[1].field);
      }
      return;
    }
    const fields = tokens.flatMap((token) => (token.kind === "word" ? this.expand(token.word, 0) : []));
    if (fields.length === 0) return;
    if (program === "read" && heredocs.length > 0) {
      const name = fields[fields.length - 1]?.text ?? "";
      const body = heredocs[0];
      if (body?.kind === "heredoc") this.assign(name, { kind: "text", field: this.joined(body.body) });
      return;
    }
    if (nesting < MAX_NESTING && this.nested(fields, heredocs, nesting)) return;
    this.commands.push(this.build(fields, environment));
  }

  /** `bash -c "…"`, `eval "…"` and here-documents given to a shell or to sbatch hold a script of their own. */
  private nested(fields: readonly Field[], heredocs: readonly Token[], nesting: number): boolean {
    const words = fields.map((field) => field.text);
    const program = words[0] ?? "";
    if (program === "eval") {
      for (const field of fields.slice(1)) this.source(sourceOf(field), nesting + 1);
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
      this.source(sourceOf(this.joined(body.body)), nesting + 1);
      return true;
    }
    return false;
  }

  private build(fields: readonly Field[], environment: ReadonlyMap<string, Field>): ShellCommand {
    const document = this.textOfDocument;
    const start = Math.min(...fields.map((field) => field.start));
    const end = Math.max(...fields.map((field) => field.end));
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

  private assignment(token: Token): [string, Variable] | null {
    if (token.kind === "array") {
      const items = token.items.flatMap((word) => this.expand(word, 0));
      const before = token.append ? this.variables.get(token.name) : undefined;
      const fields =
        before?.kind === "array"
          ? [...before.fields, ...items]
          : before?.kind === "text"
            ? [before.field, ...items]
            : items;
      return [token.name, { kind: "array", fields }];
    }
    if (token.kind !== "word") return null;
    const first = token.word.pieces[0];
    if (first?.kind !== "text" || first.quoted) return null;
    const match = /^([A-Za-z_]\w*)(\+?)=/.exec(first.text);
    if (match === null) return null;
    const [whole, name = "", append = ""] = match;
    const rest: Piece = { ...first, text: first.text.slice(whole.length), offsets: first.offsets.slice(whole.length) };
    const start = first.offsets[whole.length] ?? token.word.start + whole.length;
    const value = this.joined({ pieces: [rest, ...token.word.pieces.slice(1)], start, end: token.word.end });
    const nameSpan: Span = { start: token.word.start, end: token.word.start + name.length };
    const before = append === "+" ? this.variables.get(name) : undefined;
    return [
      name,
      {
        kind: "text",
        field: before?.kind === "text" ? concatenate(before.field, value) : { ...value, name: nameSpan },
      },
    ];
  }

  private assign(name: string, value: Variable): void {
    const before = this.variables.get(name);
    const same = before?.kind === "text" && value.kind === "text" && before.field.text === value.field.text;
    const branching = this.branches.some((branch) => branch.taken !== true);
    if (branching && same && before.kind === "text") {
      // Written in several branches: there is no single place to change.
      this.variables.set(name, {
        kind: "text",
        field: { ...before.field, offsets: before.field.offsets.map(() => -1) },
      });
      return;
    }
    const conditional = branching && before !== undefined && value.kind !== "array" && !same;
    this.variables.set(name, conditional ? { kind: "unknown", reason: `\`${name}\` depends on a condition` } : value);
  }

  /** The word's text as one field (assignments and quotes do not split). */
  private joined(word: Word): Field {
    const quoted = word.pieces.map((piece): Piece => ({ ...piece, quoted: true }));
    const fields = this.expand({ ...word, pieces: quoted }, 0);
    const empty: Field = { text: "", offsets: [], unknown: null, start: word.start, end: word.end };
    return fields.reduce(
      (joined, field, index) => (index === 0 ? field : concatenate(concatenate(joined, blankField(joined)), field)),
      fields[0] ?? empty,
    );
  }

  private expand(word: Word, depth: number): Field[] {
    const builder = new FieldBuilder(word);
    for (const piece of word.pieces) this.expandPiece(piece, builder, depth);
    const fields = builder.finish();
    this.fields += fields.length;
    return this.fields > MAX_FIELDS ? [] : fields;
  }

  private expandPiece(piece: Piece, builder: FieldBuilder, depth: number): void {
    if (piece.kind === "text") {
      builder.text(piece.text, piece.offsets);
      return;
    }
    if (piece.kind === "unknown") {
      builder.unknown(piece.raw, piece.reason);
      return;
    }
    if (piece.kind === "arithmetic") {
      const value = this.arithmetic(piece.expression);
      if (value === null) builder.unknown(piece.raw, "arithmetic on values that are not known");
      else builder.computed(String(value));
      return;
    }
    this.expandVariable(piece, builder, depth);
  }

  private expandVariable(piece: Piece & { kind: "variable" }, builder: FieldBuilder, depth: number): void {
    const variable = depth > 20 ? undefined : this.variables.get(piece.name);
    const empty = variable?.kind === "text" && variable.field.text === "" && piece.operator.startsWith(":");
    if (variable === undefined || empty) {
      if (piece.fallback !== null)
        for (const inner of piece.fallback.pieces)
          this.expandPiece({ ...inner, quoted: piece.quoted || inner.quoted }, builder, depth + 1);
      else if (/^[@*]$/.test(piece.name)) return;
      else
        builder.unknown(
          piece.raw,
          /^\d$/.test(piece.name) ? "an argument of the script" : `\`${piece.name}\` is set outside of this file`,
        );
      return;
    }
    if (variable.kind === "unknown") {
      builder.unknown(piece.raw, variable.reason);
      return;
    }
    if (variable.kind === "array") {
      const fields = piece.all || piece.quoted ? variable.fields : variable.fields.slice(0, 1);
      fields.forEach((field, index) => {
        if (index > 0) builder.split();
        if (builder.standsAlone) builder.whole(field);
        else if (piece.quoted || field.unknown !== null) builder.field(field);
        else builder.splitting(field);
      });
      return;
    }
    if (piece.quoted) builder.field(variable.field);
    else builder.splitting(variable.field);
  }

  /** Value of `$((…))` when every name in it is a known number. */
  private arithmetic(expression: string): number | null {
    let known = true;
    const numbers = expression.replace(
      /\$?\{?([A-Za-z_]\w*)(?::-([^}]*))?\}?/g,
      (_, name: string, fallback: string | undefined) => {
        const variable = this.variables.get(name);
        const text = variable?.kind === "text" && variable.field.unknown === null ? variable.field.text : fallback;
        if (text === undefined || !/^-?\d+$/.test(text.trim())) known = false;
        return text ?? "";
      },
    );
    return known ? calculate(numbers) : null;
  }

  /** Reads the variable definitions of a Makefile and leaves its recipes as shell text. */
  private makefile(text: string): string {
    let result = "";
    let continuedRecipe = false;
    const lines = text.match(/[^\n]*(?:\n|$)/g) ?? [];
    let offset = 0;
    for (let index = 0; index < lines.length; index++) {
      const line = lines[index] ?? "";
      const definition = /^(?:export\s+)?([A-Za-z_][\w.-]*)[ ]*(\?|:{1,3}|\+)?=[ \t]*/.exec(line);
      const recipe = line.startsWith("\t") || continuedRecipe;
      if (recipe) {
        result += line.replace(/^\t[@+-]*/, (prefix) => " ".repeat(prefix.length));
        continuedRecipe = /\\\r?\n?$/.test(line);
      } else if (definition !== null) {
        let whole = line;
        let end = index;
        while (/\\\r?\n?$/.test(whole) && end + 1 < lines.length) whole += lines[++end] ?? "";
        const from = offset + definition[0].length;
        const value = whole.slice(definition[0].length).replace(/(?:\s+#.*)?\s*$/, "");
        const source: ShellSource = {
          text: `"${value.replaceAll('"', " ")}"`,
          at: (place) => from + Math.max(0, place - 1),
        };
        const tokens = lexShell(source, this.options, []);
        const token = tokens[0];
        if (token?.kind === "word")
          this.makeVariable(definition, { ...this.joined(token.word), start: from, end: from + value.length });
        result += whole.replace(/[^\n]/g, " ");
        offset += whole.length;
        index = end;
        continue;
      } else result += line.replace(/[^\n]/g, " ");
      offset += line.length;
    }
    return result;
  }

  private makeVariable(definition: RegExpExecArray, field: Field): void {
    const [, name = "", kind = ""] = definition;
    const before = this.variables.get(name);
    if (kind === "?" && before !== undefined) return;
    this.variables.set(name, {
      kind: "text",
      field:
        kind === "+" && before?.kind === "text"
          ? concatenate(concatenate(before.field, blankField(before.field)), field)
          : field,
    });
  }
}

interface Branch {
  readonly word: string;
  /** Whether the current part runs; null when that depends on the outside. */
  taken: boolean | null;
  /** An earlier part is known to have run. */
  decided: boolean;
  uncertain?: boolean;
  /** Value a `case` looks at; null when it is not known. */
  subject?: string | null;
  /** The next `)` closes a pattern of the `case`. */
  expecting?: boolean;
}

const COMPARE: Readonly<Record<string, (a: string, b: string) => boolean>> = {
  "=": (a, b) => a === b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "-eq": (a, b) => Number(a) === Number(b),
  "-ne": (a, b) => Number(a) !== Number(b),
  "-lt": (a, b) => Number(a) < Number(b),
  "-le": (a, b) => Number(a) <= Number(b),
  "-gt": (a, b) => Number(a) > Number(b),
  "-ge": (a, b) => Number(a) >= Number(b),
};

/** The word as if it stood in double quotes: one field, never dropped. */
function quotedWord(word: Word): Word {
  const pieces = word.pieces.map((piece): Piece => ({ ...piece, quoted: true }));
  return { ...word, pieces: pieces.length > 0 ? pieces : [] };
}

class FieldBuilder {
  private readonly done: Field[] = [];
  private text_ = "";
  private offsets: number[] = [];
  private reason: string | null = null;
  private open = false;
  private parts = 1;

  constructor(private readonly word: Word) {}

  /** The word is one expansion and nothing else. */
  get standsAlone(): boolean {
    return this.word.pieces.length === 1 && !this.open;
  }

  /** An element of an array stands where the array has it. */
  whole(field: Field): void {
    this.done.push(field);
  }

  text(text: string, offsets: readonly number[]): void {
    this.open = true;
    this.text_ += text;
    for (const offset of offsets) this.offsets.push(offset);
  }

  computed(text: string): void {
    this.open = true;
    this.text_ += text;
    for (let index = 0; index < text.length; index++) this.offsets.push(-1);
  }

  unknown(raw: string, reason: string): void {
    this.computed(raw);
    this.reason ??= reason;
  }

  field(field: Field): void {
    this.text(field.text, field.offsets);
    this.reason ??= field.unknown;
  }

  /** Appends with word splitting at blanks, as an unquoted variable does. */
  splitting(field: Field): void {
    if (field.unknown !== null && !/\s/.test(field.text.replace(/\$\(.*\)|`.*`/g, ""))) {
      this.field(field);
      return;
    }
    // The output of a command is one unknown piece, whatever blanks its text has.
    const quotes = /(["'])(.*?)\1|(?:\$\([^()]*(?:\([^()]*\)[^()]*)*\)|`[^`]*`|[^\s"'])+|["']/g;
    this.parts = field.text.trim().search(/\s/) < 0 ? 1 : 2;
    let last = 0;
    for (const match of field.text.matchAll(quotes)) {
      const start = match.index;
      if (start > last && this.open) this.split();
      else if (start > last && last > 0) this.split();
      const inner = match[1] !== undefined && match[0].length >= 2 ? 1 : 0;
      this.text(
        field.text.slice(start + inner, start + match[0].length - inner),
        field.offsets.slice(start + inner, start + match[0].length - inner),
      );
      if (field.unknown !== null && match[0].includes("$")) this.reason ??= field.unknown;
      last = start + match[0].length;
    }
    if (last < field.text.length && this.open) this.split();
  }

  split(): void {
    if (this.open) {
      const inside = this.offsets.filter((offset) => offset >= 0);
      this.done.push({ text: this.text_, offsets: this.offsets, unknown: this.reason, ...this.place(inside) });
    }
    this.text_ = "";
    this.offsets = [];
    this.reason = null;
    this.open = false;
  }

  finish(): Field[] {
    this.split();
    return this.done;
  }

  /** A field made of one run of characters elsewhere stands there; anything else stands at the word. */
  private place(offsets: readonly number[]): Span {
    const first = offsets[0];
    const last = offsets[offsets.length - 1];
    if (first === undefined || last === undefined) return { start: this.word.start, end: this.word.end };
    const contiguous = offsets.length === this.text_.length && last - first === offsets.length - 1;
    const inside = first >= this.word.start && last < this.word.end;
    if (inside || !contiguous) return { start: this.word.start, end: this.word.end };
    // A text of many words (`ARGS="--a 1 --b 2"`) is where its words are read; a single value is read at its use.
    return this.parts > 1 || /^-/.test(this.text_)
      ? { start: first, end: last + 1 }
      : { start: this.word.start, end: this.word.end };
  }
}

function concatenate(a: Field, b: Field): Field {
  return {
    text: a.text + b.text,
    offsets: [...a.offsets, ...b.offsets],
    unknown: a.unknown ?? b.unknown,
    start: a.start,
    end: Math.max(a.end, b.end),
  };
}

function blankField(at: Span): Field {
  return { text: " ", offsets: [-1], unknown: null, start: at.start, end: at.end };
}

function sourceOf(field: Field): ShellSource {
  return {
    text: field.text,
    at: (index) => Math.max(0, field.offsets[Math.min(index, field.offsets.length - 1)] ?? field.start),
  };
}

/** The word's text when it is fully literal. */
function literal(word: Word): string | null {
  return word.pieces.every((piece) => piece.kind === "text")
    ? word.pieces.map((piece) => (piece.kind === "text" ? piece.text : "")).join("")
    : null;
}

function spanOf(field: Span): Span {
  return { start: field.start, end: field.end };
}

/** What argparse and friends make of an argument: numbers and booleans typed, the rest text. */
function typed(text: string): ScalarNode["value"] {
  if (/^[-+]?\d+(?:_\d+)*$/.test(text) || /^[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?$/.test(text))
    return Number(text.replaceAll("_", ""));
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (/^(?:null|None)$/.test(text)) return null;
  return text;
}

/** Node of (a part of) a field: `at` is where it stands, `source` where its characters are written. */
function nodeOf(field: Field, document: string, at: Span, from = 0): LocatedNode & { kind: "scalar" | "unknown" } {
  const span: Span = { start: at.start, end: Math.max(at.end, at.start) };
  const raw = document.slice(span.start, span.end);
  if (
    field.unknown !== null &&
    (from === 0 || field.text.slice(from).includes("$") || field.text.slice(from).includes("`"))
  ) {
    return { kind: "unknown", raw, reason: field.unknown, ...span };
  }
  const value = typed(field.text.slice(from));
  const offsets = field.offsets.slice(from);
  const first = offsets[0];
  const last = offsets[offsets.length - 1];
  const contiguous = first !== undefined && last !== undefined && first >= 0 && last - first === offsets.length - 1;
  if (!contiguous) return { kind: "scalar", value, raw, ...span };
  const quoted = raw.length >= 2 && /^(["'])[\s\S]*\1$/.test(raw) ? 1 : 0;
  if (first === span.start + quoted && last + 1 === span.end - quoted) return { kind: "scalar", value, raw, ...span };
  return { kind: "scalar", value, raw, source: { start: first, end: last + 1 }, ...span };
}

const FLAG = /^--?[A-Za-z][\w.:/-]*/;
const OVERRIDE = /^(?:\+{0,2}|~)[A-Za-z_][\w.@/-]*(?:\[[^\]]*\])?=/;

function isFlag(text: string): boolean {
  return FLAG.test(text) && !/^-\d/.test(text);
}

function argumentsOf(
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

function directivesOf(text: string): MapNode {
  const entries: Entry[] = [];
  for (const match of text.matchAll(/^#SBATCH[ \t]+(--?([A-Za-z][\w-]*))(?:[= \t]+([^\s#]+))?/gm)) {
    const [whole, flag = "", key = "", value] = match;
    const keyStart = match.index + whole.indexOf(flag);
    const keySpan = { start: keyStart, end: keyStart + flag.length };
    const end = match.index + whole.length;
    const start = value === undefined ? end : end - value.length;
    entries.push({
      key,
      keySpan,
      value: { kind: "scalar", value: value === undefined ? true : typed(value), raw: value ?? "", start, end },
    });
  }
  return { ...emptyMap({ start: 0, end: text.length }), entries };
}

/** Leaves the commands of a Dockerfile as shell text; everything else is blanked. */
function dockerfile(text: string): string {
  let result = "";
  let keep = false;
  let continued = false;
  for (const line of text.match(/[^\n]*(?:\n|$)/g) ?? []) {
    const instruction = continued ? null : /^\s*(RUN|CMD|ENTRYPOINT|ENV|ARG)\s+/i.exec(line);
    if (!continued) keep = instruction !== null;
    continued = /\\\r?\n?$/.test(line) || (continued && /^\s*#/.test(line));
    if (!keep) {
      result += line.replace(/[^\n]/g, " ");
      continue;
    }
    let body = line;
    if (instruction !== null) {
      body = " ".repeat(instruction[0].length) + line.slice(instruction[0].length);
    }
    if (/^\s*\[\s*"/.test(body))
      body = body.replace(/("(?:[^"\\]|\\.)*")|[[\],]/g, (_, quoted: string | undefined) => quoted ?? " ");
    result += body;
  }
  return result;
}

/** Integer arithmetic with + - * / % and parentheses, as the shell does it; null when it is anything else. */
function calculate(expression: string): number | null {
  const tokens = expression.match(/\d+|[-+*/%()]|\S/g) ?? [];
  let position = 0;
  let depth = 0;
  const primary = (): number | null => {
    const token = tokens[position++];
    if (token === undefined || ++depth > 200) return null;
    if (token === "-") {
      const value = primary();
      return value === null ? null : -value;
    }
    if (token === "(") {
      const value = sum();
      return tokens[position++] === ")" ? value : null;
    }
    return /^\d+$/.test(token) ? Number(token) : null;
  };
  const product = (): number | null => {
    let left = primary();
    while (left !== null && /^[*/%]$/.test(tokens[position] ?? "")) {
      const operator = tokens[position++];
      const right = primary();
      if (right === null || (operator !== "*" && right === 0)) return null;
      left = operator === "*" ? left * right : operator === "/" ? Math.trunc(left / right) : left % right;
    }
    return left;
  };
  const sum = (): number | null => {
    let left = product();
    while (left !== null && /^[-+]$/.test(tokens[position] ?? "")) {
      const operator = tokens[position++];
      const right = product();
      if (right === null) return null;
      left = operator === "+" ? left + right : left - right;
    }
    return left;
  };
  const value = sum();
  return value !== null && position === tokens.length && Number.isSafeInteger(value) ? value : null;
}
