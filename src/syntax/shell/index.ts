/**
 * What the commands of a script receive, as far as the script itself tells: variables, defaults (`${X:-8}`), arrays,
 * arithmetic and here-documents are followed, nothing is executed. A value that depends on the outside is unknown,
 * never zero. Reads bash, Slurm jobs, Makefiles and Dockerfiles.
 */
import { MAX_LENGTH, prepareText } from "../text";
import type { Entry, MapNode, ParsedDocument, ShellScript, SyntaxProblem } from "../tree";
import { mainCommand } from "./main-command";
import { ScriptReader, type ShellFlavour } from "./reader";

export { jobVariables } from "./directives";
export { mainCommand } from "./main-command";
export type { ShellFlavour } from "./reader";

/** Reads a script. Never throws; offsets are those of `original`. */
export function parseShell(original: string, flavour: ShellFlavour = "shell"): ParsedDocument {
  const prepared = prepareText(original, MAX_LENGTH.other);
  if (prepared.tooLarge) return { root: null, problems: prepared.problems, syntax: "shell" };
  const problems: SyntaxProblem[] = [...prepared.problems];
  const reader = new ScriptReader(flavour, problems);
  reader.read(prepared.text);
  const shell = reader.script(prepared.text);
  return { root: mainCommandMap(shell, original.length), problems: problems.slice(0, 200), syntax: "shell", shell };
}

/** A script with variables that something else has set before it, and the arguments that it is given. */
export function readScript(text: string, known: readonly Entry[], given: readonly string[] = []): ShellScript {
  const reader = new ScriptReader("shell", []);
  reader.know(known);
  reader.give(given);
  reader.read(text);
  return reader.script(text);
}

function mainCommandMap(shell: ShellScript, length: number): MapNode {
  const command = mainCommand(shell);
  const entries = command === null ? [] : [...command.flags.entries, ...command.overrides.entries];
  return { kind: "map", entries, start: 0, end: length };
}
