/** A runtime over files in memory, with the packaged model data of the repository. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { normalise } from "../../src/analysis/documents/uris";
import type { FileAccess, Runtime } from "../../src/analysis/runtime";

const MODELS = join(__dirname, "../../models");

/** Folder that the paths of the files below start from. */
export const ROOT = "file:///w";

export interface MemoryRuntime extends Runtime {
  /** Changes, adds or (with undefined) removes a file. */
  write(path: string, text: string | undefined): void;
  /** URIs read so far, in order. */
  readonly reads: string[];
}

export function uri(path: string): string {
  return normalise(`${ROOT}/${path}`);
}

/**
 * @param files text by path below the workspace
 * @param modelData overrides of packaged data; undefined in it hides a file
 */
export function memoryRuntime(
  files: Readonly<Record<string, string>>,
  modelData: Readonly<Record<string, string | undefined>> = {},
): MemoryRuntime {
  const texts = new Map(Object.entries(files).map(([path, text]) => [uri(path), text]));
  const reads: string[] = [];
  const access: FileAccess = {
    async readText(at) {
      reads.push(at);
      return texts.get(at);
    },
    async stat(at) {
      const text = texts.get(at);
      if (text !== undefined) return { type: "file", size: text.length, mtime: 0 };
      const isFolder = [...texts.keys()].some((file) => file.startsWith(`${at}/`));
      return isFolder ? { type: "directory", size: 0, mtime: 0 } : undefined;
    },
    async list(at) {
      const names = new Map<string, "file" | "directory">();
      for (const file of texts.keys()) {
        if (!file.startsWith(`${at}/`)) continue;
        const [name = "", ...rest] = file.slice(at.length + 1).split("/");
        names.set(name, rest.length > 0 ? "directory" : "file");
      }
      return [...names].map(([name, type]) => ({ name, type }));
    },
  };
  return {
    files: access,
    readModelData: async (path) => {
      if (path in modelData) return modelData[path];
      const file = join(MODELS, path);
      return existsSync(file) ? readFileSync(file, "utf8") : undefined;
    },
    hubCaches: [uri("hub")],
    workspaceFolders: [ROOT],
    write(path, text) {
      if (text === undefined) texts.delete(uri(path));
      else texts.set(uri(path), text);
    },
    reads,
  };
}

/** A small llama, quick to simulate. */
export const TINY_LLAMA = {
  model_type: "llama",
  architectures: ["LlamaForCausalLM"],
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 512,
  max_position_embeddings: 4096,
  tie_word_embeddings: true,
};
