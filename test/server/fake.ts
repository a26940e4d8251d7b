/**
 * An analyzer for tests of the server: configs are lines `key: value`, a run needs `batch` GiB and the card has
 * `capacity` GiB (24); `link: other.yaml` adds the batch of another document. `explode` makes every result throw.
 */

import type { Analyzer, CreateAnalyzer, DocumentAnalysis, FixContent } from "../../src/analysis/analyzer";
import type { AnalysisOptions } from "../../src/analysis/options";
import type { Runtime } from "../../src/analysis/runtime";
import type { Range, Report, ReportEdit, ReportFinding, ReportRun } from "../../src/core/report/schema";

const GIB = 2 ** 30;

interface Line {
  readonly key: string;
  readonly value: string;
  readonly range: Range;
  readonly valueRange: Range;
}

function linesOf(text: string): readonly Line[] {
  return text.split("\n").flatMap((line, index) => {
    const match = /^(\s*)(\w+):\s*(.*?)\s*$/.exec(line);
    if (match === null) return [];
    const [, indent = "", key = "", value = ""] = match;
    const place = (from: number, to: number): Range => ({
      start: { line: index, character: from },
      end: { line: index, character: to },
    });
    const start = line.length - value.length;
    return [{ key, value, range: place(indent.length, line.trimEnd().length), valueRange: place(start, line.length) }];
  });
}

export function makeRun(over: Partial<ReportRun> & Pick<ReportRun, "id">): ReportRun {
  return {
    documents: [],
    formats: ["hf-training-arguments"],
    model: null,
    devices: { name: "NVIDIA GeForce RTX 4090", memoryBytes: 24 * GIB, count: 1, source: "setting" },
    settings: [],
    perDevice: null,
    host: { pinnedBytes: 0, pageableBytes: 0, nvmeBytes: 0 },
    time: null,
    verdict: "unknown",
    statement: { verdict: "Does not fit", detail: "", need: "", peak: "", room: "", short: "30.0 / 23.5 GiB" },
    assumptions: [],
    findings: [],
    plans: [],
    ...over,
  };
}

/** What a test can look at and hold back. */
export interface FakeControl {
  readonly analysed: string[];
  readonly options: AnalysisOptions[];
  /** While set, analyses wait for it. */
  gate: Promise<void> | undefined;
}

export function fakeAnalyzer(control: FakeControl): CreateAnalyzer {
  return (runtime: Runtime): Analyzer => ({
    recognise: (uri, text) =>
      /^batch:/m.test(text) ? { uri, formats: ["hf-training-arguments"], confidence: 1, because: "has `batch`" } : null,
    discover: async () => ({ configs: [], skipped: [] }),
    invalidate: () => {},
    analyse: async (uri, options) => {
      control.analysed.push(uri);
      control.options.push(options);
      const text = (await runtime.files.readText(uri)) ?? "";
      await control.gate;
      return analysis(runtime, uri, text, options);
    },
  });
}

/** A document that is no config; one that says `broken` cannot be read. */
function nothing(uri: string, text: string): DocumentAnalysis {
  const errors = text.includes("broken") ? [{ uri, message: "cannot be read" }] : [];
  return {
    uri,
    recognition: null,
    report: { schema: "vram-lens/report/1", version: "0", runs: [], errors },
    dependencies: [uri],
    runs: [],
    hover: async () => null,
    fixes: () => [],
    links: () => [],
    whatIf: async () => null,
    whatIfEdits: () => null,
  };
}

async function analysis(
  runtime: Runtime,
  uri: string,
  text: string,
  options: AnalysisOptions,
): Promise<DocumentAnalysis> {
  if (!/^(batch:|runs:|\{"model_type)/m.test(text)) return nothing(uri, text);
  const lines = linesOf(text);
  const value = (key: string) => lines.find((line) => line.key === key)?.value;
  const link = lines.find((line) => line.key === "link");
  const linked = link && new URL(link.value, uri).toString();
  const other = linked === undefined ? "" : ((await runtime.files.readText(linked)) ?? "");
  const batchLine = lines.find((line) => line.key === "batch");
  const own = Number(options.set?.["batch"] ?? batchLine?.value ?? 0);
  const extra = Number(/^batch: *(\d+)/m.exec(other)?.[1] ?? 0);
  const capacity = Number(value("capacity") ?? 24);
  const needed = own + extra;
  const findings: ReportFinding[] = [];
  const edits: ReportEdit[] = batchLine ? [{ uri, range: batchLine.valueRange, newText: "2" }] : [];
  if (needed > capacity && batchLine !== undefined) {
    findings.push({
      code: "does-not-fit",
      severity: "error",
      message: `needs ${needed} GiB of ${capacity}`,
      uri,
      range: batchLine.range,
      help: "https://example.org/does-not-fit",
      related: link ? [{ uri: linked ?? uri, range: link.range, message: "part of the run" }] : [],
    });
  }
  const ignored = lines.find((line) => line.key === "ignored");
  if (ignored !== undefined) {
    findings.push({
      code: "ignored-key",
      severity: "warning",
      message: "has no effect",
      uri,
      range: ignored.range,
      help: "",
    });
  }
  const shown = findings.filter(({ code }) => options.severity?.[code] !== "off");
  const run = makeRun({
    id: "run",
    documents: linked === undefined ? [uri] : [uri, linked],
    verdict: needed > capacity ? "does-not-fit" : "fits",
    ...(value("no_device") === undefined
      ? {}
      : { devices: { name: null, memoryBytes: null, count: 1, source: "none" as const } }),
    perDevice: {
      allocatedPeakBytes: needed * GIB,
      reservedPeakBytes: needed * GIB,
      usedPeakBytes: needed * GIB,
      band: { lowBytes: needed * GIB, highBytes: needed * GIB, coverage: 0.99 },
      peakPhase: "backward",
      rank: 0,
      components: [
        {
          kind: "activations",
          bytes: needed * GIB,
          origins: batchLine ? [{ uri, key: "batch", range: batchLine.range }] : [],
        },
      ],
      phases: [],
    },
    findings: shown,
    plans: options.plans
      ? [
          {
            title: "Batch 2",
            levers: ["batch"],
            usedPeakBytes: 2 * GIB,
            savesBytes: (needed - 2) * GIB,
            stepTimeFactor: 1,
            says: "−20.5 GiB · +6 % time · same results",
            edits,
          },
        ]
      : [],
  });
  const report: Report = { schema: "vram-lens/report/1", version: "0", runs: [run], errors: [] };
  const fixes: FixContent[] = [];
  if (needed > capacity) {
    fixes.push({ title: "Batch 2", code: "does-not-fit", preferred: true, safe: true, edits });
    if (linked !== undefined) {
      const elsewhere: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
      fixes.push({
        title: "Offload",
        code: "does-not-fit",
        preferred: false,
        safe: true,
        edits: [...edits, { uri: linked, range: elsewhere, newText: "offload: 1\n" }],
      });
    }
  }
  if (ignored !== undefined) {
    const line = ignored.range.start.line;
    const whole: Range = { start: { line, character: 0 }, end: { line: line + 1, character: 0 } };
    fixes.push({
      title: "Remove",
      code: "ignored-key",
      preferred: true,
      safe: true,
      edits: [{ uri, range: whole, newText: "" }],
    });
  }
  const explode = () => {
    if (value("explode") !== undefined) throw new Error("exploded");
  };
  return {
    uri,
    recognition: {
      uri,
      formats: ["hf-training-arguments"],
      confidence: 1,
      because: "has `batch`",
    },
    report,
    dependencies: linked === undefined ? [] : [linked],
    runs: [run],
    hover: async (line) => {
      explode();
      const found = lines.find((candidate) => candidate.range.start.line === line);
      return found === undefined
        ? null
        : {
            markdown: `**${needed} GiB** ${found.key}=${found.value}`,
            lead: `**${needed} GiB** ${found.key}=${found.value}`,
            picture: null,
            table: "",
            next: "",
            breakdown: "",
            below: "",
            range: found.range,
            runId: run.id,
            needsPlan: false,
            saidByFinding: false,
          };
    },
    fixes: () => {
      explode();
      return fixes;
    },
    links: () =>
      link === undefined ? [] : [{ range: link.valueRange, target: linked ?? "", tooltip: "part of the run" }],
    whatIfEdits: (runId, set) => {
      if (runId !== "run") return null;
      const batch = set["batch"];
      if (batch === undefined) return { refused: "it stands in no file" };
      return {
        edits: [{ uri, range: { start: { line: 0, character: 7 }, end: { line: 0, character: 9 } }, newText: batch }],
      };
    },
    guide: async (runId) =>
      runId === run.id
        ? {
            stages: [],
            limits: {
              reserve: options.reserve ?? 0,
              microBatch: null,
              sequence: null,
              smallestDevice: null,
              devices: null,
            },
          }
        : null,
    compare: (runId) => (runId === run.id ? [] : null),
    whatIf: async (runId, set) => {
      explode();
      if (runId !== "run") return null;
      const used = (Number(set["batch"] ?? own) + extra) * GIB;
      return { ...run, perDevice: run.perDevice && { ...run.perDevice, usedPeakBytes: used } };
    },
  };
}
