/** A log to the places in it where memory ran out: what was said, by which rank, in which part of the run. */
import { beginsTraceback, type Frame, frameAt, framesOf } from "./frames";
import { type LogLine, logLines, rankOf } from "./lines";
import { markerIn, readMessage, type Said } from "./messages";
import { type NamedTensor, namedBefore } from "./named";
import { type PartOfRun, partOf } from "./phase";

export interface Failure extends Said {
  /** Line of the log, from zero. */
  readonly line: number;
  /** What the launcher calls the process; empty where it says nothing. */
  readonly source: string;
  /** null: the log does not say it. */
  readonly rank: number | null;
  /** Outermost first; empty where the log has no traceback. */
  readonly frames: readonly Frame[];
  readonly part: PartOfRun | null;
  /** A tensor that the log names itself; null: none. */
  readonly named: NamedTensor | null;
}

/** Lines that a message may be broken over. */
const MESSAGE_LINES = 14;
/** Lines of a traceback before a message that are looked at. */
const TRACEBACK_LINES = 1500;
/** Failures of one log that are told apart; a run that logs one for every retry has the same over and over. */
const MOST_FAILURES = 64;

/** A message is over where another traceback or a frame begins. */
function messageAt(lines: readonly LogLine[], at: number, from: number): string {
  const parts: string[] = [(lines[at]?.text ?? "").slice(from)];
  for (let next = at + 1; next < lines.length && next < at + MESSAGE_LINES; next++) {
    const text = lines[next]?.text ?? "";
    if (beginsTraceback(text) || frameAt(text) !== undefined || markerIn(text) !== undefined) break;
    parts.push(text);
  }
  return parts.join(" ").replace(/\s+/g, " ").trim();
}

/** Lines of the traceback that a message ends; the last of several that were raised from one another. */
function tracebackBefore(lines: readonly LogLine[], at: number): string[] {
  const least = Math.max(0, at - TRACEBACK_LINES);
  let first = at;
  while (first > least) {
    const text = lines[first - 1]?.text ?? "";
    if (first - 1 < at - 1 && markerIn(text) !== undefined && frameAt(text) === undefined) break;
    first--;
    if (beginsTraceback(text)) break;
  }
  return lines.slice(first, at).map(({ text }) => text);
}

/** A message that is logged before its traceback: frames follow it. */
function tracebackAfter(lines: readonly LogLine[], at: number): string[] {
  const begin = lines.slice(at + 1, at + 1 + MESSAGE_LINES).findIndex(({ text }) => beginsTraceback(text));
  if (begin < 0) return [];
  const first = at + 1 + begin;
  const after = lines.slice(first + 1, first + TRACEBACK_LINES).findIndex(({ text }) => {
    return beginsTraceback(text) || markerIn(text) !== undefined;
  });
  return lines.slice(first, after < 0 ? first + TRACEBACK_LINES : first + 1 + after).map(({ text }) => text);
}

/** Two prints of one failure say the same figures. */
function identity({ source, kind, requested, allocated, free, device, named }: Failure): string {
  // NCCL says first that it failed, then what it asked for.
  if (kind === "communication") return JSON.stringify([source, kind]);
  return JSON.stringify([source, kind, requested?.bytes, allocated?.bytes, free?.bytes, device, named?.name]);
}

/** Whether one print of a failure says more than another: its traceback, or what was asked for. */
function saysMore(one: Failure, other: Failure): boolean {
  if (one.frames.length !== other.frames.length) return one.frames.length > other.frames.length;
  return one.requested !== null && other.requested === null;
}

function failuresOf(lines: readonly LogLine[]): Failure[] {
  const found: Failure[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    const marker = line === undefined ? undefined : markerIn(line.text);
    if (line === undefined || marker === undefined) continue;
    // Source that mentions the words (`except torch.cuda.OutOfMemoryError`) is no message: those have none of the markers.
    const said = readMessage(messageAt(lines, at, marker.at));
    if (said === undefined) continue;
    const place = { line: line.number, source: line.source };
    const named = namedBefore(line.text.slice(0, marker.at));
    if (named !== null) {
      const rank = rankOf(line.source) ?? named.rank;
      found.push({ ...said, ...place, rank, frames: [], part: { part: named.part, frame: null }, named });
      continue;
    }
    const before = framesOf(tracebackBefore(lines, at));
    const frames = before.length > 0 ? before : framesOf(tracebackAfter(lines, at));
    found.push({ ...said, ...place, rank: rankOf(line.source), frames, part: partOf(frames), named });
  }
  return found;
}

/**
 * Every place of a log where memory ran out, in its order; what is printed twice is there once, with the longer traceback.
 * Interleaved ranks are told apart where their launcher names them.
 */
export function failuresIn(log: string): readonly Failure[] {
  const bySource = new Map<string, LogLine[]>();
  for (const line of logLines(log)) {
    const lines = bySource.get(line.source);
    if (lines === undefined) bySource.set(line.source, [line]);
    else lines.push(line);
  }
  const kept = new Map<string, Failure>();
  for (const failure of [...bySource.values()].flatMap(failuresOf)) {
    const key = identity(failure);
    const known = kept.get(key);
    if (known === undefined ? kept.size < MOST_FAILURES : saysMore(failure, known))
      kept.set(key, known === undefined ? failure : { ...failure, line: known.line });
  }
  return [...kept.values()].sort((a, b) => a.line - b.line);
}

/** Whether a text says anywhere that memory ran out: for links and clipboards. */
export function saysOutOfMemory(text: string): boolean {
  return markerIn(text) !== undefined;
}
