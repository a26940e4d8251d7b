/** What would have avoided it: the run's own plans first, then what no setting of the run says. */
import type { ReportEdit, ReportPlan } from "../../core/report/schema";
import type { Blame, Cause } from "../../evidence/log/cause";
import type { Failure } from "../../evidence/log/failures";
import type { Part } from "../../evidence/log/phase-rules";
import { table } from "../../terms/table";
import { type Message, say } from "../../words/message";

export interface Advice {
  readonly title: string;
  /** Peak of the changed run; null where it is not a change of the run. */
  readonly usedPeakBytes: number | null;
  /** Place in the run's `plans`; null where it is none of them. */
  readonly planIndex: number | null;
  /** What writes it into the files; empty where it is nothing of theirs. */
  readonly edits: readonly ReportEdit[];
}

/** Where the allocator reads its settings from. Source: c10/core/AllocatorConfig.cpp. */
const VARIABLES: Readonly<Record<string, string>> = table({ hip: "PYTORCH_HIP_ALLOC_CONF" });

type Adviser = (failure: Failure) => Message | null;

const BY_CAUSE: Readonly<Partial<Record<Cause, Adviser>>> = table({
  fragmentation: ({ backend }: Failure) =>
    say("oom.advice-expandable", { variable: VARIABLES[backend] ?? "PYTORCH_CUDA_ALLOC_CONF" }),
  "other-process": () => say("oom.advice-other"),
  limit: () => say("oom.advice-limit"),
  cache: ({ tokens }: Failure) =>
    tokens === null ? say("oom.advice-cache") : say("oom.advice-cache-tokens", { room: tokens.room }),
  host: () => say("oom.advice-host"),
  "beside-the-pool": () => say("oom.advice-workspace"),
});

const BY_PART: Readonly<Partial<Record<Part, Adviser>>> = table({
  evaluation: () => say("oom.advice-evaluation"),
  saving: () => say("oom.advice-saving"),
  load: () => say("oom.advice-load"),
  generation: () => say("oom.advice-generation"),
});

/** Causes that the run's own settings are no answer to. */
const NOT_THE_RUN: readonly Cause[] = ["cache", "host", "limit", "not-the-card"];

/** Advice that no plan of a run is, most to the point first. */
export function generalAdvice(failure: Failure, { cause }: Blame): readonly Message[] {
  const part = failure.part?.part;
  const ofPart = part === undefined || NOT_THE_RUN.includes(cause) ? undefined : BY_PART[part];
  return [BY_CAUSE[cause]?.(failure), ofPart?.(failure)].filter((message) => message != null);
}

/** Plans shown with a failure, at most. */
const MOST_PLANS = 3;

/** Plans that fit the card of the failure, smallest change first. */
export function plannedAdvice(plans: readonly ReportPlan[], { cause }: Blame): readonly Advice[] {
  if (NOT_THE_RUN.includes(cause)) return [];
  return plans
    .map((plan, planIndex) => ({ plan, planIndex }))
    .filter(({ plan }) => plan.fits !== false)
    .slice(0, MOST_PLANS)
    .map(({ plan: { title, usedPeakBytes, edits }, planIndex }) => ({ title, usedPeakBytes, planIndex, edits }));
}
