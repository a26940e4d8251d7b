/** What took the room: the message's own figures, added up. */
import type { Said } from "./messages";

export type Cause =
  /** The pool has more unused than was asked for, in pieces. */
  | "fragmentation"
  /** Without the other processes it would have gone through. */
  | "other-process"
  /** The process may not use the whole card. */
  | "limit"
  /** The card is too small for it. */
  | "needs-more"
  /** The card had room: what refused was not the card's memory. */
  | "not-the-card"
  /** What no tensor is found no room beside the framework's pool. */
  | "beside-the-pool"
  | "cache"
  | "host"
  | "unknown";

export interface Blame {
  readonly cause: Cause;
  /** Bytes that stood in the way; null where the message does not say. */
  readonly bytes: number | null;
  /** Ids of the other processes, largest first. */
  readonly processes: readonly number[];
  /** The others are not named: what the card has less what is accounted for. */
  readonly inferred: boolean;
}

/**
 * Context and libraries of one process, at most: what is missing beyond it is somebody else's
 * (`src/core/hardware/context.ts`, unknown architecture, and one more communicator of NCCL).
 */
const LARGEST_CONTEXT = 2400 * 2 ** 20;

function blame(cause: Cause, bytes: number | null, processes: readonly number[] = [], inferred = false): Blame {
  return { cause, bytes, processes, inferred };
}

/** Of what no process is named for: total less free less this process's own. null where that cannot be told. */
function unaccounted(said: Said): number | null {
  const { total, free, allocated, idle, process } = said;
  if (total === null || free === null) return null;
  const own = process?.bytes ?? (allocated === null ? null : allocated.bytes + (idle?.bytes ?? 0) + LARGEST_CONTEXT);
  return own === null ? null : Math.max(0, total.bytes - free.bytes - own);
}

/** Other processes that the message names. A container's driver names this one as another (PyTorch 2.1): it is left out. */
export function othersOf(said: Said): Said["others"] {
  const own = (said.allocated?.bytes ?? 0) + (said.idle?.bytes ?? 0);
  return said.others.filter(({ size }) => !isSelf(size.bytes, own, said));
}

/** Who or what stood in the way of a request. */
export function blameFor(said: Said): Blame {
  if (said.kind === "host") return blame("host", said.requested?.bytes ?? null);
  if (said.kind === "cache") return blame("cache", null);
  if (said.kind === "library" || said.kind === "communication")
    return blame("beside-the-pool", said.requested?.bytes ?? null);
  // A compiled program asks for all of its memory at once; the message says no more than that.
  if (said.kind === "compiled") return blame("needs-more", null);
  const { requested, free, idle, allowed, total, others } = said;
  if (requested === null || (free === null && said.backend !== "mps")) return blame("unknown", null);
  const wanted = requested.bytes;
  const room = free?.bytes ?? 0;
  if (allowed !== null && total !== null && allowed.bytes < total.bytes && room >= wanted)
    return blame("limit", allowed.bytes);
  const named = [...othersOf(said)].sort((a, b) => b.size.bytes - a.size.bytes);
  const sum = named.reduce((bytes, { size }) => bytes + size.bytes, 0);
  if (idle !== null && idle.bytes >= wanted) return blame("fragmentation", idle.bytes);
  if (sum > 0 && room + sum >= wanted)
    return blame(
      "other-process",
      sum,
      named.map(({ pid }) => pid),
    );
  const missing = others.length === 0 ? unaccounted(said) : null;
  if (missing !== null && missing > 0 && room + missing >= wanted) return blame("other-process", missing, [], true);
  if (room >= wanted && room > 0) return blame("not-the-card", room);
  if (idle !== null && room + idle.bytes >= wanted) return blame("fragmentation", idle.bytes);
  return blame("needs-more", Math.max(0, wanted - room));
}

/** Whether a process that is named holds just what PyTorch has reserved and its context: it is this one, seen from a container. */
function isSelf(bytes: number, own: number, { process }: Said): boolean {
  return process === null && own > 0 && bytes >= own * 0.98 && bytes - own <= LARGEST_CONTEXT;
}
