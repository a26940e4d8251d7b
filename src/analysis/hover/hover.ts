/**
 * The hover: verdict, what other values of this key would give, what it costs, what is alive at the peak, and what
 * the number stands on. Markdown without commands; the server adds those.
 */

import type { Estimate } from "../../core/report/estimate";
import type { KeySpec } from "../../formats/types";
import type { SettingName } from "../../terms/settings";
import { grouped } from "../../terms/sizes";
import type { CountedName } from "../../terms/tried";
import { inMarkdown } from "../../words/printable";
import type { RunAnalysis, Variant } from "../estimate/run-analysis";
import type { Place } from "../frameworks/settings";
import { brokenBy } from "../linking/broken";
import { uncountedKeys } from "../linking/uncounted";
import { gib, type Locale, markdown, size, sizeBetween, t } from "../messages";
import { effectOf } from "../messages/effects";
import { pinMeaning } from "../pins/pin-meaning";
import { CURVES, type Curve, isTaken } from "./curves";
import { FIT_SIGNS, fitOf, type HoverPicture, pictureOf } from "./picture";
import {
  assumptionsLine,
  breakdown,
  EVALUATION_KEYS,
  evaluationLine,
  largestOf,
  managedLine,
  measuredLine,
  noEstimate,
  placeLink,
  verdictLine,
  whatStandsIn,
} from "./run-lines";
import { type Tried, tryCurve } from "./tried";

/** The parts of a hover in the order of reading; all Markdown but the picture, any may be empty. */
export interface HoverParts {
  /** The verdict. */
  readonly lead: string;
  readonly picture: HoverPicture | null;
  /** The picture's values for who has no picture. */
  readonly table: string;
  /** What this key costs and how far it may go. */
  readonly next: string;
  /** Values that set the largest batch that fits. */
  readonly batch?: Readonly<Record<string, string>>;
  /** The picture's bar for who has no picture. */
  readonly breakdown: string;
  /** What the key does, and what the number stands on. */
  readonly below: string;
}

/** What is hovered: a key of a document and the canonical setting it is. */
export interface HoverTarget {
  readonly name: SettingName | null;
  readonly key: string;
  readonly spec: KeySpec | undefined;
  /** Where it is written. */
  readonly place: Place;
}

/** What is said of a key of a run, before it is laid out. */
export async function hoverOf(analysis: RunAnalysis, target: HoverTarget): Promise<HoverParts> {
  const { base, locale } = analysis;
  const known = CURVES[target.name ?? ""];
  const curve = known !== undefined && isTaken(known, base) ? known : undefined;
  const broken = brokenBy(analysis.inputs);
  if (broken !== undefined)
    return { ...NOTHING, lead: t(locale, "hover.broken", { reason: markdown(broken, locale) }) };
  if (base.estimate === undefined) return unestimated(analysis, target);
  const unused = known !== undefined && known.override === target.name && curve === undefined;
  const effect = target.spec === undefined ? pinMeaning(target.name, locale) : effectOf(target.spec, locale);
  if (target.spec !== undefined && !target.spec.memory && known === undefined)
    return { ...NOTHING, next: [...new Set([effect, t(locale, "hover.no-memory")])].join(t(locale, "sentence.and")) };
  const left = uncountedKeys(analysis.inputs).length;
  const uncounted = left === 0 ? "" : ` · ${t(locale, "hover.uncounted", { count: left })}`;
  const tried = curve === undefined ? [] : await tryCurve(analysis, curve);
  const drawn = curve === undefined || tried.length < 2 ? null : drawnCurve(tried, curve, base, locale);
  const cost = curve === undefined ? undefined : costLine(analysis, tried, curve);
  const largest = curve?.override === "micro_batch_size" ? largestOf(analysis) : undefined;
  const evaluation = EVALUATION_KEYS.has(target.name ?? "") ? evaluationLine(base.estimate, analysis) : undefined;
  return {
    lead: verdictLine(analysis) + whatStandsIn(analysis) + uncounted,
    picture: pictureOf(analysis, drawn),
    table: drawn === null || curve === undefined ? "" : curveTable(tried, curve, base, locale),
    next: [overriddenLine(analysis, target), cost, unused ? t(locale, "hover.unused") : undefined, largest?.said]
      .filter((line) => line !== undefined)
      .join(t(locale, "sentence.and")),
    ...(largest?.set === undefined ? {} : { batch: largest.set }),
    breakdown: breakdown(base.estimate, locale),
    below: [
      effect,
      chainLine(analysis, target),
      evaluation,
      managedLine(analysis),
      measuredLine(analysis),
      assumptionsLine(analysis),
    ]
      .filter((line) => line !== undefined)
      .join("\n\n"),
  };
}

/** All parts as Markdown without the picture. */
export function hoverMarkdown({ lead, table, next, breakdown, below }: HoverParts): string {
  return [lead, table, next, breakdown, below].filter((part) => part !== "").join("\n\n");
}

const NOTHING: HoverParts = { lead: "", picture: null, table: "", next: "", breakdown: "", below: "" };

/** Why there is no estimate, and what can be said without one. */
function unestimated(analysis: RunAnalysis, target: HoverTarget): HoverParts {
  const below = [
    target.spec === undefined ? undefined : effectOf(target.spec, analysis.locale),
    overriddenLine(analysis, target),
    chainLine(analysis, target),
  ];
  return { ...NOTHING, lead: noEstimate(analysis), below: below.filter((line) => line !== undefined).join("\n\n") };
}

/** The values tried, as the picture draws them. */
function drawnCurve(tried: readonly Tried[], curve: Curve, base: Variant, locale: Locale): HoverPicture["curve"] {
  const now = curve.now(base);
  const points = tried.map(({ value, variant }) => ({
    value: shownValue(value, locale).replaceAll("\\", ""),
    bytes: variant.estimate?.usedPeakBytes ?? 0,
    fit: fitOf(variant),
    now: value === now,
  }));
  return { label: t(locale, curve.label), points };
}

function curveTable(tried: readonly Tried[], curve: Curve, base: Variant, locale: Locale): string {
  const now = curve.now(base);
  const bold = (value: string, shown: string): string => (value === now ? `**${shown}**` : shown);
  const head = tried.map(({ value }) => bold(value, shownValue(value, locale)));
  const peaks = tried.map(({ value, variant }) => {
    const used = gib(variant.estimate?.usedPeakBytes ?? 0);
    return bold(value, `${used}${FIT_SIGNS[fitOf(variant)]}`);
  });
  return [
    `| ${t(locale, curve.label)} | ${head.join(" | ")} |`,
    `|---|${tried.map(() => "---:|").join("")}`,
    `| ${t(locale, "hover.peak-row")} | ${peaks.join(" | ")} |`,
  ].join("\n");
}

/** Letters of a value that a column has room for. */
const LONGEST_VALUE = 40;

function shownValue(value: string, locale: Locale): string {
  if (value === "true") return t(locale, "value.on");
  if (value === "false") return t(locale, "value.off");
  // A pattern is nothing to read in a table.
  if (value.length > LONGEST_VALUE && /[\\|()*]/.test(value)) return t(locale, "value.stated");
  const names = value.split(",");
  if (names.length > 2) return t(locale, "value.modules", { count: names.length });
  const number = Number(value);
  if (number >= 100_000) return Number(number.toPrecision(3)).toExponential().replace("e+", "e");
  return Number.isInteger(number) && value !== "" ? grouped(number) : inMarkdown(value);
}

/** What one unit of a number, or the present choice, costs; or that it costs nothing here. */
function costLine(analysis: RunAnalysis, tried: readonly Tried[], curve: Curve): string | undefined {
  const { base, locale } = analysis;
  const now = curve.now(base);
  const used = base.estimate?.usedPeakBytes ?? 0;
  const others = tried.filter(({ value }) => value !== now);
  if (others.length === 0) return undefined;
  const changes = others.map(({ variant }) => (variant.estimate?.usedPeakBytes ?? 0) - used);
  if (changes.every((change) => Math.abs(change) < used / 2000)) {
    return t(locale, "hover.nothing", { phase: t(locale, `phase.${base.estimate?.peakPhase ?? "load"}`) });
  }
  const { per } = curve.row;
  if (per === undefined) return bestAlternative(tried, curve, base, locale);
  const below = tried.findLast(({ value }) => Number(value) < Number(now)) ?? others[0];
  if (below === undefined) return undefined;
  const step = Number(now) - Number(below.value);
  // Allocated, not used: the allocator's rounding would drown small steps.
  const allocated = base.estimate?.allocatedPeakBytes ?? 0;
  const each = (allocated - (below.variant.estimate?.allocatedPeakBytes ?? 0)) / step;
  const shares = growth(below.whole().estimate, base.estimate, locale);
  return t(locale, `hover.per-${curve.override as CountedName}`, { each: size(each * per), shares });
}

/** Of a few choices, the one that needs least, or what the present one saves. */
function bestAlternative(tried: readonly Tried[], curve: Curve, base: Variant, locale: Locale): string | undefined {
  const now = curve.now(base);
  const used = base.estimate?.usedPeakBytes ?? 0;
  const usedBy = ({ variant }: Tried): number => variant.estimate?.usedPeakBytes ?? 0;
  const others = tried.filter(({ value }) => value !== now).sort((a, b) => usedBy(a) - usedBy(b));
  const [least] = others;
  const most = others.at(-1);
  if (least === undefined || most === undefined) return undefined;
  const args = (other: Tried) => ({
    value: shownValue(other.value, locale),
    bytes: sizeBetween(usedBy(other), used),
  });
  if (usedBy(least) < used) return t(locale, "hover.least", args(least));
  return curve.row.saves === true ? t(locale, "hover.saves", args(most)) : undefined;
}

/** The components that grew most between two estimates, as shares. */
function growth(from: Estimate | undefined, to: Estimate | undefined, locale: Locale): string {
  if (from === undefined || to === undefined) return "";
  const before = new Map(from.components.map((component) => [component.kind, component.bytes]));
  const grown = to.components
    .map((component) => ({ kind: component.kind, bytes: component.bytes - (before.get(component.kind) ?? 0) }))
    .filter((change) => change.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
  const total = grown.reduce((sum, change) => sum + change.bytes, 0);
  if (total <= 0) return "";
  const named = grown
    .slice(0, 2)
    .filter((change) => change.bytes / total >= 0.05)
    .map(({ kind, bytes }) =>
      t(locale, "said.share", { part: t(locale, `component.${kind}`), percent: Math.round((100 * bytes) / total) }),
    );
  return named.length === 0 ? "" : t(locale, "said.aside", { what: named.join(t(locale, "list.and")) });
}

/** Who wins when this key is overridden elsewhere, or what its `auto` becomes. */
function overriddenLine(analysis: RunAnalysis, target: HoverTarget): string | undefined {
  if (target.name === null) return undefined;
  const { resolved, settings } = analysis.base.resolution;
  const winner = resolved.get(target.name);
  const statements = settings.all(target.name);
  const stated = statements.find(({ place }) => isAt(place, target.place));
  // A statement that another of the same key replaced (an override, a file that extends this one) counts no more.
  const replaced = stated === undefined && statements.some(({ key }) => key === target.key);
  if (stated === undefined && !replaced) return undefined;
  const elsewhere = winner?.place != null && (replaced || winner.place.uri !== stated?.place?.uri);
  if (stated?.auto === true) {
    const value = winner?.value ?? null;
    if (winner === undefined || value === null) return t(analysis.locale, "hover.auto-open");
    const where = elsewhere ? t(analysis.locale, "said.aside", { what: placeLink(analysis, winner) }) : "";
    return t(analysis.locale, "hover.auto", { value: inMarkdown(String(value)), where });
  }
  if (winner === undefined || !elsewhere) return undefined;
  return t(analysis.locale, "hover.overridden", {
    value: inMarkdown(String(winner.value)),
    where: placeLink(analysis, winner),
  });
}

function isAt(place: Place | null, other: Place): boolean {
  return place?.uri === other.uri && place.valueSpan.start === other.valueSpan.start;
}

/** Settings whose product is the global batch. */
const CHAINED: ReadonlySet<string> = new Set([
  "micro_batch_size",
  "gradient_accumulation_steps",
  "global_batch_size",
  "world_size",
]);

/** How the global batch comes about, each factor with where it is written; nothing when one file says it all. */
function chainLine(analysis: RunAnalysis, target: HoverTarget): string | undefined {
  if (target.name === null || !CHAINED.has(target.name)) return undefined;
  const { resolved, settings } = analysis.base.resolution;
  const { locale } = analysis;
  const factors = (["micro_batch_size", "world_size", "gradient_accumulation_steps"] as const).flatMap((name) => {
    const found = resolved.get(name);
    return typeof found?.value === "number" && found.value >= 1 ? [{ name, found, value: found.value }] : [];
  });
  const degree = (name: SettingName): number => {
    const value = resolved.get(name)?.value;
    return typeof value === "number" && value > 1 ? value : 1;
  };
  const split = degree("tensor_parallel") * degree("pipeline_parallel") * degree("context_parallel");
  const uris = new Set([
    target.place.uri,
    ...factors.flatMap(({ found }) => (found.place === null ? [] : [found.place.uri])),
  ]);
  const isAuto = (name: SettingName): boolean => settings.all(name).some(({ auto }) => auto === true);
  if (factors.length < 3 || (uris.size < 2 && !factors.some(({ name }) => isAuto(name)))) return undefined;
  const said = factors.map(({ name, found, value }) => {
    const where = found.place === null ? t(locale, "hover.chain-default") : placeLink(analysis, found);
    const source = isAuto(name)
      ? found.place === null
        ? "`auto`"
        : `\`auto\`${t(locale, "list.and")}${where}`
      : where;
    return t(locale, `hover.chain-${name}`, { value, source });
  });
  const total = factors.reduce((product, { value }) => product * value, 1) / split;
  const parallel = split > 1 ? ` ÷ ${split}` : "";
  return t(locale, "hover.chain", { total, factors: `${said.join(" × ")}${parallel}` });
}
