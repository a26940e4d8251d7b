/** The analysis of one document, as the surfaces ask for it; everything is computed when it is asked for. */
import { generationTime } from "../core/cost/generation-time";
import { migrationOf } from "../core/cost/managed";
import { stepTime } from "../core/cost/step-time";
import { deviceOf } from "../core/hardware/devices";
import { type Parting, partingOf, type Stream, streamOf } from "../core/matching/parting";
import { poolGrowth } from "../core/padded";
import type { Estimate } from "../core/report/estimate";
import type {
  Range,
  Report,
  ReportCompared,
  ReportEdit,
  ReportGuide,
  ReportPlan,
  ReportRun,
  ReportSweep,
} from "../core/report/schema";
import type { Failure } from "../evidence/log/failures";
import { VERDICT_FINDINGS } from "../terms/verdict-findings";
import type { CompletionContent, DocumentAnalysis, FixContent, HoverContent, Recognition } from "./analyzer";
import { completionsAt } from "./complete/complete";
import type { LoadedDocument } from "./documents/store";
import type { RunAnalysis, Variant } from "./estimate/run-analysis";
import { besideOf } from "./explain/beside";
import { type Explanation, explain } from "./explain/explain";
import { simulationOf } from "./explain/simulation";
import { documentProblems } from "./findings/collect";
import { toFindings } from "./findings/place";
import { Facts } from "./findings/rule";
import { ruleProblems } from "./findings/run-rules";
import { statedCount, verdictProblems } from "./findings/verdict";
import { fixesIn, touches } from "./fixes";
import { type HoverParts, hoverMarkdown, hoverOf } from "./hover/hover";
import { hoveredIn, textsOf } from "./hover/locate";
import { comparisonOf, guideOf } from "./levers/guide";
import { plansOf } from "./levers/plans";
import { sweepOf } from "./levers/sweep";
import { triedVariant, whatIfEdits } from "./levers/what-if";
import { requestComplaint, unusedComplaint } from "./linking/asked";
import { brokenBy } from "./linking/broken";
import { withholding } from "./linking/outside";
import { linksOf } from "./links";
import { type Locale, localeOf, t, text } from "./messages";
import { complaintText } from "./pins/complaints";
import type { Problem } from "./problems";
import { assembleRun, documentOf } from "./report/report";
import { VERSION } from "./version";

/** The analysis of a document that is no config or could not be read. */
export function emptyAnalysis(
  uri: string,
  dependencies: readonly string[],
  why: string,
  locale: Locale,
  document?: LoadedDocument,
): DocumentAnalysis {
  const large = document?.beginning === undefined ? undefined : "too-large";
  const broken = document?.config?.parsed.problems.find((found) => found.code !== "not-strict-json");
  const errors: Report["errors"] =
    why === "not-recognised"
      ? broken === undefined || document === undefined
        ? []
        : [
            {
              uri,
              message: text(broken.message, locale),
              range: document.lines.range(broken),
              ...(large && { code: large }),
            },
          ]
      : [{ uri, message: why === "unreadable" ? t(locale, "error.unreadable") : why }];
  return {
    uri,
    recognition: null,
    report: { schema: "vram-lens/report/1", version: VERSION, runs: [], errors },
    dependencies: dependencies.length === 0 ? [uri] : dependencies,
    runs: [],
    hover: async () => null,
    fixes: () => [],
    links: () => [],
    whatIf: async () => null,
    whatIfEdits: () => null,
  };
}

/** Analyses of a document's runs as the surfaces ask for them. */
export async function analysedDocument(
  uri: string,
  recognition: Recognition | null,
  analyses: readonly RunAnalysis[],
): Promise<DocumentAnalysis> {
  // Searching plans is the expensive part: one run of a shared file gets them, as one run is shown.
  const [shown] = ordered(analyses);
  const advice = shown === undefined ? undefined : await adviceOf(shown);
  const made = analyses.map((analysis) => reportOf(analysis, analysis.base, analysis === shown ? advice : undefined));
  const runs = made.map((run, index) => (analyses[index]?.inputs.used === true ? withoutSaid(run, made) : run));
  return new AnalysedDocument(uri, recognition, analyses, runs);
}

/**
 * A part of a run without the findings that the run says too: alone it knows neither the model nor the GPUs, so that its
 * figures are of another run.
 */
function withoutSaid(part: ReportRun, runs: readonly ReportRun[]): ReportRun {
  const said = new Set(
    runs.flatMap((run) => (run === part ? [] : run.findings.map(({ code, uri }) => `${code} ${uri}`))),
  );
  return { ...part, findings: part.findings.filter(({ code, uri }) => !said.has(`${code} ${uri}`)) };
}

/** Runs with an estimate first: a DeepSpeed file alone says little, the run that uses it says all. */
function ordered(analyses: readonly RunAnalysis[]): readonly RunAnalysis[] {
  return [...analyses].sort((a, b) => Number(b.base.estimate !== undefined) - Number(a.base.estimate !== undefined));
}

/** The first run with an estimate that a document is part of. */
function runWith(uri: string, analyses: readonly RunAnalysis[]): RunAnalysis | undefined {
  return analyses.find(({ base, inputs }) => base.estimate !== undefined && documentOf(inputs, uri) !== undefined);
}

/** What a hover asks for first, as its findings do. */
function openOf(analysis: RunAnalysis, run: ReportRun | undefined): Pick<HoverContent, "open"> {
  const codes = new Set(run?.findings.map(({ code }) => code));
  if (codes.has("unknown-model")) return { open: { what: "model" } };
  if (run?.perDevice != null && run.devices.memoryBytes === null) return { open: { what: "device" } };
  if (!codes.has("gpu-count-open")) return {};
  const count = statedCount(analysis);
  return { open: { what: "count", title: t(analysis.locale, "fix.gpu-count", { count }), value: String(count) } };
}

class AnalysedDocument implements DocumentAnalysis {
  readonly report: Report;
  readonly dependencies: readonly string[];

  constructor(
    readonly uri: string,
    readonly recognition: Recognition | null,
    private readonly analyses: readonly RunAnalysis[],
    readonly runs: readonly ReportRun[],
  ) {
    this.report = { schema: "vram-lens/report/1", version: VERSION, runs: [...runs], errors: this.complaints() };
    this.dependencies = [...new Set(analyses.flatMap((analysis) => [...analysis.inputs.dependencies]))];
  }

  /** What is asked for by name and not understood: an answer without it would be one to another question. */
  private complaints(): Report["errors"] {
    const { options } = this.analyses[0] ?? {};
    const complaint = requestComplaint(options ?? {}) ?? unusedComplaint(options?.set, this.runs);
    return complaint === null
      ? []
      : [{ uri: this.uri, message: complaintText(complaint, localeOf(options?.locale)), code: "asked" }];
  }

  async hover(line: number, character: number): Promise<HoverContent | null> {
    for (const analysis of ordered(this.analyses)) {
      const found = hoveredIn(analysis, this.uri, line, character);
      if (found === undefined) continue;
      const { document, target } = found;
      // A key that the run has no use for is still of its file: the file alone has no model.
      const alone = analysis.inputs.used === true && analysis.base.estimate === undefined;
      const shown = (alone ? runWith(this.uri, this.analyses) : undefined) ?? analysis;
      shown.begin();
      return this.placedHover(shown, withheld(shown, await hoverOf(shown, target)), document.lines.range(target.span));
    }
    return null;
  }

  private placedHover(analysis: RunAnalysis, parts: HoverParts, range: Range): HoverContent {
    const run = this.runs[this.analyses.indexOf(analysis)];
    // Of a file that is broken the editor shows no verdict, and nothing is to be applied to it.
    const readable = brokenBy(analysis.inputs) === undefined;
    const verdict = readable ? run?.findings.find(({ code }) => VERDICT_FINDINGS.has(code)) : undefined;
    const plan = run?.plans[0];
    return {
      ...parts,
      range,
      markdown: hoverMarkdown(parts),
      runId: run?.id ?? "",
      // Where plans were looked for and there is none, none is to be applied.
      needsPlan: verdict !== undefined && !(analysis.options.plans === true && plan === undefined),
      saidByFinding: verdict?.range !== undefined && verdict.uri === this.uri && touches(verdict.range, range),
      ...(plan === undefined ? {} : { best: { title: plan.title, says: plan.says } }),
      ...openOf(analysis, run),
    };
  }

  async complete(line: number, character: number): Promise<readonly CompletionContent[]> {
    for (const analysis of ordered(this.analyses)) {
      for (const document of textsOf(analysis, this.uri)) {
        analysis.begin();
        const found = await completionsAt(analysis, document, document.lines.offset(line, character));
        if (found.length > 0) return found;
      }
    }
    return [];
  }

  fixes(range: Range): readonly FixContent[] {
    const fixes = new Map<string, FixContent>();
    for (const [index, analysis] of this.analyses.entries()) {
      const run = this.runs[index];
      if (run === undefined) continue;
      const codes = new Set(run.findings.map(({ code }) => code));
      const problems = problemsOf(analysis, analysis.base).filter(
        ({ code }) => analysis.inputs.used !== true || codes.has(code),
      );
      for (const fix of fixesIn(this.uri, range, analysis, run, problems)) {
        fixes.set(JSON.stringify([fix.title, fix.edits]), fix);
      }
    }
    return [...fixes.values()];
  }

  links(): ReturnType<DocumentAnalysis["links"]> {
    return linksOf(this.uri, this.analyses);
  }

  /** What is asked of a run by its id, begun anew; null where no run has it. */
  private begun<T>(runId: string, ask: (analysis: RunAnalysis, run: ReportRun) => T): T | null {
    const index = this.runs.findIndex((run) => run.id === runId);
    const [analysis, run] = [this.analyses[index], this.runs[index]];
    if (analysis === undefined || run === undefined) return null;
    analysis.begin();
    return ask(analysis, run);
  }

  async whatIf(runId: string, set: Readonly<Record<string, string>>): Promise<ReportRun | null> {
    return this.begun(runId, async (analysis) => reportOf(analysis, await triedVariant(analysis, set)));
  }

  async guide(runId: string): Promise<ReportGuide | null> {
    return this.begun(runId, guideOf);
  }

  compare(runId: string): readonly ReportCompared[] | null {
    return this.begun(runId, comparisonOf);
  }

  sweep(runId: string): ReportSweep | null {
    return this.begun(runId, sweepOf);
  }

  async edited(runId: string, edits: readonly ReportEdit[]): Promise<ReportRun | null> {
    const again = await this.begun(runId, (analysis) => analysis.reread(edits));
    // What is read again for plans is followed for its peak alone; a person wants to see what takes it.
    return again == null ? null : reportOf(again, again.vary({}));
  }

  explain(runId: string, failure: Failure): Explanation | null {
    return this.begun(runId, (analysis, run) => explain(failure, analysis.locale, besideOf(failure, analysis, run)));
  }

  parting(runId: string, measured: Stream): Parting | null {
    const simulation = this.begun(runId, simulationOf);
    return simulation == null ? null : partingOf(measured, streamOf(simulation.ledger));
  }

  whatIfEdits(runId: string, set: Readonly<Record<string, string>>): ReturnType<DocumentAnalysis["whatIfEdits"]> {
    return this.begun(runId, (analysis) => {
      const result = whatIfEdits(analysis, set);
      return "refused" in result ? { refused: text(result.refused, analysis.locale) } : result;
    });
  }
}

/** Parts of a hover without what stands in files that the person did not open to the workspace. */
function withheld(analysis: RunAnalysis, parts: HoverParts): HoverParts {
  const shown = withholding(analysis.inputs);
  const said = Object.entries(parts).map(([name, part]) => [name, typeof part === "string" ? shown(part) : part]);
  return Object.fromEntries(said) as HoverParts;
}

/** All problems of a run under some overrides. */
export function problemsOf(analysis: RunAnalysis, variant: Variant): Problem[] {
  return [
    ...documentProblems(analysis.inputs, variant.resolution, variant.result),
    ...ruleProblems(new Facts(analysis.inputs, variant.resolution, variant.estimate, variant.usable)),
    ...verdictProblems(analysis, variant),
  ];
}

/** What was searched for a run, as far as it was asked for. */
interface Advice {
  readonly plans: readonly ReportPlan[];
  readonly guide: ReportGuide | null;
  readonly assumptionEffects: readonly number[];
}

async function adviceOf(analysis: RunAnalysis): Promise<Advice> {
  const { plans, guide } = analysis.options;
  return {
    plans: plans === true ? await plansOf(analysis) : [],
    guide: guide === true ? await guideOf(analysis) : null,
    assumptionEffects: plans === true ? effectsOf(analysis) : [],
  };
}

function reportOf(analysis: RunAnalysis, variant: Variant, advice?: Advice): ReportRun {
  const padded = advice === undefined ? null : paddedOf(analysis);
  const varied = padded === null ? variant : analysis.varied;
  const problems = problemsOf(analysis, varied);
  return assembleRun({
    inputs: analysis.inputs,
    resolution: variant.resolution,
    estimate: variant.estimate,
    findings: toFindings(problems, analysis.inputs, analysis.options, analysis.locale),
    plans: advice?.plans ?? [],
    guide: advice?.guide ?? null,
    time: timeOf(variant),
    assumptionEffects: advice?.assumptionEffects ?? [],
    padded,
    varied,
    cutShort: analysis.cutShort,
    locale: analysis.locale,
  });
}

/**
 * Step time on the chosen card, to three digits, what is generated for the step included; null without a card or an
 * estimate, and where completions come from another machine.
 */
function timeOf({ resolution: { run }, estimate }: Variant): ReportRun["time"] {
  const time = run === null || estimate === undefined ? null : stepTime(run, estimate);
  if (run === null || estimate === undefined || time === null) return null;
  const generation = generationTime(run, estimate, run.device === null ? undefined : deviceOf(run.device));
  if (generation === null && run.trainer?.rollout != null) return null;
  const seconds = (value: number) => Number(value.toPrecision(3));
  const { low, high } = generation ?? { low: 0, high: 0 };
  // Tokens are generated at the pace of the memory that weights and cache are read from.
  const longest = Math.sqrt(low * high) > Math.sqrt(time.low * time.high);
  return {
    stepSeconds: { low: seconds(time.low + low), high: seconds(time.high + high) },
    ...(generation === null ? {} : { generationSeconds: { low: seconds(low), high: seconds(high) } }),
    bound: longest ? "memory" : time.bound,
    relativeTo: null,
    demands: time.demands.map(({ road, bytes, asked, available }) => ({
      road,
      bytesPerStep: Math.round(bytes),
      askedPerSecond: Math.round(asked),
      availablePerSecond: Math.round(available),
    })),
    ...managedOf(run, estimate),
  };
}

/** What managed memory would migrate each step. */
function managedOf(
  run: NonNullable<Variant["resolution"]["run"]>,
  estimate: Estimate,
): Pick<NonNullable<ReportRun["time"]>, "managed"> {
  const found = migrationOf(run, estimate);
  if (found === null) return {};
  const { bytes, slower, overBytes } = found;
  const times = (value: number) => Number(value.toPrecision(3));
  return {
    managed: {
      overBytes: Math.round(overBytes),
      bytesPerStep: { low: Math.round(bytes[0]), high: Math.round(bytes[1]) },
      slower: { low: times(slower[0]), high: times(slower[1]) },
    },
  };
}

/** Suppositions measured at most: each costs a simulation. */
const MOST_MEASURED = 3;

/** What steps of other lengths reserve: twelve more steps, so only where they are in the band or a guide is asked for. */
function paddedOf(analysis: RunAnalysis): RunAnalysis["padded"] {
  const widens = analysis.base.resolution.padding?.varies === true;
  return analysis.options.guide === true || widens ? analysis.padded : null;
}

/** How far another plausible value of each supposition moves the peak, in bytes; 0 when it was not tried. */
function effectsOf(analysis: RunAnalysis): number[] {
  const { base } = analysis;
  const padded = paddedOf(analysis);
  let measured = 0;
  return base.resolution.suppositions.map(({ alternative, pool }) => {
    const { run } = base.resolution;
    if (pool === true && base.estimate !== undefined && padded !== null && run !== null)
      return poolGrowth(base.estimate, padded, run);
    if (base.estimate === undefined || alternative === undefined || ++measured > MOST_MEASURED) return 0;
    const other = analysis.vary(alternative).estimate;
    return other === undefined ? 0 : Math.abs(other.usedPeakBytes - base.estimate.usedPeakBytes);
  });
}
