/** A finding before it is put into words: code, place and what fills its message. */
import type { Message, ProblemFix, Severity } from "../formats/types";
import type { Span } from "../syntax/tree";

export interface Related {
  readonly uri: string;
  readonly span: Span;
  readonly message: Message;
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
