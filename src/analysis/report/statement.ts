/** The verdict in words: made once in the report's language, so that no surface has a wording or a figure of its own. */
import { type Peak, peakOn } from "../../core/estimate";
import { COMMON_SIZES, usableBytes } from "../../core/hardware/devices";
import type { Device } from "../../core/hardware/types";
import type { Estimate } from "../../core/report/estimate";
import type { ReportPlan, ReportRun } from "../../core/report/schema";
import type { TrainingRun } from "../../core/training/run";
import { saidAsFactor } from "../../terms/factor";
import { difference } from "../../terms/sizes";
import { openSplit } from "../estimate/gpu-count";
import type { Variant } from "../estimate/run-analysis";
import { verdictOf } from "../estimate/verdict";
import { deviceLabel, gib, type Locale, sizeBetween, t, text } from "../messages";
import type { Resolution } from "../resolve";
import { standInsOf } from "./stand-ins";

/** Common cards, smallest first, and whether the verdict on each would be that the run fits. */
export function fitsOn(estimate: Estimate, run: TrainingRun | null): NonNullable<ReportRun["fitsOn"]> {
  return COMMON_SIZES.map((device: Device) => ({
    name: device.name,
    memoryBytes: device.memoryBytes,
    usableBytes: usableBytes(device),
    ...judgedOn(estimate, run, device),
  }));
}

/** The verdict that the run would have on a card, and whether it is the best one. */
export function judgedOn(estimate: Estimate, run: TrainingRun | null, device: Device) {
  const peak: Peak = run === null ? estimate : peakOn(estimate, run, device);
  const { usedPeakBytes } = peak;
  const verdict = verdictOf(peak, usableBytes(device));
  return verdict === "unknown" ? { usedPeakBytes, fits: false } : { usedPeakBytes, fits: verdict === "fits", verdict };
}

/** The first card of {@link fitsOn} that the run fits; undefined when none is large enough. */
export function smallestCard(estimate: Estimate, run: TrainingRun | null) {
  return fitsOn(estimate, run).find(({ fits }) => fits);
}

/** How many GPUs the run has, as its report says it. */
export function countOf({ run, device }: Resolution): number {
  return Math.max(run?.parallel.worldSize ?? 1, device.spec?.count ?? 1);
}

/** What every surface says of the verdict. */
export function statementOf(variant: Variant, locale: Locale): ReportRun["statement"] {
  const { estimate, usable, verdict, resolution } = variant;
  const device = resolution.device.spec;
  if (estimate === undefined) {
    return { verdict: t(locale, "said.unknown"), detail: "", need: "", peak: "", short: "", room: "" };
  }
  const figures = {
    used: gib(estimate.usedPeakBytes),
    low: gib(estimate.band.lowBytes),
    high: gib(estimate.band.highBytes),
  };
  const stood = standInsOf(variant).map((what) => text(what, locale));
  const claim = claimed(variant, estimate, stood.length > 0, locale);
  const rests = {
    ...(claim === undefined ? {} : { claim }),
    ...(stood.length === 0 ? {} : { standsIn: stood.join(" · ") }),
  };
  const peak = t(locale, "said.peak", { phase: t(locale, `phase.${estimate.peakPhase}`) });
  if (device === null || usable === null) {
    const need = t(locale, "said.need-open", figures);
    const card = smallestCard(estimate, resolution.run);
    const room =
      card === undefined
        ? t(locale, "said.fits-none")
        : t(locale, "said.fits-from", { device: deviceLabel(card.name, locale), total: gib(card.memoryBytes) });
    const detail = t(locale, "said.detail-open", { need, peak, room });
    return { verdict: t(locale, "said.no-device"), detail, need, peak, room, short: `${figures.used} GiB`, ...rests };
  }
  const count = countOf(resolution);
  const alone = t(locale, "said.need", { ...figures, usable: gib(usable) });
  const need = count > 1 ? t(locale, "said.per-gpu", { need: alone }) : alone;
  const label = deviceLabel(device.name, locale);
  const over = estimate.usedPeakBytes > usable;
  const open = verdict === "unknown" ? openSplit(resolution) : undefined;
  return {
    verdict: t(locale, open === undefined ? `said.${verdict}` : `said.${open}-open`),
    detail: t(locale, "said.detail", { need, peak, device: count > 1 ? `${count} × ${label}` : label }),
    need,
    peak,
    room: t(locale, over ? "said.over" : "said.spare", {
      size: gib(Math.abs(difference(usable, estimate.usedPeakBytes))),
    }),
    short: `${figures.used} / ${gib(usable)} GiB`,
    ...rests,
  };
}

/** What is assumed of a run that no measured one had. */
const UNMEASURED: ReadonlySet<string> = new Set([
  "assume.uncounted",
  "assume.wrap-class",
  "assume.wraps-by-size",
  "assume.wraps-stages",
]);

/**
 * What the band claims. Measured runs had nothing that was left out of their numbers, FSDP's units as they are, and losses that were
 * followed; of what a report names as a stand-in none was measured, so that nobody counted how often its band holds.
 */
function claimed({ resolution }: Variant, estimate: Estimate, standsIn: boolean, locale: Locale): string | undefined {
  if (resolution.suppositions.some(({ message }) => UNMEASURED.has(message.id))) return undefined;
  if (estimate.assumptions.some(({ what }) => what.id === "engine.own-loss")) return undefined;
  if (standsIn) return t(locale, "said.claim-stands");
  return t(locale, "said.claim", { percent: Math.round(100 * estimate.band.coverage) });
}

/** `+11 % time`, `2.1× time`, `same time`. */
export function timeSaid(factor: number, locale: Locale): string {
  const percent = Math.round((factor - 1) * 100);
  const times = saidAsFactor(factor);
  if (times !== undefined) return t(locale, "said.times", { factor: times });
  if (percent === 0) return t(locale, "said.same-time");
  return t(locale, "said.time", { change: `${percent > 0 ? "+" : "−"}${Math.abs(percent)}` });
}

/** What a plan gains and costs. */
export function planSaid(
  plan: Pick<ReportPlan, "savesBytes" | "usedPeakBytes" | "stepTimeFactor" | "changes">,
  locale: Locale,
): string {
  const { savesBytes, usedPeakBytes, stepTimeFactor, changes = "nothing" } = plan;
  const bytes = `${savesBytes >= 0 ? "−" : "+"}${sizeBetween(usedPeakBytes + savesBytes, usedPeakBytes)}`;
  return [bytes, timeSaid(stepTimeFactor, locale), t(locale, `said.changes-${changes}`)].join(" · ");
}
