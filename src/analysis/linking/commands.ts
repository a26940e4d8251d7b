/** The training commands of a script: each is a run of its own. */
import { recogniseFormat } from "../../formats";
import type { ConfigDocument } from "../../formats/types";
import { LoadedDocument } from "../documents/store";

/** Commands that only may be trainings do not become runs beside one that is. */
const SURE = 0.9;
const MOST_COMMANDS = 8;

/** The document once for each training command it holds; the document itself when it holds one, or is no script. */
export function commandsOf(document: LoadedDocument): readonly LoadedDocument[] {
  const { config } = document;
  const shell = config?.parsed.shell;
  // The commands of a notebook stand between the Python of one run.
  if (config === undefined || shell === undefined || config.parsed.python !== undefined) return [document];
  if (shell.commands.length < 2) return [document];
  const parts: LoadedDocument[] = [];
  const seen = new Set<number>();
  for (const command of shell.commands) {
    // A loop gives its command once for every round.
    if (command.words.length < 2 || seen.has(command.start) || parts.length >= MOST_COMMANDS) continue;
    seen.add(command.start);
    const problems = parts.length === 0 ? config.parsed.problems : [];
    const only: ConfigDocument = {
      ...config,
      parsed: { ...config.parsed, problems, shell: { ...shell, commands: [command] } },
    };
    if ((recogniseFormat(only)?.confidence ?? 0) < SURE) continue;
    const line = document.lines.range(command).start.line + 1;
    parts.push(
      new LoadedDocument(document.uri, document.text, { config: only, name: String(line), index: parts.length }),
    );
  }
  return parts.length < 2 ? [document] : parts;
}
