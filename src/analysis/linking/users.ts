/** Finding the configs that use a document: which documents are parts of runs, and walking a workspace. */

import { hasDefaults } from "../../formats/hydra";
import { syntaxOf } from "../../formats/parse";
import { PINS_FILE } from "../../formats/pins";
import { isProgram, isScript } from "../../syntax/dispatch";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { ancestors, baseName, joinUri, parentOf, relativePath } from "../documents/uris";
import { frameworkOf } from "../frameworks/frameworks";

const SKIPPED_FOLDERS = new Set([
  "node_modules",
  "__pycache__",
  "dist",
  "venv",
  "site-packages",
  "wandb",
  "checkpoints",
]);
const DEEPEST = 8;

/** Programs and scripts, which no script's run is the config of. */
const PROGRAMS = /\.(?:py|sh|bash|slurm|sbatch)$/;
/** Folder of configs: a file of a group may hold two keys that alone say nothing. */
const CONFIG_FOLDER = /\/conf(?:igs?)?\/.+\//;

type Listing = Awaited<ReturnType<DocumentStore["list"]>>;

interface Children {
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

/** URIs of a listing, made once: spelling a thousand of them takes longer than everything else of a walk. */
const children = new WeakMap<Listing, Children>();

function childrenOf(folder: string, listing: Listing): Children {
  let found = children.get(listing);
  if (found === undefined) {
    const entries = [...listing].sort((a, b) => (a.name < b.name ? -1 : 1));
    const uris = (wanted: (entry: Listing[number]) => boolean): string[] =>
      entries.filter(wanted).map((entry) => joinUri(folder, entry.name));
    found = {
      files: uris(({ name, type }) => type === "file" && name !== PINS_FILE && syntaxOf(name) !== null),
      // A link may lead above the workspace, or back into a folder that it is in: what it leads to is walked where it is.
      folders: uris(
        ({ name, type, linked }) =>
          type === "directory" && linked !== true && !SKIPPED_FOLDERS.has(name) && !name.startsWith("."),
      ),
    };
    children.set(listing, found);
  }
  return found;
}

/** Every file below a folder that a parser reads, folders nearest first; hidden and generated folders are skipped. */
export async function* walk(store: DocumentStore, root: string, most: number): AsyncGenerator<string> {
  let seen = 0;
  let level: readonly string[] = [root];
  for (let depth = 0; depth <= DEEPEST && level.length > 0; depth++) {
    const next: string[] = [];
    for (const folder of level) {
      const { files, folders } = childrenOf(folder, await store.list(folder));
      for (const file of files) {
        if (++seen > most) return;
        yield file;
      }
      next.push(...folders);
    }
    level = next;
  }
}

/** The files of a workspace, those nearest to a document first: beside it, in the folders above, then all others. */
export async function* nearestFirst(
  store: DocumentStore,
  uri: string,
  root: string,
  most: number,
): AsyncGenerator<string> {
  const seen = new Set([uri]);
  const above = ancestors(parentOf(uri));
  const within = above.slice(0, above.indexOf(root) + 1);
  for (const folder of within) {
    for (const file of childrenOf(folder, await store.list(folder)).files) {
      if (seen.has(file)) continue;
      seen.add(file);
      yield file;
    }
  }
  for await (const file of walk(store, root, most)) if (!seen.has(file)) yield file;
}

/** Whether a document names a file of this name that lies beside it, and so another one than this. */
export async function namesAnother(other: LoadedDocument, uri: string, store: DocumentStore): Promise<boolean> {
  const name = baseName(uri);
  const named = other.read.links.filter(({ target }) => target === name || target.endsWith(`/${name}`));
  const beside = named.map(({ target }) => joinUri(parentOf(other.uri), target));
  if (beside.length === 0 || beside.includes(uri)) return false;
  const found = await Promise.all(beside.map((one) => store.load(one)));
  return found.every((document) => document !== undefined);
}

/** How the users of a document are told from others. */
export interface Users {
  /** Whether another document may be one, judged by its name and its text alone. */
  mayBe(other: LoadedDocument): boolean;
  /** Whether it may still be one once it is parsed. */
  uses?(other: LoadedDocument): boolean;
}

/** The users of a document; undefined when it is no part that others name (a training config stands for itself). */
export function partOf(document: LoadedDocument): Users | undefined {
  const name = baseName(document.uri);
  const grouped =
    document.recognised === undefined
      ? CONFIG_FOLDER.test(document.uri)
      : frameworkOf(document.recognised.format).hydra === true;
  if (grouped && document.config?.parsed.syntax === "yaml" && name !== PINS_FILE) {
    // A list names a group's option, and a group's file may name further ones: only reading them tells.
    return {
      mayBe: ({ text }) => /^defaults\s*:/m.test(text),
      uses: ({ config }) => config !== undefined && hasDefaults(config),
    };
  }
  if (isScript(document.config?.languageId)) {
    // The config a command starts on, named in the script or by its Hydra program; reading tells. Scripts are looked
    // for in a config's folder and above.
    const folder = parentOf(document.uri);
    return {
      mayBe: ({ uri, text }) =>
        relativePath(folder, uri) !== undefined &&
        !PROGRAMS.test(uri) &&
        (document.text.includes(baseName(uri)) || text.includes("defaults")),
      uses: ({ uri, config, recognised }) =>
        config !== undefined &&
        (recognised === undefined || frameworkOf(recognised.format).part === undefined) &&
        !isScript(config.languageId) &&
        !isProgram(config.languageId) &&
        (document.text.includes(baseName(uri)) || hasDefaults(config)),
    };
  }
  if (document.recognised !== undefined && frameworkOf(document.recognised.format).part === undefined) return undefined;
  if (name === PINS_FILE) return { mayBe: () => true };
  if (name === "config.json" || name === "adapter_config.json") {
    // Pins may name the model, so the folder's name need not be in the config itself.
    return isModelConfig(document) ? { mayBe: () => true } : undefined;
  }
  if (document.recognised !== undefined) return { mayBe: ({ text }) => text.includes(name) };
  return undefined;
}

function isModelConfig(document: LoadedDocument): boolean {
  return document.text.length < 200_000 && /"(?:model_type|peft_type)"/.test(document.text);
}
