/** Which layers of a periodic stack are run, and which are left out to be put back. */

/** Which layers of a repeat were run, and where the missing ones belong. Ordinals count the layers that were run. */
export interface Folding {
  /** Number of the repeat within the graph's execution. */
  readonly repeat: number;
  /** Index of the repeat's first layer in the model. */
  readonly first: number;
  /** First and last ordinal of the block of layers that is copied. */
  readonly from: number;
  readonly to: number;
  /** Blocks left out after `to`. */
  readonly copies: number;
  /** Number of the repeat within its pass, where several passes are compared. */
  readonly stack?: number;
  /** Whether layers of several kinds are among those left out: both neighbours of the block must do the same then. */
  readonly kinds?: boolean;
  /** Whether the irregular end comes right after the block. */
  readonly beforeEnd?: boolean;
}

/**
 * How layers are left out, in the order of the attempts: as many as can be, up to the last one, which mostly allocates what
 * the others do; also those of another kind, which often do, too (a window of attention changes the mask, not its size);
 * only of the same kind; none.
 */
export const FOLDS = ["up-to-last", "any-kind", "same-kind", "none"] as const;
export type Fold = (typeof FOLDS)[number];

/** The attempt that makes sense after one whose foldings did not hold; null when all layers were run. */
export function nextFold(fold: Fold, foldings: readonly Folding[]): Fold | null {
  if (fold === "none") return null;
  if (fold === "up-to-last" && foldings.some(({ beforeEnd }) => beforeEnd)) return "any-kind";
  return fold !== "same-kind" && foldings.some(({ kinds }) => kinds) ? "same-kind" : "none";
}

/** Longest period of a layer pattern that is looked for. */
const LONGEST_PERIOD = 6;

/** Ordinals of the block that is copied, and how often. */
export type FoldingPlan = Pick<Folding, "from" | "to" | "copies" | "kinds" | "beforeEnd">;

/** How many layers a plan leaves out. */
export function leftOut(plan: FoldingPlan | null): number {
  return plan === null ? 0 : plan.copies * (plan.to - plan.from + 1);
}

/** Regular layers that are run before the one that is copied, and after its copies, unless more are asked for. */
const RUN_BESIDE = 2;

/**
 * Finds the longest periodic run of layers and how much of it can be left out: two blocks before the one that is copied
 * (the first sees the irregular start) and two after it (the last sees the irregular end) are run.
 *
 * @param upToLast only the block that sees the irregular end is run after the copies
 * @returns ordinals of the template block and the number of copies, or null when nothing is gained
 */
export function planFolding(
  signatures: readonly string[],
  upToLast = false,
  runBeside = RUN_BESIDE,
): FoldingPlan | null {
  const beside = runBeside + 1 + (upToLast ? 1 : runBeside);
  const count = signatures.length;
  let best: FoldingPlan | null = null;
  for (let period = 1; period <= LONGEST_PERIOD; period++) {
    for (let start = 0; start + period < count; ) {
      let end = start + period;
      while (end < count && signatures[end] === signatures[end - period]) end++;
      const copies = Math.floor((end - start) / period) - beside;
      if (copies > 0 && copies * period > (best === null ? 0 : best.copies * (best.to - best.from + 1)))
        best = {
          from: start + runBeside * period,
          to: start + (runBeside + 1) * period - 1,
          copies,
          ...(upToLast ? { beforeEnd: true } : {}),
        };
      start = end > start + period ? end - period + 1 : start + 1;
    }
  }
  return best;
}

/**
 * As `planFolding` with one layer as the period, for runs of layers that are alike but for their kind. The layers that are
 * run next to the copied one have, with it, every kind of those left out, so that comparing the three settles it.
 */
export function planAcrossKinds(
  signatures: readonly string[],
  kinds: readonly (string | null)[],
  runBeside = RUN_BESIDE,
): FoldingPlan | null {
  let best: FoldingPlan | null = null;
  for (let start = 0; start < signatures.length; ) {
    let end = start + 1;
    while (end < signatures.length && signatures[end] === signatures[start]) end++;
    const found = new Set(kinds.slice(start, end));
    for (let from = start + runBeside; found.size > 1 && from < end - runBeside; from++)
      for (let after = end - runBeside; after > from + 1 + (best?.copies ?? 0); after--)
        if (new Set([kinds[from - 1], kinds[from], kinds[after]]).size === found.size) {
          best = { from, to: from, copies: after - from - 1, kinds: true };
          break;
        }
    start = end;
  }
  return best;
}
