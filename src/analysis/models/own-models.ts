/** Models of somebody's own, by the graphs that `vram-lens trace` left beside their code. */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { type OwnGraphs, ownGraphs } from "../../core/graph/own";
import type { LoadedDocument } from "../documents/store";
import { joinUri } from "../documents/uris";
import type { ModelFound, ModelSearch } from "./model-found";

/** Where graphs stand, below the folder of the config or one above it. */
const GRAPHS_FOLDER = ".vramlens/graphs";

/** The file of a graph, below a folder. */
export const graphUri = (folder: string, name: string): string => joinUri(folder, `${GRAPHS_FOLDER}/${name}.json`);

/** `own/GPT`, or the file's path. */
const NAMED = /^(?:own\/|(?:.{0,200}\/)?\.vramlens\/graphs\/)([A-Za-z_][\w.-]{0,99}?)(?:\.json)?$/;

const known = new WeakMap<LoadedDocument, OwnGraphs | null>();

function read(document: LoadedDocument): OwnGraphs | undefined {
  let found = known.get(document);
  if (found === undefined) {
    found = ownGraphs(document.text) ?? null;
    known.set(document, found);
  }
  return found ?? undefined;
}

/** Files that differ from what was traced, and those that are gone. */
async function changed(own: OwnGraphs, folder: string, search: ModelSearch): Promise<string[]> {
  const result: string[] = [];
  for (const { path, sha256: then } of own.traced.sources) {
    const uri = joinUri(folder, path);
    search.dependencies.add(uri);
    const now = await search.store.load(uri);
    if (now === undefined || bytesToHex(sha256(utf8ToBytes(now.text))) !== then) result.push(path);
  }
  return result;
}

/**
 * The traced model that a setting names: undefined where it names none of that kind.
 *
 * @param name `own/<graph>`, as formats name a class of the workspace, or the path of a graph's file
 */
export async function ownModel(name: string, search: ModelSearch): Promise<ModelFound | undefined> {
  const graph = NAMED.exec(name)?.[1];
  if (graph === undefined) return undefined;
  for (const folder of search.folders) {
    const uri = graphUri(folder, graph);
    search.dependencies.add(uri);
    const document = await search.store.load(uri);
    if (document === undefined) continue;
    const own = read(document);
    if (own === undefined) return { kind: "broken", name: graph, uri, reason: "no-graph" };
    return {
      kind: "found",
      name: graph,
      // What models of transformers keep beside their results is nothing of theirs.
      config: { model_type: own.graphs.family, use_cache: false },
      source: "trace",
      parameters: undefined,
      task: own.graphs.graphs[0]?.task,
      document: undefined,
      adapter: undefined,
      adapterUri: undefined,
      own: { ...own, changed: await changed(own, folder, search) },
    };
  }
  return { kind: "missing", name: graph, local: true, near: undefined, refused: false, own: true };
}
