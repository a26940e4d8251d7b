/** The texts that a run's config is put together from, one behind the other in a joined text. */
import type { DocumentLink } from "../../formats/types";
import type { Span } from "../../syntax/tree";
import { type MessageId, say } from "../../words/message";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { type Problem, problemAt } from "../problems";
import type { CommandLine } from "./overrides";

export const MOST_INCLUDED = 100;
export const DEEPEST = 16;

/** A link to an included document. */
export interface IncludeLink {
  readonly kind: DocumentLink["kind"];
  readonly uri: string;
  readonly from: string;
  readonly span: Span;
}

/** One text of the joined text. */
export interface Part {
  readonly document: LoadedDocument;
  readonly start: number;
}

export interface Composing {
  readonly store: DocumentStore;
  readonly dependencies: Set<string>;
  readonly problems: Problem[];
  readonly links: IncludeLink[];
  readonly starts: readonly string[];
  /** The command that starts the run, when a script says more than the config. */
  readonly line?: CommandLine | undefined;
}

/** Start of a document in the joined text; appends it when it is new. */
export function add(parts: Part[], document: LoadedDocument): number {
  const known = parts.find((part) => part.document.uri === document.uri);
  if (known !== undefined) return known.start;
  const last = parts[parts.length - 1];
  const start = last === undefined ? 0 : last.start + last.document.text.length + 1;
  parts.push({ document, start });
  return start;
}

export function within(part: Part, span: Span): Span {
  return { start: span.start - part.start, end: span.end - part.start };
}

type MissingFile = Extract<MessageId, `missing-file.${string}`>;

export function missing(
  id: MissingFile,
  severity: Problem["severity"],
  target: string,
  uri: string,
  span: Span,
): Problem {
  return problemAt({ uri, span }, "missing-file", severity, say(id, { target }));
}

/** A file that is reached again from itself, or through more files than are followed. */
export function cyclic(target: string, uri: string, span: Span): Problem {
  return problemAt({ uri, span }, "cyclic-link", "error", say("cyclic-link.include", { target }));
}
