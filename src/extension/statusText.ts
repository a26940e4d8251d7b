/** Words of the status item, as plain data so that they can be tested without an editor. */
import type { StatusParams, StatusRun } from "../server/protocol";

/** Translates a sentence with `{0}` placeholders (`vscode.l10n.t`). */
export type Translate = (message: string, ...values: (string | number)[]) => string;

export interface StatusText {
  readonly text: string;
  /** Read by screen readers instead of the text. */
  readonly label: string;
  /** Markdown lines, without links. */
  readonly tooltip: readonly string[];
  readonly level: "error" | "warning" | "none";
}

const GIB = 2 ** 30;

/** `41.2` */
export function gib(bytes: number): string {
  return (bytes / GIB).toFixed(1);
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
      label: t("Estimating GPU memory"),
      tooltip: [t("Estimating GPU memory"), ...(status.run === null ? [] : [t("The total is the last one known.")])],
      level: "none",
    };
  }
  if (status.state === "failed") {
    const sentence = t("GPU memory could not be estimated: {0}", status.because);
    return { text: "$(chip) $(warning)", label: sentence, tooltip: [sentence], level: "none" };
  }
  const { run } = status;
  if (run === null) return undefined;
  if (status.state === "broken") {
    const sentence = t("The file cannot be read as it is: {0}", status.because);
    return {
      text: `${shortText(run)} $(warning)`,
      label: sentence,
      tooltip: [sentence, t("The total is the last one known.")],
      level: "none",
    };
  }
  if (status.state !== "ready") return undefined;
  const verdict = verdictSentence(run, t);
  return {
    text: shortText(run),
    label: verdict,
    tooltip: [
      `**${verdict}**`,
      ...(run.parts.length > 0 ? [largestParts(run, t)] : []),
      ...(status.notice === undefined ? [] : [`$(warning) ${status.notice}`]),
      t("Analysed because: {0}", status.because),
    ],
    level: run.verdict === "does-not-fit" ? "error" : run.verdict === "tight" ? "warning" : "none",
  };
}

function shortText(run: StatusRun): string {
  if (run.usedPeakBytes === null) return "$(chip) ? GiB";
  const used = gib(run.usedPeakBytes);
  return run.memoryBytes === null ? `$(chip) ${used} GiB` : `$(chip) ${used} / ${capacity(run.memoryBytes)} GiB`;
}

function verdictSentence(run: StatusRun, t: Translate): string {
  if (run.usedPeakBytes === null) return t("GPU memory not estimated yet: open the panel to see what is missing");
  const used = gib(run.usedPeakBytes);
  const { deviceName, memoryBytes } = run;
  if (deviceName === null || memoryBytes === null) return t("Needs {0} GiB per GPU, no GPU chosen", used);
  const device = run.deviceCount > 1 ? `${run.deviceCount} × ${deviceName}` : deviceName;
  const of = capacity(memoryBytes);
  if (run.verdict === "does-not-fit") return t("Does not fit {0}: needs {1} of {2} GiB", device, used, of);
  if (run.verdict === "tight") return t("Tight on {0}: needs {1} of {2} GiB", device, used, of);
  if (run.verdict === "fits") return t("Fits {0}: needs {1} of {2} GiB", device, used, of);
  return t("Needs {0} of {1} GiB on {2}", used, of, device);
}

function largestParts(run: StatusRun, t: Translate): string {
  const parts = run.parts.slice(0, 3).map(({ kind, bytes }) => `${partName(kind, t)} ${gib(bytes)}`);
  const list = parts.join(" · ");
  return run.peakPhase === null ? list : t("{0} GiB, peak in {1}", list, phaseName(run.peakPhase, t));
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
      return t("logits and loss");
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

/** Name of a phase of the step. */
export function phaseName(phase: string, t: Translate): string {
  switch (phase) {
    case "load":
      return t("load");
    case "data":
      return t("data");
    case "forward":
      return t("forward");
    case "loss":
      return t("loss");
    case "backward":
      return t("backward");
    case "clip":
      return t("gradient clipping");
    case "optimizer":
      return t("optimizer step");
    case "zero":
      return t("zero_grad");
    default:
      return phase;
  }
}
