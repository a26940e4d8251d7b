/**
 * What a person asks for by name outside the documents (`--device`, `--set`, a tool's arguments): which names and values
 * are understood, and what the nearest ones are where they are not. A check that goes green on a misspelling is worse
 * than none.
 */
import { findDevice, suggestDevices } from "../../core/hardware/devices";
import type { ReportRun } from "../../core/report/schema";
import { FORMATS } from "../../formats";
import { PINNED_CHOICES, PINNED_NAMES } from "../../formats/pins";
import { nearest } from "../../formats/suggest";
import type { Format, KeySpec } from "../../formats/types";
import { lazily } from "../../terms/lazily";
import { SETTINGS } from "../../terms/settings";
import { type Message, say } from "../../words/message";
import type { AnalysisOptions } from "../options";

/** A request that cannot be met as it was written, in one line, with the nearest names. */
export interface Complaint {
  readonly what: Message;
  readonly near: readonly string[];
}

type Named = Pick<KeySpec, "key" | "aliases" | "name">;

/** Names offered beside a misspelt one, at most. */
const MOST_NEAR = 3;

/** Every name `--set` takes whatever the format: what canonical names the formats and the pins have. */
const canonical = lazily(
  (): ReadonlySet<string> =>
    new Set([
      ...FORMATS.flatMap(({ keys }) => keys.flatMap(({ name }) => (name === null ? [] : [name]))),
      ...PINNED_NAMES,
    ]),
);

/** Blocks of pins, which settle what no single key of theirs does alone. */
const BLOCKS: ReadonlySet<string> = new Set(["libraries", "lengths"]);

const written = lazily(
  (): ReadonlySet<string> =>
    new Set(
      FORMATS.flatMap(({ keys }) =>
        keys.flatMap(({ key, aliases = [] }) => [key, key.split(".").at(-1) ?? key, ...aliases]),
      ),
    ),
);

/** Whether a file, a pin or `--set` can state a setting by this name. */
export function isSettable(name: string): boolean {
  return canonical().has(name) || written().has(name) || BLOCKS.has(name);
}

/** Whether a key of a table is called so, canonically or as the format's files spell it. */
function isCalled(spec: Named, name: string): boolean {
  return spec.name === name || spec.key === name || spec.aliases?.includes(name) === true;
}

const reported: ReadonlySet<string> = new Set(
  Object.entries(SETTINGS).flatMap(([name, row]) => ("reported" in row ? [name] : [])),
);

/** The names nearest to one that nobody has: a misspelling's correction, else names with all of its words. */
export function nearNames(name: string, known: Iterable<string>): readonly string[] {
  const all = [...new Set(known)];
  const one = nearest(name, all);
  if (one !== undefined) return [one];
  const parts = name.toLowerCase().split(/[_.-]/);
  const holding = all.filter((other) => parts.every((part) => part !== "" && other.split(/[_.]/).includes(part)));
  // What reports name comes first: who says `batch` means the micro-batch.
  const rank = (name: string): number => (reported.has(name) ? 0 : 1);
  return holding.sort((a, b) => rank(a) - rank(b) || a.length - b.length || (a < b ? -1 : 1)).slice(0, MOST_NEAR);
}

/** What is wrong with a device's name; null when the catalogue knows it, or it is a size. */
function deviceComplaint(text: string): Complaint | null {
  if (findDevice(text) !== null) return null;
  const near = suggestDevices(text).map(({ name }) => name);
  return {
    what: near.length === 0 ? say("asked.no-device", { name: text }) : say("asked.device", { name: text }),
    near,
  };
}

/** A written value as the settings have it: truth values and numbers are such, everything else is text. */
export function overrideValue(text: string): string | number | boolean {
  const plain = text.trim();
  if (/^(?:true|false)$/i.test(plain)) return plain.toLowerCase() === "true";
  return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : plain;
}

/** The words a key's own table has for its values, and the canonical ones they mean. */
function wordsOf({ values, means }: KeySpec): readonly string[] {
  return [...(values ?? []), ...Object.keys(means ?? {}), ...Object.values(means ?? {}).map(String)];
}

function isWord(spec: KeySpec, text: string): boolean {
  return wordsOf(spec).some((word) => word.toLowerCase() === text.trim().toLowerCase());
}

/** Whether a key takes a value, as far as its table says: free text and lists take anything. */
function takes(spec: KeySpec, text: string): boolean {
  const value = overrideValue(text);
  const inRange = (number: number) => number >= (spec.min ?? -Infinity) && number <= (spec.max ?? Infinity);
  if (isWord(spec, text)) return true;
  switch (spec.type) {
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return typeof value === "number" && Number.isSafeInteger(value) && inRange(value);
    case "number":
      return typeof value === "number" && inRange(value);
    case "enum":
      return false;
    // A key that takes a truth value or a few words takes no others.
    case "any":
      return spec.means === undefined || typeof value !== "string";
    default:
      return text.trim() !== "";
  }
}

/** That a key does not take a value, with what a count may be, as far as its rows say. */
function refusal(key: string, value: string, specs: readonly KeySpec[]): Message {
  const what = say("asked.value", { key, value });
  const spec = specs.find(({ type }) => type === "integer");
  if (spec === undefined) return what;
  const { min, max } = spec;
  if (min === undefined) return say("asked.count", { what });
  return max === undefined ? say("asked.count-from", { what, min }) : say("asked.count-between", { what, min, max });
}

/** The closed list of words for a setting, by its canonical name or through a key that means it. */
function choicesOf(key: string, specs: readonly KeySpec[]): readonly string[] | undefined {
  const names = [key, ...specs.map(({ name }) => name ?? "")].filter((name) => Object.hasOwn(PINNED_CHOICES, name));
  return names[0] === undefined ? undefined : PINNED_CHOICES[names[0]];
}

/**
 * What is wrong with one `--set KEY=VALUE`.
 *
 * @param formats the formats of the runs that it is for; none: any may come
 * @returns null when at least one of the formats understands it
 */
function overrideComplaint(key: string, text: string, formats: readonly Format[] = []): Complaint | null {
  const asked = formats.length === 0 ? FORMATS : formats;
  const own = asked.flatMap(({ keys }) => keys.filter((spec) => isCalled(spec, key)));
  if (own.length === 0 && !canonical().has(key)) {
    const names = asked.flatMap(({ keys }) => keys.flatMap((spec) => [spec.key, ...(spec.aliases ?? [])]));
    return { what: say("asked.setting", { name: key }), near: nearNames(key, [...canonical(), ...names]) };
  }
  const everywhere = FORMATS.flatMap(({ keys }) => keys.filter((spec) => isCalled(spec, key)));
  const specs = own.length > 0 ? own : everywhere;
  const choices = choicesOf(key, own);
  if (everywhere.some((spec) => isWord(spec, text)) || choices?.includes(text.trim().toLowerCase())) return null;
  // A list of words is closed but for what stands elsewhere: `auto`, a kernel of the hub by its repository.
  if (choices === undefined ? specs.length === 0 || specs.some((spec) => takes(spec, text)) : /^auto$|\//.test(text))
    return null;
  const words = choices ?? specs.flatMap((spec) => (spec.type === "boolean" ? ["true", "false"] : wordsOf(spec)));
  const near = nearest(text, words);
  return {
    what: refusal(key, text, specs),
    near: near === undefined ? [...new Set(words)].slice(0, MOST_NEAR) : [near],
  };
}

/** What is wrong with the device and the settings asked for, before anything is read. */
export function requestComplaint({ device, set }: Pick<AnalysisOptions, "device" | "set">): Complaint | null {
  const ofDevice = device === undefined ? null : deviceComplaint(device);
  return ofDevice ?? firstComplaint(set, []);
}

/** What is wrong with the settings asked for, once it is known which formats the runs have. */
export function unusedComplaint(set: AnalysisOptions["set"], runs: readonly ReportRun[]): Complaint | null {
  const ids = new Set(runs.flatMap(({ formats }) => formats));
  return firstComplaint(
    set,
    FORMATS.filter(({ id }) => ids.has(id)),
  );
}

function firstComplaint(set: AnalysisOptions["set"], formats: readonly Format[]): Complaint | null {
  for (const [key, text] of Object.entries(set ?? {})) {
    const complaint = overrideComplaint(key, text, formats);
    if (complaint !== null) return complaint;
  }
  return null;
}
