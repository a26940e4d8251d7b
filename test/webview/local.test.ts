/** The cards of this machine on the page. */
import { strict as assert } from "node:assert";
import type { LocalCard } from "../../src/terms/local-card";
import type { Action } from "../../webview-ui/state";
import { localView } from "../../webview-ui/view/local";
import { reportMessage } from "./harness";
import { buttons, press, textOf, viewOf } from "./nodes";
import { doesNotFit, GIB, reportOf } from "./sample";

const run = doesNotFit();
const report: Action = { type: "host", message: reportMessage(reportOf(run)) };
const answer = (cards: readonly LocalCard[]): Action => ({ type: "host", message: { type: "localCards", cards } });
const need = run.perDevice?.usedPeakBytes ?? 0;

describe("webview cards of this machine", () => {
  it("asks on a click only, and once at a time", () => {
    const { view, sent, acted } = viewOf(report);
    assert.equal(viewOf(report, answer([])).view.state.local, null);
    press(buttons(localView(view, run)).at(-1));
    assert.deepEqual(sent, [{ type: "localCards" }]);
    const waiting = viewOf(report, ...acted);
    press(buttons(localView(waiting.view, run)).at(-1));
    assert.deepEqual(waiting.sent, []);
  });

  it("says what is free, and whether the run fits beside what is used", () => {
    const cards = [
      { name: "NVIDIA GeForce RTX 4090", totalBytes: 24 * GIB, usedBytes: 3 * GIB },
      { name: "NVIDIA H200", totalBytes: need + 2 * GIB, usedBytes: GIB },
    ];
    const text = textOf(localView(viewOf(report, { type: "askedLocal" }, answer(cards)).view, run));
    for (const part of [
      "RTX 4090",
      "3.0 of 24.0 GiB used, 21.0 GiB free",
      "does not fit beside",
      "fits beside",
      "again",
    ])
      assert.ok(text.includes(part), `${part} in ${text}`);
    const none = textOf(localView(viewOf(report, { type: "askedLocal" }, answer([])).view, run));
    assert.match(none, /Neither nvidia-smi nor rocm-smi/);
  });

  it("is not there where no program can be started", () => {
    const message = { ...reportMessage(reportOf(run)), localCards: false };
    assert.equal(localView(viewOf({ type: "host", message }).view, run), null);
  });
});
