/** A command line over a fake analysis, for what the CLI itself decides: arguments, merging, output, exit status. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Analyzer, DocumentAnalysis } from "../../src/analysis/analyzer";
import type { AnalysisOptions } from "../../src/analysis/options";
import { main } from "../../src/cli/cli";
import type { Parts } from "../../src/cli/io";
import type { Report, ReportRun } from "../../src/core/report/schema";
import { pathOf, uriOf } from "../../src/host/node";

export const GIB = 2 ** 30;

/** A run with everything a report can show; `changes` replaces parts of it. */
export function fakeRun(uri: string, changes: Partial<ReportRun> = {}): ReportRun {
  const range = { start: { line: 1, character: 29 }, end: { line: 1, character: 30 } };
  const setting = (name: string, value: string | number) => ({
    name,
    value,
    key: name,
    uri,
    from: "document" as const,
  });
  return {
    id: basename(uri),
    documents: [uri],
    formats: ["hf-training-arguments"],
    model: {
      name: "Llama-3.2-1B",
      family: "llama",
      parameters: 1235814400,
      trainableParameters: 1235814400,
      source: "config.json",
    },
    devices: { name: "RTX 4090", memoryBytes: 24 * GIB, usableBytes: 23 * GIB, count: 1, source: "pin" },
    settings: [setting("micro_batch_size", 8), setting("sequence_length", 2048), setting("compute_dtype", "bf16")],
    perDevice: {
      allocatedPeakBytes: 40 * GIB,
      reservedPeakBytes: 41 * GIB,
      usedPeakBytes: 41.5 * GIB,
      band: { lowBytes: 41 * GIB, highBytes: 43 * GIB, coverage: 0.99 },
      peakPhase: "backward",
      rank: 0,
      components: [
        { kind: "weights", bytes: 10 * GIB, origins: [] },
        { kind: "logits-and-loss", bytes: 30 * GIB, origins: [] },
      ],
      phases: [{ phase: "backward", peakBytes: 40 * GIB }],
    },
    host: { pinnedBytes: 0, pageableBytes: 0, nvmeBytes: 0 },
    time: null,
    verdict: "does-not-fit",
    statement: {
      verdict: "Does not fit",
      detail: "41.5 GiB (41.0–43.0) of 23.0 usable on RTX 4090, peak in backward",
      need: "41.5 GiB (41.0–43.0) of 23.0 usable",
      peak: "peak in backward",
      room: "18.5 GiB over",
      short: "41.5 / 23.0 GiB",
    },
    assumptions: [
      { id: "assume.model", what: "sequence length 2048", settleWith: "sequence_length", effectBytes: GIB },
    ],
    findings: [
      {
        code: "does-not-fit",
        severity: "error",
        message: "Does not fit RTX 4090.",
        uri,
        range,
        help: "https://example.org/does-not-fit",
      },
    ],
    plans: [
      {
        title: "Micro-batch 2 × accumulation 4",
        levers: ["batch"],
        usedPeakBytes: 21 * GIB,
        savesBytes: 20.5 * GIB,
        stepTimeFactor: 1.06,
        says: "−20.5 GiB · +6 % time · same results",
        fits: true,
        edits: [{ uri, range, newText: "2" }],
      },
    ],
    ...changes,
  };
}

const made: string[] = [];

// A hook of mocha's would be known to the first file of a process only, and each process runs several.
process.once("exit", () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

/** A new folder, gone when the process is. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "vram-lens-test-"));
  made.push(folder);
  return folder;
}

/** Writes files below a new folder. */
export function workspace(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export interface Outcome {
  readonly status: number;
  readonly out: string;
  readonly err: string;
  /** Options of every analysis that was asked for, by the document's name. */
  readonly asked: ReadonlyMap<string, AnalysisOptions>;
}

/**
 * Runs the command line in `cwd`.
 *
 * @param runs what the analysis says of a document, by its path below `cwd`; others are not configs
 */
export async function cli(
  cwd: string,
  argv: readonly string[],
  runs: Readonly<Record<string, readonly ReportRun[]>> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const known = new Map(Object.entries(runs).map(([name, value]) => [uriOf(join(cwd, name)), value]));
  const asked = new Map<string, AnalysisOptions>();
  const analyzer: Analyzer = {
    recognise: () => null,
    analyse: async (uri, options) => {
      asked.set(basename(uri), options);
      const found = known.get(uri) ?? [];
      const report: Report = { schema: "vram-lens/report/1", version: "0", runs: [...found], errors: [] };
      return {
        uri,
        recognition: null,
        report,
        dependencies: [],
        runs: found,
        hover: async () => null,
        fixes: () => [],
        links: () => [],
        whatIf: async () => null,
        whatIfEdits: () => null,
      } satisfies DocumentAnalysis;
    },
    discover: async (uri) => ({
      configs: [...known.keys()].filter((one) => pathOf(one)?.startsWith(pathOf(uri) ?? " ")),
      skipped: [],
    }),
    invalidate: () => {},
  };
  const parts: Parts = {
    createAnalyzer: () => analyzer,
    devices: [{ name: "NVIDIA GeForce RTX 4090", aliases: ["RTX 4090"], group: "consumer", memoryBytes: 24 * GIB }],
    readModels: async () => [{ name: "gpt2", family: "gpt2", parameters: 124439808 }],
    readConfigs: async () => ({}),
  };
  let out = "";
  let err = "";
  const io = {
    cwd,
    env,
    color: false,
    packageDirectory: cwd,
    version: "1.2.3",
    stdout: (text: string) => {
      out += text;
    },
    stderr: (text: string) => {
      err += text;
    },
  };
  return { status: await main(argv, io, parts), out, err, asked };
}
