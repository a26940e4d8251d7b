/** The way from a script to the graph of its model on the page. */
import { strict as assert } from "node:assert";
import type { ReportRun } from "../../src/core/report/schema";
import { assumptionsView } from "../../webview-ui/view/assumptions";
import { traceView } from "../../webview-ui/view/trace";
import { reportMessage } from "./harness";
import { buttons, press, textOf, viewOf } from "./nodes";
import { doesNotFit, reportOf } from "./sample";

const known = doesNotFit();
const model = known.model as NonNullable<ReportRun["model"]>;
const unknown: ReportRun = { ...known, model: null, perDevice: null };
const traced: ReportRun = { ...known, model: { ...model, source: "trace" } };
const standsIn: ReportRun = {
  ...known,
  assumptions: [{ id: "relative", what: "x stands in", settleWith: "", effectBytes: 0 }],
};

const view = (run: ReportRun, uri = "file:///w/train.py", runsCode = true) =>
  viewOf({ type: "host", message: { ...reportMessage(reportOf(run)), uri, runsCode } });

describe("page: tracing a model", () => {
  for (const [what, run, words] of [
    ["nobody knows", unknown, "Trace this model…"],
    ["other code stands in for", standsIn, "Trace this model…"],
    ["was traced before", traced, "Trace this model again…"],
  ] as const)
    it(`asks the editor to trace a model that ${what}`, () => {
      const { view: shown, sent } = view(run);
      const button = traceView(shown, run);
      assert.ok(button);
      assert.equal(textOf(button), words);
      press(button);
      assert.deepEqual(sent, [{ type: "trace" }]);
    });

  it("offers nothing for a model that is known, for a config, or where no code may be run", () => {
    assert.equal(traceView(view(known).view, known), null);
    assert.equal(traceView(view(unknown, "file:///w/train.yaml").view, unknown), null);
    assert.equal(traceView(view(unknown, undefined, false).view, unknown), null);
  });

  it("stands with what was assumed of a model", () => {
    const { view: shown } = view(traced);
    const words = buttons(assumptionsView(shown, traced, [])).map(textOf);
    assert.deepEqual(words, ["Trace this model again…"]);
  });
});
