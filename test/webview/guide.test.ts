/** The plan in stages, the limits and the comparison of cards on the page. */
import { strict as assert } from "node:assert";
import type { ReportCompared, ReportGuide } from "../../src/core/report/schema";
import type { Action } from "../../webview-ui/state";
import { cardsView } from "../../webview-ui/view/compared";
import { limitsView, stagesView } from "../../webview-ui/view/guide";
import { reportMessage } from "./harness";
import { buttons, press, textOf, viewOf } from "./nodes";
import { doesNotFit, GIB, reportOf } from "./sample";

const run = doesNotFit();
const report: Action = { type: "host", message: reportMessage(reportOf(run)) };
const guide: ReportGuide = {
  stages: [
    {
      id: "essentials",
      items: [
        {
          lever: "fused-loss",
          title: "Fused cross-entropy (Liger)",
          why: "The logits are never stored whole.",
          freesBytes: 12 * GIB,
          stepTimeFactor: 0.97,
          changes: "nothing",
          needs: ["liger-kernel"],
        },
      ],
      usedPeakBytes: 20 * GIB,
      fits: true,
      stepTimeFactor: 0.97,
      set: { fused_loss: "true" },
      edits: [],
    },
  ],
  limits: {
    reserve: 0.1,
    microBatch: null,
    sequence: { value: 1024, usedPeakBytes: 19 * GIB },
    smallestDevice: { name: "NVIDIA H200", memoryBytes: 140 * GIB, usedPeakBytes: 30 * GIB },
    devices: null,
  },
};
const line = (over: Partial<ReportCompared>): ReportCompared => ({
  name: "NVIDIA H200",
  count: 1,
  kind: "card",
  memoryBytes: 140 * GIB,
  usableBytes: 139 * GIB,
  usedPeakBytes: 30 * GIB,
  fits: true,
  largestBatch: 35,
  relativeSpeed: 5.01,
  ...over,
});

describe("webview guide", () => {
  it("keeps answers to what was asked, and forgets them with the next report", () => {
    const asked: Action = { type: "asked", question: "guide", runId: run.id };
    const answer: Action = { type: "host", message: { type: "guide", runId: run.id, guide } };
    assert.equal(viewOf(report, answer).view.state.guide, null);
    assert.equal(viewOf(report, asked).view.state.guide?.answer, null);
    assert.equal(viewOf(report, asked, answer).view.state.guide?.answer, guide);
    assert.equal(viewOf(report, asked, answer, report).view.state.guide, null);
  });

  it("shows the stages, and applies one by its values", () => {
    const { view, sent } = viewOf(report);
    const node = stagesView(view, run, guide);
    const text = textOf(node);
    for (const part of [
      "Essentials",
      "Fused cross-entropy (Liger)",
      "frees 12.0 GiB",
      "needs liger-kernel",
      "20.0 GiB",
    ])
      assert.ok(text.includes(part), part);
    for (const button of buttons(node)) press(button);
    assert.deepEqual(sent, [
      { type: "applyWhatIf", runId: run.id, set: { fused_loss: "true" } },
      { type: "previewWhatIf", runId: run.id, set: { fused_loss: "true" } },
    ]);
    assert.equal(stagesView(view, run, { ...guide, stages: [] }), null);
    assert.equal(stagesView(view, run, null), null);
  });

  it("answers the questions the other way round", () => {
    const text = textOf(limitsView(viewOf(report).view, run, guide));
    for (const part of ["not even 1 fits", "1,024 (19.0 GiB)", "H200 (140.0 GiB)"])
      assert.ok(text.includes(part), `${part} in ${text}`);
  });

  it("chooses a card where it stands, alone or several of it", () => {
    const lines = [line({}), line({ name: "NVIDIA A100-SXM4-80GB", kind: "several", count: 2 })];
    const { view, sent } = viewOf(
      report,
      { type: "asked", question: "compare", runId: run.id },
      { type: "host", message: { type: "compare", runId: run.id, lines } },
    );
    for (const button of buttons(cardsView(view, run, run))) press(button);
    for (const button of buttons(limitsView(view, run, guide))) press(button);
    assert.deepEqual(
      sent.map((message) => (message.type === "pickDevice" ? message.device : message.type)),
      [
        lines[0]?.name === run.devices.name ? undefined : lines[0]?.name,
        "2xNVIDIA A100-SXM4-80GB",
        "NVIDIA H200",
      ].filter((name) => name !== undefined),
    );
  });

  it("compares on request only", () => {
    const { view, sent, acted } = viewOf(report);
    press(buttons(cardsView(view, run, run)).at(-1));
    assert.deepEqual(sent, [{ type: "compare", runId: run.id }]);
    const waiting = viewOf(report, ...acted);
    press(buttons(cardsView(waiting.view, run, run)).at(-1));
    assert.deepEqual(waiting.sent, []);
    const lines = [
      line({}),
      line({ name: "NVIDIA A100-SXM4-80GB", kind: "several", count: 2, fits: false, largestBatch: null }),
    ];
    const done = viewOf(report, ...acted, { type: "host", message: { type: "compare", runId: run.id, lines } });
    const text = textOf(cardsView(done.view, run, run));
    for (const part of ["H200", "35", "× 5", "2 × A100", "–"]) assert.ok(text.includes(part), `${part} in ${text}`);
    const none = viewOf(report, ...acted, { type: "host", message: { type: "compare", runId: run.id, lines: null } });
    assert.equal(none.view.state.compared, null);
  });
});
