/** The one finding that answers the question: does it fit. Placed at the cheapest lever the documents hold. */

import { size, t } from "../messages";
import { type Problem, type Related, say } from "../problems";
import type { Resolved } from "../resolve";
import type { RunAnalysis, Variant } from "../run-analysis";

/** Where to underline, cheapest lever first. */
const LEVER_ORDER = [
  "micro_batch_size",
  "sequence_length",
  "gradient_checkpointing",
  "optimizer",
  "zero_stage",
  "model",
];
/** Settings the number comes from. */
const RELATED = ["model", "sequence_length", "load_dtype", "compute_dtype", "optimizer", "zero_stage"];

/** The largest micro-batch (a power of two at most the present one) that fits; 0 when none does. */
export function largestMicroBatch(analysis: RunAnalysis, variant: Variant): number {
  const now = variant.resolution.run?.microBatchSize ?? 1;
  const fits = (batch: number): boolean => {
    const tried = analysis.vary({ micro_batch_size: String(batch) });
    return tried.verdict === "fits" || tried.verdict === "tight";
  };
  if (now <= 1 || !fits(1)) return 0;
  let low = 1;
  let high = now;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

export function verdictProblems(analysis: RunAnalysis, variant: Variant): Problem[] {
  const { estimate, usable, verdict, resolution } = variant;
  if (estimate === undefined || usable === null || (verdict !== "does-not-fit" && verdict !== "tight")) return [];
  const { locale, inputs } = analysis;
  const place = LEVER_ORDER.map((name) => resolution.resolved.get(name)).find(
    (setting) => setting?.place?.uri === inputs.main.uri,
  )?.place;
  const span = place?.keySpan ?? { start: 0, end: Math.min(inputs.main.text.length, firstLine(inputs.main.text)) };
  const device = resolution.device.spec?.name ?? "";
  const at = { uri: inputs.main.uri, span, related: relatedTo(resolution.resolved) };
  if (verdict === "tight") {
    return [
      {
        code: "tight",
        severity: "warning",
        message: say("tight", {
          device,
          spare: size(usable - estimate.usedPeakBytes),
          band: size(estimate.band.highBytes - estimate.usedPeakBytes),
        }),
        ...at,
      },
    ];
  }
  const largest = largestMicroBatch(analysis, variant);
  const advice = largest > 0 ? t(locale, "does-not-fit.largest", { batch: largest }) : t(locale, "does-not-fit.none");
  return [
    {
      code: "does-not-fit",
      severity: "error",
      message: say("does-not-fit", {
        device,
        used: size(estimate.usedPeakBytes),
        usable: size(usable),
        phase: t(locale, `phase.${estimate.peakPhase}`),
        advice,
      }),
      ...at,
    },
  ];
}

function firstLine(text: string): number {
  const end = text.indexOf("\n");
  return end < 0 ? text.length : end;
}

function relatedTo(resolved: ReadonlyMap<string, Resolved>): Related[] {
  return RELATED.flatMap((name) => {
    const setting = resolved.get(name);
    if (setting?.place == null) return [];
    return [
      {
        uri: setting.place.uri,
        span: setting.place.valueSpan,
        message: say("related.setting", { name, value: String(setting.value) }),
      },
    ];
  });
}
