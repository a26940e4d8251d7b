/**
 * The injected runtime on Node: files on disk by `file:` URI, model data from the package's `models/` folder,
 * local hub caches. Reads only; nothing throws on what is absent or unreadable.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { URI } from "vscode-uri";
import type { FileAccess, Runtime } from "../analysis/runtime";

/** Larger files are no configs; reading them would only cost memory. Bytes. */
const LARGEST_FILE = 64 * 1024 * 1024;

/** `file:` URI of an absolute path, spelled as VS Code spells it. */
export function uriOf(path: string): string {
  return URI.file(path).toString();
}

/** Absolute path of a `file:` URI; undefined for any other scheme. */
export function pathOf(uri: string): string | undefined {
  try {
    const parsed = URI.parse(uri, true);
    return parsed.scheme === "file" ? parsed.fsPath : undefined;
  } catch {
    return undefined;
  }
}

/** Text of a file's bytes: UTF-8 with or without a byte-order mark, or UTF-16 with one. */
export function decode(bytes: Uint8Array): string {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}

/** Files on disk. */
export function nodeFiles(): FileAccess {
  return {
    readText: async (uri) => {
      const path = pathOf(uri);
      if (path === undefined) return undefined;
      try {
        const bytes = await readFile(path);
        return bytes.length > LARGEST_FILE ? undefined : decode(bytes);
      } catch {
        return undefined;
      }
    },
    stat: async (uri) => {
      const path = pathOf(uri);
      if (path === undefined) return undefined;
      try {
        const found = await stat(path);
        if (!found.isFile() && !found.isDirectory()) return undefined;
        return { type: found.isDirectory() ? "directory" : "file", size: found.size, mtime: found.mtimeMs };
      } catch {
        return undefined;
      }
    },
    list: async (uri) => {
      const path = pathOf(uri);
      if (path === undefined) return [];
      try {
        const names = await readdir(path, { withFileTypes: true });
        const entries = await Promise.all(
          names.map(async (entry) => {
            if (entry.isFile()) return { name: entry.name, type: "file" as const };
            if (entry.isDirectory()) return { name: entry.name, type: "directory" as const };
            if (!entry.isSymbolicLink()) return undefined;
            // Hub caches are made of links to blobs, so a link counts as what it points to.
            const target = await stat(join(path, entry.name)).catch(() => undefined);
            if (target?.isFile()) return { name: entry.name, type: "file" as const };
            return target?.isDirectory() ? { name: entry.name, type: "directory" as const } : undefined;
          }),
        );
        return entries.filter((entry) => entry !== undefined);
      } catch {
        return [];
      }
    },
  };
}

/** Where huggingface_hub keeps snapshots, by the rules of its `constants.py`; most specific variable first. */
export function hubCacheDirectories(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const home = env["HF_HOME"] ?? join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "huggingface");
  return [env["HF_HUB_CACHE"] ?? env["HUGGINGFACE_HUB_CACHE"] ?? join(home, "hub")];
}

/** The package's `models/` folder, looked for from a file of the package upwards (bundle or sources). */
function findModelsDirectory(from: string): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    if (existsSync(join(directory, "models")) && existsSync(join(directory, "package.json"))) {
      return join(directory, "models");
    }
    if (dirname(directory) === directory) return undefined;
  }
}

/** The runtime of a Node process. */
export function createNodeRuntime(options: {
  /** Absolute paths of the workspace folders. */
  readonly workspaceFolders: readonly string[];
  /** Absolute path of a directory inside the package. */
  readonly packageDirectory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}): Runtime {
  const models = findModelsDirectory(options.packageDirectory);
  return {
    files: nodeFiles(),
    readModelData: async (path) => {
      if (models === undefined) return undefined;
      return readFile(join(models, path), "utf8").catch(() => undefined);
    },
    hubCaches: hubCacheDirectories(options.env).map(uriOf),
    workspaceFolders: options.workspaceFolders.map(uriOf),
  };
}
