/** The plan in stages, how far a run could go, and the same run on other cards: asked for, not part of every report. */
import { type ComparedDevice, compareForRun } from "../../core/advise/compare";
import { fewestDevices, type Largest, largestMicroBatch, longestSequence } from "../../core/advise/inverse";
import { fitsWithin } from "../../core/advise/limits";
import { type Stage, stagedPlan } from "../../core/advise/stages";
import type { EstimateFunction, SettingChange } from "../../core/advise/types";
import { planTitle, planWhy } from "../../core/advise/words";
import type { ReportCompared, ReportGuide, ReportStage } from "../../core/report/schema";
import type { TrainingRun } from "../../core/training/run";
import type { RunAnalysis } from "../estimate/run-analysis";
import { judgedOn, smallestCard } from "../report/statement";
import { limitsOf, searchOptionsOf } from "./allowed";
import { editsFor } from "./edits";
import { needsOf } from "./needs";

/** null when nothing can be estimated. */
export async function guideOf(analysis: RunAnalysis): Promise<ReportGuide | null> {
  const { base } = analysis;
  const { run } = base.resolution;
  if (run === null || base.estimate === undefined) return null;
  return {
    stages: base.usable === null ? [] : await stagesOf(analysis, run, base.usable),
    limits: reachOf(analysis, run),
  };
}

/** null when nothing can be estimated. */
export function comparisonOf(analysis: RunAnalysis): readonly ReportCompared[] | null {
  const { run } = analysis.base.resolution;
  if (run === null || analysis.base.estimate === undefined) return null;
  const lines = compareForRun(run, estimatorOf(analysis));
  const own = lines.find(({ device, kind }) => kind === "card" && device.name === run.device?.name) ?? lines[0];
  const { estimate = analysis.base.estimate } = analysis.varied;
  return lines.map((line) => ({
    ...comparedLine(line, own?.samplesRate ?? null),
    // The same run on another card, with what batches of different lengths do to its pool: as the report's own cards have it.
    ...(line.kind === "card" ? judgedOn(estimate, run, line.device) : {}),
  }));
}

function comparedLine(line: ComparedDevice, against: number | null): ReportCompared {
  const { device, samplesRate, lowBytes, ...rest } = line;
  const verdict = rest.fits ? "fits" : lowBytes > rest.usableBytes ? "does-not-fit" : "tight";
  const speed = samplesRate === null || against === null ? null : samplesRate / against;
  return {
    ...rest,
    verdict,
    name: device.name,
    memoryBytes: device.memoryBytes,
    relativeSpeed: speed === null ? null : Number(speed.toPrecision(3)),
  };
}

function estimatorOf(analysis: RunAnalysis): EstimateFunction {
  return (run) => analysis.estimateOf(run) ?? null;
}

/** Stages as far as the files can hold them; each is estimated again as the files will say it. */
async function stagesOf(analysis: RunAnalysis, run: TrainingRun, usable: number): Promise<ReportStage[]> {
  const stages = stagedPlan(run, estimatorOf(analysis), searchOptionsOf(analysis, run, usable));
  const written: ReportStage[] = [];
  let settings: readonly SettingChange[] = [];
  for (const stage of stages) {
    settings = stage.items.reduce((all, item) => merged(all, item.settings), settings);
    const found = await writtenStage(analysis, stage, settings);
    if (found === undefined) break;
    written.push(found);
  }
  return written;
}

/** Later values of a setting replace earlier ones. */
function merged(all: readonly SettingChange[], next: readonly SettingChange[]): readonly SettingChange[] {
  const names = new Set(next.map(({ name }) => name));
  return [...all.filter(({ name }) => !names.has(name)), ...next];
}

async function writtenStage(
  analysis: RunAnalysis,
  stage: Stage,
  settings: readonly SettingChange[],
): Promise<ReportStage | undefined> {
  const result = editsFor(analysis.inputs, analysis.base.resolution, settings);
  if ("refused" in result || result.edits.length === 0) return undefined;
  const set = Object.fromEntries(settings.map(({ name, value }) => [name, String(value)]));
  const again = await analysis.reread(result.edits);
  const { estimate, usable, resolution } = again?.base ?? {};
  const run = resolution?.run;
  if (again === undefined || estimate === undefined || usable == null || run == null) return undefined;
  return {
    id: stage.id,
    items: stage.items.map((item) => ({
      lever: item.step.lever,
      title: planTitle({ steps: [item.step], run: item.run }, analysis.locale),
      why: planWhy({ steps: [item.step], run: item.run }, analysis.locale),
      freesBytes: item.freesBytes,
      stepTimeFactor: hundredths(item.stepTimeFactor),
      changes: item.effect,
      needs: needsOf(item.requires, analysis.locale),
    })),
    usedPeakBytes: estimate.usedPeakBytes,
    fits: fitsWithin(estimate, limitsOf(again, run, usable)),
    stepTimeFactor: hundredths(stage.stepTimeFactor),
    set,
    edits: [...result.edits],
  };
}

const hundredths = (factor: number): number => Math.round(100 * factor) / 100;

/** As the verdict counts: nothing but what is usable limits it, so that these agree with every hover. */
function reachOf(analysis: RunAnalysis, run: TrainingRun): ReportGuide["limits"] {
  const estimate = estimatorOf(analysis);
  const limit = analysis.base.usable;
  const reached = (found: Largest | null) =>
    found === null ? null : { value: found.value, usedPeakBytes: found.estimate.usedPeakBytes };
  const own = analysis.base.estimate;
  const smallest = own && smallestCard(analysis.varied.estimate ?? own, run);
  return {
    reserve: 0,
    microBatch: limit === null ? null : reached(largestMicroBatch(run, estimate, limit)),
    sequence: limit === null ? null : reached(longestSequence(run, estimate, limit)),
    smallestDevice:
      own === undefined || smallest === undefined
        ? null
        : {
            name: smallest.name,
            memoryBytes: smallest.memoryBytes,
            usedPeakBytes: smallest.usedPeakBytes ?? own.usedPeakBytes,
          },
    devices: limit === null ? null : reached(fewestDevices(run, estimate, limit)),
  };
}
