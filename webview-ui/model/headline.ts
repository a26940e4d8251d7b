/** The verdict in one line, and the line under it that says what is trained. */
import type { ReportRun } from "../../src/core/report/schema";
import type { Translate } from "../messages";
import { fileName, gib, integer, parameters, shortDevice } from "./format";

/** How a verdict looks; `none` has neither a good nor a bad colour. */
export type Tone = "good" | "warn" | "bad" | "none";

export interface Headline {
  readonly tone: Tone;
  /** Word that a glance needs. */
  readonly verdict: string;
  readonly detail: string;
}

export const TONES: Readonly<Record<ReportRun["verdict"], Tone>> = {
  fits: "good",
  tight: "warn",
  "does-not-fit": "bad",
  unknown: "none",
};

export const toneOf = ({ verdict }: ReportRun): Tone => TONES[verdict];

/** `RTX 4090`, `4 × A100`; null when no device is chosen. */
export function deviceLabel(run: ReportRun): string | null {
  const { name, memoryBytes, count } = run.devices;
  if (memoryBytes === null) return null;
  const one = name === null ? `${gib(memoryBytes)} GiB` : shortDevice(name);
  return count > 1 ? `${count} × ${one}` : one;
}

export function headlineOf(run: ReportRun, t: Translate): Headline {
  const tone = toneOf(run);
  const device = run.perDevice;
  if (device === null) {
    return {
      tone: "none",
      verdict: t(run.model === null ? "verdict.unknownModel" : "verdict.unknown"),
      detail: t(run.model === null ? "detail.unknownModel" : "detail.unknown"),
    };
  }
  const { verdict, detail, room } = run.statement;
  const said = deviceLabel(run) === null ? detail : t("detail.room", { detail, room });
  // A figure and its unit stay in one line.
  return { tone, verdict, detail: said.replaceAll(" GiB", "\u00a0GiB") };
}

function setting(run: ReportRun, name: string): string | null {
  const found = run.settings.find((entry) => entry.name === name);
  return found === undefined || found.value === null ? null : String(found.value);
}

/** What is trained, in a few words: model, method, precision, data shape. */
export function describeRun(run: ReportRun, t: Translate): readonly string[] {
  const words: string[] = [];
  if (run.model !== null) {
    words.push(run.model.name.startsWith("file:") ? fileName(run.model.name) : run.model.name);
    words.push(t("run.parameters", { count: parameters(run.model.parameters, t.locale) }));
    if (run.model.trainableParameters > 0 && run.model.trainableParameters < run.model.parameters) {
      words.push(t("run.trainable", { count: parameters(run.model.trainableParameters, t.locale) }));
    }
  }
  const adapter = setting(run, "adapter");
  if (adapter !== null && adapter !== "none") words.push(adapter.toUpperCase().replace("LORA", "LoRA"));
  else if (run.model !== null) words.push(t("run.full"));
  const dtype = setting(run, "compute_dtype");
  if (dtype !== null) words.push(dtype);
  const batch = setting(run, "micro_batch_size");
  const length = setting(run, "sequence_length");
  if (batch !== null && length !== null) {
    words.push(t("run.shape", { batch: integer(Number(batch), t.locale), length: integer(Number(length), t.locale) }));
  } else if (batch !== null) words.push(t("run.batch", { batch: integer(Number(batch), t.locale) }));
  return words;
}
