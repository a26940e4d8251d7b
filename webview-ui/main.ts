/** Entry of the panel's page: messages in, state, page out. Renders one report and keeps no model of its own. */
import type { HostToPage, PageToHost } from "../src/server/panelProtocol";
import { patchChildren } from "./dom/patch";
import { translator } from "./messages";
import { lookAhead } from "./model/asker";
import { neighbours, setKey, type WhatIfSet } from "./model/controls";
import { htmlOf } from "./model/html";
import { csvOf, markdownOf } from "./model/markdown";
import { pictureOf } from "./model/picture";
import { paletteOf, pngOf } from "./picture";
import { type Action, baseRun, initialState, isTrying, reduce, reportOf, savedOf, shownRun } from "./state";
import type { ExportKind } from "./view/exports";
import { pageView } from "./view/page";

interface Host {
  postMessage(message: PageToHost): void;
  getState(): unknown;
  setState(state: unknown): void;
}
declare function acquireVsCodeApi(): Host;

/** A person who types changes values faster than it is worth asking; milliseconds. */
const DEBOUNCE = 60;
/** How long good news stays; bad news stays until it is dismissed. Milliseconds. */
const READ = 8000;
/** Rest before looking ahead, and the answer time above which only the control in hand is looked ahead; milliseconds. */
const REST = 300;
const SLOW = 250;

const host = acquireVsCodeApi();
const root = document.getElementById("app") ?? document.body.appendChild(document.createElement("div"));

let state = initialState(host.getState(), document.documentElement.lang || "en");
let frame = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let asked = 0;
let slow = false;

const send = (message: PageToHost) => host.postMessage(message);

function act(action: Action): void {
  const before = state;
  state = reduce(state, action);
  if (state === before) return;
  if (frame === 0) frame = requestAnimationFrame(render);
  host.setState(savedOf(state));
  if (state.notice?.ok === true && state.notice !== before.notice) {
    const { serial } = state.notice;
    setTimeout(() => state.notice?.serial === serial && act({ type: "dismiss" }), READ);
  }
  // A report that came in between took the open question with it; the person still waits for its answer.
  const { compared } = before;
  if (
    compared !== null &&
    compared.lines === null &&
    state.compared === null &&
    baseRun(state)?.id === compared.runId
  ) {
    const isAnswer = action.type === "host" && action.message.type === "compare";
    if (!isAnswer) {
      askCompare(compared.runId);
      return;
    }
  }
  const { swept } = before;
  if (swept?.asked === true && state.swept === null && baseRun(state)?.id === swept.runId) {
    act({ type: "asked", question: "sweep", runId: swept.runId });
    send({ type: "sweep", runId: swept.runId });
  }
  if (action.type === "try") schedule(action.typed === true ? DEBOUNCE : 0);
  else if (action.type === "host") {
    if (action.message.type === "whatIfResult") {
      slow = performance.now() - asked > SLOW;
      schedule(0);
    } else schedule(isTrying(state) ? 0 : REST);
  } else if (action.type === "run" || action.type === "point") schedule(REST);
}

function askCompare(runId: string): void {
  act({ type: "asked", question: "compare", runId });
  send({ type: "compare", runId });
  schedule(REST);
}

function schedule(delay: number): void {
  clearTimeout(timer);
  timer = setTimeout(askNext, delay);
}

/** Asks for what was chosen when that is not known yet, else looks ahead. */
function askNext(): void {
  const base = baseRun(state);
  if (base === null || base.perDevice === null) return;
  const { asker, set } = state;
  if (isTrying(state) && !asker.answers.has(setKey(set))) {
    if (asker.open?.key !== setKey(set)) question(base.id, set);
    return;
  }
  if (document.visibilityState === "hidden") return;
  if (state.guide?.runId !== base.id) {
    act({ type: "asked", question: "guide", runId: base.id });
    send({ type: "guide", runId: base.id });
  }
  if (slow && state.pointed === null) return;
  const near = neighbours(base, set, slow ? (state.pointed ?? undefined) : undefined);
  const next = lookAhead(
    asker,
    near.filter((one) => Object.keys(one).length > 0),
  );
  if (next !== undefined) question(base.id, next);
}

function question(runId: string, set: WhatIfSet): void {
  const id = state.asker.nextId;
  asked = performance.now();
  act({ type: "ask", set });
  send({ type: "whatIf", id, runId, set });
}

async function onExport(kind: ExportKind): Promise<void> {
  const report = reportOf(state);
  const run = shownRun(state);
  if (report === null || run === null) return;
  const t = translator(state.locale);
  const label = state.page.kind === "report" ? state.page.message.label : run.id;
  switch (kind) {
    case "copy":
    case "markdown":
      return send({ type: "export", format: kind, text: markdownOf(run, label, t) });
    case "html":
      return send({ type: "export", format: "html", text: htmlOf(run, label, t, paletteOf(root)) });
    case "json":
      return send({ type: "export", format: "json", text: `${JSON.stringify(report, null, 2)}\n` });
    case "csv":
      return send({ type: "export", format: "csv", text: csvOf(run) });
    case "svg":
    case "png": {
      const picture = pictureOf(run, label, t, paletteOf(root));
      if (kind === "svg") return send({ type: "export", format: "svg", text: picture.svg });
      try {
        return send({ type: "export", format: "png", text: await pngOf(picture.svg, picture.height) });
      } catch {
        return act({ type: "notice", text: t("export.failed"), ok: false });
      }
    }
  }
}

function render(): void {
  frame = 0;
  const t = translator(state.locale);
  document.documentElement.lang = t.locale;
  patchChildren(
    root,
    pageView({ state, t, send, act }, (kind) => void onExport(kind)),
  );
}

window.addEventListener("message", (event: MessageEvent<HostToPage>) => act({ type: "host", message: event.data }));
document.addEventListener("visibilitychange", () => schedule(REST));

render();
send({ type: "ready" });
