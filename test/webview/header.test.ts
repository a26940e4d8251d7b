/** The top of the page, and what it says in place of an estimate. */
import { strict as assert } from "node:assert";
import type { Action } from "../../webview-ui/state";
import { noEstimateView } from "../../webview-ui/view/empty";
import { headerView } from "../../webview-ui/view/header";
import { reportMessage } from "./harness";
import { buttons, press, textOf, viewOf } from "./nodes";
import { doesNotFit, reportOf, scaled, unknownModel } from "./sample";

describe("webview header", () => {
  const run = doesNotFit();
  const report: Action = { type: "host", message: reportMessage(reportOf(run)) };

  it("marks the file's own peak beside a what-if alone", () => {
    const said = (...more: readonly Action[]) => textOf(headerView(viewOf(report, ...more).view, () => {}));
    assert.doesNotMatch(said(), /file 41\.2 GiB/);
    const set = { micro_batch_size: "2" };
    const tried = said(
      { type: "try", set },
      { type: "ask", set },
      { type: "host", message: { type: "whatIfResult", id: 1, runId: run.id, run: scaled(run, 0.25) } },
    );
    assert.match(tried, /What if: .*file 41\.2 GiB/);
  });
});

describe("webview without an estimate", () => {
  it("offers the editor's ways to name the model", () => {
    const run = unknownModel();
    const { view, sent } = viewOf({ type: "host", message: reportMessage(reportOf(run)) });
    for (const button of buttons(noEstimateView(view, run)).slice(1)) press(button);
    assert.deepEqual(sent, [
      { type: "pickModel", from: "catalogue" },
      { type: "pickModel", from: "folder" },
    ]);
  });
});
