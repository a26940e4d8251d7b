/**
 * The cards of this machine, as the vendor's own tool reports them. The tool is started only when a person asks, and
 * never from a workspace: only absolute search-path entries outside of every workspace folder are looked at.
 */
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, relative } from "node:path";
import { jsonOf } from "../terms/json";
import type { LocalCard } from "../terms/local-card";

const MIB = 2 ** 20;
const TIMEOUT_MS = 8000;

interface Tool {
  readonly program: string;
  readonly argv: readonly string[];
  /** Directories where installers put it, beside the search path. */
  readonly usual: readonly string[];
  readonly read: (output: string) => readonly LocalCard[];
}

const TOOLS: readonly Tool[] = [
  {
    program: "nvidia-smi",
    argv: ["--query-gpu=name,memory.total,memory.used", "--format=csv,noheader,nounits"],
    usual: ["/usr/bin", "/usr/lib/wsl/lib", "C:\\Windows\\System32"],
    read: readNvidia,
  },
  {
    program: "rocm-smi",
    argv: ["--showproductname", "--showmeminfo", "vram", "--json"],
    usual: ["/opt/rocm/bin", "/usr/bin"],
    read: readRocm,
  },
];

/** Rows of `nvidia-smi --query-gpu=name,memory.total,memory.used --format=csv,noheader,nounits`; sizes are MiB. */
export function readNvidia(output: string): readonly LocalCard[] {
  return output.split(/\r?\n/).flatMap((line) => {
    const fields = line.split(",").map((field) => field.trim());
    const [total = "", used = ""] = fields.slice(-2);
    const name = fields.slice(0, -2).join(", ");
    if (name === "" || !/^\d+$/.test(total) || !/^\d+$/.test(used)) return [];
    return [{ name, totalBytes: Number(total) * MIB, usedBytes: Number(used) * MIB }];
  });
}

/** The JSON of `rocm-smi --showproductname --showmeminfo vram --json`; sizes are bytes. */
export function readRocm(output: string): readonly LocalCard[] {
  const data = jsonOf(output.slice(Math.max(0, output.indexOf("{"))));
  if (typeof data !== "object" || data === null) return [];
  return Object.entries(data).flatMap(([id, card]: [string, unknown]) => {
    if (!id.startsWith("card") || typeof card !== "object" || card === null) return [];
    const fields = card as Readonly<Record<string, unknown>>;
    const total = Number(fields["VRAM Total Memory (B)"]);
    const used = Number(fields["VRAM Total Used Memory (B)"]);
    if (!(total > 0) || !(used >= 0)) return [];
    const names = [fields["Card Series"], fields["Card Model"], id];
    const name = names.find((one) => typeof one === "string" && one !== "" && one !== "N/A");
    return [{ name: String(name), totalBytes: total, usedBytes: used }];
  });
}

/** Directories a tool may be started from, in order. */
export function toolDirectories(
  searchPath: string,
  usual: readonly string[],
  workspaceFolders: readonly string[],
): readonly string[] {
  const inside = (directory: string) =>
    workspaceFolders.some((folder) => {
      const way = relative(folder, directory);
      return way === "" || (!way.startsWith("..") && !isAbsolute(way));
    });
  const all = [...searchPath.split(delimiter), ...usual].filter((one) => isAbsolute(one) && !inside(one));
  return [...new Set(all)];
}

async function find(program: string, directories: readonly string[]): Promise<string | undefined> {
  const file = process.platform === "win32" ? `${program}.exe` : program;
  for (const directory of directories) {
    const path = join(directory, file);
    const runs = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return path;
  }
  return undefined;
}

function output(path: string, argv: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const options = { cwd: dirname(path), timeout: TIMEOUT_MS, windowsHide: true, maxBuffer: 2 ** 20 };
    execFile(path, [...argv], options, (error, stdout) => resolve(error === null ? stdout : ""));
  });
}

/**
 * Asks the first vendor's tool that answers.
 *
 * @param workspaceFolders absolute paths that no program is started from
 * @returns empty when no tool is installed or none reports a card
 */
export async function localCards(
  workspaceFolders: readonly string[],
  searchPath = process.env["PATH"] ?? "",
): Promise<readonly LocalCard[]> {
  for (const { program, argv, usual, read } of TOOLS) {
    const path = await find(program, toolDirectories(searchPath, usual, workspaceFolders));
    const cards = path === undefined ? [] : read(await output(path, argv));
    if (cards.length > 0) return cards;
  }
  return [];
}
