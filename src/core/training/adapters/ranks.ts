/** Ranks of modules by patterns of their names (`rank_pattern`), of which a config may have one for each module. */
import { compilePattern } from "../../../terms/pattern";
import type { AdapterSpec } from "../run";

type Ranks = NonNullable<AdapterSpec["rankPattern"]>;

/** Patterns with one end that are tried on a module; those after them name nothing, which is said (`untried`). */
const MOST_TRIED = 256;

/** A pattern made ready, by where it stands among all. */
interface Ending {
  readonly place: number;
  readonly rank: number;
  readonly ends: (path: string) => boolean;
}

/** What says whether a path ends as a key of `rank_pattern` says: `re.match(rf"(.*\\.)?({key})$", path)` (peft/utils/other.py, get_pattern_key). */
function ending(key: string): (path: string) => boolean {
  const compiled = compilePattern(`(?:.*\\.)?(?:${key})`);
  return (path) => compiled.ok && compiled.matches(path, "full");
}

/** Whether alternatives stand in a pattern beside no group: not in a class, and not escaped. */
function hasAlternatives(key: string): boolean {
  let depth = 0;
  // Where the class began that is open; a bracket right behind its beginning is one of its characters.
  let open = -1;
  for (let k = 0; k < key.length; k++) {
    const char = key[k];
    if (char === "\\") k++;
    else if (open >= 0) {
      if (char === "]" && k > open + (key[open + 1] === "^" ? 2 : 1)) open = -1;
    } else if (char === "[") open = k;
    else if (char === "(") depth++;
    else if (char === ")") depth--;
    else if (char === "|" && depth === 0) return true;
  }
  return false;
}

/** The letters, digits and low lines that a text ends with. */
function lastLetters(text: string): string {
  let from = text.length;
  while (from > 0 && /[A-Za-z0-9_]/.test(text[from - 1]!)) from--;
  return text.slice(from);
}

/** Letters that every path a pattern matches ends with: its own last ones, unless others stand in their place or they mean more. */
function tailOf(key: string): string {
  if (/\(\?(?!:)/.test(key) || hasAlternatives(key)) return "";
  const tail = lastLetters(key);
  return key.charAt(key.length - tail.length - 1) === "\\" ? "" : tail;
}

/** Patterns by the ends of what they match. */
function byTail(ranks: Ranks): ReadonlyMap<string, readonly string[]> {
  const tails = new Map<string, string[]>();
  for (const key of Object.keys(ranks)) {
    const tail = tailOf(key);
    const alike = tails.get(tail);
    if (alike === undefined) tails.set(tail, [key]);
    else alike.push(key);
  }
  return tails;
}

/** How many patterns are not tried, as more end alike than are matched in bounded time. */
export function untried(ranks: Ranks): number {
  return [...byTail(ranks).values()].reduce((sum, { length }) => sum + Math.max(0, length - MOST_TRIED), 0);
}

class EndRanks {
  private readonly tails: ReadonlyMap<string, readonly Ending[]>;
  private readonly known = new Map<string, number | null>();

  constructor(ranks: Ranks) {
    const places = new Map(Object.keys(ranks).map((key, place) => [key, place] as const));
    this.tails = new Map(
      [...byTail(ranks)].map(([tail, keys]) => [
        tail,
        keys.slice(0, MOST_TRIED).map((key) => ({ place: places.get(key)!, rank: ranks[key]!, ends: ending(key) })),
      ]),
    );
  }

  /** The rank by the first pattern that ends a path; null when none does. */
  of(path: string): number | null {
    let rank = this.known.get(path);
    if (rank === undefined) {
      rank = this.find(path);
      this.known.set(path, rank);
    }
    return rank;
  }

  private find(path: string): number | null {
    const word = lastLetters(path);
    let first: Ending | undefined;
    for (let length = 0; length <= word.length; length++)
      for (const one of this.tails.get(word.slice(word.length - length)) ?? []) {
        if (first !== undefined && first.place < one.place) break;
        if (one.ends(path)) first = one;
      }
    return first?.rank ?? null;
  }
}

/** Patterns made ready: a rank for each module of a deep model is more of them than are remembered elsewhere. */
const ready = new WeakMap<Ranks, EndRanks>();

/** The rank on one module: that of the first pattern that ends its path, else the adapter's. */
export function rankOf({ rank, rankPattern }: AdapterSpec, path: string): number {
  if (rankPattern === undefined) return rank;
  const known = ready.get(rankPattern) ?? new EndRanks(rankPattern);
  ready.set(rankPattern, known);
  return known.of(path) ?? rank;
}
