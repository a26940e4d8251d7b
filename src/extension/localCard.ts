/** Words about the cards of this machine beside an estimate, as plain data so that they can be tested without an editor. */
import type { LocalCard } from "../terms/local-card";
import { gib } from "../terms/sizes";
import type { Translate } from "../words/client";

/** Memory of this machine's cards, by the tool of their vendor. */
export type LocalCards = () => Promise<readonly LocalCard[]>;

/** What a config needs, where that is known. */
export interface Need {
  readonly label: string;
  readonly usedPeakBytes: number;
}

/** One sentence per card, then one about the config. */
export function localCardText(cards: readonly LocalCard[], need: Need | undefined, t: Translate): string {
  if (cards.length === 0) return t("noCardHere");
  const lines = cards.map(({ name, totalBytes, usedBytes }) =>
    t("cardUse", name, gib(usedBytes), gib(totalBytes), gib(totalBytes - usedBytes)),
  );
  if (need === undefined) return lines.join(" ");
  const free = Math.max(...cards.map(({ totalBytes, usedBytes }) => totalBytes - usedBytes));
  const size = gib(need.usedPeakBytes);
  const verdict =
    need.usedPeakBytes <= free ? t("fitsBeside", need.label, size) : t("doesNotFitBeside", need.label, size);
  return [...lines, verdict].join(" ");
}
