/**
 * A person's own Python, started with the package that ships with this program (`python/vram_lens`): nothing is installed, and
 * nothing that was started is left running.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** How long the process has after it was told to end by itself, in milliseconds. */
const GRACE = 5000;
/** How long what it printed last is waited for, in milliseconds: who holds its output and is not found would have us wait for ever. */
const LAST_WORDS = 1000;
/** Names the run in the environment of all that it starts. */
const MARK = "VRAM_LENS_RUN";
/** Status by which Windows' shell says that there is no such program, as the stand-in for an interpreter from its store does, too. */
const NOT_FOUND = 9009;

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
  /** It was not started: there is no such program, it may not be run, or what the system says. */
  | { readonly kind: "none"; readonly why: "absent" | "forbidden" | { readonly said: string } }
  | { readonly kind: "signal"; readonly signal: string }
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

/** Ends a process and all that it started; what left its group is known by its environment (Linux). */
function end(child: ChildProcess, mark: string): void {
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
  for (let pids = marked(mark), tries = 0; pids.length > 0 && tries < 20; pids = marked(mark), tries++)
    for (const pid of pids)
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // it has ended meanwhile
      }
}

/** Processes in whose environment a mark stands. */
function marked(mark: string): readonly number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d{1,10}$/.test(name) && hasMark(name, mark))
      .map(Number);
  } catch {
    return [];
  }
}

function hasMark(pid: string, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`).includes(mark);
  } catch {
    return false; // another's, or gone
  }
}

/** Why a program could not be started. */
function whyNot({ code, message }: NodeJS.ErrnoException): Extract<PythonEnd, { kind: "none" }>["why"] {
  if (code === "ENOENT" || code === "ENOTDIR") return "absent";
  return code === "EACCES" || code === "EPERM" || code === "ENOEXEC" ? "forbidden" : { said: message };
}

/** Runs `python -m vram_lens …` to its end; never throws. */
export function runPython(run: PythonRun): Promise<PythonEnd> {
  const folder = pythonFolder(run.packageDirectory);
  if (folder === undefined) return Promise.resolve({ kind: "none", why: { said: "python/vram_lens" } });
  return new Promise((resolve) => {
    const mark = randomUUID();
    const env = {
      ...run.env,
      [MARK]: mark,
      PYTHONPATH: [folder, run.env["PYTHONPATH"]].filter(Boolean).join(delimiter),
    };
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
      end(child, mark);
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
    child.once("error", (error) => done({ kind: "none", why: whyNot(error) }));
    child.once("exit", (status, signal) => {
      // What the script itself started and left behind ends with it.
      if (process.platform !== "win32") end(child, mark);
      const last = setTimeout(() => child.stdout?.destroy(), LAST_WORDS);
      child.once("close", () => {
        clearTimeout(last);
        if (status === NOT_FOUND) done({ kind: "none", why: "absent" });
        else done(signal === null ? { kind: "ended", status: status ?? 1 } : { kind: "signal", signal });
      });
    });
  });
}
