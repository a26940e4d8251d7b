/** State of the page and how messages and actions change it. Pure: effects are the entry's business. */
import type { Report, ReportCompared, ReportGuide, ReportRun, ReportSweep } from "../src/core/report/schema";
import type { HostToPage } from "../src/server/panelProtocol";
import type { LocalCard } from "../src/terms/local-card";
import { type Answer, type Asker, ask, newAsker, settle } from "./model/asker";
import { setKey, stillTried, type WhatIfSet } from "./model/controls";
import { ARRANGEMENT, type Arrangement, readSaved, type Saved } from "./saved";

type ReportMessage = Extract<HostToPage, { type: "report" }>;
type EmptyMessage = Extract<HostToPage, { type: "empty" }>;

export interface State {
  readonly page:
    | { readonly kind: "loading" }
    | { readonly kind: "empty"; readonly message: EmptyMessage }
    | { readonly kind: "report"; readonly message: ReportMessage };
  /** Document that the saved state belongs to. */
  readonly restoredUri: string | null;
  readonly locale: string;
  readonly busy: boolean;
  /** Why the file cannot be read as it is: what is shown is the last good report; null when it can. */
  readonly broken: string | null;
  /** Run shown, by id. */
  readonly runId: string | null;
  /** Values tried instead of the files'. */
  readonly set: WhatIfSet;
  /** The run with those values; null until it is known. */
  readonly tried: ReportRun | null;
  /** Why the values have no estimate; empty when the host could not say; null when they have one. */
  readonly refused: string | null;
  /** What-if control under the pointer or with the focus. */
  readonly pointed: string | null;
  readonly asker: Asker;
  /** The plan in stages of a run as the files say it; its answer is null until it comes. */
  readonly guide: { readonly runId: string; readonly answer: ReportGuide | null } | null;
  /** The comparison of cards, once it was asked for; its lines are null until they come. */
  readonly compared: { readonly runId: string; readonly lines: readonly ReportCompared[] | null } | null;
  /** The peak over two settings, once it was asked for; null until it comes. */
  readonly swept: { readonly runId: string; readonly sweep: ReportSweep | null; readonly asked: boolean } | null;
  /** The run beside the shown one. */
  readonly against: { readonly runId: string; readonly label: string; readonly run: ReportRun } | null;
  /** The cards of this machine, once they were asked for; null until they come. */
  readonly local: { readonly cards: readonly LocalCard[] | null } | null;
  readonly arrangement: Arrangement;
  readonly notice: { readonly text: string; readonly ok: boolean; readonly serial: number } | null;
}

export type Action =
  | { readonly type: "host"; readonly message: HostToPage }
  /** `typed`: more keys may follow. */
  | { readonly type: "try"; readonly set: WhatIfSet; readonly typed?: boolean }
  | { readonly type: "ask"; readonly set: WhatIfSet }
  | { readonly type: "asked"; readonly question: "guide" | "compare" | "sweep"; readonly runId: string }
  | { readonly type: "alone" }
  | { readonly type: "askedLocal" }
  | { readonly type: "run"; readonly runId: string }
  | { readonly type: "follow"; readonly follow: boolean }
  | { readonly type: "arrange"; readonly change: Partial<Arrangement> }
  | { readonly type: "point"; readonly control: string }
  | { readonly type: "dismiss" }
  | { readonly type: "notice"; readonly text: string; readonly ok: boolean };

/** @param saved whatever `getState` gave */
export function initialState(saved: unknown, locale: string): State {
  const { uri = null, runId = null, set, arrangement } = readSaved(saved);
  return {
    page: { kind: "loading" },
    restoredUri: uri,
    locale,
    busy: false,
    broken: null,
    runId,
    set,
    tried: null,
    refused: null,
    pointed: null,
    asker: newAsker(),
    guide: null,
    compared: null,
    swept: null,
    against: null,
    local: null,
    arrangement,
    notice: null,
  };
}

export function savedOf(state: State): Saved {
  const { page, runId, set, arrangement } = state;
  const uri = shownUri(state);
  return {
    ...(uri === null ? {} : { uri }),
    ...(page.kind === "report" ? { follow: page.message.follow } : {}),
    ...(runId === null ? {} : { runId }),
    set,
    arrangement,
  };
}

export function reportOf(state: State): Report | null {
  return state.page.kind === "report" ? state.page.message.report : null;
}

/** The run as the files say it. */
export function baseRun(state: State): ReportRun | null {
  const runs = reportOf(state)?.runs ?? [];
  return runs.find((run) => run.id === state.runId) ?? runs[0] ?? null;
}

/** Whether an editor stands beside the page; a page of its own has none to show changes in. */
export function hasEditor({ page }: State): boolean {
  return page.kind !== "report" || page.message.editor;
}

/** Whether a person's own code may be run from the page. */
export function runsCode({ page }: State): boolean {
  return page.kind === "report" && page.message.runsCode;
}

/** Whether a Python file is shown. */
export function isScript({ page }: State): boolean {
  return page.kind === "report" && page.message.uri.endsWith(".py");
}

export function isTrying(state: State): boolean {
  return Object.keys(state.set).length > 0;
}

/** The run the page shows: what is tried once it is known, else the files'. */
export function shownRun(state: State): ReportRun | null {
  return (isTrying(state) ? state.tried : null) ?? baseRun(state);
}

/** Drops what is tried and what was looked ahead: they belong to another run or an older text. */
function forget(state: State, keepSet: boolean): State {
  return {
    ...state,
    set: keepSet ? state.set : {},
    tried: keepSet ? state.tried : null,
    refused: null,
    asker: newAsker(state.asker.nextId),
    guide: null,
    compared: null,
    swept: null,
    against: null,
  };
}

/** Whether a run is the one before, sent once more: what stands beside it is still beside it. */
function saysTheSame(before: ReportRun | null, after: ReportRun | null): boolean {
  const said = (run: ReportRun | null) => JSON.stringify([run?.id, run?.settings, run?.perDevice]);
  return said(before) === said(after);
}

/** What an answer shows: a run without an estimate leaves the one before in sight and says why. */
function shownAnswer(answer: Answer, before: ReportRun | null): Pick<State, "tried" | "refused"> {
  if (answer !== null && answer.perDevice !== null) return { tried: answer, refused: null };
  return { tried: before, refused: refusalOf(answer) };
}

/** The finding that says why there is no estimate. */
export function refusalOf(answer: Answer): string {
  const finding = answer?.findings.find((one) => one.severity === "error") ?? answer?.findings[0];
  return finding?.message ?? "";
}

function receive(state: State, message: HostToPage): State {
  switch (message.type) {
    case "report": {
      const same = shownUri(state) === message.uri;
      const wanted = message.runId ?? (same ? state.runId : null) ?? message.report.runs[0]?.id ?? null;
      const keep = same && (state.runId === null || state.runId === wanted);
      const next: State = {
        ...state,
        page: { kind: "report", message },
        restoredUri: null,
        locale: message.locale,
        busy: false,
        broken: null,
        runId: wanted,
      };
      const arrangement = keep ? state.arrangement : { ...ARRANGEMENT, allPlans: state.arrangement.allPlans };
      const forgotten = forget({ ...next, arrangement }, keep);
      const run = baseRun(forgotten);
      const set = run === null ? forgotten.set : stillTried(run, forgotten.set);
      const against = state.against !== null && keep && saysTheSame(baseRun(state), run) ? state.against : null;
      return { ...forgotten, set, tried: Object.keys(set).length === 0 ? null : forgotten.tried, against };
    }
    case "whatIfResult": {
      const open = state.asker.open;
      if (open === null || open.id !== message.id) return state;
      const asker = settle(state.asker, message.id, message.run);
      if (open.key !== setKey(state.set)) return { ...state, asker };
      return { ...state, asker, ...shownAnswer(message.run, state.tried) };
    }
    case "guide":
      return state.guide?.runId === message.runId
        ? { ...state, guide: { runId: message.runId, answer: message.guide } }
        : state;
    case "compare":
      // Nothing to say: the page shows what the report itself has, and may ask again.
      if (state.compared?.runId !== message.runId) return state;
      return { ...state, compared: message.lines === null ? null : { runId: message.runId, lines: message.lines } };
    case "sweep":
      return state.swept?.runId === message.runId
        ? { ...state, swept: { runId: message.runId, sweep: message.sweep, asked: false } }
        : state;
    case "against": {
      const { runId, label, run } = message;
      return { ...state, against: { runId, label, run } };
    }
    case "localCards":
      return state.local === null ? state : { ...state, local: { cards: message.cards } };
    case "busy":
      return { ...state, busy: true, broken: null };
    case "broken":
      return { ...state, busy: false, broken: message.because };
    case "empty":
      return leave(state, message);
    case "outcome":
      return notice(state, message.message, message.ok);
  }
}

/**
 * Nothing to show for now. What was tried waits for the document to come back: a restart of the analysis, a reloaded
 * window or a file that is broken while it is typed must not take it away.
 */
function leave(state: State, message: EmptyMessage): State {
  const uri = shownUri(state);
  return {
    ...forget(state, true),
    page: { kind: "empty", message },
    restoredUri: uri,
    locale: message.locale,
    busy: false,
    broken: null,
  };
}

/** Document that the state is about: the one shown, else the one that was or will be. */
function shownUri(state: State): string | null {
  return state.page.kind === "report" ? state.page.message.uri : state.restoredUri;
}

/** An answer is under way. */
function waiting(state: State, { question, runId }: Extract<Action, { readonly type: "asked" }>): State {
  switch (question) {
    case "guide":
      return { ...state, guide: { runId, answer: null } };
    case "compare":
      return { ...state, compared: { runId, lines: null } };
    case "sweep":
      return { ...state, swept: { runId, sweep: null, asked: true } };
  }
}

function notice(state: State, text: string, ok: boolean): State {
  return { ...state, notice: text === "" ? null : { text, ok, serial: (state.notice?.serial ?? 0) + 1 } };
}

export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case "host":
      return receive(state, action.message);
    case "try": {
      const none = Object.keys(action.set).length === 0;
      const known = state.asker.answers.get(setKey(action.set));
      // Until the answer comes, the last known one stays: the page does not flicker back to the file's run.
      const next =
        known === undefined ? { tried: none ? null : state.tried, refused: null } : shownAnswer(known, state.tried);
      return { ...state, set: action.set, ...next };
    }
    case "ask":
      return { ...state, asker: ask(state.asker, action.set) };
    case "asked":
      return waiting(state, action);
    case "alone":
      return { ...state, against: null };
    case "askedLocal":
      return { ...state, local: { cards: null } };
    case "run":
      return forget({ ...state, runId: action.runId, arrangement: { ...state.arrangement, cursor: null } }, false);
    case "follow":
      return state.page.kind === "report"
        ? { ...state, page: { kind: "report", message: { ...state.page.message, follow: action.follow } } }
        : state;
    case "arrange":
      return { ...state, arrangement: { ...state.arrangement, ...action.change } };
    case "point":
      return state.pointed === action.control ? state : { ...state, pointed: action.control };
    case "dismiss":
      return { ...state, notice: null };
    case "notice":
      return notice(state, action.text, action.ok);
  }
}
