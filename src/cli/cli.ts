/** The command line: arguments in, report out, exit status back. Everything outside comes through `Io`. */
import { resolve } from "node:path";
import { collect } from "../analysis/collect";
import { requestComplaint, unusedComplaint } from "../analysis/linking/asked";
import { localeOf } from "../analysis/messages";
import type { AnalysisOptions } from "../analysis/options";
import { complaintText } from "../analysis/pins/complaints";
import type { Runtime } from "../analysis/runtime";
import type { Report } from "../core/report/schema";
import { createNodeRuntime, uriOf } from "../host/node";
import { allPrintable, inJson, printable } from "../words/printable";
import { parseArguments, type Request } from "./arguments";
import { deviceList, modelList } from "./catalogues";
import { explainCommand } from "./evidence/explain";
import { languageAsked, languageOf } from "./evidence/language";
import { receiptsCommand } from "./evidence/receipts";
import { snapshotCommand } from "./evidence/snapshot";
import { exitStatus } from "./exit";
import type { Io, Parts, Terminal } from "./io";
import { planText } from "./plan-text";
import { besideScripts, pythonCommand } from "./python/command";
import { pythonRequest } from "./python/request";
import { toSarif } from "./sarif";
import { checkText, type TextContext } from "./text";
import { words } from "./words";

/** JSON for a program to read: one line, as it may be large. */
function json(value: unknown): string {
  return `${inJson(JSON.stringify(value))}\n`;
}

/** Reads every document that a plan edits, so that text reports can show the lines. */
async function readEdited(report: Report, runtime: Runtime): Promise<ReadonlyMap<string, string>> {
  const uris = new Set(report.runs.flatMap((run) => run.plans.flatMap((plan) => plan.edits.map((edit) => edit.uri))));
  const texts = new Map<string, string>();
  for (const uri of uris) {
    const text = await runtime.files.readText(uri);
    if (text !== undefined) texts.set(uri, text);
  }
  return texts;
}

/** A line with the marks at its ends as they are, which edits count, and one sign for each that is none to be shown. */
function printableLine(line: string): string {
  return line.replace(/[^\t\r]/gu, (char) => (printable(char) === char ? char : "\ufffd"));
}

async function render(request: Request, report: Report, runtime: Runtime, io: Io): Promise<string> {
  if (request.format === "json") return json(report);
  const locale = localeOf(languageOf(request, io));
  if (request.format === "sarif") return json(toSarif(report, { cwd: io.cwd, rootUri: uriOf(io.cwd), locale }));
  const texts = await readEdited(report, runtime);
  const context: TextContext = {
    cwd: io.cwd,
    color: io.color,
    columns: io.columns,
    locale,
    // Lines are shown, so each is made printable by itself.
    textOf: (uri) => texts.get(uri)?.split("\n").map(printableLine).join("\n"),
  };
  const shown = allPrintable(report);
  return request.command === "plan" ? planText(shown, context) : checkText(shown, context);
}

/** Bad usage: said on standard error, nothing on standard output. */
function misused(complaint: string, { io, say }: Terminal, command = ""): number {
  const help = ["vram-lens", command, "--help"].filter(Boolean).join(" ");
  io.stderr(`vram-lens: ${complaint}\n${say("usage-try", { command: help })}\n`);
  return 2;
}

async function reportOn(request: Request, runtime: Runtime, io: Io, parts: Parts): Promise<number> {
  const locale = localeOf(languageOf(request, io));
  const terminal = { io, say: words(locale), locale };
  const options: AnalysisOptions = {
    device: request.device,
    deviceCount: request.deviceCount,
    set: request.set,
    locale: languageOf(request, io),
    plans: true,
    guide: request.command === "plan",
    allow: request.allow,
  };
  const early = requestComplaint(options);
  if (early !== null) return misused(complaintText(early, locale), terminal, request.command);
  const { onlyConfigs } = request;
  const inputs = request.paths.map((path) => ({
    uri: uriOf(resolve(io.cwd, path)),
    // A folder is said as everything in it is.
    shown: path.length > 1 ? path.replace(/[/\\]$/, "") : path,
    onlyConfigs,
  }));
  const report = await collect(parts.createAnalyzer(runtime), runtime.files, inputs, options, io.version, io.progress);
  const late = unusedComplaint(request.set, report.runs);
  if (late !== null) return misused(complaintText(late, locale), terminal, request.command);
  io.stdout(await render(request, report, runtime, io));
  return request.command === "plan"
    ? report.errors.length > 0
      ? 2
      : 0
    : exitStatus(report, request.failOn, request.strict);
}

/**
 * Runs one command.
 *
 * @param argv arguments after the program's name
 * @returns exit status: 0 fine, 1 findings at or above `--fail-on`, 2 bad usage or unreadable input
 */
export async function main(argv: readonly string[], io: Io, parts: Parts): Promise<number> {
  const locale = localeOf(languageAsked(argv, io));
  const terminal = { io, say: words(locale), locale };
  const own = pythonRequest(argv, terminal.say);
  if (typeof own === "string") return misused(own, terminal, argv[0]);
  if (own !== undefined) {
    const complaint = requestComplaint({ device: own.device });
    if (complaint !== null) return misused(complaintText(complaint, locale), terminal, argv[0]);
    const { packageDirectory, env } = io;
    const runtime = createNodeRuntime({ workspaceFolders: [io.cwd], packageDirectory, env });
    return pythonCommand(own, terminal, besideScripts(parts, runtime, own.device));
  }
  const parsed = parseArguments(argv, locale);
  switch (parsed.kind) {
    case "help":
      io.stdout(parsed.text);
      return 0;
    case "version":
      io.stdout(`${io.version}\n`);
      return 0;
    case "usage":
      return misused(parsed.complaint, terminal, parsed.command);
    case "request": {
      const { request } = parsed;
      const runtime = createNodeRuntime({
        workspaceFolders: [io.cwd],
        packageDirectory: io.packageDirectory,
        env: io.env,
        named: request.paths.map((path) => resolve(io.cwd, path)),
      });
      if (request.command === "check" || request.command === "plan") return reportOn(request, runtime, io, parts);
      if (request.command === "snapshot") return snapshotCommand(request, io);
      if (request.command === "receipts") return receiptsCommand(request, runtime, io);
      if (request.command === "explain") return explainCommand(request, runtime, io, parts);
      const list =
        request.command === "devices" ? deviceList(parts.devices) : modelList(await parts.readModels(runtime));
      io.stdout(request.format === "json" ? json(list.json) : list.text);
      return 0;
    }
  }
}
