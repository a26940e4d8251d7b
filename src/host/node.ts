/**
 * The injected runtime on Node: files on disk by `file:` URI, model data from the package,
 * local hub caches. Reads only; nothing throws on what is absent or unreadable.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { withinReach } from "../analysis/documents/reach";
import type { Runtime } from "../analysis/runtime";
import { nodeFiles } from "./files";
import { uriOf } from "./paths";

export { pathOf, uriOf } from "./paths";

/** Where huggingface_hub keeps snapshots, by the rules of its `constants.py`; most specific variable first. */
export function hubCacheDirectories(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const home = env["HF_HOME"] ?? join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "huggingface");
  return [env["HF_HUB_CACHE"] ?? env["HUGGINGFACE_HUB_CACHE"] ?? join(home, "hub")];
}

/** The package's folder, looked for from a file of the package upwards (bundle or sources). */
function findPackage(from: string): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    if (existsSync(join(directory, "package.json"))) return directory;
    if (dirname(directory) === directory) return undefined;
  }
}

/** The packaged data: a folder of files or, as the extension ships it, an archive (`analysis/model-archive.ts`). */
function modelData(root: string | undefined): Pick<Runtime, "readModelData" | "readModelArchive"> {
  if (root === undefined) return { readModelData: async () => undefined };
  const folder = join(root, "models");
  const readModelData = (path: string) => readFile(join(folder, path), "utf8").catch(() => undefined);
  if (existsSync(folder)) return { readModelData };
  return { readModelData, readModelArchive: () => readFile(join(root, "dist", "models.xz")).catch(() => undefined) };
}

/** The runtime of a Node process. */
export function createNodeRuntime(options: {
  /** Absolute paths of the workspace folders. */
  readonly workspaceFolders: readonly string[];
  /** Absolute path of a directory inside the package. */
  readonly packageDirectory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute paths that a person named: files may be asked for on their machines. */
  readonly named?: readonly string[];
}): Runtime {
  const hubCaches = hubCacheDirectories(options.env).map(uriOf);
  const workspaceFolders = options.workspaceFolders.map(uriOf);
  const named = (options.named ?? []).map(uriOf);
  // Whoever runs a program on files trusts them as far as a path goes.
  const reach = { folders: [...workspaceFolders, ...hubCaches], named, trusted: true };
  return {
    files: withinReach(nodeFiles(), () => reach),
    ...modelData(findPackage(options.packageDirectory)),
    hubCaches,
    workspaceFolders,
  };
}
