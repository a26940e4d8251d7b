/** A finding before it is put into words: code, place and what fills its message. */
import type { Message, SettingChange, Severity } from "../formats/types";
import type { Span } from "../syntax/tree";

export interface Related {
  readonly uri: string;
  readonly span: Span;
  readonly message: Message;
}

/** An edit that mends the finding, in settings; put into text when it is asked for. */
export interface ProblemFix {
  readonly title: Message;
  /** Keeps what is computed. */
  readonly safe: boolean;
  readonly changes?: readonly SettingChange[];
  /** Replacement of a span of the finding's document. */
  readonly replace?: Span & { readonly newText: string };
  /** Removal of a whole key of the finding's document. */
  readonly remove?: Span;
}

export interface Problem {
  readonly code: string;
  readonly severity: Severity;
  readonly message: Message;
  readonly uri: string;
  readonly span: Span;
  readonly related?: readonly Related[];
  readonly fixes?: readonly ProblemFix[];
}

export function say(id: string, args: Message["args"] = {}): Message {
  return { id, args };
}
