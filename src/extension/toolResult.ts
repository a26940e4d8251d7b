/** What the language-model tools answer: compact JSON with a sentence in front, made from the report alone. */
import type { Report, ReportPlan, ReportRun } from "../core/report/schema";

const GIB = 2 ** 30;

function rounded(bytes: number): number {
  return Math.round((bytes / GIB) * 10) / 10;
}

/** Answer of `estimate_gpu_memory`. English: it is read by a model. */
export function estimateAnswer(report: Report): string {
  if (report.runs.length === 0) return noRun(report);
  return report.runs.map((run) => `${sentence(run)}\n${JSON.stringify(compact(run))}`).join("\n\n");
}

/** Answer of `find_fitting_config`: plans that fit, smallest change first as the analysis ranked them. */
export function fittingAnswer(report: Report): string {
  if (report.runs.length === 0) return noRun(report);
  return report.runs.map(fitting).join("\n\n");
}

function fitting(run: ReportRun): string {
  if (run.verdict === "fits") return `${sentence(run)} Nothing has to change.`;
  if (run.devices.name === null) {
    return `${sentence(run)} Pass the GPU as "device" ("RTX 4090", "A100-80GB", "24GB") to get plans.`;
  }
  const plans = run.plans.filter((plan) => plan.fits !== false);
  if (plans.length === 0)
    return `${sentence(run)} No combination of the known changes fits; use a larger GPU or more of them.`;
  const list = { plans: plans.slice(0, 8).map(compactPlan) };
  return `${sentence(run)} ${plans.length === 1 ? "1 plan fits" : `${plans.length} plans fit`}; the first is the smallest change. Edits are suggestions: nothing was written.\n${JSON.stringify(list)}`;
}

function noRun(report: Report): string {
  const reasons = report.errors.map(({ message }) => message);
  return reasons.length > 0
    ? `No training run could be read: ${reasons.join("; ")}`
    : "The file is not read as a training config. Pass the file that holds the training arguments.";
}

function sentence(run: ReportRun): string {
  const model = run.model?.name ?? "unknown model";
  const { name, memoryBytes, count } = run.devices;
  if (run.perDevice === null) {
    const missing = run.assumptions.map(({ settleWith }) => settleWith);
    return `${model}: not estimated. Missing: ${missing.join(", ") || "the model"}.`;
  }
  const { usedPeakBytes, band, peakPhase } = run.perDevice;
  const needs = `needs ${rounded(usedPeakBytes)} GiB per GPU (${rounded(band.lowBytes)}-${rounded(band.highBytes)}), peak in ${peakPhase}`;
  if (name === null || memoryBytes === null) return `${model}: ${needs}; no GPU chosen.`;
  return `${model} on ${count} x ${name} (${rounded(memoryBytes)} GiB): ${run.verdict}; ${needs}.`;
}

function compact(run: ReportRun): object {
  return {
    schema: "vram-lens/tool/1",
    run: run.id,
    verdict: run.verdict,
    device: run.devices,
    peak: run.perDevice && {
      usedGiB: rounded(run.perDevice.usedPeakBytes),
      allocatedGiB: rounded(run.perDevice.allocatedPeakBytes),
      reservedGiB: rounded(run.perDevice.reservedPeakBytes),
      phase: run.perDevice.peakPhase,
    },
    componentsGiB: Object.fromEntries(
      (run.perDevice?.components ?? []).map(({ kind, bytes }) => [kind, rounded(bytes)]),
    ),
    settings: Object.fromEntries(run.settings.map(({ key, value }) => [key, value])),
    assumptions: run.assumptions.map(({ what, settleWith }) => ({ what, settleWith })),
    findings: run.findings.map(({ code, severity, message }) => ({ code, severity, message })),
  };
}

function compactPlan(plan: ReportPlan): object {
  return {
    title: plan.title,
    usedGiB: rounded(plan.usedPeakBytes),
    stepTimeFactor: plan.stepTimeFactor,
    ...(plan.changes === undefined ? {} : { changes: plan.changes }),
    edits: plan.edits,
  };
}
