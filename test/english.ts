import { text } from "../src/analysis/messages";
import type { Message } from "../src/words/message";

/** A message as the JSON report has it. */
export function english(message: Message): string {
  return text(message, "en");
}
