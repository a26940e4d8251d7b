/** The one finding that answers the question: does it fit. Placed at the cheapest lever the documents hold. */

import { DEVICES_PER_MACHINE } from "../../core/hardware/devices";
import { isNotebook } from "../../syntax/dispatch";
import type { SettingRow } from "../../terms/setting-row";
import { inOrder, type SettingName } from "../../terms/settings";
import { type Message, say } from "../../words/message";
import { hasHosts, openSplit } from "../estimate/gpu-count";
import type { RunAnalysis, Variant } from "../estimate/run-analysis";
import { needsMore } from "../estimate/verdict";
import { largestBatchAlone, largestEvaluationBatch } from "../levers/batch";
import { fewestOf } from "../levers/fewest-devices";
import { deviceLabel, type Locale, size, t } from "../messages";
import type { Problem, Related } from "../problems";
import { statementOf } from "../report/statement";
import type { Resolution } from "../resolve";
import { repeatedValue } from "./repeated-value";
import { set } from "./rule";

/** Settings that the verdict points at, first one first: to underline the cheapest lever (by the phase of the peak), or beside that. */
const pointedAt = (where: keyof NonNullable<SettingRow["pointedAt"]>): readonly SettingName[] =>
  inOrder((row) => row.pointedAt?.[where]);

export function verdictProblems(analysis: RunAnalysis, variant: Variant): Problem[] {
  const { estimate, usable, verdict, resolution } = variant;
  if (
    verdict === "unknown" &&
    estimate !== undefined &&
    usable !== null &&
    (estimate.usedPeakBytes > usable || hasHosts(resolution))
  )
    // Settings that could not be read have a finding where their file is named.
    return openSplit(resolution) === "count" ? openCount(analysis, variant, estimate.usedPeakBytes, usable) : [];
  if (estimate === undefined || usable === null || (verdict !== "does-not-fit" && verdict !== "tight")) return [];
  const { locale, inputs } = analysis;
  const evaluates = estimate.peakPhase === "evaluation" || estimate.peakPhase === "generation";
  const stated = evaluates
    ? pointedAt("evaluation").flatMap((name) => resolution.settings.find(name) ?? [])
    : pointedAt(estimate.peakPhase === "load" ? "load" : "step").flatMap((name) => resolution.resolved.get(name) ?? []);
  const place = stated.find((setting) => setting.place?.uri === inputs.main.uri)?.place;
  const span = place?.keySpan ?? { start: 0, end: Math.min(inputs.main.text.length, firstLine(inputs.main.text)) };
  const device = deviceLabel(resolution.device.spec?.name ?? "", locale);
  const { need, peak } = statementOf(variant, locale);
  const at = { uri: inputs.main.uri, span, related: relatedTo(resolution) };
  if (verdict === "tight") {
    return [
      {
        code: "tight",
        severity: "warning",
        message: tightness(variant, device, locale),
        ...at,
      },
    ];
  }
  // What-ifs say only whether they fit; the advice is for the run as it is written.
  const base = analysis.isBase(variant);
  const batch = base && evaluates ? largestEvaluationBatch(analysis) : undefined;
  const advice = base ? adviceOf(analysis, batch) : "";
  return [
    {
      code: "does-not-fit",
      severity: "error",
      message: say("does-not-fit", {
        device,
        need,
        peak,
        advice,
      }),
      ...at,
      ...(batch === undefined
        ? {}
        : { fixes: [set("fix.evaluation-batch", { batch }, true, [{ name: "eval_batch_size", value: batch }])] }),
    },
  ];
}

/** What makes it tight: the pool that the device holds back, a band that begins below the device's size, or one that ends above it. */
function tightness(variant: Variant, device: string, locale: Locale): Message {
  const { need, peak } = statementOf(variant, locale);
  if (!needsMore(variant)) return say("tight", { device, need, peak });
  return variant.estimate?.releases === undefined
    ? say("tight.band", { device, need, peak })
    : say("tight.pool", { device, need });
}

/** How many GPUs are stated by a fix. Where no number is enough the plans for a machine's GPUs are the way on. */
export function statedCount(analysis: RunAnalysis): number {
  return fewestOf(analysis) ?? DEVICES_PER_MACHINE;
}

/** What is said of a run for several GPUs when nothing says how many. */
function openCount(analysis: RunAnalysis, { resolution }: Variant, used: number, usable: number): Problem[] {
  const { locale, inputs } = analysis;
  const { main } = inputs;
  const stated = pointedAt("several").map((name) => resolution.settings.find(name)?.place);
  const place = stated.find((found) => found?.uri === main.uri);
  const span = place?.keySpan ?? { start: 0, end: Math.min(main.text.length, firstLine(main.text)) };
  const device = deviceLabel(resolution.device.spec?.name ?? "", locale);
  const count = fewestOf(analysis);
  const states = statedCount(analysis);
  const args = { device, used: size(used), usable: size(usable) };
  const syntax = main.config?.parsed.syntax;
  const start = main.text.startsWith("#!") ? firstLine(main.text) + 1 : 0;
  const commented = syntax !== "json" && !isNotebook(syntax) && start <= main.text.length;
  return [
    {
      code: "gpu-count-open",
      severity: "warning",
      message: count === undefined ? say("gpu-count-open.none", args) : say("gpu-count-open", { ...args, count }),
      uri: main.uri,
      span,
      related: relatedTo(resolution),
      fixes: [
        {
          title: say("fix.gpu-count", { count: states }),
          safe: true,
          ...(commented
            ? { replace: { start, end: start, newText: `# vramlens: gpus=${states}\n` } }
            : { pin: { key: "device.count", value: String(states) } }),
        },
      ],
    },
  ];
}

/** @param evaluationBatch the largest batch of an evaluation that is all that does not fit */
function adviceOf(analysis: RunAnalysis, evaluationBatch: number | undefined): string {
  if (evaluationBatch !== undefined) return t(analysis.locale, "does-not-fit.evaluation", { batch: evaluationBatch });
  const largest = largestBatchAlone(analysis);
  if (analysis.cutShort) return "";
  return largest === undefined
    ? t(analysis.locale, "does-not-fit.none")
    : t(analysis.locale, "does-not-fit.largest", { batch: largest.batch });
}

function firstLine(text: string): number {
  const end = text.indexOf("\n");
  return end < 0 ? text.length : end;
}

/** The device and the settings the number comes from. */
function relatedTo({ resolved, device }: Resolution): Related[] {
  const settings = [device.asked, ...pointedAt("related").map((name) => resolved.get(name))];
  return settings.flatMap((setting) => {
    if (setting?.place == null) return [];
    const message = say("related.setting", { name: setting.name, value: repeatedValue(setting.value) });
    return [{ uri: setting.place.uri, span: setting.place.valueSpan, message }];
  });
}
