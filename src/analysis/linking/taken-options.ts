/** What the program of a launch command takes on its command line: what plans write there, it must not stop at. */
import type { ProgramOptions } from "../../formats/types";
import type { PythonModule } from "../../syntax/tree";
import { programFile, programOf, type Search } from "./hydra-program";
import { importedOptions } from "./imported-options";

/** The options of the first program of the workspace that a script's commands start; undefined where none is there, or nothing in it reads options. */
export async function takenOptions(search: Search): Promise<ProgramOptions | undefined> {
  const { script, folders } = search;
  const commands = (script.config?.parsed.shell?.commands ?? []).toSorted((a, b) => b.words.length - a.words.length);
  for (const command of commands) {
    const program = programOf(command);
    const document = program === undefined ? undefined : await programFile(program, folders, search);
    const python = document?.config?.parsed.python;
    if (document === undefined || python === undefined) continue;
    const { entries, foreign } = await importedOptions(document, folders, search);
    const own = [...python.options.entries, ...entries];
    if (own.length + foreign.length === 0 && !reads(python)) continue;
    return {
      options: new Set([...own.map(({ key }) => key), ...python.spellings.keys()]),
      // A default that no text spells is that of an option without a value (`action="store_true"`).
      switches: new Set(own.flatMap(({ key, value }) => (value.kind === "scalar" && value.raw === "" ? [key] : []))),
      classes: foreign,
    };
  }
  return undefined;
}

/** Whether a program reads its command line itself. */
function reads({ calls }: PythonModule): boolean {
  return calls.some(({ callee }) => /(?:^|\.)\w{0,40}Parser$|(?:^|\.)parse_\w{0,20}args\w{0,30}$/.test(callee));
}
