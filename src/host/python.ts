/**
 * A person's own Python, started with the package that ships with this program (`python/vram_lens`): nothing is installed, and
 * nothing that was started is left running.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** How long the process has after it was told to end by itself, in milliseconds. */
const GRACE = 5000;

export interface PythonRun {
  /** The interpreter: a path, or a name that PATH leads to. */
  readonly python: string;
  /** Arguments behind `-m vram_lens`. */
  readonly arguments: readonly string[];
  readonly packageDirectory: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Seconds after which it is ended; the process ends itself a little before where it can. */
  readonly timeLimit: number;
  /** Bytes of standard output that are read; a process that writes more is ended. */
  readonly outputLimit: number;
  /** Where standard error goes: to this process's own, or nowhere. */
  readonly errors: "inherit" | "ignore";
  readonly signal?: AbortSignal;
  readonly onOutput: (text: string) => void;
}

export type PythonEnd =
  | { readonly kind: "ended"; readonly status: number }
  | { readonly kind: "none"; readonly why: string }
  | { readonly kind: "time" | "output" | "cancelled" };

/** The folder that holds the package, looked for from a file of this program upwards; undefined where it is not there. */
export function pythonFolder(from: string): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    const folder = join(directory, "python");
    if (existsSync(join(folder, "vram_lens", "__main__.py"))) return folder;
    if (dirname(directory) === directory) return undefined;
  }
}

/** The interpreter of the environment that is active, else the one that PATH leads to. */
export function activePython(env: PythonRun["env"], platform: string = process.platform): string {
  const active = env["VIRTUAL_ENV"] || env["CONDA_PREFIX"];
  const windows = platform === "win32";
  if (active === undefined || active === "") return windows ? "python" : "python3";
  return windows ? join(active, env["VIRTUAL_ENV"] ? "Scripts" : "", "python.exe") : join(active, "bin", "python");
}

/** Ends a process and all that it started. */
function end(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (process.platform === "win32") {
    spawnSync("taskkill", ["/pid", String(child.pid), "/t", "/f"], { stdio: "ignore" });
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

/** Runs `python -m vram_lens …` to its end; never throws. */
export function runPython(run: PythonRun): Promise<PythonEnd> {
  const folder = pythonFolder(run.packageDirectory);
  if (folder === undefined) return Promise.resolve({ kind: "none", why: "python/vram_lens" });
  return new Promise((resolve) => {
    const env = { ...run.env, PYTHONPATH: [folder, run.env["PYTHONPATH"]].filter(Boolean).join(delimiter) };
    const child = spawn(run.python, ["-m", "vram_lens", ...run.arguments], {
      cwd: run.cwd,
      env: { ...env, PYTHONDONTWRITEBYTECODE: "1", PYTHONIOENCODING: "utf-8" },
      stdio: ["ignore", "pipe", run.errors],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    let reason: PythonEnd | undefined;
    let length = 0;
    const stop = (kind: "time" | "output" | "cancelled"): void => {
      reason ??= { kind };
      end(child);
    };
    const timer = setTimeout(() => stop("time"), run.timeLimit * 1000 + GRACE);
    const cancel = (): void => stop("cancelled");
    // A group of its own does not hear the terminal.
    process.once("SIGINT", cancel);
    process.once("SIGTERM", cancel);
    run.signal?.addEventListener("abort", cancel, { once: true });
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      length += text.length;
      if (length > run.outputLimit) stop("output");
      else run.onOutput(text);
    });
    const done = (result: PythonEnd): void => {
      clearTimeout(timer);
      process.off("SIGINT", cancel);
      process.off("SIGTERM", cancel);
      run.signal?.removeEventListener("abort", cancel);
      resolve(reason ?? result);
    };
    child.once("error", (error) => done({ kind: "none", why: error.message }));
    child.once("close", (status) => {
      // What the script itself started and left behind ends with it.
      if (process.platform !== "win32") end(child);
      done({ kind: "ended", status: status ?? 1 });
    });
  });
}
