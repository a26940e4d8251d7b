/** The `vram-lens` program: the command line over this process. */
import { createAnalyzer } from "../analysis";
import { readCatalogue } from "../analysis/models/catalogue";
import { DEVICES } from "../core/hardware/devices";
import { alwaysExit, isStuck } from "../host/deadline";
import { decode } from "../terms/text";
import { main } from "./cli";
import type { Parts } from "./io";

const parts: Parts = {
  createAnalyzer,
  devices: DEVICES,
  readModels: async (runtime) => {
    const catalogue = await readCatalogue(runtime);
    return catalogue.names.flatMap((name) => {
      const entry = catalogue.find(name);
      if (entry === undefined) return [];
      const family = entry.config["model_type"];
      return [{ name, family: typeof family === "string" ? family : "", parameters: entry.parameters }];
    });
  },
  readConfigs: async (runtime) => {
    const { spellings } = await readCatalogue(runtime);
    return Object.fromEntries([...spellings].map(([name, { config }]) => [name, config]));
  },
};

/** Colours on a terminal, unless NO_COLOR (no-color.org) says otherwise; FORCE_COLOR wins over both. */
function wantsColor(): boolean {
  const { NO_COLOR: none, FORCE_COLOR: forced } = process.env;
  if (forced !== undefined && forced !== "") return forced !== "0";
  return process.stdout.isTTY === true && (none === undefined || none === "");
}

/** Columns where nothing says how many there are: a file, a pipe. */
const COLUMNS = 80;
/** The fewest that a line of figures has room in. */
const FEWEST = 40;

/** Columns of the terminal; COLUMNS wins, as everywhere. */
function columns(): number {
  const stated = Number(process.env["COLUMNS"] ?? "");
  const known = Number.isInteger(stated) && stated > 0 ? stated : process.stdout.columns;
  return Math.max(FEWEST, known ?? COLUMNS);
}

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

alwaysExit();

/** Larger inputs are read to this point; bytes. */
const LARGEST_INPUT = 64 * 2 ** 20;

/** The standard input as text. */
async function readInput(): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of process.stdin) {
    const bytes = Buffer.from(part);
    parts.push(bytes);
    length += bytes.length;
    if (length >= LARGEST_INPUT) break;
  }
  return decode(Buffer.concat(parts));
}

/** From this many documents on a person at a terminal is told how far the check is. */
const MANY = 8;

/** One line on the terminal, rewritten before each document and gone after the last; nothing where output is a file. */
function progress(done: number, of: number): void {
  if (of < MANY || process.stderr.isTTY !== true) return;
  process.stderr.write(`\r\u001b[Kvram-lens: ${done + 1}/${of}`);
  if (done + 1 === of) process.stderr.write("\r\u001b[K");
}

main(
  process.argv.slice(2),
  {
    cwd: process.cwd(),
    env: process.env,
    color: wantsColor(),
    columns: columns(),
    packageDirectory: __dirname,
    version: process.env["VRAM_LENS_VERSION"] ?? "development",
    stdin: readInput,
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
    progress,
  },
  parts,
).then(
  (status) => {
    process.exitCode = status;
    // What was written must be out first.
    if (isStuck()) process.stdout.write("", () => process.exit());
  },
  (error: unknown) => {
    process.stderr.write(`vram-lens: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 2;
  },
);
