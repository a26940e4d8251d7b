/**
 * The tools that language models get, of the editor and of the model-context server alike: one answer of at most
 * {@link LARGEST_ANSWER} characters, made from the report alone. What is asked is in `tool-schema.ts`.
 */
import { inJson, printable } from "../../words/printable";
import type { Report, ReportPlan, ReportRun } from "./schema";
import type { ToolInput } from "./tool-schema";

export type { ToolInput };

/** A model pays for every token; the rest is one command away. */
export const LARGEST_ANSWER = 4000;

/** What the tools are called, and what a model is told of them. */
export const TOOLS = {
  estimate_gpu_memory:
    "Peak GPU memory of a training config, without running anything: verdict, peak and band, bytes per component, settings understood, assumptions, findings. Reads the config and the files it refers to. Use it before launching a job, after a CUDA out-of-memory error, or to try other values with `set`. Sizes are GiB. Not for inference.",
  find_fitting_config:
    "Changes that make a training config fit its GPU, smallest first: each with its peak, step-time factor, whether results change, and exact text edits. Nothing is written; apply the edits of one plan yourself. Use it when estimate_gpu_memory says does-not-fit or tight.",
} as const;

export type ToolName = keyof typeof TOOLS;

/** Values to try, as the analysis takes them. */
export function triedValues({ set }: Pick<ToolInput, "set">): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(set ?? {}).map(([key, value]) => [key, String(value)]));
}

export interface ToolAnswer {
  readonly text: string;
  readonly structured: Readonly<Record<string, unknown>>;
  /** Nothing could be read. */
  readonly isError: boolean;
}

/** The answer of a tool: shorter lists until it is small enough, with how much was left out. */
export function toolAnswer(name: ToolName, report: Report, path: string): ToolAnswer {
  const answerOf = (most: number) => ({
    schema: "vram-lens/tool/2",
    runs: report.runs.slice(0, Math.max(1, most)).map((run) => answerRun(name, run, most)),
    ...(report.runs.length > Math.max(1, most) ? { moreRuns: report.runs.slice(Math.max(1, most)).map(shortRun) } : {}),
    ...(report.errors.length === 0 ? {} : { errors: report.errors.slice(0, 5).map(({ message }) => message) }),
    ...(report.skipped === undefined
      ? {}
      : { skipped: report.skipped.slice(0, 5).map(({ uri, message }) => ({ uri, message })) }),
    rest: `vram-lens ${name === "find_fitting_config" ? "plan" : "check"} ${path} --format json`,
  });
  const isLarge = (answer: object): boolean => written(answer).length > LARGEST_ANSWER;
  let structured: ReturnType<typeof answerOf> = answerOf(MOST_ITEMS);
  for (let most = MOST_ITEMS - 1; most >= 0 && isLarge(structured); most--) structured = answerOf(most);
  const few = isLarge(structured)
    ? { ...structured, runs: [], moreRuns: report.runs.slice(0, 20).map(shortRun) }
    : structured;
  return { text: written(few), structured: few, isError: report.runs.length === 0 };
}

/** A sentence for a model: like its answers, it may be shown in a terminal, too. */
export function shownToModel(sentence: string): string {
  return printable(sentence);
}

function written(answer: object): string {
  return inJson(JSON.stringify(answer));
}

const MOST_ITEMS = 12;
const GIB = 2 ** 30;

/** GiB with one decimal, rounded as every other surface does. */
function gib(bytes: number): number {
  return Number((bytes / GIB).toFixed(1));
}

/** What the peak is made of, as on every other surface: what the pool caches and the context take, too; nothing for what is next to none. */
function partsOf({ perDevice }: ReportRun): Readonly<Record<string, number>> {
  if (perDevice === null) return {};
  const { components, allocatedPeakBytes, reservedPeakBytes, usedPeakBytes } = perDevice;
  const parts = [
    ...components.map(({ kind, bytes }) => [kind, bytes] as const),
    ["cache", reservedPeakBytes - allocatedPeakBytes] as const,
    ["context", usedPeakBytes - reservedPeakBytes] as const,
  ];
  return Object.fromEntries(parts.map(([kind, bytes]) => [kind, gib(bytes)] as const).filter(([, size]) => size > 0));
}

/** One line for a run that there is no room for. */
function shortRun({ id, statement, verdict }: ReportRun): object {
  return { run: id, verdict, peak: statement.short };
}

/** First items of a list, and how many there are beyond. */
function first<T>(name: string, items: readonly T[], most: number): object {
  if (items.length <= most) return { [name]: items };
  return { [name]: items.slice(0, most), [`${name}LeftOut`]: items.length - most };
}

function answerRun(name: ToolName, run: ReportRun, most: number): object {
  const { perDevice, statement, devices } = run;
  const { verdict, detail, room } = statement;
  // Without a GPU the detail ends with the room already.
  const parts = detail.endsWith(room) ? [verdict, detail] : [verdict, detail, room];
  const says = parts.filter((part) => part !== "").join(" · ");
  const head = {
    run: run.id,
    says,
    verdict: run.verdict,
    model: run.model?.name ?? null,
    device: devices.name,
    devices: devices.count,
    ...(perDevice === null
      ? { missing: missingOf(run) }
      : {
          usedGiB: gib(perDevice.usedPeakBytes),
          bandGiB: [gib(perDevice.band.lowBytes), gib(perDevice.band.highBytes)],
          usableGiB: devices.usableBytes == null ? null : gib(devices.usableBytes),
          peakPhase: perDevice.peakPhase,
        }),
  };
  if (name === "find_fitting_config") {
    const plans = run.plans.filter((plan) => plan.fits !== false);
    if (perDevice === null) return { ...head, ...findingsOf(run, most) };
    const why = devices.name === null ? { next: "Pass the GPU as `device` to get plans." } : {};
    return { ...head, ...why, ...first("plans", plans.map(planOf), Math.min(most, 8)) };
  }
  return {
    ...head,
    componentsGiB: partsOf(run),
    ...first(
      "settings",
      run.settings.filter(({ from }) => from !== "default").map(({ key, value }) => `${key}=${String(value)}`),
      most * 4,
    ),
    ...first(
      "assumptions",
      run.assumptions.map(({ what, settleWith }) => ({ what, settleWith })),
      most,
    ),
    ...findingsOf(run, most),
  };
}

function findingsOf(run: ReportRun, most: number): object {
  const found = run.findings.map(({ code, severity, message }) => ({ code, severity, message }));
  return first("findings", found, most);
}

/** Settings without which there is no estimate; all others have a default. */
const NEEDED = ["model", "micro_batch_size"] as const;

/** Those of them that a run lacks. */
function missingOf({ model, settings }: ReportRun): readonly string[] {
  const lacks = {
    model: model === null,
    micro_batch_size: settings.every(({ name, value }) => name !== "micro_batch_size" || value === null),
  };
  return NEEDED.filter((name) => lacks[name]);
}

function planOf(plan: ReportPlan): object {
  const { title, usedPeakBytes, stepTimeFactor, changes, needs, edits } = plan;
  return {
    title,
    usedGiB: gib(usedPeakBytes),
    stepTimeFactor,
    ...(changes === undefined ? {} : { changes }),
    ...(needs === undefined || needs.length === 0 ? {} : { needs }),
    edits: edits.map(({ uri, range: { start, end }, newText }) => ({
      uri,
      at: [start.line, start.character, end.line, end.character],
      newText,
    })),
  };
}
