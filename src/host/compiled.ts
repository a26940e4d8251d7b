/**
 * Starting a bundled program with the code that an earlier start compiled: a third of what a check of one file takes is reading
 * two megabytes of it. Node does the same from version 22 on (`module.enableCompileCache`), for any program and in a folder of
 * all users; this one is the person's own, and holds one file a program. Where it cannot be written, nothing is kept.
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where programs keep what they can make again, by platform; undefined where the person wants no compiled code kept. */
export function compiledFolder(env: Environment, platform: NodeJS.Platform): string | undefined {
  const { NODE_DISABLE_COMPILE_CACHE: off, XDG_CACHE_HOME: named, LOCALAPPDATA: local } = env;
  if (off !== undefined && off !== "") return undefined;
  const home = homedir();
  const own =
    platform === "win32"
      ? (local ?? join(home, "AppData", "Local"))
      : platform === "darwin"
        ? join(home, "Library", "Caches")
        : (named ?? join(home, ".cache"));
  return join(own, "vram-lens");
}

/** What compiled code is of: another program, another Node, another machine's kind have another. */
function keyOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return [basename(file), size, mtimeMs, process.version, process.versions.v8, process.arch].join(" ");
}

/** Compiled code under its key and its length, which a file cut short has not. */
function kept(path: string, key: string): Buffer | undefined {
  try {
    const content = readFileSync(path);
    const end = content.indexOf(10);
    const data = content.subarray(end + 1);
    return content.toString("latin1", 0, end) === `${key} ${data.length}` ? data : undefined;
  } catch {
    return undefined;
  }
}

function keep(path: string, key: string, data: Buffer): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const whole = Buffer.concat([Buffer.from(`${key} ${data.length}\n`, "latin1"), data]);
    const part = `${path}.${process.pid}`;
    writeFileSync(part, whole, { mode: 0o600 });
    // Whoever reads meanwhile has the old file or the new one.
    renameSync(part, path);
  } catch {
    // The next start compiles again.
  }
}

/**
 * The source of a program that is shipped packed: unpacked once, and kept beside what is compiled of it.
 *
 * @param file absolute path of the packed bundle
 * @param folder where it is kept; undefined: nowhere
 */
export async function unpackedSource(
  file: string,
  folder: string | undefined,
  unpack: (packed: Uint8Array) => Promise<Uint8Array>,
): Promise<string> {
  const path = folder && join(folder, `${basename(file)}.unpacked`);
  const key = keyOf(file);
  const known = path === undefined ? undefined : kept(path, key);
  const source = known ?? Buffer.from(await unpack(readFileSync(file)));
  if (path !== undefined && known === undefined) keep(path, key, source);
  return source.toString("latin1");
}

/** What a program is started with, where it is not what its file gives. */
interface Given {
  /** Its text, in ASCII. */
  readonly source?: string;
  readonly require?: (name: string) => unknown;
}

/**
 * Runs a CommonJS program in this context.
 *
 * @param file absolute path of a bundle in ASCII
 * @param folder where compiled code is kept; undefined: nowhere
 * @param later calls back once the program has run for a while: what it has compiled by then is kept
 * @returns what the program exports
 */
export function startCompiled(
  file: string,
  folder: string | undefined,
  later: (write: () => void) => void,
  { source = readFileSync(file, "latin1"), require = createRequire(file) }: Given = {},
): unknown {
  const path = folder && join(folder, `${basename(file)}.compiled`);
  const key = keyOf(file);
  const cachedData = path === undefined ? undefined : kept(path, key);
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
  const script = new Script(wrapped, { filename: file, ...(cachedData && { cachedData }) });
  if (path !== undefined && (cachedData === undefined || script.cachedDataRejected === true))
    later(() => keep(path, key, script.createCachedData()));
  const module: { exports: unknown } = { exports: {} };
  const run = script.runInThisContext() as (...given: readonly unknown[]) => void;
  run.call(module.exports, module.exports, require, module, file, dirname(file));
  return module.exports;
}
