/** Words about the cards of this machine beside an estimate, as plain data so that they can be tested without an editor. */
import type { LocalCard } from "../terms/local-card";
import { gib } from "../terms/sizes";
import type { Translate } from "./statusText";

/** Memory of this machine's cards, by the tool of their vendor. */
export type LocalCards = () => Promise<readonly LocalCard[]>;

/** What a config needs, where that is known. */
export interface Need {
  readonly label: string;
  readonly usedPeakBytes: number;
}

/** One sentence per card, then one about the config. */
export function localCardText(cards: readonly LocalCard[], need: Need | undefined, t: Translate): string {
  if (cards.length === 0) return t("Neither nvidia-smi nor rocm-smi reports a GPU on this machine.");
  const lines = cards.map(({ name, totalBytes, usedBytes }) =>
    t("{0}: {1} of {2} GiB used, {3} GiB free.", name, gib(usedBytes), gib(totalBytes), gib(totalBytes - usedBytes)),
  );
  if (need === undefined) return lines.join(" ");
  const free = Math.max(...cards.map(({ totalBytes, usedBytes }) => totalBytes - usedBytes));
  const size = gib(need.usedPeakBytes);
  const verdict =
    need.usedPeakBytes <= free
      ? t("{0} needs {1} GiB: it fits beside what runs now.", need.label, size)
      : t("{0} needs {1} GiB: it does not fit beside what runs now.", need.label, size);
  return [...lines, verdict].join(" ");
}
