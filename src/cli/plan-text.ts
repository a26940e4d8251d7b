/** The report of `plan` for a person at a terminal: suggestions, stages, limits. */
import { changedLines } from "../analysis/report/changes";
import { timeSaid } from "../analysis/report/statement";
import { withEdits } from "../core/report/apply";
import type { Report, ReportPlan, ReportRun } from "../core/report/schema";
import { freedBy, gib } from "../terms/sizes";
import { displayPath } from "./paths";
import {
  block,
  capacity,
  findingLines,
  fitsOnText,
  headline,
  type Pen,
  page,
  penOf,
  type TextContext,
  type Verbatim,
  verdictLine,
} from "./text";

/** Title with the plan's peak, which most titles already give. */
function planTitle(plan: ReportPlan): string {
  return plan.title.includes("GiB") ? plan.title : `${plan.title}: ${gib(plan.usedPeakBytes)} GiB`;
}

function diffLines(plan: ReportPlan, pen: Pen): Verbatim[] {
  return [...new Set(plan.edits.map((edit) => edit.uri))].flatMap((uri) => {
    const before = pen.textOf(uri);
    if (before === undefined) return [];
    const after = withEdits(
      before,
      plan.edits.filter((edit) => edit.uri === uri),
    );
    return changedLines(before, after)
      .flatMap((change) => [
        pen.paint("dim", `   ${displayPath(uri, pen.cwd)}:${change.line + 1}`),
        ...change.before.map((line) => pen.paint("red", `   - ${line}`)),
        ...change.after.map((line) => pen.paint("green", `   + ${line}`)),
      ])
      .map((verbatim) => ({ verbatim }));
  });
}

function planLines(plan: ReportPlan, index: number, pen: Pen): (string | Verbatim)[] {
  const still = plan.fits === false ? pen.say("still-not") : "";
  return [`${index + 1}. ${planTitle(plan)}   ${plan.says}${still}`, ...diffLines(plan, pen)];
}

/** The plan in stages: what each part frees and costs, and where a stage ends. */
function stageLines(run: ReportRun, { say, locale }: Pen): string[] {
  const stages = run.guide?.stages ?? [];
  if (stages.length === 0) return [];
  const freed = freedBy(stages, run.perDevice?.usedPeakBytes ?? 0);
  return [
    say("stages"),
    ...stages.flatMap((stage) => {
      const verdict = say(stage.fits ? "verdict.fits" : "verdict.does-not-fit");
      const speed = timeSaid(stage.stepTimeFactor, locale);
      return [
        `   ${say("stage-end", { stage: say(`stage.${stage.id}`), size: gib(stage.usedPeakBytes), verdict, speed })}`,
        ...stage.items.map((item) => {
          const values = {
            title: item.title,
            size: gib(freed(item)),
            speed: timeSaid(item.stepTimeFactor, locale),
          };
          const needs = item.needs.length === 0 ? "" : say("stage-needs", { list: item.needs.join(say("separator")) });
          return `   - ${say("stage-item", values)}${needs}`;
        }),
      ];
    }),
  ];
}

/** How far the run could go as it is, and the least hardware for it. */
function limitLines(run: ReportRun, { say }: Pen): string[] {
  if (run.guide === undefined) return [];
  const { microBatch, sequence, smallestDevice, devices } = run.guide.limits;
  const values = (found: { readonly value: number; readonly usedPeakBytes: number }) => ({
    value: found.value,
    size: gib(found.usedPeakBytes),
  });
  // Of a run that may fit as it is, it is not said that nothing does.
  const known = run.devices.memoryBytes !== null && run.verdict !== "tight";
  const parts = [
    microBatch !== null ? say("limit-batch", values(microBatch)) : known ? say("limit-none") : undefined,
    sequence === null ? undefined : say("limit-sequence", values(sequence)),
    smallestDevice === null
      ? undefined
      : say("limit-device", {
          device: smallestDevice.name.replace(/^NVIDIA (?:GeForce )?/, ""),
          memory: capacity(smallestDevice.memoryBytes),
        }),
    devices === null ? undefined : say("limit-count", values(devices)),
  ].filter((part) => part !== undefined);
  if (parts.length === 0) return [];
  return [say("limits"), ...parts.map((part) => `   ${part}`)];
}

/** Why there is no plan: none is needed, none is found, or nobody has said for which GPU. */
function noPlanLine(run: ReportRun, { say }: Pen): string[] {
  const open = fitsOnText(run, say);
  return open.length > 0 ? open : [say(run.verdict === "fits" ? "no-change" : "none-fits")];
}

/** The report of `plan`: every suggestion with its memory, cost and changed lines. */
export function planText(report: Report, context: TextContext): string {
  const pen = penOf(context);
  const runs = report.runs.map((run) => {
    const plans = run.plans.flatMap((plan, index) => planLines(plan, index, pen));
    return block(
      headline(run, pen),
      [
        verdictLine(run, pen),
        ...(run.perDevice === null ? findingLines(run, pen) : plans.length === 0 ? noPlanLine(run, pen) : plans),
        ...stageLines(run, pen),
        ...limitLines(run, pen),
      ],
      pen,
    );
  });
  return page(runs, report, pen);
}
