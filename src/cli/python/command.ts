/** The commands that a person's own Python carries out. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { type CommandRun, commandDocument } from "../../analysis/linking/command-run";
import type { Block, Parting, Stream } from "../../core/matching/parting";
import type { ReportRun } from "../../core/report/schema";
import { uriOf } from "../../host/node";
import { activePython, type PythonEnd, runPython } from "../../host/python";
import { allPrintable, inJson } from "../../words/printable";
import type { Parts, Terminal } from "../io";
import type { Say } from "../words";
import { type Measured, readEvents } from "./events";
import { PYTHON_OPTIONS, type PythonRequest } from "./request";
import { traceCommand } from "./trace";

/** Characters that a command may print; what comes after is of no use to anybody. */
const OUTPUT_LIMIT = 64 * 1024 * 1024;
/** Bytes of events that are read. */
const EVENTS_LIMIT = 512 * 1024 * 1024;
/** Seconds that stand for "no end": a month. */
const NO_END = 2_000_000;

/** Why Python did not come to an end of its own. */
function stopped(result: Exclude<PythonEnd, { kind: "ended" }>, python: string, say: Say): string {
  if (result.kind === "signal") return say("python-signal", { python, signal: result.signal });
  if (result.kind !== "none") return say(`python-${result.kind}`);
  const { why } = result;
  return typeof why === "string" ? say(`python-${why}`, { python }) : say("python-none", { python, why: why.said });
}

/** The exit status of a command, and undefined where it was not Python's own end, which is said. */
function outcome(result: PythonEnd, python: string, { io, say }: Terminal): number | undefined {
  if (result.kind === "ended") return result.status === 0 ? 0 : 2;
  io.stderr(`vram-lens: ${stopped(result, python, say)}\n`);
  return undefined;
}

/** A word as a shell is given it. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./\\-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** Runs the package's command; what it prints goes to `onOutput`. */
async function run(
  request: PythonRequest,
  words: readonly string[],
  terminal: Terminal,
  onOutput: (text: string) => void,
): Promise<number | undefined> {
  const { io, say } = terminal;
  const python = request.python ?? activePython(io.env);
  const limit = request.timeLimit === 0 ? [] : ["--time-limit", String(request.timeLimit)];
  io.stderr(`${[python, "-m", "vram_lens", request.command, ...words].map(quoted).join(" ")}\n`);
  if (request.command !== "trace" && request.taken.length > 0)
    io.stderr(`vram-lens: ${say("python-options", { list: request.taken.join(", "), script: request.script })}\n`);
  const result = await runPython({
    python,
    arguments: [request.command, ...limit, ...words],
    packageDirectory: io.packageDirectory,
    cwd: io.cwd,
    env: { ...io.env, VRAM_LENS_LANGUAGE: terminal.locale },
    timeLimit: request.timeLimit || NO_END,
    outputLimit: OUTPUT_LIMIT,
    errors: "inherit",
    onOutput,
  });
  return outcome(result, python, terminal);
}

/** Carries a request out. Returns the exit status. */
export async function pythonCommand(
  request: PythonRequest,
  terminal: Terminal,
  { configs, estimate }: Beside,
): Promise<number> {
  const { io, say } = terminal;
  if (request.help) {
    const options = PYTHON_OPTIONS.map(([option, help]) => `  ${option.padEnd(24)}${say(help)}`);
    io.stdout(`${[say("python-takes"), ...options, say("python-hands-on")].join("\n")}\n`);
    return (await run(request, request.rest, terminal, io.stdout)) ?? 2;
  }
  if (request.command === "trace")
    return traceCommand(request, terminal, async (words) => (await run(request, words, terminal, io.stdout)) ?? 2);
  if (request.command !== "check")
    return (await run(request, [...(request.json ? ["--json"] : []), ...request.rest], terminal, io.stdout)) ?? 2;
  const folder = mkdtempSync(join(tmpdir(), "vram-lens-"));
  try {
    const [events, catalogue] = [join(folder, "events.json"), join(folder, "catalogue.json")];
    writeFileSync(catalogue, JSON.stringify(await configs()));
    let said = "";
    const words = ["--json", "--events", events, "--catalogue", catalogue, ...request.rest];
    const status = await run(request, words, terminal, (text) => {
      said = (said + text).slice(-65_536);
    });
    if (status === undefined) return 2;
    const measured = status === 0 ? eventsOf(events) : undefined;
    if (measured === undefined) {
      io.stderr(`vram-lens: ${errorOf(said) ?? say("python-no-events")}\n`);
      return 2;
    }
    const { script } = request;
    const { ranks, words: own, accelerate } = request;
    const beside = await estimate(
      {
        uri: uriOf(resolve(io.cwd, script)),
        script: quoted(basename(script)),
        words: own.map(quoted),
        accelerate: accelerate === "" ? "" : quoted(resolve(io.cwd, accelerate)),
        versions: measured.versions,
      },
      ranks,
    );
    const { allocatedPeakBytes, reservedPeakBytes, phases } = beside?.run.perDevice ?? {};
    const estimated = allocatedPeakBytes === undefined ? null : { allocatedPeakBytes, reservedPeakBytes, phases };
    const { stream, ...pytorch } = measured;
    const parting = beside?.parting(stream) ?? null;
    io.stdout(
      request.json
        ? `${inJson(JSON.stringify({ pytorch, estimate: estimated, parting }))}\n`
        : comparison(script, allPrintable(pytorch), beside?.run, allPrintable(parting), say),
    );
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function eventsOf(path: string): Measured | undefined {
  try {
    return statSync(path).size > EVENTS_LIMIT ? undefined : readEvents(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** The sentence of the last line that has one. */
function errorOf(said: string): string | undefined {
  for (const line of said.trim().split("\n").toReversed()) {
    try {
      const { error } = JSON.parse(line) as { readonly error?: unknown };
      if (typeof error === "string") return error;
    } catch {
      // a line of the script's own
    }
  }
  return undefined;
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(3)} GiB`;

/** A difference of the estimate from what PyTorch says. */
function apart(estimated: number | undefined, measured: number, say: Say): string {
  if (estimated === undefined) return say("against-none");
  if (estimated === measured) return say("against-equal", { size: gib(estimated) });
  const share = measured === 0 ? 0 : Math.abs(estimated - measured) / measured;
  const percent = `${estimated > measured ? "+" : "−"}${(share * 100).toFixed(2)} %`;
  const difference = share < 5e-5 ? say("against-bytes", { bytes: Math.abs(estimated - measured) }) : percent;
  return say("against-off", { size: gib(estimated), difference });
}

const SHOWN = 6;

/** What made a block, and where. */
const made = ({ bytes, operator, scope, place }: Block): string =>
  [gib(bytes), operator, scope, place].filter(Boolean).join("  ");

/** What parts first, in lines. */
function parted({ kind, measured, estimated }: Parting, say: Say): readonly string[] {
  const { phase } = measured ?? estimated ?? { phase: "" };
  return [
    `  ${say(`against-${kind}`, { phase })}`,
    `    ${measured === null ? say("against-not-pytorch") : say("against-pytorch", { what: made(measured) })}`,
    `    ${estimated === null ? say("against-not-estimate") : say("against-estimate", { what: made(estimated) })}`,
  ];
}

/** The comparison for a terminal: both peaks, the first event where they part, and what is alive at PyTorch's peak. */
export function comparison(
  script: string,
  measured: Omit<Measured, "stream">,
  run: ReportRun | undefined,
  parting: Parting | null,
  say: Say,
): string {
  const { peak, versions, ended, allocatedPeakBytes, reservedPeakBytes } = measured;
  const device = run?.perDevice;
  const where = [peak.phase, peak.module, peak.file === "" ? "" : `${peak.file}:${peak.line}`]
    .filter(Boolean)
    .join(", ");
  const allocated = apart(device?.allocatedPeakBytes, allocatedPeakBytes, say);
  const reserved = apart(device?.reservedPeakBytes, reservedPeakBytes, say);
  const lines = [
    say("against-title", { script, version: versions["torch"] ?? "", ended }),
    `  ${say("against-allocated", { size: gib(allocatedPeakBytes), where, apart: allocated })}`,
    `  ${say("against-reserved", { size: gib(reservedPeakBytes), apart: reserved })}`,
    ...(parting === null ? [] : parted(parting, say)),
    `  ${say("against-alive")}`,
  ];
  for (const { module, place, bytes } of measured.alive.slice(0, SHOWN))
    lines.push(`    ${gib(bytes)}  ${[module, place].filter(Boolean).join("  ")}`);
  for (const note of measured.notes) lines.push(`  ${note}`);
  return `${lines.join("\n")}\n`;
}

/** What stands beside a script's own run. */
export interface Beside {
  /** Configs of published models by name, for those that are not on this machine. */
  readonly configs: () => Promise<Readonly<Record<string, unknown>>>;
  /** The estimate of a script's first run, on so many GPUs; one: as many as its files say. */
  readonly estimate: (run: CommandRun, ranks: number) => Promise<Estimated | undefined>;
}

export interface Estimated {
  readonly run: ReportRun;
  /** Where its events part from those of the script. */
  readonly parting: (measured: Stream) => Parting | null;
}

/** What this program knows of scripts, by the parts of the command line. */
export function besideScripts(
  parts: Parts,
  runtime: Parameters<Parts["createAnalyzer"]>[0],
  device: string | undefined,
): Beside {
  return {
    configs: () => parts.readConfigs(runtime),
    estimate: async (command, ranks) => {
      const set = ranks > 1 ? { world_size: String(ranks) } : {};
      const { uri, runtime: said } = await commandDocument(command, runtime);
      const analysis = await parts.createAnalyzer(said).analyse(uri, { device, set });
      const [run] = analysis.runs;
      return run && { run, parting: (measured) => analysis.parting?.(run.id, measured) ?? null };
    },
  };
}
