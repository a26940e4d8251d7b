/** A runtime over files that exist only in memory, with the model data of the package. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FileAccess, Runtime } from "../src/analysis/runtime";

const MODELS = join(__dirname, "..", "models");

/** Files by URI; writing one changes its time, as on a disk. */
export class MemoryFiles implements FileAccess {
  private readonly texts = new Map<string, { readonly text: string; readonly mtime: number }>();
  private clock = 0;

  write(uri: string, text: string): void {
    this.texts.set(uri, { text, mtime: ++this.clock });
  }

  readText(uri: string): Promise<string | undefined> {
    return Promise.resolve(this.texts.get(uri)?.text);
  }

  stat(uri: string): ReturnType<FileAccess["stat"]> {
    const file = this.texts.get(uri);
    if (file !== undefined) return Promise.resolve({ type: "file", size: file.text.length, mtime: file.mtime });
    const folder = `${uri.replace(/\/$/, "")}/`;
    const found = [...this.texts.keys()].some((one) => one.startsWith(folder));
    return Promise.resolve(found ? { type: "directory", size: 0, mtime: 0 } : undefined);
  }

  list(uri: string): ReturnType<FileAccess["list"]> {
    const folder = `${uri.replace(/\/$/, "")}/`;
    const names = new Map<string, "file" | "directory">();
    for (const one of this.texts.keys()) {
      if (!one.startsWith(folder)) continue;
      const [name = "", ...below] = one.slice(folder.length).split("/");
      names.set(name, below.length > 0 ? "directory" : "file");
    }
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
