/**
 * Files that a script reads its settings from by itself (`cfg = yaml.safe_load(open("config.yaml"))`): the script is read once more with
 * what stands in them. Only files of the workspace are asked for, by plain paths below the folders that the script may be started from.
 */
import { recogniseFormat } from "../formats";
import type { ConfigDocument, LocatedSetting } from "../formats/types";
import { shifted } from "../syntax/graft";
import { parsePython } from "../syntax/python";
import { dataFileKey } from "../syntax/python/data-files";
import type { LocatedNode, Span } from "../syntax/tree";
import type { StartedProgram } from "./program";
import { located, type Setting } from "./settings";
import type { DocumentStore, LoadedDocument } from "./store";
import { joinUri, parentOf } from "./uris";

/** A plain path of a file of data, which leads down only. */
const PLAIN = /^(?:\.\/)?(?!\.)[\w-][\w. -]*(?:\/(?!\.)[\w-][\w. -]*)*\.(?:ya?ml|json|toml)$/;
/** Files that are asked for. */
const MOST_FILES = 4;

interface DataFile {
  readonly path: string;
  readonly document: LoadedDocument;
  readonly root: LocatedNode;
  /** Where its text stands behind the script's: places of its values begin here. */
  readonly from: number;
}

interface Search {
  readonly folders: readonly string[];
  readonly store: DocumentStore;
  readonly dependencies: Set<string>;
}

async function filesOf(script: LoadedDocument, { folders, store, dependencies }: Search): Promise<readonly DataFile[]> {
  const paths = (script.config?.parsed.python?.dataFiles ?? []).filter((path) => path.length < 300 && PLAIN.test(path));
  const found: DataFile[] = [];
  let from = script.text.length + 1;
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

function moved({ start, end }: Span, by: number): Span {
  return { start: start + by, end: end + by };
}

/** A setting with its place: in the file where its value stands there. */
function placed(setting: LocatedSetting, script: LoadedDocument, files: readonly DataFile[]): readonly Setting[] {
  const written = (setting.node.kind === "scalar" ? setting.node.source : undefined) ?? setting.valueSpan;
  const file = files.findLast(({ from }) => written.start >= from);
  const span = file && moved(written, -file.from);
  const place =
    file === undefined || span === undefined
      ? { uri: script.uri, keySpan: setting.keySpan, valueSpan: setting.valueSpan }
      : { uri: file.document.uri, keySpan: span, valueSpan: span };
  return located([setting], script.uri, "document").map((one) => ({ ...one, place }));
}

/** The script as it reads its files; undefined where it reads none that is there. */
export async function readWithData(script: LoadedDocument, search: Search): Promise<StartedProgram | undefined> {
  const { config } = script;
  const files = await filesOf(script, search);
  if (config === undefined || files.length === 0) return undefined;
  const values = files.map(({ path, root, from }) => [dataFileKey(path), shifted(root, from)] as const);
  const as: ConfigDocument = { ...config, parsed: parsePython(script.text, new Map(values)) };
  const format = recogniseFormat(as)?.format;
  if (format?.carrier !== "python") return undefined;
  const { settings, links, problems } = format.read(as);
  return {
    document: script,
    format,
    commandFormat: undefined,
    flags: [],
    settings: settings.flatMap((setting) => placed(setting, script, files)),
    defaults: [],
    links: links.map((link) => ({ ...link, from: script })),
    // What is said of a place in a file is said where the script uses it, or not at all.
    problems: problems.filter(({ end }) => end <= script.text.length),
    beside: files.map(({ document }) => document),
  };
}
