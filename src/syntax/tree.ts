/**
 * The located tree every syntax gives: plain values with the place they were written at.
 * Offsets are UTF-16 code units into the document's text; `end` is exclusive.
 */

/** Half-open span of the text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface SyntaxProblem extends Span {
  readonly message: string;
  /** Stable kind, e.g. `duplicate-key`, `syntax`, `too-deep`. */
  readonly code: string;
}

interface NodeBase extends Span {}

export interface ScalarNode extends NodeBase {
  readonly kind: "scalar";
  /** The value as the format's own library would read it (YAML 1.1 for PyYAML: `no` is false, `5e8` is a string). */
  readonly value: string | number | boolean | null;
  /** The text as written, quotes included. */
  readonly raw: string;
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

/** What a parser returns: always a result, never an exception. */
export interface ParsedDocument {
  /** null when nothing could be read. */
  readonly root: LocatedNode | null;
  readonly problems: readonly SyntaxProblem[];
}

/** Minimal replacement of a span of the text. */
export interface SpanEdit extends Span {
  readonly newText: string;
}
