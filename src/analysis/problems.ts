/** A finding before it is put into words: code, place and what fills its message. */
import type { ProblemFix, Severity } from "../formats/types";
import type { Span } from "../syntax/tree";
import type { Message } from "../words/message";

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
