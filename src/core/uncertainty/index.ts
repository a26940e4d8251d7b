/** The registry of what an estimate does not know for certain, and the band and assumptions that follow. */
import type { Estimate } from "../report/estimate";
import { ANOTHER, REWRITTEN } from "./code";
import { kindOf, withUnexplained } from "./coverage";
import { OF_DATA, OF_HEAD } from "./data";
import { OF_GRADIENTS, OF_KERNELS, OF_PACKAGES } from "./kernels";
import { OF_LOADING } from "./loading";
import type { BandRule, Effect, EffectRule, Facts } from "./types";

/** In the order that their assumptions are said. */
const EFFECTS: readonly EffectRule[] = [
  ...OF_PACKAGES,
  ...OF_DATA,
  ...OF_KERNELS,
  ...OF_HEAD,
  ...OF_GRADIENTS,
  ...OF_LOADING,
];

export const UNCERTAINTIES: readonly (EffectRule | BandRule)[] = [...EFFECTS, ...REWRITTEN, ...ANOTHER];

/**
 * The estimate with its band widened by all that is uncertain of it, and the assumptions that say so.
 *
 * @param split what is uncertain of a split over devices
 */
export function withUncertainties(estimate: Estimate, facts: Facts, split: readonly Effect[]): Estimate {
  return withUnexplained(byRules(estimate, facts, split), kindOf(facts.run, facts.graphs));
}

function byRules(estimate: Estimate, facts: Facts, split: readonly Effect[]): Estimate {
  const known = withEffects(estimate, [...split, ...EFFECTS.flatMap(({ effects }) => effects(facts))]);
  const own = REWRITTEN.reduce((before, { widened }) => widened(before, facts) ?? before, known);
  for (const { widened } of ANOTHER) {
    const other = widened(own, facts);
    if (other !== null) return other;
  }
  return own;
}

function withEffects(estimate: Estimate, effects: readonly Effect[]): Estimate {
  if (effects.length === 0) return estimate;
  const sum = (bytes: readonly number[]): number => Math.round(bytes.reduce((all, one) => all + one, 0));
  const { band } = estimate;
  return {
    ...estimate,
    band: {
      ...band,
      lowBytes: Math.max(0, band.lowBytes - sum(effects.map(({ lessBytes }) => lessBytes))),
      highBytes: band.highBytes + sum(effects.map(({ moreBytes }) => moreBytes)),
    },
    assumptions: [
      ...estimate.assumptions,
      ...effects.map(({ what, settleWith, moreBytes, lessBytes }) => ({
        what,
        settleWith,
        effectBytes: Math.round(Math.max(moreBytes, lessBytes)),
      })),
    ],
  };
}
