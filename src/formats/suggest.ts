/** Which known word a misspelt one probably meant. */

/** Optimal string alignment distance, given up above `limit`. */
export function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    let best = i;
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      current[j] = cost;
      best = Math.min(best, cost);
    }
    if (best > limit) return limit + 1;
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? limit + 1;
}

/** Changes that a word of this length may have and still be meant. */
function tolerance(length: number): number {
  return length <= 4 ? 1 : length <= 8 ? 2 : 3;
}

/**
 * Whether every part of a name (`max_duration`) is a misspelling of the other's: another part (`min`), one more or one
 * less make another name, a missing underscore does not.
 */
function partsAlike(a: string, b: string): boolean {
  const [left, right] = [a, b].map((name) => name.split("_").filter((part) => part !== "")) as [string[], string[]];
  if (left.length !== right.length) return distance(left.join(""), right.join(""), 1) <= 1;
  return left.every((part, index) => {
    const other = right[index] ?? "";
    // Of a letter or two nothing is left to recognise.
    const longest = Math.max(part.length, other.length);
    const most = longest <= 2 ? 0 : tolerance(longest);
    return distance(part, other, most) <= most;
  });
}

/** The candidate closest to `word`, or undefined when none is close enough to be a misspelling of it. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const plain = word.toLowerCase().replaceAll("-", "_");
  const limit = tolerance(plain.length);
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    const other = candidate.toLowerCase().replaceAll("-", "_");
    const cost = distance(plain, other, bestDistance - 1);
    if (cost < bestDistance && partsAlike(plain, other)) {
      best = candidate;
      bestDistance = cost;
    }
  }
  return best;
}
