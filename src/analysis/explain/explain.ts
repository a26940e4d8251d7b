/** A failure in a log as a person reads it: where, who took the room, which tensor, what would have avoided it. */
import type { ReportRun } from "../../core/report/schema";
import { type Blame, blameFor, type Cause, othersOf } from "../../evidence/log/cause";
import type { Failure } from "../../evidence/log/failures";
import type { Frame } from "../../evidence/log/frames";
import type { Kind } from "../../evidence/log/messages";
import type { Part } from "../../evidence/log/phase-rules";
import { exact, type Locale, messageId, t, text } from "../messages";
import { type Advice, generalAdvice, plannedAdvice } from "./advice";
import { copyOf } from "./copy";
import type { ExplainedTensor, TensorFound } from "./found";

export interface Explanation {
  /** Line of the log, from zero. */
  readonly line: number;
  readonly kind: Kind;
  readonly cause: Cause;
  /** null: the log has no traceback that says it. */
  readonly part: Part | null;
  readonly rank: number | null;
  readonly gpu: number | null;
  readonly requestedBytes: number | null;
  /** The message as it was printed. */
  readonly message: string;
  readonly title: string;
  /** `rank 3, GPU 0`; empty where nothing is said. */
  readonly where: string;
  /** What the message says of the card; empty where it says nothing. */
  readonly room: string;
  readonly why: readonly string[];
  readonly tensor: ExplainedTensor | null;
  /** Sentences about the tensor, or why none is named. */
  readonly tensorSaid: readonly string[];
  readonly estimate: string | null;
  readonly advice: readonly Advice[];
  /** Where the person's own code was. */
  readonly frame: Frame | null;
  /** The run that it was matched with. */
  readonly run: { readonly id: string; readonly uri: string } | null;
}

/** A run that stands beside a log. */
export interface RunBeside {
  readonly report: ReportRun;
  readonly found: TensorFound;
  /** What the estimate says of the card that the log describes; null where it says nothing. */
  readonly estimate: string | null;
}

/** Advice that is no plan of the run's. */
const NO_PLAN = { usedPeakBytes: null, planIndex: null, edits: [] } as const;

/** Where it happened, as far as the log says it, and what was asked for. */
function titleOf(part: Part | null, asked: number | null, locale: Locale): string {
  const size = exact(asked ?? 0);
  const id = part === null ? undefined : (messageId(`phase.${part}`) ?? messageId(`part.${part}`));
  if (id === undefined)
    return asked === null ? t(locale, "oom.title-bare") : t(locale, "oom.title-bare-asked", { size });
  const name = t(locale, id);
  return asked === null ? t(locale, "oom.title", { part: name }) : t(locale, "oom.title-asked", { part: name, size });
}

function whereOf({ rank, device }: Failure, locale: Locale): string {
  const parts = [
    rank === null ? null : t(locale, "oom.where-rank", { rank }),
    device === null ? null : t(locale, "oom.where-gpu", { device }),
  ];
  return parts.filter((part) => part !== null).join(", ");
}

function roomOf(failure: Failure, locale: Locale): string {
  const { total, allocated, idle, process, free } = failure;
  if (total === null) return "";
  const beside = process === null || allocated === null ? null : process.bytes - allocated.bytes - (idle?.bytes ?? 0);
  const sum = othersOf(failure).reduce((bytes, other) => bytes + other.size.bytes, 0);
  const parts = [
    allocated && t(locale, "oom.room-allocated", { size: exact(allocated.bytes) }),
    idle && t(locale, "oom.room-idle", { size: exact(idle.bytes) }),
    beside === null || beside <= 0 ? null : t(locale, "oom.room-beside", { size: exact(beside) }),
    sum === 0 ? null : t(locale, "oom.room-others", { size: exact(sum) }),
    free && t(locale, "oom.room-free", { size: exact(free.bytes) }),
  ].filter((part) => part !== null);
  if (parts.length === 0) return "";
  return t(locale, "oom.room", { total: exact(total.bytes), parts: parts.join(", ") });
}

function whyOf(failure: Failure, { cause, bytes, processes, inferred }: Blame, locale: Locale): string[] {
  const sized = { size: exact(bytes ?? 0) };
  const { tokens, allocated, total } = failure;
  const said = {
    fragmentation: () => t(locale, "oom.fragmentation", sized),
    "other-process": () =>
      inferred
        ? t(locale, "oom.other-process-inferred", sized)
        : t(locale, "oom.other-process", { ...sized, count: processes.length, processes: processes.join(", ") }),
    limit: () => t(locale, "oom.limit", sized),
    "needs-more": () => (bytes === null ? t(locale, "oom.needs-more-unknown") : t(locale, "oom.needs-more", sized)),
    "not-the-card": () => t(locale, "oom.not-the-card", sized),
    "beside-the-pool": () => t(locale, "oom.beside-the-pool"),
    cache: () => (tokens === null ? t(locale, "oom.cache") : t(locale, "oom.cache-tokens", { ...tokens })),
    host: () => t(locale, "oom.host"),
    unknown: () => t(locale, "oom.unknown"),
  }[cause]();
  const shared = allocated !== null && total !== null && allocated.bytes > total.bytes;
  return shared ? [said, t(locale, "oom.shared")] : [said];
}

/** The innermost frame of the person's own code; else the innermost one. */
function ownFrame(frames: readonly Frame[]): Frame | null {
  const own = frames.filter(({ file }) => !/[/](?:site|dist)-packages[/]|[/]lib[/]python\d|^</.test(file));
  return own.at(-1) ?? frames.at(-1) ?? null;
}

/**
 * Explains one failure.
 *
 * @param beside the run that the log is of, analysed on the card that the message describes; undefined: none is known
 */
export function explain(failure: Failure, locale: Locale, beside?: RunBeside): Explanation {
  const blame = blameFor(failure);
  const found = beside?.found ?? { tensor: copyOf(failure, [], locale) ?? null, missing: [] };
  const part = failure.part?.part ?? found.tensor?.phase ?? null;
  const asked = failure.requested;
  const planned = beside === undefined ? [] : plannedAdvice(beside.report.plans, blame);
  const general = generalAdvice(failure, blame).map((message) => ({
    title: text(message, locale),
    ...NO_PLAN,
  }));
  const hint =
    beside === undefined && general.length === 0 ? [{ title: t(locale, "oom.advice-config"), ...NO_PLAN }] : [];
  const isRunsFault = blame.cause === "needs-more" || blame.cause === "beside-the-pool";
  return {
    line: failure.line,
    kind: failure.kind,
    cause: blame.cause,
    part,
    rank: failure.rank,
    gpu: failure.device,
    requestedBytes: asked === null ? null : Math.round(asked.bytes),
    message: failure.message,
    title: titleOf(part, asked?.bytes ?? null, locale),
    where: whereOf(failure, locale),
    room: roomOf(failure, locale),
    why: whyOf(failure, blame, locale),
    tensor: found.tensor,
    tensorSaid: found.tensor?.said ?? found.missing,
    estimate: beside?.estimate ?? null,
    advice: isRunsFault ? [...planned, ...general, ...hint] : [...general, ...planned, ...hint],
    frame: ownFrame(failure.frames),
    run: beside === undefined ? null : { id: beside.report.id, uri: beside.report.documents[0] ?? "" },
  };
}
