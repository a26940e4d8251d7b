/// <reference lib="dom" />
/** Runs as a person reads them: the text of every surface, in either language. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis, HoverContent } from "../../src/analysis/analyzer";
import type { AnalysisOptions } from "../../src/analysis/options";
import { planText } from "../../src/cli/plan-text";
import { toSarif } from "../../src/cli/sarif";
import { checkText } from "../../src/cli/text";
import { toolAnswer } from "../../src/core/report/tools";
import { reportMarkdown } from "../../src/extension/reportText";
import { rowText, statusText } from "../../src/extension/statusText";
import { diagnosticsOf } from "../../src/server/diagnostics";
import { codeLenses } from "../../src/server/hints";
import { statusOf, statusRun } from "../../src/server/status";
import type { Locale } from "../../src/server/text";
import { reportOf } from "../../src/web/pasted";
import { clientWords } from "../../src/words/client";
import { markdownOf } from "../../webview-ui/model/markdown";
import { pageView } from "../../webview-ui/view/page";
import { CASES } from "../analysis/cases";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { reportMessage } from "./harness";
import { textOf, viewOf } from "./nodes";

export type Files = Readonly<Record<string, string>>;

const SAMPLES = join(__dirname, "..", "..", "samples");

function sample(folder: string): Files {
  const root = join(SAMPLES, folder);
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((name) => join(root, name))
    .filter((path) => statSync(path).isFile());
  return Object.fromEntries(files.map((path) => [relative(root, path), readFileSync(path, "utf8")]));
}

export interface Shown {
  readonly name: string;
  readonly files: Files;
  readonly main: string;
  readonly options: AnalysisOptions;
}

export const OWN: readonly Shown[] = (
  [
    ["llama-1b", "train.yaml", ["", "24GB", "NVIDIA B300", "NVIDIA A100-SXM4-40GB"]],
    ["qwen2.5-7b-lora", "train.yaml", ["", "24GB", "NVIDIA GeForce RTX 4060", "22GB"]],
    ["llama-8b-zero3", "train.json", ["", "NVIDIA GeForce RTX 4090", "36GB"]],
    ["gpt2-scratch", "train.yaml", ["", "8GB", "9GB", "NVIDIA H200"]],
  ] as const
).flatMap(([folder, main, devices]) =>
  devices.map((device) => ({
    name: `${folder} ${device}`,
    files: sample(folder),
    main,
    options: device === "" ? {} : { device },
  })),
);

export const OTHERS: readonly Shown[] = Object.entries(CASES)
  .filter(([code, { estimated }]) => estimated === true && code !== "unknown-model")
  .map(([code, { files, main }], index) => ({
    name: code,
    files,
    main: main ?? Object.keys(files)[0] ?? "",
    // Without a card for every third: what is said then is said everywhere, too.
    options: index % 3 === 0 ? {} : { defaultDevice: index % 3 === 1 ? "RTX 4090" : "12GB" },
  }));

export const SUPPORT = { relatedInformation: true, codeDescription: true, tags: true };

type Surfaces = ReturnType<typeof surfacesOf>;
const analyzers = new WeakMap<Shown, { analyzer: ReturnType<typeof createAnalyzer>; shown: Map<Locale, Surfaces> }>();

/** All that a person can read of a run, by surface: made once for a run and language, with one analyzer for both. */
export function surfaces(run: Shown, locale: Locale = "en"): Surfaces {
  const known = analyzers.get(run) ?? { analyzer: createAnalyzer(memoryRuntime(run.files)), shown: new Map() };
  analyzers.set(run, known);
  const found = known.shown.get(locale) ?? surfacesOf(run, locale, known.analyzer);
  known.shown.set(locale, found);
  return found;
}

async function surfacesOf(
  { files, main, options }: Shown,
  locale: Locale,
  analyzer: ReturnType<typeof createAnalyzer>,
) {
  const analysis = await analyzer.analyse(uri(main), {
    ...options,
    locale,
    plans: true,
    guide: true,
  });
  const run = analysis.runs.find(({ perDevice }) => perDevice !== null);
  assert.ok(run?.perDevice, `${main} has an estimate`);
  const t = clientWords(locale);
  const status = statusText(statusOf(analysis.uri, analysis, null, locale), t);
  const context = { cwd: "/w", color: false, locale, textOf: () => undefined };
  const report = { ...analysis.report, runs: [run] };
  const shown = viewOf(
    { type: "host", message: reportMessage(report, locale) },
    { type: "asked", question: "guide", runId: run.id },
    { type: "host", message: { type: "guide", runId: run.id, guide: run.guide ?? null } },
  );
  const page = pageView(shown.view, () => {})
    .map((node) => textOf(node))
    .join(" ");
  const pasted = { name: main, text: files[main] ?? "", pins: "" };
  const alone = viewOf({ type: "host", message: reportOf(report, run.id, pasted, locale) });
  return {
    analysis,
    run,
    device: run.perDevice,
    hovers: await hoversOf(analysis, files[main] ?? ""),
    texts: {
      status: `${status?.text} ${status?.label} ${status?.tooltip.join(" ")}`,
      lens: String(codeLenses(analysis, new Set())[0]?.command?.title),
      check: checkText(report, context),
      plan: planText(report, context),
      copied: reportMarkdown(report, main, t),
      panel: page,
      web: pageView(alone.view, () => {})
        .map((node) => textOf(node))
        .join(" "),
      tree: Object.values(rowText(main, statusRun(run))).join(" "),
      sarif: JSON.stringify(toSarif(report, { cwd: "/w", rootUri: "file:///w", locale })),
      exported: markdownOf(run, main, shown.view.t),
      estimate: toolAnswer("estimate_gpu_memory", report, main).text,
      fitting: toolAnswer("find_fitting_config", report, main).text,
      diagnostics: diagnosticsOf(analysis, SUPPORT, locale)
        .map(({ message }) => message)
        .join("\n"),
    },
  };
}

/** Hovers of every key and every option that has one. */
async function hoversOf(analysis: DocumentAnalysis, text: string): Promise<readonly HoverContent[]> {
  const found: HoverContent[] = [];
  for (const [at, line] of text.split("\n").entries())
    for (const { 0: before, index } of line.matchAll(/(?:^[\s"'-]*|\s--?)[A-Za-z_]/g)) {
      const hover = await analysis.hover(at, index + before.length);
      if (hover !== null) found.push(hover);
    }
  return found;
}

/** Text without the marks of Markdown, with plain spaces. */
export const plain = (text: string): string => text.replace(/[\u00a0*`]/g, (sign) => (sign === "\u00a0" ? " " : ""));
