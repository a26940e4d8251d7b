/**
 * The program that reads a training config as its arguments (`HfArgumentParser.parse_yaml_file`): what its own code says of the model holds
 * for the config. It is the one of a command that names the config, or the only one beside it that reads its arguments so.
 */
import type { LocatedNode } from "../../syntax/tree";
import type { CommandLine } from "../compose/overrides";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { joinUri } from "../documents/uris";
import { programFile, programOf } from "./hydra-program";
import { type ProgramSearch, readGiven, type StartedProgram } from "./program";

/** Source: transformers/hf_argparser.py. */
const READS = /\.parse_(?:yaml|json)_file\(/;
/** Folders above a config where its program may be. */
const ABOVE = 3;
const MOST_PROGRAMS = 40;

/** What the program says of the config's run; undefined where none reads it, or it is not told which one does. */
export async function configProgram(
  config: LoadedDocument,
  line: CommandLine | undefined,
  search: ProgramSearch,
): Promise<StartedProgram | undefined> {
  const root = config.config?.parsed.root;
  if (root?.kind !== "map") return undefined;
  const program = line === undefined ? await besideOf(search) : await commanded(line, search);
  if (program === undefined || !READS.test(program.text)) return undefined;
  const given = new Map(root.entries.map(({ key, value }): [string, LocatedNode] => [key, value]));
  return readGiven(program, config, given);
}

async function commanded({ script, command }: CommandLine, search: ProgramSearch): Promise<LoadedDocument | undefined> {
  const program = programOf(command);
  return program && programFile(program, search.folders, { ...search, script });
}

/** The only program of the nearest folder that reads its arguments from a file. */
async function besideOf({ folders, store, dependencies }: ProgramSearch): Promise<LoadedDocument | undefined> {
  for (const folder of folders.slice(0, ABOVE)) {
    const found = await programsIn(folder, store, dependencies);
    if (found.length > 0) return found.length === 1 ? found[0] : undefined;
  }
  return undefined;
}

async function programsIn(
  folder: string,
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<readonly LoadedDocument[]> {
  const names = (await store.list(folder)).filter(({ name, type }) => type === "file" && name.endsWith(".py"));
  const found: LoadedDocument[] = [];
  for (const { name } of names.slice(0, MOST_PROGRAMS)) {
    const uri = joinUri(folder, name);
    dependencies.add(uri);
    const document = await store.skim(uri);
    if (document !== undefined && READS.test(document.text)) found.push(document);
  }
  return found;
}
