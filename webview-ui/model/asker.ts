/**
 * Which what-if to ask the host for next. One question is open at a time: the person's own choice goes first and
 * replaces whatever is open; looking ahead (what each option would do) fills the idle time.
 */
import type { ReportRun } from "../../src/core/report/schema";
import { setKey, type WhatIfSet } from "./controls";

/** A run with the values asked for; null: they cannot be applied. */
export type Answer = ReportRun | null;

export interface Open {
  readonly id: number;
  readonly key: string;
}

export interface Asker {
  readonly nextId: number;
  readonly open: Open | null;
  /** Known answers by {@link setKey}, oldest first. */
  readonly answers: ReadonlyMap<string, Answer>;
}

/** Answers kept; more than two screens of controls never show at once. */
const KEPT = 160;

/** `nextId` goes on counting over new reports, so that a late answer never matches. */
export const newAsker = (nextId = 1): Asker => ({ nextId, open: null, answers: new Map() });

/** Opens the question for `set`; one that was open is superseded. */
export function ask(asker: Asker, set: WhatIfSet): Asker {
  return { ...asker, nextId: asker.nextId + 1, open: { id: asker.nextId, key: setKey(set) } };
}

/** Takes an answer; one to a superseded question changes nothing. */
export function settle(asker: Asker, id: number, answer: Answer): Asker {
  if (asker.open?.id !== id) return asker;
  const answers = new Map(asker.answers).set(asker.open.key, answer);
  for (const key of answers.keys()) {
    if (answers.size <= KEPT) break;
    answers.delete(key);
  }
  return { ...asker, open: null, answers };
}

/** The next question to look ahead with: the first of `sets` without an answer, when nothing is open. */
export function lookAhead(asker: Asker, sets: readonly WhatIfSet[]): WhatIfSet | undefined {
  if (asker.open !== null) return undefined;
  return sets.find((set) => !asker.answers.has(setKey(set)));
}
