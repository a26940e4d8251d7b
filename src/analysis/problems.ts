/** A finding before it is put into words: code, place and what fills its message. */
import type { ProblemFix, Severity } from "../formats/types";
import type { Span } from "../syntax/tree";
import type { Message } from "../words/message";

/** Where a finding is. */
export interface ProblemPlace {
  readonly uri: string;
  readonly span: Span;
}

export interface Related extends ProblemPlace {
  readonly message: Message;
}

export interface Problem extends ProblemPlace {
  readonly code: string;
  readonly severity: Severity;
  readonly message: Message;
  readonly related?: readonly Related[];
  readonly fixes?: readonly ProblemFix[];
}

/** A finding at a place. */
export function problemAt(
  { uri, span: { start, end } }: ProblemPlace,
  code: string,
  severity: Severity,
  message: Message,
  fixes: readonly ProblemFix[] = [],
): Problem {
  return { code, severity, message, uri, span: { start, end }, ...(fixes.length === 0 ? {} : { fixes }) };
}
