/** Data files that do not parse as they are: what can be read of them is no run anybody meant. */
import type { Message } from "../../words/message";
import type { RunInputs } from "./inputs";

/** Problems of a parser that leave the file's meaning as it is; each has a finding of its own. */
const READABLE: ReadonlySet<string> = new Set(["duplicate-key", "merge-conflict", "template", "not-strict-json"]);

/** Code is no data: scripts have readers of their own, which go on after what they do not know. */
const DATA: ReadonlySet<string> = new Set(["json", "yaml", "toml"]);

/** What is wrong where a run's own document stops to parse; undefined when it does not. */
export function brokenBy({ main }: RunInputs): Message | undefined {
  if (!DATA.has(main.config?.parsed.syntax ?? "")) return undefined;
  return main.config?.parsed.problems.find(({ code }) => !READABLE.has(code))?.message;
}
