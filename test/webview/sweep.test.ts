/** Two settings at once, and two runs side by side, on the page. */
import { strict as assert } from "node:assert";
import type { ReportSweep } from "../../src/core/report/schema";
import type { Action } from "../../webview-ui/state";
import { againstView } from "../../webview-ui/view/against";
import { sweepView } from "../../webview-ui/view/sweep";
import { reportMessage } from "./harness";
import { buttons, press, textOf, viewOf } from "./nodes";
import { doesNotFit, GIB, reportOf, scaled } from "./sample";

const run = doesNotFit();
const report: Action = { type: "host", message: reportMessage(reportOf(run)) };
const cell = (size: number, verdict: "fits" | "tight" | "does-not-fit") => ({ usedPeakBytes: size * GIB, verdict });
const sweep: ReportSweep = {
  columns: { name: "micro_batch_size", values: ["4", "8"], now: "8" },
  rows: { name: "sequence_length", values: ["1024", "2048"], now: "2048" },
  cells: [
    [cell(14, "fits"), cell(22, "tight")],
    [cell(22.5, "fits"), cell(41.2, "does-not-fit")],
  ],
};

describe("webview sweep", () => {
  it("is asked for once, and drawn with a cross where nothing fits", () => {
    const { view, sent } = viewOf(report);
    const [ask] = buttons(sweepView(view, run));
    assert.ok(ask);
    press(ask);
    assert.deepEqual(sent, [{ type: "sweep", runId: run.id }]);
    const drawn = viewOf(
      report,
      { type: "asked", question: "sweep", runId: run.id },
      { type: "host", message: { type: "sweep", runId: run.id, sweep } },
    );
    const map = sweepView(drawn.view, run);
    assert.match(textOf(map), /41\.2 \u2717/);
    assert.doesNotMatch(textOf(map), /22\.5 \u2717/);
    const cells = buttons(map);
    assert.equal(cells.length, 4);
    press(cells[0]!);
    assert.deepEqual(drawn.acted, [{ type: "try", set: { micro_batch_size: "4", sequence_length: "1024" } }]);
    assert.equal(cells[3]?.attrs?.["aria-pressed"], "true");
  });

  it("says when there is no map", () => {
    const { view } = viewOf(
      report,
      { type: "asked", question: "sweep", runId: run.id },
      { type: "host", message: { type: "sweep", runId: run.id, sweep: null } },
    );
    assert.match(textOf(sweepView(view, run)), /No map/);
  });
});

describe("webview side by side", () => {
  it("shows what differs between two runs until it is closed", () => {
    const other = {
      ...scaled(run, 0.1),
      settings: [
        ...run.settings.map((one) => (one.name === "micro_batch_size" ? { ...one, value: 1 } : one)),
        { ...run.settings[0]!, name: "offload_param", key: "zero_optimization.offload_param.device", value: "none" },
      ],
    };
    const { view, acted, sent } = viewOf(report, {
      type: "host",
      message: { type: "against", runId: run.id, label: "HEAD", run: other },
    });
    const shown = againstView(view, run);
    assert.match(textOf(shown), /HEAD/);
    assert.match(textOf(shown), /per_device_train_batch_size 8 1/);
    assert.match(textOf(shown), /Does not fit/);
    assert.doesNotMatch(textOf(shown), /offload_param/, "what is off is no difference to what is not stated");
    for (const button of buttons(shown)) press(button);
    assert.deepEqual(sent, [{ type: "against", runId: run.id }]);
    assert.deepEqual(acted, [{ type: "alone" }]);
  });

  it("names both cards, keeps the order of the peak's parts and counts no GPUs twice", () => {
    const { perDevice } = run;
    assert.ok(perDevice !== null);
    const [weights, ...rest] = perDevice.components;
    assert.ok(weights !== undefined);
    const other = {
      ...run,
      devices: { ...run.devices, name: "NVIDIA H100 80GB HBM3", count: 8 },
      perDevice: { ...perDevice, components: [weights, { ...weights, kind: "communication" as const }, ...rest] },
      settings: [...run.settings, { ...run.settings[0]!, name: "world_size", key: "device.count", value: 8 }],
    };
    const { view } = viewOf(report, {
      type: "host",
      message: { type: "against", runId: run.id, label: "eight", run: other },
    });
    const shown = textOf(againstView(view, run));
    assert.match(shown, /GPU RTX 4090 8 × H100/);
    assert.match(shown, /Weights.*Communication.*Optimizer.*Allocator cache/);
    assert.doesNotMatch(shown, /device\.count/);
  });

  it("stays while the same answer is sent again, and goes when the file says something else", () => {
    const beside: Action = {
      type: "host",
      message: { type: "against", runId: run.id, label: "HEAD", run: scaled(run, 0.1) },
    };
    const isKept = (again: typeof run): boolean => {
      const sent: Action = { type: "host", message: reportMessage(reportOf(again)) };
      return /HEAD/.test(textOf(againstView(viewOf(report, beside, sent).view, run)));
    };
    assert.equal(isKept({ ...run, plans: [] }), true);
    assert.equal(isKept(scaled(run, 0.5)), false);
  });
});
