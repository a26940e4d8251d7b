/** The smallest single changes that make a run fit, each re-estimated by the engine and written as edits. */
import type { ReportPlan } from "../../core/report/schema";
import type { SettingChange } from "../../formats/types";
import { size, t } from "../messages";
import type { RunAnalysis, Variant } from "../run-analysis";
import { largestBatch } from "./batch";
import { editsFor } from "./edits";

interface Lever {
  readonly id: string;
  /** Candidate settings, least harmful first; the first that fits is taken. */
  readonly candidates: (analysis: RunAnalysis) => readonly Readonly<Record<string, string | number | boolean>>[];
  /** Step time relative to now, as published ablations put it; the cost model replaces it where it is known. */
  readonly factor: number;
  readonly changes: NonNullable<ReportPlan["changes"]>;
}

const LEVERS: readonly Lever[] = [
  {
    id: "micro-batch",
    candidates: (analysis) => {
      const best = largestBatch(analysis);
      return best === undefined ? [] : [{ micro_batch_size: best.batch, gradient_accumulation_steps: best.steps }];
    },
    factor: 1.06,
    changes: "nothing",
  },
  {
    id: "gradient-checkpointing",
    candidates: ({ base }) => (base.resolution.run?.checkpointing === null ? [{ gradient_checkpointing: true }] : []),
    factor: 1.3,
    changes: "nothing",
  },
  {
    id: "zero-stage",
    candidates: ({ base }) => {
      const stage = base.resolution.run?.parallel.deepspeed?.zeroStage;
      const world = base.resolution.run?.parallel.worldSize ?? 1;
      return stage === undefined || world < 2
        ? []
        : [1, 2, 3].filter((next) => next > stage).map((next) => ({ zero_stage: next }));
    },
    factor: 1.1,
    changes: "nothing",
  },
  {
    id: "offload-optimizer",
    candidates: ({ base }) => {
      const deepspeed = base.resolution.run?.parallel.deepspeed;
      return deepspeed != null && deepspeed.zeroStage > 0 && deepspeed.offloadOptimizer === "none"
        ? [{ offload_optimizer: "cpu" }]
        : [];
    },
    factor: 1.6,
    changes: "nothing",
  },
  {
    id: "mixed-precision",
    candidates: ({ base }) =>
      base.resolution.resolved.get("compute_dtype")?.value === "fp32" ? [{ compute_dtype: "bf16" }] : [],
    factor: 0.6,
    changes: "numerics",
  },
  {
    id: "optimizer",
    candidates: ({ base }) =>
      /^(?:adamw|paged_adamw_32bit)/.test(base.resolution.run?.optimizer.name ?? "") &&
      base.resolution.run?.adapter === null
        ? [{ optimizer: "adamw_bnb_8bit" }, { optimizer: "adafactor" }]
        : [],
    factor: 1.02,
    changes: "method",
  },
  {
    id: "sequence-length",
    candidates: ({ base }) => {
      const length = base.resolution.run?.sequenceLength ?? 0;
      return [0.75, 0.5, 0.25]
        .map((share) => Math.floor((length * share) / 64) * 64)
        .filter((next) => next >= 64)
        .map((next) => ({ sequence_length: next }));
    },
    factor: 0.8,
    changes: "method",
  },
];

/** Plans that fit, the least invasive first. */
export function simplePlans(analysis: RunAnalysis): ReportPlan[] {
  const { base } = analysis;
  if (base.verdict !== "does-not-fit" && base.verdict !== "tight") return [];
  return LEVERS.flatMap((lever) => {
    for (const candidate of lever.candidates(analysis)) {
      const set = Object.fromEntries(Object.entries(candidate).map(([name, value]) => [name, String(value)]));
      const variant = analysis.vary(set);
      if (variant.verdict !== "fits" && !(variant.verdict === "tight" && base.verdict === "does-not-fit")) continue;
      const plan = planOf(analysis, lever, candidate, variant);
      if (plan !== undefined) return [plan];
    }
    return [];
  });
}

function planOf(
  analysis: RunAnalysis,
  lever: Lever,
  candidate: Readonly<Record<string, string | number | boolean>>,
  variant: Variant,
): ReportPlan | undefined {
  const changes: SettingChange[] = Object.entries(candidate).map(([name, value]) => ({ name, value }));
  const result = editsFor(analysis.inputs, analysis.base.resolution, changes);
  const used = variant.estimate?.usedPeakBytes;
  if ("refused" in result || result.edits.length === 0 || used === undefined) return undefined;
  return {
    title: t(analysis.locale, `plan.${lever.id}`, { ...candidate, used: size(used) } as Record<
      string,
      string | number
    >),
    levers: [lever.id],
    usedPeakBytes: used,
    savesBytes: (analysis.base.estimate?.usedPeakBytes ?? used) - used,
    stepTimeFactor: lever.factor,
    edits: [...result.edits],
    fits: true,
    changes: lever.changes,
  };
}
