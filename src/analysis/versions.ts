/** Library versions: what decides about defaults, where they are pinned, and how they compare. */
import type { LibraryVersions } from "../core/training/run";

/** The newest releases this version of VRAM Lens describes: used when nothing pins one. */
export const NEWEST: LibraryVersions = {
  torch: "2.11",
  transformers: "5.17",
  peft: "0.21",
  deepspeed: "0.19.6",
  accelerate: "1.15",
  trl: "1.16",
  bitsandbytes: "0.50",
};

export type Library = keyof LibraryVersions;
export const LIBRARIES = Object.keys(NEWEST) as Library[];

/** The last release before a version that people exclude with `<`. */
const BEFORE: Readonly<Record<string, string>> = {
  "transformers<5": "4.57.6",
  "torch<2.8": "2.7",
  "trl<1": "0.29",
};

/** Negative, zero or positive as `a` is older than, equal to or newer than `b`. */
export function compareVersions(a: string, b: string): number {
  const left = a.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const right = b.split(".").map((part) => Number.parseInt(part, 10) || 0);
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Whether a condition of a table of keys (`transformers<5`, `torch>=2.8`) holds. */
export function holds(condition: string, libraries: LibraryVersions): boolean {
  const match = /^([a-z]+)\s*(<=|>=|<|>|==)\s*([\d.]+)$/.exec(condition);
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

/** A pinned version found in a requirements file. */
export interface PinnedVersion {
  readonly library: Library;
  readonly version: string;
  readonly start: number;
  readonly end: number;
}

const REQUIREMENT = new RegExp(
  `(?:^|["'\\s,])(${LIBRARIES.join("|")})(?:\\[[^\\]]*\\])?\\s*(==|~=|===|<)\\s*["']?(\\d+(?:\\.\\d+)*)`,
  "gm",
);

/** Versions a `requirements.txt`, `pyproject.toml` or lock file pins; ranges that leave the newest open are skipped. */
export function pinnedVersions(text: string): PinnedVersion[] {
  const found: PinnedVersion[] = [];
  for (const match of text.matchAll(REQUIREMENT)) {
    const library = match[1] as Library;
    const version = match[2] === "<" ? BEFORE[`${library}<${match[3]}`] : match[3];
    if (version === undefined) continue;
    const start = match.index + match[0].indexOf(library);
    found.push({ library, version, start, end: match.index + match[0].length });
  }
  return found;
}
