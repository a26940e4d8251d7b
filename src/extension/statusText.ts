/** Words of the status item and of the tree of runs, as plain data so that they can be tested without an editor. */
import { runLine } from "../core/report/line";
import type { StatusParams, StatusRun } from "../server/protocol";
import { gib } from "../terms/sizes";
import type { Translate } from "../words/client";
import { printable, sentenceInMarkdown } from "../words/printable";

export interface StatusText {
  readonly text: string;
  /** Read by screen readers instead of the text. */
  readonly label: string;
  /** Markdown lines, without links. */
  readonly tooltip: readonly string[];
  readonly level: "error" | "warning" | "none";
}

/** `24` for whole numbers, else `22.5`: capacities are spoken of in whole numbers. */
export function capacity(bytes: number): string {
  return gib(bytes).replace(/\.0$/, "");
}

/** What to show for a document; undefined when nothing is shown. */
export function statusText(status: StatusParams, t: Translate): StatusText | undefined {
  if (status.state === "computing") {
    // A total that may be wrong by now has neither a verdict nor its colour.
    const known = status.run?.usedPeakBytes == null ? "GiB" : shortText(status.run).replace("$(chip) ", "");
    return {
      text: `$(loading~spin) ${known}`,
      label: t("estimating"),
      tooltip: [t("estimating"), ...(status.run === null ? [] : [t("lastTotal")])],
      level: "none",
    };
  }
  if (status.state === "failed") {
    const sentence = t("notEstimatedBecause", printable(status.because));
    return { text: "$(chip) $(warning)", label: sentence, tooltip: [sentenceInMarkdown(sentence)], level: "none" };
  }
  const { run } = status;
  if (status.state === "broken") {
    const sentence = t("fileUnreadable", printable(status.because));
    return {
      text: run === null ? "$(chip) $(warning)" : `${shortText(run)} $(warning)`,
      label: sentence,
      tooltip: [sentenceInMarkdown(sentence), ...(run === null ? [] : [t("lastTotal")])],
      level: "none",
    };
  }
  if (run === null) return undefined;
  if (status.state !== "ready") return undefined;
  const verdict = printable(verdictSentence(run, t));
  return {
    text: shortText(run),
    label: verdict,
    tooltip: [
      `**${sentenceInMarkdown(verdict)}**`,
      ...(run.parts.length > 0 ? [largestParts(run, t)] : []),
      ...(status.notice === undefined ? [] : [`$(warning) ${sentenceInMarkdown(status.notice)}`]),
      sentenceInMarkdown(t("analysedBecause", status.because)),
    ],
    level: run.verdict === "does-not-fit" ? "error" : run.verdict === "tight" ? "warning" : "none",
  };
}

/** What a row of the tree says beside a file's name. */
export interface RowText {
  readonly description: string;
  readonly tooltip: string;
  /** Heard for the whole row. It begins with what is seen, so that the row can be called by voice. */
  readonly label: string;
}

/** A run's row in the tree. */
export function rowText(name: string, run: StatusRun): RowText {
  const { verdict, detail } = run.statement;
  const description = runLine(run);
  const said = [verdict, detail].filter((part) => part !== "");
  return {
    description,
    tooltip: said.join(" · "),
    label: [`${name} ${description}`, ...(detail === "" ? [] : [detail])].join(", "),
  };
}

/** Worst first, as those want something done. */
export const WORST_FIRST: readonly StatusRun["verdict"][] = ["does-not-fit", "tight", "unknown", "fits"];

/** How many runs have which verdict, and in how many files they were looked for. */
export function summaryText(verdicts: readonly StatusRun["verdict"][], files: number, t: Translate): string {
  const sentence: Readonly<Record<StatusRun["verdict"], (count: number) => string>> = {
    "does-not-fit": (count) => t("doesNotFit", count),
    tight: (count) => t("tight", count),
    unknown: (count) => t("noVerdict", count),
    fits: (count) => t("fits", count),
  };
  const parts = WORST_FIRST.flatMap((verdict) => {
    const count = verdicts.filter((one) => one === verdict).length;
    return count === 0 ? [] : [sentence[verdict](count)];
  });
  return [...(parts.length === 0 ? [t("noConfig")] : parts), t("filesOf", files)].join(" · ");
}

function shortText({ usedPeakBytes, statement }: StatusRun): string {
  return `$(chip) ${usedPeakBytes === null ? "? GiB" : statement.short}`;
}

function verdictSentence({ usedPeakBytes, statement }: StatusRun, t: Translate): string {
  return usedPeakBytes === null ? t("notEstimatedYet") : `${statement.verdict} · ${statement.detail}`;
}

function largestParts(run: StatusRun, t: Translate): string {
  const parts = run.parts.slice(0, 3).map(({ kind, bytes }) => `${partName(kind, t)} ${gib(bytes)}`);
  return `${parts.join(" · ")} GiB`;
}

/** Name of a component. */
export function partName(kind: string, t: Translate): string {
  switch (kind) {
    case "weights":
      return t("weights");
    case "adapters":
      return t("adapters");
    case "gradients":
      return t("gradients");
    case "optimizer":
      return t("optimizer");
    case "activations":
      return t("activations");
    case "logits-and-loss":
      return t("logitsLoss");
    case "temporaries":
      return t("temporaries");
    case "communication":
      return t("communication");
    case "buffers":
      return t("buffers");
    case "inputs":
      return t("inputs");
    default:
      return kind;
  }
}
