/**
 * From the name of a model to its `config.json`: a directory, the local hub cache, or the packaged catalogue, in the
 * order transformers itself looks (a local directory wins over a hub name).
 */

import { nearest } from "../../formats/suggest";
import { plainValue } from "../../formats/table";
import { withoutEnding } from "../../terms/text";
import type { LoadedDocument } from "../documents/store";
import { baseName, joinUri, parentOf } from "../documents/uris";
import type { Catalogue, CatalogueEntry } from "./catalogue";
import { guessModel } from "./guess";
import type { AdapterConfig, ModelFound, ModelSearch } from "./model-found";
import { ownModel } from "./own-models";
import { trainedPart } from "./trained-part";

/** Whether a text can only be a path. */
function looksLocal(name: string): boolean {
  return /^(?:\.{1,2}(?:[\\/]|$)|[\\/]|~|[A-Za-z]:[\\/])/.test(name) || name.split("/").length > 2;
}

/** Finds the config of a model by the name or path that a setting gives. */
export async function findModel(name: string, search: ModelSearch, seen: readonly string[] = []): Promise<ModelFound> {
  if (seen.includes(name) || seen.length > 4) {
    return { kind: "broken", name, uri: search.folders[0] ?? "", reason: "cyclic" };
  }
  const own = await ownModel(name, search);
  if (own !== undefined) return own;
  for (const folder of search.folders) {
    const directory = joinUri(folder, withoutEnding(name, /[\\/]/));
    const file = /\.json$/i.test(name) ? directory : joinUri(directory, "config.json");
    const found = await loadConfig(file, name, search);
    if (found !== undefined) return withAdapter(found, directory, search);
    const adapter = await loadAdapter(directory, search);
    if (adapter !== undefined) return throughAdapter(name, adapter, search, seen);
  }
  if (!looksLocal(name)) {
    const cached = await fromHubCache(name, search);
    if (cached !== undefined) return cached;
    const entry = search.catalogue.find(name);
    if (entry !== undefined) return published(entry);
  }
  const guess = guessModel(name, search.catalogue);
  if (guess !== undefined) return { ...published(guess.entry), config: guess.config, guessed: true };
  const local = looksLocal(name);
  const refused = local && search.isRefused(name);
  return { kind: "missing", name, local, near: nearest(name, search.catalogue.names), refused };
}

function published(entry: CatalogueEntry): Extract<ModelFound, { kind: "found" }> {
  return {
    kind: "found",
    name: entry.name,
    config: entry.config,
    source: "catalogue",
    parameters: entry.parameters,
    task: entry.task ?? "causal-lm",
    document: undefined,
    adapter: undefined,
    adapterUri: undefined,
  };
}

async function loadConfig(uri: string, name: string, search: ModelSearch): Promise<ModelFound | undefined> {
  search.dependencies.add(uri);
  const document = await search.store.load(uri);
  if (document === undefined) return undefined;
  const config = objectOf(document);
  const reason = config === undefined ? "syntax" : typeof config["model_type"] !== "string" ? "no-type" : undefined;
  if (config === undefined || reason !== undefined)
    return search.isOutside(uri) ? undefined : { kind: "broken", name, uri, reason: reason ?? "syntax" };
  return {
    kind: "found",
    name: displayName(name, config, uri, search.catalogue),
    config,
    source: "config.json",
    parameters: undefined,
    task: undefined,
    document,
    adapter: undefined,
    adapterUri: undefined,
  };
}

const objects = new WeakMap<LoadedDocument, Readonly<Record<string, unknown>> | null>();

/** A JSON document as a plain object, made once: estimates are remembered by the identity of the config. */
function objectOf(document: LoadedDocument): Readonly<Record<string, unknown>> | undefined {
  let value = objects.get(document);
  if (value === undefined) {
    const root = document.config?.parsed.root;
    value = root?.kind === "map" ? trainedPart(plainValue(root) as Record<string, unknown>) : null;
    objects.set(document, value);
  }
  return value ?? undefined;
}

/** The hub id a config remembers, else the published model it equals, else the folder. */
function displayName(
  name: string,
  config: Readonly<Record<string, unknown>>,
  uri: string,
  catalogue: Catalogue,
): string {
  const remembered = config["_name_or_path"];
  if (typeof remembered === "string" && remembered !== "" && !looksLocal(remembered)) return remembered;
  if (!looksLocal(name)) return name;
  const published = catalogue.like(config)?.name;
  return published?.slice(published.indexOf("/") + 1) ?? `${baseName(parentOf(uri))} (${String(config["model_type"])})`;
}

async function loadAdapter(
  directory: string,
  search: ModelSearch,
): Promise<{ uri: string; config: AdapterConfig } | undefined> {
  const uri = joinUri(directory, "adapter_config.json");
  search.dependencies.add(uri);
  const document = await search.store.load(uri);
  const config = document === undefined ? undefined : objectOf(document);
  return config === undefined ? undefined : { uri, config };
}

async function withAdapter(found: ModelFound, directory: string, search: ModelSearch): Promise<ModelFound> {
  if (found.kind !== "found") return found;
  const adapter = await loadAdapter(directory, search);
  return adapter === undefined ? found : { ...found, adapter: adapter.config, adapterUri: adapter.uri };
}

async function throughAdapter(
  name: string,
  adapter: { uri: string; config: AdapterConfig },
  search: ModelSearch,
  seen: readonly string[],
): Promise<ModelFound> {
  const base = adapter.config["base_model_name_or_path"];
  if (typeof base !== "string" || base === "") return { kind: "broken", name, uri: adapter.uri, reason: "no-type" };
  const folders = [parentOf(adapter.uri), ...search.folders];
  const found = await findModel(base, { ...search, folders }, [...seen, name]);
  return found.kind === "found" ? { ...found, adapter: adapter.config, adapterUri: adapter.uri } : found;
}

/** `models--org--name/snapshots/<revision>/config.json` of the hub caches on this machine. */
async function fromHubCache(name: string, search: ModelSearch): Promise<ModelFound | undefined> {
  const folderName = `models--${name.replaceAll("/", "--")}`;
  for (const cache of search.runtime.hubCaches) {
    const snapshots = joinUri(cache, `${folderName}/snapshots`);
    search.dependencies.add(snapshots);
    const revisions = await search.store.list(snapshots);
    for (const revision of revisions) {
      if (revision.type !== "directory") continue;
      const found = await loadConfig(joinUri(snapshots, `${revision.name}/config.json`), name, search);
      if (found?.kind === "found") return { ...found, name };
    }
  }
  return undefined;
}
