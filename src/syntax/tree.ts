/**
 * The located tree every syntax gives: plain values with the place they were written at.
 * Offsets are UTF-16 code units into the document's text; `end` is exclusive.
 */

import type { Message } from "../words/message";

/** Half-open span of the text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface SyntaxProblem extends Span {
  readonly message: Message;
  /** Stable kind, e.g. `duplicate-key`, `syntax`, `too-deep`. */
  readonly code: string;
  /** Text that mends it in the place of the span. */
  readonly mend?: string;
}

interface NodeBase extends Span {}

export interface ScalarNode extends NodeBase {
  readonly kind: "scalar";
  /** The value as the format's own library would read it (YAML 1.1 for PyYAML: `no` is false, `5e8` is a string). */
  readonly value: string | number | boolean | null;
  /** The text as written, quotes included. */
  readonly raw: string;
  /**
   * Where the value is really written when that is elsewhere in the text: the anchor behind a YAML alias, the
   * assignment behind a shell variable or a Python name. Edits go there.
   */
  readonly source?: Span;
}

/** A value that cannot be known from the text: a template, an unresolved name, a call. */
export interface UnknownNode extends NodeBase {
  readonly kind: "unknown";
  readonly raw: string;
  readonly reason: string;
}

export interface Entry {
  readonly key: string;
  readonly keySpan: Span;
  readonly value: LocatedNode;
}

export interface MapNode extends NodeBase {
  readonly kind: "map";
  /** In document order; duplicates are kept (the last wins unless the format says otherwise). */
  readonly entries: readonly Entry[];
}

export interface ListNode extends NodeBase {
  readonly kind: "list";
  readonly items: readonly LocatedNode[];
}

export type LocatedNode = ScalarNode | UnknownNode | MapNode | ListNode;

/** One call of a Python module, with its arguments as values. */
export interface PythonCall extends Span {
  /** Dotted name as written, e.g. `torch.optim.AdamW`; the method alone when the receiver is an expression. */
  readonly callee: string;
  readonly calleeSpan: Span;
  readonly positional: readonly LocatedNode[];
  /** Keyword arguments; entries spread from a known dict are included, with their own places. */
  readonly keywords: MapNode;
}

/** One class of a Python module and the defaults its body gives to annotated fields. */
export interface PythonClass extends Span {
  readonly name: string;
  readonly bases: readonly string[];
  readonly fields: MapNode;
}

/** What can be known of a Python module without running it. */
export interface PythonModule {
  readonly calls: readonly PythonCall[];
  readonly classes: readonly PythonClass[];
  /** Module-level and local names bound to a value, in document order. */
  readonly assignments: MapNode;
  /** Dotted names that are imported (`transformers`, `trl.SFTConfig`). */
  readonly imports: readonly string[];
  /** Options of the program's command line with their defaults; one without a default is unknown. */
  readonly options: MapNode;
}

/** One word of a shell command after expansion. */
export interface ShellWord {
  /** Scalar with the expanded text, or unknown when a part of it cannot be known. */
  readonly node: ScalarNode | UnknownNode;
  /** The text as the command receives it, unresolved parts as written. */
  readonly text: string;
}

/** One simple command of a script, with its arguments expanded as far as the script itself tells. */
export interface ShellCommand extends Span {
  readonly words: readonly ShellWord[];
  /** Environment of the command: exports before it and assignments in front of it. */
  readonly environment: MapNode;
  /** `--a=b`, `--a b`, `-a b`; keys without the leading dashes, otherwise as written. */
  readonly flags: MapNode;
  /** `key=value` and `+key=value` arguments (Hydra, OmegaConf). */
  readonly overrides: MapNode;
  /** Arguments that are neither; the program is the first. */
  readonly positional: readonly ShellWord[];
}

/** A shell script, Makefile, Slurm job or Dockerfile. */
export interface ShellScript {
  readonly commands: readonly ShellCommand[];
  /** Variables as they are at the end of the script. */
  readonly variables: MapNode;
  /** `#SBATCH` options, keys without dashes. */
  readonly directives: MapNode;
}

/** Syntaxes the parsers know. */
export type SyntaxId = "json" | "yaml" | "toml" | "python" | "shell" | "notebook";

/** What a parser returns: always a result, never an exception. */
export interface ParsedDocument {
  /** null when nothing could be read. */
  readonly root: LocatedNode | null;
  readonly problems: readonly SyntaxProblem[];
  readonly syntax?: SyntaxId;
  /** Present for Python files and notebooks. */
  readonly python?: PythonModule;
  /** Present for shell-like files. */
  readonly shell?: ShellScript;
}

/** Minimal replacement of a span of the text. */
export interface SpanEdit extends Span {
  readonly newText: string;
}
