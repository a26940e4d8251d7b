/**
 * Everything the analysis needs from outside, injected: the same code runs in Node, in a Web Worker, under the
 * command line and in tests. Paths are URIs everywhere.
 */

export interface FileStat {
  readonly type: "file" | "directory";
  readonly size: number;
  /** Milliseconds; only compared for equality, to notice changes. */
  readonly mtime: number;
}

/** What stands in a directory; a link is what it leads to. */
export interface Entry {
  readonly name: string;
  readonly type: "file" | "directory";
  /** A directory that a link leads to. */
  readonly linked?: true;
}

/** Read-only view of files. Nothing throws: a file that is absent or unreadable is `undefined`. */
export interface FileAccess {
  readText(uri: string): Promise<string | undefined>;
  stat(uri: string): Promise<FileStat | undefined>;
  /** Names in a directory; empty when it is none. */
  list(uri: string): Promise<readonly Entry[]>;
  /** The URI after all links; undefined when nothing is there. Absent where there are no links. */
  resolve?(uri: string): Promise<string | undefined>;
}

export interface Runtime {
  readonly files: FileAccess;
  /** Packaged data under `models/` (for example `graphs/llama.json`, `catalogue.json`). */
  readonly readModelData: (path: string) => Promise<string | undefined>;
  /** All of it in one (`model-archive.ts`), where it is shipped so; it then goes before files. */
  readonly readModelArchive?: () => Promise<Uint8Array | undefined>;
  /** Directories of local hub caches (`~/.cache/huggingface/hub`), as URIs; empty in the browser. */
  readonly hubCaches: readonly string[];
  /** Workspace folders as URIs; the command line passes the folder of its PATH and the current directory. */
  readonly workspaceFolders: readonly string[];
  /** `false`: the person does not trust the workspace, and `files` gives nothing outside of it. */
  readonly trusted?: boolean;
}
