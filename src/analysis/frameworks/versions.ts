/** Library versions: what decides about defaults, where they are pinned, and how they compare. */

import type { LibraryVersions } from "../../core/training/run";
import { table } from "../../terms/table";
import { FRAMEWORKS, type FrameworkLibrary, REQUIRED } from "./framework-versions";

export type Versions = LibraryVersions & Readonly<Record<FrameworkLibrary, string>>;

/** The newest releases this version of VRAM Lens describes: used when nothing pins one. */
export const NEWEST: Versions = {
  ...FRAMEWORKS,
  torch: "2.11",
  transformers: "5.17",
  peft: "0.21",
  deepspeed: "0.19.6",
  accelerate: "1.15",
  trl: "1.16",
  bitsandbytes: "0.50",
};

/**
 * Releases of transformers that were recorded, the first one first, and from which release on each one's code no longer stands
 * (`capture/storing/earlier.py`, UNTIL); after the last, what the newest one does stands for all.
 */
const RECORDED: readonly (readonly [release: string, until: string])[] = [
  ["4.44", "4.46"],
  ["4.48", "4.49"],
  ["4.51", "4.54"],
  ["4.57", "5.0"],
];

/** The release since which no module of transformers is called otherwise than now. */
const NAMED = "5.9";

export type Library = keyof Versions;
/** Whose models were captured: a run is always told the release of it that is meant. */
export const MODELS: Library = "transformers";
export const LIBRARIES = Object.keys(NEWEST) as Library[];

/** The last release before a major version: what a bound such as `<5` leaves. */
const BEFORE: Readonly<Record<string, string>> = table({
  "transformers<5": "4.57.6",
  "torch<2.8": "2.7",
  "trl<1": "0.29",
  "ms-swift<4": "3.12.6",
  "ms-swift<3": "2.6.1",
});

/** Negative, zero or positive as `a` is older than, equal to or newer than `b`. */
function compareVersions(a: string, b: string): number {
  const left = a.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const right = b.split(".").map((part) => Number.parseInt(part, 10) || 0);
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Whether release `a` is older than `b`. */
export function isOlder(a: string, b: string): boolean {
  return compareVersions(a, b) < 0;
}

/** Whether the code of a release of transformers may be another than the newest one's, by what was recorded of earlier ones. */
export function mayDiffer(transformers: string): boolean {
  return recordedFor(transformers) !== undefined;
}

/** Whether modules of a release of transformers may be called otherwise than the newest one's. */
export function mayBeNamedOtherwise(transformers: string): boolean {
  return isOlder(transformers, NAMED);
}

/** The recorded release that stands for a release of transformers; undefined: the newest one does. */
export function recordedFor(transformers: string): string | undefined {
  return RECORDED.find(([, until]) => isOlder(transformers, until))?.[0];
}

/** Whether a condition of a table of keys (`transformers<5`, `torch>=2.8`) holds. */
export function holds(condition: string, libraries: Versions): boolean {
  const match = /^([a-z-]+)\s*(<=|>=|<|>|==)\s*([\d.]+)$/.exec(condition);
  const version = libraries[match?.[1] as Library];
  if (match === null || version === undefined) return false;
  const order = compareVersions(version, match[3] ?? "");
  switch (match[2]) {
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    default:
      return order === 0;
  }
}

/** Versions that the pinned frameworks require of what nobody pins; an exact one wins over the newest. */
export function required(pinned: (library: FrameworkLibrary) => string | undefined): Partial<Versions> {
  const found: Partial<Record<Library, string>> = {};
  for (const library of Object.keys(REQUIRED) as FrameworkLibrary[]) {
    const version = pinned(library);
    const release = REQUIRED[library]?.findLast(
      ([from]) => version !== undefined && compareVersions(from, version) <= 0,
    );
    Object.assign(found, release?.[1]);
  }
  return found;
}

/** A pinned version found in a requirements file. */
export interface PinnedVersion {
  readonly library: Library;
  readonly version: string;
  readonly start: number;
  readonly end: number;
}

/** Other names that libraries are installed by. */
const ALSO: Readonly<Record<string, Library>> = table({ pytorch: "torch", "pytorch-lightning": "lightning" });

const NAMES = [...LIBRARIES, "pytorch-lightning"].join("|");

/** `transformers[torch]>=4.40,<5 ; python_version > "3.9"`, quoted or not. */
const REQUIREMENT = new RegExp(
  `(?:^|["'\\s,])(${NAMES})(?:\\[[^\\]\\n]{0,200}\\])?\\s{0,20}\\(?((?:\\s{0,20}(?:===?|~=|!=|<=?|>=?)\\s{0,20}\\d[\\w.*+]{0,60}(?:\\s{0,20},)?){1,12})`,
  "gm",
);

/** An entry of a lock file: `name = "torch"` and, on the next line, `version = "2.7.0"`. */
const LOCKED = new RegExp(`^name = "(${NAMES})"\\r?\\nversion = "(\\d[\\d.]*)`, "gm");

/** conda: `- pytorch=2.5.1=py3.11_cuda` or `- conda-forge::transformers=4.44`. */
const CONDA = new RegExp(
  `^[ \\t]*-[ \\t]+(?:[\\w.-]{1,80}::)?["']?(pytorch|${NAMES})[ \\t]*=[ \\t]*(\\d[\\d.]*)`,
  "gm",
);

/**
 * Poetry, Pipfile and pixi: `transformers = "^4.44"`, `transformers = "==4.44.*"` or
 * `transformers = { version = "4.44.0", extras = ["torch"] }`.
 */
const POETRY = new RegExp(
  `^(${NAMES})[ \\t]*=[ \\t]*(?:\\{[^}\\n]{0,200}\\bversion[ \\t]*=[ \\t]*)?"(?:([\\^~]?)[ \\t]*(\\d[\\d.]*)|([=<>!~][^"\\n]{1,80}))"`,
  "gm",
);

/** A tag of a repository: `git+https://github.com/huggingface/transformers.git@v4.48.3`. */
const TAGGED = new RegExp(`/(${NAMES})(?:\\.git)?@v?(\\d{1,4}(?:\\.\\d{1,4}){1,3})(?![\\w.])`, "g");

/** The image that a Dockerfile goes on from, where its tag is the library's release. */
const IMAGE =
  /^FROM[ \t]+(?:--\S{1,80}[ \t]+)?(?:[\w.-]{1,80}\/)?(?:pytorch\/(pytorch)|huggingface\/(transformers)-[\w-]{1,40}):(\d[\d.]*)/gim;

/**
 * Versions a requirements file, `pyproject.toml`, `setup.py`, conda environment, Dockerfile or lock file pins, in the order of the
 * text; ranges that leave the newest open and comments are skipped.
 */
export function pinnedVersions(original: string): PinnedVersion[] {
  const text = original.replace(/(^|[ \t])#[^\n]*/gm, (all) => " ".repeat(all.length));
  const found: PinnedVersion[] = [];
  const add = (match: RegExpExecArray, library: string, version: string | undefined): void => {
    if (version === undefined) return;
    const start = match.index + match[0].indexOf(library);
    found.push({ library: libraryNamed(library), version, start, end: match.index + match[0].trimEnd().length });
  };
  for (const match of text.matchAll(REQUIREMENT)) add(match, match[1] ?? "", versionOf(match[1] ?? "", match[2] ?? ""));
  for (const match of text.matchAll(LOCKED)) add(match, match[1] ?? "", match[2]);
  for (const match of text.matchAll(CONDA)) add(match, match[1] ?? "", match[2]);
  for (const match of text.matchAll(TAGGED)) add(match, match[1] ?? "", match[2]);
  for (const match of text.matchAll(IMAGE)) add(match, (match[1] ?? match[2] ?? "").toLowerCase(), match[3]);
  for (const match of text.matchAll(POETRY)) {
    const [, library = "", mark, version = "", specifiers] = match;
    if (specifiers !== undefined) {
      add(match, library, versionOf(library, specifiers));
      continue;
    }
    const major = Number.parseInt(version, 10);
    // A caret goes up to the next major version, which may be beyond the newest release.
    add(match, library, mark === "^" && major > 0 ? before(library, String(major + 1)) : version);
  }
  return found.sort((a, b) => a.start - b.start);
}

function libraryNamed(name: string): Library {
  return ALSO[name] ?? (name as Library);
}

/** The version a list of specifiers settles on; undefined when it leaves the newest open. */
function versionOf(library: string, specifiers: string): string | undefined {
  const parts = [...specifiers.matchAll(/(===?|~=|!=|<=?|>=?)\s*(\d+(?:\.\d+)*)/g)];
  const exact = parts.find(([, operator]) => operator === "==" || operator === "===" || operator === "~=");
  if (exact !== undefined) return exact[2];
  const upper = parts.find(([, operator]) => operator === "<" || operator === "<=");
  return upper === undefined ? undefined : upper[1] === "<=" ? upper[2] : before(library, upper[2] ?? "");
}

/** The last release below a bound; undefined when the newest release is below it or when it is not known. */
function before(library: string, bound: string): string | undefined {
  const newest = NEWEST[libraryNamed(library)];
  if (newest === undefined || compareVersions(newest, bound) < 0) return undefined;
  const short = bound.replace(/(?:\.0){1,9}$/, "");
  const known = BEFORE[`${library}<${short}`];
  if (known !== undefined) return known;
  const [major = "0", minor = "0", patch = "0"] = bound.split(".");
  if (Number(patch) > 0) return `${major}.${minor}.${Number(patch) - 1}`;
  return Number(minor) > 0 ? `${major}.${Number(minor) - 1}` : undefined;
}
