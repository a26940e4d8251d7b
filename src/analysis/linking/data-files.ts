/**
 * Files that a script reads its settings from by itself (`cfg = yaml.safe_load(open("config.yaml"))`): the script is read once more with
 * what stands in them. Only files of the workspace are asked for, by plain paths below the folders that the script may be started from.
 */
import { shifted } from "../../syntax/graft";
import { dataFileKey } from "../../syntax/python/data-files";
import type { LocatedNode } from "../../syntax/tree";
import type { LoadedDocument } from "../documents/store";
import { joinUri, parentOf } from "../documents/uris";
import { type ProgramSearch, readWith, type StartedProgram, type TextBehind, textOf } from "./program";

/** A plain path of a file of data, which leads down only. */
const PLAIN = /^(?:\.\/)?(?!\.)[\w-][\w. -]*(?:\/(?!\.)[\w-][\w. -]*)*\.(?:ya?ml|json|toml)$/;
/** Files that are asked for. */
const MOST_FILES = 4;

interface DataFile extends TextBehind {
  readonly path: string;
  readonly root: LocatedNode;
}

async function filesOf(
  script: LoadedDocument,
  { folders, store, dependencies }: ProgramSearch,
): Promise<readonly DataFile[]> {
  const paths = (script.whole?.parsed.python?.dataFiles ?? []).filter((path) => path.length < 300 && PLAIN.test(path));
  const found: DataFile[] = [];
  let from = textOf(script).length + 1;
  for (const path of paths.slice(0, MOST_FILES))
    for (const folder of new Set([parentOf(script.uri), ...folders])) {
      const uri = joinUri(folder, path);
      dependencies.add(uri);
      const document = await store.load(uri);
      const root = document?.config?.parsed.root;
      if (document === undefined || root?.kind !== "map") continue;
      found.push({ path, document, root, from });
      from += document.text.length + 1;
      break;
    }
  return found;
}

/** The script as it reads its files; undefined where it reads none that is there. */
export async function readWithData(script: LoadedDocument, search: ProgramSearch): Promise<StartedProgram | undefined> {
  const files = await filesOf(script, search);
  if (files.length === 0 && (script.code?.behind ?? []).length === 0) return undefined;
  const values = files.map(({ path, root, from }) => [dataFileKey(path), shifted(root, from)] as const);
  const read = readWith(script, new Map(values), files, "document");
  if (read === undefined) return undefined;
  return {
    ...read.program,
    problems: read.problems,
    beside: [...(read.program.beside ?? []), ...files.map(({ document }) => document)],
  };
}
