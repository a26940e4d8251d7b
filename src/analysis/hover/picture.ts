/** What the hover's picture shows, as plain data: the peak by parts against the card, and the peak over next values. */
import type { Estimate } from "../../core/report/estimate";
import type { RunAnalysis, Variant } from "../estimate/run-analysis";
import { verdictOf } from "../estimate/verdict";
import { gib, type Locale, t } from "../messages";

/** One part of the bar: a component of the allocated peak, what the pool caches, or the context. */
export interface PicturePart {
  readonly kind: string;
  readonly name: string;
  readonly bytes: number;
}

/** One value that was tried. */
export interface PicturePoint {
  /** As it is shown to a person, without markup. */
  readonly value: string;
  readonly bytes: number;
  readonly fit: "fits" | "tight" | "does-not-fit" | "unknown";
  /** The value as the files have it. */
  readonly now: boolean;
}

export interface HoverPicture {
  /** In the order of the panel's bar. */
  readonly parts: readonly PicturePart[];
  readonly usedBytes: number;
  readonly lowBytes: number;
  readonly highBytes: number;
  /** null without a device. */
  readonly usableBytes: number | null;
  /** `23.5 usable` */
  readonly usableText: string;
  /** What is tried, and the points; null where the key has no other values. */
  readonly curve: { readonly label: string; readonly points: readonly PicturePoint[] } | null;
  /** All of it as a sentence, for who does not see it. */
  readonly alt: string;
}

/** How a variant fits, by its own figures: also where the run has no verdict because the number of its GPUs is open. */
export function fitOf({ estimate, usable }: Variant): PicturePoint["fit"] {
  return verdictOf(estimate, usable);
}

/** A sign beside a peak: nothing for what fits, so that only trouble is marked. */
export const FIT_SIGNS: Readonly<Record<PicturePoint["fit"], string>> = {
  fits: "",
  unknown: "",
  tight: " ~",
  "does-not-fit": " ✗",
};

function partsOf(estimate: Estimate, locale: Locale): readonly PicturePart[] {
  const { components, allocatedPeakBytes, reservedPeakBytes, usedPeakBytes } = estimate;
  return [
    ...components.map(({ kind, bytes }) => ({ kind, name: t(locale, `component.${kind}`), bytes })),
    { kind: "cache", name: t(locale, "part.cache"), bytes: reservedPeakBytes - allocatedPeakBytes },
    { kind: "context", name: t(locale, "part.context"), bytes: usedPeakBytes - reservedPeakBytes },
  ].filter(({ bytes }) => bytes > 0);
}

/** The picture of a run and the values tried for one of its keys; null without an estimate. */
export function pictureOf({ varied, locale }: RunAnalysis, curve: HoverPicture["curve"]): HoverPicture | null {
  const { estimate, usable } = varied;
  if (estimate === undefined) return null;
  const parts = partsOf(estimate, locale);
  const usableText = usable === null ? "" : t(locale, "picture.usable", { usable: gib(usable) });
  const said = parts
    .filter(({ bytes }) => gib(bytes) !== "0.0")
    .map(({ name, bytes }) => `${name} ${gib(bytes)}`)
    .join(t(locale, "list.and"));
  const tried = curve?.points
    .map(({ value, bytes, fit }) => `${value}: ${gib(bytes)}${FIT_SIGNS[fit]}`)
    .join(t(locale, "list.and"));
  return {
    parts,
    usedBytes: estimate.usedPeakBytes,
    lowBytes: estimate.band.lowBytes,
    highBytes: estimate.band.highBytes,
    usableBytes: usable,
    usableText,
    curve,
    alt: [
      t(locale, "picture.bar", { used: gib(estimate.usedPeakBytes), parts: said }),
      ...(curve === null || tried === undefined ? [] : [t(locale, "picture.curve", { label: curve.label, tried })]),
    ].join(t(locale, "sentence.and")),
  };
}
