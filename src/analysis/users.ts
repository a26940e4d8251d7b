/** Finding the configs that use a document: which documents are parts of runs, and walking a workspace. */
import { syntaxOf } from "../formats/parse";
import { PINS_FILE } from "../formats/pins";
import type { DocumentStore, LoadedDocument } from "./store";
import { baseName, joinUri, parentOf } from "./uris";

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

/** Every file below a folder that a parser reads, folders nearest first; hidden and generated folders are skipped. */
export async function* walk(store: DocumentStore, root: string, most: number): AsyncGenerator<string> {
  let seen = 0;
  const folders: { readonly uri: string; readonly depth: number }[] = [{ uri: root, depth: 0 }];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = [...(await store.list(folder.uri))].sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const child = joinUri(folder.uri, entry.name);
      if (entry.type === "directory") {
        const skipped = SKIPPED_FOLDERS.has(entry.name) || entry.name.startsWith(".");
        if (!skipped && folder.depth < DEEPEST) folders.push({ uri: child, depth: folder.depth + 1 });
      } else if (entry.name !== PINS_FILE && syntaxOf(child) !== null) {
        if (++seen > most) return;
        yield child;
      }
    }
  }
}

/**
 * Whether another document may use this one, judged by its text alone; undefined when this document is no part that
 * others name (a training config stands for itself).
 */
export function partOf(document: LoadedDocument): ((other: LoadedDocument) => boolean) | undefined {
  const name = baseName(document.uri);
  if (
    document.recognised !== undefined &&
    document.recognised.format.id !== "deepspeed" &&
    document.recognised.format.id !== "accelerate"
  ) {
    return undefined;
  }
  if (name === PINS_FILE) return () => true;
  if (name === "config.json" || name === "adapter_config.json") {
    // Pins may name the model, so the folder's name need not be in the config itself.
    return isModelConfig(document) ? () => true : undefined;
  }
  if (document.recognised !== undefined) return (other) => other.text.includes(name);
  const folder = parentOf(document.uri);
  if (document.config?.languageId === "shell") {
    return (other) => parentOf(other.uri) === folder && document.text.includes(baseName(other.uri));
  }
  return undefined;
}

function isModelConfig(document: LoadedDocument): boolean {
  return document.text.length < 200_000 && /"(?:model_type|peft_type)"/.test(document.text);
}
