/**
 * What a config format is to us: how to recognise it, read its settings with their places, and write one.
 * A format's folder holds one table of keys (`keys.ts`), which is its whole knowledge, and thin code over it.
 */

import type { LocatedNode, ParsedDocument, Span, SpanEdit } from "../syntax/tree";
import type { SettingType } from "../terms/setting-row";
import type { SettingName } from "../terms/settings";
import type { EffectId, Message } from "../words/message";
import type { Direction } from "./directions";
import type { Recognition } from "./recognition";

/** How the schema is written down when it is not a plain data file. */
export type CarrierId = "shell" | "python" | "notebook";

/** Canonical names of settings (report contract), plus the internal ones formats need to pass on. */
export type { SettingName } from "../terms/settings";
/** Id of a schema: a row of the index has it. */
export type SchemaId = string;

/** One key as a document states it. */
export interface LocatedSetting {
  /** Canonical name, e.g. `micro_batch_size`; null for a key we know but which maps to no canonical name. */
  readonly name: SettingName | null;
  /** The key as written (`per_device_train_batch_size`, `zero_optimization.stage`). */
  readonly key: string;
  /** Normalised value; `{ auto: true }` where the file leaves it to the library. */
  readonly value: string | number | boolean | null | { readonly auto: true };
  /** Stated, but not to be known from the text: a template, a list of values to try. */
  readonly unknown?: true;
  /** The key changes memory in a way that nothing is computed from, and its value asks for that. */
  readonly uncounted?: true;
  /** Whether the run then needs more memory than is said, or less, where that is known. */
  readonly direction?: Direction;
  /** Holds whatever the key says: what a library does with files that have such a key. */
  readonly standing?: true;
  /** Values that are lists or maps keep their node (target_modules, lora blocks). */
  readonly node: LocatedNode;
  readonly keySpan: Span;
  readonly valueSpan: Span;
}

/** A reference to another document. */
export interface DocumentLink {
  readonly kind: "engine" | "launcher" | "trainer" | "model" | "adapter" | "dataset" | "include" | "options";
  /** As written; resolved by the analysis (launch directory, file's folder, ancestors). */
  readonly target: string;
  readonly span: Span;
}

export type Severity = "error" | "warning" | "information" | "hint";

/** An edit that mends a finding, put into text when it is asked for. */
export interface ProblemFix {
  readonly title: Message;
  /** Keeps what is computed. */
  readonly safe: boolean;
  /** Settings, written where the run has them from. */
  readonly changes?: readonly SettingChange[];
  /** Replacement of a span of the finding's document. */
  readonly replace?: Span & { readonly newText: string };
  /** Removal of a whole key of the finding's document. */
  readonly remove?: Span;
  /** Another name for a key of the finding's document, in the spelling of the old one. */
  readonly rename?: Span & { readonly to: string };
  /** A pin for the document, where the document itself cannot say it. */
  readonly pin?: { readonly key: string; readonly value: string };
}

export interface FormatProblem extends Span {
  readonly code: string;
  readonly severity: Severity;
  readonly message: Message;
  readonly fixes?: readonly ProblemFix[];
  /** The setting that is left out, as its library cannot use what is stated. */
  readonly leaves?: SettingName;
}

/** Text of a document, with what parsing gave. */
export interface ConfigDocument {
  readonly uri: string;
  readonly text: string;
  readonly languageId: string;
  readonly parsed: ParsedDocument;
}

export interface ReadResult {
  readonly settings: readonly LocatedSetting[];
  readonly links: readonly DocumentLink[];
  readonly problems: readonly FormatProblem[];
}

/** One entry of a format's table of keys. */
export interface KeySpec {
  /** Dotted path, e.g. `zero_optimization.stage`; aliases are older or other spellings of the same key. */
  readonly key: string;
  readonly aliases?: readonly string[];
  /** null: the key stands for no setting. One that changes memory all the same is said not to be counted. */
  readonly name: SettingName | null;
  readonly type: SettingType;
  readonly values?: readonly string[];
  /** The file may say `auto`. */
  readonly auto?: true;
  /** Smallest and largest number the library accepts. */
  readonly min?: number;
  readonly max?: number;
  /** A count that may be `null`, where the library checks types: elsewhere a count without a value is half typed. */
  readonly nullable?: true;
  /** Default of the newest library, when stated nowhere. */
  readonly default?: string | number | boolean | null;
  /** Other defaults, by the library version they held until (`{"transformers<5": "float32"}`). */
  readonly defaultsBy?: Readonly<Record<string, string | number | boolean | null>>;
  /** Canonical value of a written one (`amp_bf16` → `bf16`), by its text; others are taken as they are. */
  readonly means?: Readonly<Record<string, string | number | boolean | null>>;
  /** Further settings the key decides; only the values listed in `means` count when `only` is set. */
  readonly also?: readonly {
    readonly name: SettingName;
    readonly means?: Readonly<Record<string, string | number | boolean | null>>;
    readonly only?: true;
  }[];
  /** The word to write for a canonical value where several mean it (`bf16` → `amp_bf16`). */
  readonly writes?: Readonly<Record<string, string>>;
  /** Values of a key without a setting that ask for nothing beyond what is computed. */
  readonly computed?: readonly string[];
  /** It is read where it stands, and never added to a file. */
  readonly unwritten?: true;
  /** Link to another document that the value names. */
  readonly link?: DocumentLink["kind"];
  /** Version that renamed or removed it. */
  readonly removedIn?: string;
  readonly replacedBy?: string;
  /** Aliases that a version took away, with that version. */
  readonly oldNames?: Readonly<Record<string, string>>;
  /** Id of the sentence that says what the key does to memory (`src/words/en/effects.ts`). */
  readonly effect: EffectId;
  /** Whether the key changes GPU memory at all. */
  readonly memory: boolean;
}

/** Change to write: a canonical setting and its new value; null removes the key. */
export interface SettingChange {
  readonly name: SettingName;
  /** Several texts are a list. */
  readonly value: string | number | boolean | null | readonly string[];
}

/** What is known beside a document that is edited. */
export interface EditContext {
  /** Versions of libraries in force, by their names. */
  readonly libraries: Readonly<Record<string, string>>;
  /** What the program that a command starts takes; absent when it is not here. */
  readonly program?: ProgramOptions;
}

/** What a program takes on its command line. */
export interface ProgramOptions {
  readonly options: ReadonlySet<string>;
  /** Those that stand without a value. */
  readonly switches: ReadonlySet<string>;
  /** Classes of libraries whose fields are options, too. */
  readonly classes: readonly string[];
}

export type EditResult = { readonly edits: readonly SpanEdit[] } | { readonly refused: Message };

/** Whether a format is read of the files that its library reads itself, of the commands of scripts, or of code. */
export const inData = ({ carrier }: Pick<Format, "carrier">): boolean => carrier === undefined;
export const inCommands = ({ carrier }: Pick<Format, "carrier">): boolean => carrier === "shell";
export const inCode = ({ carrier }: Pick<Format, "carrier">): boolean => carrier === "python" || carrier === "notebook";

export interface Format {
  readonly id: SchemaId;
  readonly carrier?: CarrierId;
  readonly keys: readonly KeySpec[];
  /** 0 = no, 1 = certain. `because` is shown to the person. */
  recognise(document: ConfigDocument): Recognition;
  read(document: ConfigDocument): ReadResult;
  /** In Python: the path that the keywords of a call stand under in the table; undefined when the call is not ours. */
  callPath?(callee: string): string | undefined;
  /** Minimal text edits; comments, order and layout are kept. */
  edit(document: ConfigDocument, changes: readonly SettingChange[], context?: EditContext): EditResult;
}
