/** What the page says of findings where the verdict above says them all. */
import { strict as assert } from "node:assert";
import { findingsView } from "../../webview-ui/view/findings";
import { reportMessage } from "./harness";
import { textOf, viewOf } from "./nodes";
import { doesNotFit, reportOf } from "./sample";

describe("webview findings", () => {
  const run = doesNotFit();
  const { view } = viewOf({ type: "host", message: reportMessage(reportOf(run)) });
  const said = (codes: readonly string[]) =>
    textOf(findingsView(view, { ...run, findings: run.findings.filter(({ code }) => codes.includes(code)) }));

  it("does not say that there are none under a verdict of red", () => {
    assert.match(said(["does-not-fit"]), /Nothing beside the verdict/);
    assert.match(said([]), /No findings/);
    assert.match(said(["does-not-fit", "sdpa-before-ampere"]), /Flash attention/);
  });
});
