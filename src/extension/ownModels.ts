/** What is known of models of somebody's own before anything runs: classes of a text, the command that would be run. Pure. */

import type { Translate } from "../words/client";
import { printable } from "../words/printable";

const GIB = 2 ** 30;

/** `class GPT(nn.Module):`, at the start of a line. */
const CLASS =
  /^class[ \t]{1,20}([A-Za-z_]\w{0,99})[ \t]{0,20}\((?:[\w.]{1,80}\.)?(?:Module|LightningModule)[ \t]{0,20}[,)]/;

export interface OwnClass {
  readonly name: string;
  readonly line: number;
}

/** Classes of models that a text defines at its top level. */
export function ownClasses(text: string): OwnClass[] {
  return text.split("\n").flatMap((content, line) => {
    const name = CLASS.exec(content)?.[1];
    return name === undefined ? [] : [{ name, line }];
  });
}

/** Seconds that a trace or a check may take. */
const TIME_LIMIT = 900;

/** What a trace is told beside what is traced. */
export interface TraceGiven {
  readonly inputs?: string;
  readonly loss?: string;
  readonly arguments?: string;
}

/**
 * Arguments of the interpreter for a trace.
 *
 * @param name a class of the file; empty: the model that the file trains as a script, up to its first backward
 * @param said the file that the result is written to as well
 * @param show only what would be traced is said
 */
export function traceArguments(
  file: string,
  name: string,
  given: TraceGiven,
  { said = "", show = false }: { readonly said?: string; readonly show?: boolean } = {},
): readonly string[] {
  const options = Object.entries({ ...given, said }).flatMap(([option, value]) =>
    value === undefined || value === "" ? [] : [`--${option}`, value],
  );
  const target = name === "" ? ["--script", file] : [`${file}:${name}`];
  const shown = show ? ["--show"] : [];
  return ["-m", "vram_lens", "trace", "--time-limit", String(TIME_LIMIT), ...shown, ...options, ...target];
}

/** What a trace said in the file that it was told to write; nothing of another form is taken. */
export function traceSaid(text: string): { readonly name: string; readonly inputs: string } {
  try {
    const { name = "", inputs = "" } = JSON.parse(text) as { name?: unknown; inputs?: unknown };
    return { name: typeof name === "string" ? name : "", inputs: typeof inputs === "string" ? inputs : "" };
  } catch {
    return { name: "", inputs: "" };
  }
}

/** A file that a trace was made of, as it was then. */
export interface TracedSource {
  /** Relative to the folder that holds `.vramlens`. */
  readonly path: string;
  readonly sha256: string;
}

/** Files that are compared with what was traced; a graph that names more was not written by a trace of a person's own code. */
const MOST_SOURCES = 500;

/** Files that a graph says it was traced from; none where a text is no graph. */
export function tracedSources(graph: string): TracedSource[] {
  try {
    const { sources } = (JSON.parse(graph) as { traced: { sources: unknown } }).traced;
    return Array.isArray(sources) ? sources.slice(0, MOST_SOURCES).filter(isSource) : [];
  } catch {
    return [];
  }
}

function isSource(value: unknown): value is TracedSource {
  const { path, sha256 } = (value ?? {}) as Partial<Record<keyof TracedSource, unknown>>;
  return (
    typeof sha256 === "string" && typeof path === "string" && !/^[/\\]|^[a-z]:|(?:^|[/\\])\.\.(?:[/\\]|$)/i.test(path)
  );
}

/**
 * Arguments of the interpreter for two steps of a script on a device that is not there, as the first of so many processes.
 *
 * @param said the file that the result is written to as well
 */
export function checkArguments(file: string, ranks: number, said: string): readonly string[] {
  const world = ranks > 1 ? ["--ranks", String(ranks)] : [];
  return ["-m", "vram_lens", "check", "--time-limit", String(TIME_LIMIT), ...world, "--said", said, file];
}

/** The peak that a check said in the file that it was told to write, in bytes; undefined where that has none. */
export function checkSaid(text: string): number | undefined {
  try {
    const { allocatedPeakBytes: peak } = JSON.parse(text) as { allocatedPeakBytes?: unknown };
    return typeof peak === "number" && Number.isSafeInteger(peak) && peak > 0 ? peak : undefined;
  } catch {
    return undefined;
  }
}

/** PyTorch's peak of allocated memory beside the estimate's, both in bytes, and how far apart they are. */
export function besidePyTorch(name: string, measured: number, estimated: number | undefined, t: Translate): string {
  const pytorch = t("pytorchAllocates", printable(name), (measured / GIB).toFixed(3));
  if (estimated === undefined) return `${pytorch} ${t("noEstimate")}`;
  if (estimated === measured) return `${pytorch} ${t("estimateEqualByte")}`;
  const apart = ((estimated - measured) / measured) * 100;
  const sign = apart > 0 ? "+" : "−";
  const share = `${sign}${Math.abs(apart) < 0.01 ? "0.01" : Math.abs(apart).toFixed(2)} %`;
  const said = Math.abs(apart) < 0.01 ? t("lessThan", share) : share;
  return `${pytorch} ${t("estimateSays", (estimated / GIB).toFixed(3), said)}`;
}

/** Whether a text names a file by its whole path, on any system; else it is a name that PATH leads to. */
export const namesPlace = (text: string): boolean => /^(?:[/\\]|[a-z]:[/\\])/i.test(text);

/** A command as a person would write it: what has anything but plain signs in it stands in quotes. */
export function commandLine(python: string, words: readonly string[]): string {
  return [python, ...words].map((word) => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}
