/** A runtime over files that exist only in memory, with the model data of the package. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FileAccess, Runtime } from "../src/analysis/runtime";

const MODELS = join(__dirname, "..", "models");

type Kind = "file" | "directory";

/** Files by URI; writing one changes its time, as on a disk. */
export class MemoryFiles implements FileAccess {
  private readonly texts = new Map<string, { readonly text: string; readonly mtime: number }>();
  /** What is in each folder, by name. */
  private readonly folders = new Map<string, Map<string, Kind>>();
  private clock = 0;

  write(uri: string, text: string): void {
    if (!this.texts.has(uri)) this.enter(uri, "file");
    this.texts.set(uri, { text, mtime: ++this.clock });
  }

  /** Puts a file or folder into the folders above it. */
  private enter(uri: string, kind: Kind): void {
    const at = uri.lastIndexOf("/");
    if (at < 0) return;
    const folder = uri.slice(0, at);
    const known = this.folders.get(folder);
    const names = known ?? new Map<string, Kind>();
    names.set(uri.slice(at + 1), kind);
    if (known !== undefined) return;
    this.folders.set(folder, names);
    this.enter(folder, "directory");
  }

  readText(uri: string): Promise<string | undefined> {
    return Promise.resolve(this.texts.get(uri)?.text);
  }

  stat(uri: string): ReturnType<FileAccess["stat"]> {
    const file = this.texts.get(uri);
    if (file !== undefined) return Promise.resolve({ type: "file", size: file.text.length, mtime: file.mtime });
    const found = this.folders.has(uri.replace(/\/$/, ""));
    return Promise.resolve(found ? { type: "directory", size: 0, mtime: 0 } : undefined);
  }

  list(uri: string): ReturnType<FileAccess["list"]> {
    const names = this.folders.get(uri.replace(/\/$/, "")) ?? [];
    return Promise.resolve([...names].map(([name, type]) => ({ name, type })));
  }
}

/** A runtime over `files`. */
export function memoryRuntime(files: FileAccess): Runtime {
  return {
    files,
    readModelData: (path) => readFile(join(MODELS, path), "utf8").catch(() => undefined),
    hubCaches: [],
    workspaceFolders: ["file:///cases"],
  };
}
