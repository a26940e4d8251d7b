/** Files and folders whose change can matter to a run: what the client is asked to watch, and what its events mean. */
import { RECEIPTS_FOLDER } from "../terms/names";

const CONFIGS = "**/*.{yaml,yml,json,jsonc,json5,hjson,toml,py,sh,ipynb}";

/** The folder of receipts and those above it, which are made with the first receipt. */
const FOLDERS = RECEIPTS_FOLDER.split("/").map((_, index, names) => names.slice(0, index + 1).join("/"));
const ENDS = FOLDERS.map((folder) => `/${folder}`);

/**
 * Patterns for the client's watcher. A folder and what lies in it may be made before a watcher is told of the folder: then no
 * event comes for the files, so the folders themselves are watched, too.
 */
export const WATCHED: readonly string[] = [CONFIGS, ...FOLDERS.map((folder) => `**/${folder}`)];

/** What may be another one after an event: a folder on the way to receipts stands for any receipt in it. */
export function changedBy(uri: string): readonly string[] {
  const end = ENDS.find((end) => uri.endsWith(end));
  return end === undefined ? [uri] : [uri, `${uri.slice(0, -end.length)}/${RECEIPTS_FOLDER}/any`];
}
