/** Lines of a hover that say what the whole run says: what was measured, the verdict, what was assumed, why there is no estimate. */

import { migrationOf } from "../../core/cost/managed";
import type { Estimate, Phase } from "../../core/report/estimate";
import { grouped } from "../../terms/sizes";
import { table } from "../../terms/table";
import { inCode, inMarkdown } from "../../words/printable";
import { baseName } from "../documents/uris";
import type { RunAnalysis } from "../estimate/run-analysis";
import { needsMore } from "../estimate/verdict";
import { isPartAlone } from "../frameworks/frameworks";
import { MODELS, mayDiffer, NEWEST } from "../frameworks/versions";
import { largestBatch, largestBatchAlone } from "../levers/batch";
import { gib, type Locale, markdown, size, t } from "../messages";
import { measuredText, measurementOf } from "../report/measured";
import { documentOf, releasesOf, reportedSettings } from "../report/report";
import { standInsOf } from "../report/stand-ins";
import { statementOf } from "../report/statement";
import type { Resolved } from "../resolve";

/** What the run was measured at, beside the estimate. */
export function measuredLine({ base, inputs, locale }: RunAnalysis): string | undefined {
  const { estimate, resolution } = base;
  const documents = inputs.documents.map(({ uri }) => uri);
  const measured = measurementOf(inputs.receipts ?? [], documents, reportedSettings(inputs, resolution), estimate);
  return measured === null || estimate === undefined
    ? undefined
    : inMarkdown(measuredText(measured, estimate.allocatedPeakBytes, locale));
}

/** Keys that decide about the evaluation beside training. */
export const EVALUATION_KEYS = new Set([
  "eval_batch_size",
  "eval_strategy",
  "eval_on_start",
  "eval_accumulation_steps",
  "eval_do_concat_batches",
  "prediction_loss_only",
  "predict_with_generate",
  "generation_max_length",
  "generation_num_beams",
  "generation_new_tokens",
]);

/** Peaks of the evaluation and of what it generates, with the key-value cache. */
export function evaluationLine(estimate: Estimate, { base, locale }: RunAnalysis): string | undefined {
  const peakOf = (name: Phase): string | undefined => {
    const found = estimate.phases.find(({ phase }) => phase === name);
    return found && size(found.peakBytes);
  };
  const evaluated = peakOf("evaluation");
  if (evaluated === undefined) return undefined;
  const line = t(locale, "hover.evaluation", { peak: evaluated });
  const generation = base.resolution.run?.generation;
  if (generation == null || estimate.cacheBytes === undefined) return line;
  const cache = t(locale, "hover.generation", {
    peak: peakOf("generation") ?? "",
    cache: size(estimate.cacheBytes),
    sequences: generation.batchSize * generation.beams,
    tokens: generation.newTokens,
  });
  return `${line} ${cache}`;
}

/** Bold verdict with the numbers it rests on. */
export function verdictLine({ varied, locale }: RunAnalysis): string {
  const { verdict, detail } = statementOf(varied, locale);
  return t(locale, "hover.verdict", { verdict, detail });
}

/** What a run that does not fit would be in memory that moves by itself. */
export function managedLine({ base, locale }: RunAnalysis): string | undefined {
  const { run } = base.resolution;
  if (run === null || base.estimate === undefined || base.verdict !== "does-not-fit") return undefined;
  const found = migrationOf(run, base.estimate);
  if (found === null) return undefined;
  const [low, high] = found.slower.map((value) => value.toPrecision(2));
  const [least, most] = found.bytes.map(size);
  return t(locale, "hover.managed", { low: low!, high: high!, least: least!, most: most! });
}

interface LargestBatch {
  readonly said: string;
  /** Values that set it, where there is one. */
  readonly set?: Readonly<Record<string, string>>;
}

/** The largest micro-batch that fits, with the accumulation that keeps the global batch. */
export function largestOf(analysis: RunAnalysis): LargestBatch | undefined {
  const { base, locale } = analysis;
  if (!needsMore(base)) return undefined;
  const alone = largestBatchAlone(analysis);
  const kept = largestBatch(analysis);
  if (analysis.cutShort) return undefined;
  // A run of one sample that may fit is not said not to.
  if (alone === undefined) return base.verdict === "tight" ? undefined : { said: t(locale, "hover.no-batch-fits") };
  if (kept === undefined) {
    const set = { micro_batch_size: String(alone.batch) };
    return { said: t(locale, "hover.largest-alone", { batch: alone.batch, global: alone.global }), set };
  }
  const set = { micro_batch_size: String(kept.batch), gradient_accumulation_steps: String(kept.steps) };
  const args = { batch: kept.batch, steps: kept.steps, global: kept.global };
  if (kept.batch >= alone.batch) return { said: t(locale, "hover.largest", args), set };
  return { said: t(locale, "hover.largest-either", { ...args, alone: alone.batch, other: alone.global }), set };
}

/** A line of blocks per component, longest first. */
export function breakdown(estimate: Estimate, locale: Locale): string {
  const total = estimate.allocatedPeakBytes || 1;
  const small = total < 2 ** 30;
  const parts = [...estimate.components]
    .filter((component) => component.bytes / total >= 0.005)
    .sort((a, b) => b.bytes - a.bytes)
    .map((component) => {
      const blocks = "▇".repeat(Math.max(1, Math.round((30 * component.bytes) / total)));
      return `${blocks} ${t(locale, `component.${component.kind}`)} ${small ? size(component.bytes) : gib(component.bytes)}`;
    });
  return parts.join("  ");
}

/** One line: what was supposed, where the main numbers come from, which versions, how often bands held. */
export function assumptionsLine(analysis: RunAnalysis): string | undefined {
  const { base, locale } = analysis;
  const supposed = base.resolution.suppositions.map((supposition) => markdown(supposition.message, locale));
  const engine = (base.estimate?.assumptions ?? []).map(({ what }) => markdown(what, locale));
  const releases = releasesOf(analysis.inputs, base.resolution);
  const named = ({ library, version }: (typeof releases)[number]): string =>
    `${library} ${version}${STANDS[library]?.(analysis) ?? ""}`;
  const taken = releases.filter(({ stated }) => !stated).map(named);
  const assumed = [...supposed, ...engine, ...taken].join(" · ");
  const said = assumed === "" ? [] : [t(locale, "hover.assumes", { list: assumed })];
  const sources = (["model", "sequence_length", "world_size", "zero_stage"] as const).flatMap((name) => {
    const setting = base.resolution.resolved.get(name);
    const here = setting?.place == null || setting.place.uri === analysis.inputs.main.uri;
    if (setting === undefined || here || (name === "world_size" && setting.value === 1)) return [];
    const value = name === "model" ? (base.resolution.run?.model.name ?? setting.value) : setting.value;
    const shown = name === "sequence_length" ? grouped(Number(value)) : inMarkdown(String(value));
    return [
      `${t(locale, `setting.${name}`)} ${shown}${t(locale, "said.aside", { what: placeLink(analysis, setting) })}`,
    ];
  });
  if (sources.length > 0) said.push(sources.join(t(locale, "list.and")));
  const stated = releases.filter((one) => one.stated).map(named);
  if (stated.length > 0) said.push(stated.join(t(locale, "list.and")));
  const { claim } = statementOf(base, locale);
  if (claim !== undefined) said.push(claim);
  return said.length === 0 ? undefined : said.join(" · ");
}

/** What stands in for the code that runs, as the end of the first line. */
export function whatStandsIn({ base, locale }: RunAnalysis): string {
  return standInsOf(base)
    .map((what) => ` · ${markdown(what, locale)}`)
    .join("");
}

/** Whose models are counted for the release of transformers, where they are another's. */
function standing({ base, inputs, locale }: RunAnalysis): string {
  const { transformers } = base.resolution.libraries;
  if (inputs.graphs === undefined || !mayDiffer(transformers)) return "";
  const { release } = inputs.graphs;
  if (release !== undefined && transformers.startsWith(release)) return "";
  return t(locale, "hover.release-stands", { release: release ?? NEWEST.transformers });
}

/** What is said beside a library's release. */
const STANDS: Readonly<Record<string, (analysis: RunAnalysis) => string>> = table({ [MODELS]: standing });

export function noEstimate(analysis: RunAnalysis): string {
  const { base, locale, inputs } = analysis;
  const [obstacle] = base.resolution.obstacles;
  if (isPartAlone(inputs)) return t(locale, "hover.part-of-a-run");
  if (obstacle !== undefined) return t(locale, "hover.no-estimate", { reason: markdown(obstacle.message, locale) });
  const result = base.result;
  return t(locale, "hover.no-estimate", {
    reason: result === undefined || result.ok ? "" : markdown(result.reason, locale),
  });
}

export function placeLink(analysis: RunAnalysis, setting: Resolved): string {
  const document = setting.place === null ? undefined : documentOf(analysis.inputs, setting.place.uri);
  if (setting.place === null || document === undefined) return `\`${inCode(setting.key)}\``;
  const line = document.lines.position(setting.place.valueSpan.start).line + 1;
  return `[${inMarkdown(baseName(setting.place.uri))}:${line}](${setting.place.uri}#L${line})`;
}
