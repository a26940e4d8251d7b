import { strict as assert } from "node:assert";
import type { ReportRun } from "../../src/core/report/schema";
import { layoutBar, partsOf } from "../../webview-ui/model/bar";
import { breakdownOf } from "../../webview-ui/model/breakdown";
import { devicesOf } from "../../webview-ui/model/devices";
import { bareTitle, plansOf } from "../../webview-ui/model/plans";
import {
  curve,
  hasModules,
  largestAlive,
  layersOf,
  moveCursor,
  type Sample,
  sampleAt,
  spansOf,
  thin,
  ticksOf,
  timelineOf,
} from "../../webview-ui/model/timeline";
import { doesNotFit, GIB, scaled, unknownModel, withoutDevice } from "./sample";

const close = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

describe("webview bar", () => {
  it("fills exactly the used peak, with cache and context after the components", () => {
    const run = doesNotFit();
    const parts = partsOf(run);
    assert.equal(
      parts.reduce((sum, part) => sum + part.bytes, 0),
      run.perDevice?.usedPeakBytes,
    );
    assert.deepEqual(
      parts.slice(-2).map((part) => part.kind),
      ["cache", "context"],
    );
    const layout = layoutBar(run);
    assert.ok(layout);
    const last = layout.parts.at(-1)!;
    close(last.start + last.size, layout.usedAt);
  });

  it("uses the card as the scale when everything fits on it", () => {
    const run = scaled(doesNotFit(), 0.02);
    const layout = layoutBar(run)!;
    assert.equal(layout.scaleBytes, run.devices.memoryBytes);
    assert.equal(layout.cardAt, 1);
  });

  it("holds the peak, the band and a total to compare with when they are larger", () => {
    const run = doesNotFit();
    const layout = layoutBar(run, [90 * GIB])!;
    assert.ok(layout.scaleBytes > 90 * GIB);
    assert.ok(layout.usableAt! < layout.usedAt);
    const band = layout.band.start + layout.band.size;
    close(band, run.perDevice!.band.highBytes / layout.scaleBytes);
    assert.ok(band <= 1);
  });

  it("has no marks without a device and nothing without an estimate", () => {
    assert.equal(layoutBar(withoutDevice())!.usableAt, null);
    assert.equal(layoutBar(unknownModel()), null);
    assert.deepEqual(partsOf(unknownModel()), []);
  });
});

describe("webview timeline", () => {
  const samples = (count: number): Sample[] =>
    Array.from({ length: count }, (_, index) => ({
      at: index / (count - 1),
      phase: index < count / 2 ? "forward" : "backward",
      bytes: index === 7777 ? 9e9 : index,
    }));

  it("never loses the peak or a change of phase by thinning", () => {
    const few = thin(samples(20_000), 300);
    assert.ok(few.length <= 620, String(few.length));
    assert.ok(few.some((sample) => sample.bytes === 9e9));
    assert.deepEqual(
      spansOf(few).map((span) => span.phase),
      ["forward", "backward"],
    );
    assert.equal(few.at(-1)?.at, 1);
    for (let index = 1; index < few.length; index++) assert.ok(few[index]!.at >= few[index - 1]!.at);
  });

  it("leaves few samples as they are", () => {
    const all = samples(50);
    assert.equal(thin(all, 400), all);
  });

  it("makes spans that cover the step without gaps", () => {
    const spans = timelineOf(doesNotFit())!.spans;
    assert.equal(spans[0]?.start, 0);
    assert.equal(spans.at(-1)?.end, 1);
    for (let index = 1; index < spans.length; index++) assert.equal(spans[index]!.start, spans[index - 1]!.end);
  });

  it("has its top above the peak and its peak where the bytes are", () => {
    const run = doesNotFit();
    const timeline = timelineOf(run)!;
    assert.equal(timeline.samples[timeline.peakIndex]?.bytes, run.perDevice?.allocatedPeakBytes);
    assert.ok(timeline.topBytes > run.perDevice!.allocatedPeakBytes);
  });

  it("shows the limit only within reach of the curve", () => {
    assert.ok(timelineOf(doesNotFit())!.limitBytes! < 22.8 * GIB);
    const huge: ReportRun = {
      ...doesNotFit(),
      devices: { ...doesNotFit().devices, memoryBytes: 800 * GIB, usableBytes: null },
    };
    assert.equal(timelineOf(huge)!.limitBytes, null);
    assert.equal(timelineOf(withoutDevice())!.limitBytes, null);
  });

  it("is absent when the report has no timeline", () => {
    const run = doesNotFit();
    assert.equal(timelineOf(unknownModel()), null);
    assert.equal(timelineOf({ ...run, perDevice: { ...run.perDevice!, timeline: [] } }), null);
  });

  it("puts ticks on round sizes", () => {
    assert.deepEqual(
      ticksOf(43 * GIB).map((bytes) => bytes / GIB),
      [0, 10, 20, 30, 40],
    );
    assert.deepEqual(
      ticksOf(8.4 * GIB).map((bytes) => bytes / GIB),
      [0, 2, 4, 6, 8],
    );
    assert.deepEqual(ticksOf(0), [0]);
    for (const size of [0.3, 0.7, 1, 3, 12, 24, 80, 192, 640, 1500]) {
      const count = ticksOf(size * GIB).length;
      assert.ok(count >= 3 && count <= 6, `${size} GiB has ${count} ticks`);
    }
  });

  it("takes the curve apart by kind, the topmost layer being the curve itself", () => {
    const timeline = timelineOf(doesNotFit())!;
    const layers = layersOf(timeline);
    assert.deepEqual(
      layers.map((layer) => timeline.series[layer.series]),
      ["temporaries", "logits-and-loss", "activations", "optimizer", "gradients", "weights"],
    );
    assert.deepEqual(
      layers[0]?.samples.map((sample) => sample.bytes),
      timeline.samples.map((sample) => sample.bytes),
    );
    const { alive: _, ...bare } = timeline.samples[0]!;
    assert.deepEqual(layersOf({ ...timeline, samples: [bare, ...timeline.samples.slice(1)] }), []);
  });

  it("takes the curve apart by module, what no module holds being the rest", () => {
    const run = doesNotFit();
    assert.equal(hasModules(run), false);
    const device = run.perDevice!;
    const modules = ["model.layers.*.mlp", "lm_head"];
    const points = device.timeline!.map((point) => ({ ...point, modules: [point.allocatedBytes / 2, GIB] }));
    const named = { ...run, perDevice: { ...device, timelineModules: modules, timeline: points } };
    assert.equal(hasModules(named), true);
    const timeline = timelineOf(named, "module")!;
    assert.deepEqual(timeline.series, [...modules, ""]);
    for (const { alive, bytes } of timeline.samples) assert.equal(alive?.[2], bytes / 2 - GIB);
    assert.deepEqual(
      layersOf(timeline)
        .at(0)
        ?.samples.map((sample) => sample.bytes),
      timeline.samples.map((sample) => sample.bytes),
    );
  });

  it("names the largest of what is alive", () => {
    const timeline = timelineOf(doesNotFit())!;
    const [first, second] = largestAlive(timeline.samples[timeline.peakIndex]!, 2);
    assert.ok(first!.bytes >= second!.bytes);
    assert.deepEqual(largestAlive({ at: 0, phase: "load", bytes: 4 }, 3), []);
  });

  it("draws a closed area and an open line", () => {
    const timeline = timelineOf(doesNotFit())!;
    assert.match(curve(timeline, 1000, 200, true), /^M0 200V.*Z$/);
    assert.match(curve(timeline, 1000, 200, false), /^M0 [\d.]+H.*H1000$/);
    assert.doesNotMatch(curve(timeline, 1000, 200, true), /NaN/);
  });

  it("moves the cursor by sample, by phase and to the peak", () => {
    const timeline = timelineOf(doesNotFit())!;
    const last = timeline.samples.length - 1;
    assert.equal(moveCursor(timeline, 0, "ArrowLeft"), 0);
    assert.equal(moveCursor(timeline, 0, "ArrowRight"), 1);
    assert.equal(moveCursor(timeline, 5, "Home"), 0);
    assert.equal(moveCursor(timeline, 5, "End"), last);
    assert.equal(moveCursor(timeline, last, "ArrowRight"), last);
    assert.equal(moveCursor(timeline, 3, "p"), timeline.peakIndex);
    const next = moveCursor(timeline, 0, "PageDown")!;
    assert.notEqual(timeline.samples[next]?.phase, timeline.samples[0]?.phase);
    assert.equal(moveCursor(timeline, next, "PageUp"), 0);
    assert.equal(moveCursor(timeline, 0, "Tab"), undefined);
  });

  it("finds the sample that holds at a place", () => {
    const some: Sample[] = [0, 0.2, 0.2, 0.9].map((at, index) => ({ at, phase: "forward", bytes: index }));
    assert.equal(sampleAt(some, 0), 0);
    assert.equal(sampleAt(some, 0.1), 0);
    assert.equal(sampleAt(some, 0.2), 2);
    assert.equal(sampleAt(some, 1), 3);
  });
});

describe("webview tables", () => {
  it("breaks the peak down to shares that add up to the whole", () => {
    const rows = breakdownOf(doesNotFit());
    close(
      rows.reduce((sum, row) => sum + row.share, 0),
      1,
    );
    const activations = rows.find((row) => row.kind === "activations")!;
    assert.deepEqual(
      activations.modules.map((module) => module.module),
      ["model.layers.*.mlp", "model.layers.*.self_attn", "model.layers.*.input_layernorm", "model.embed_tokens"],
    );
    assert.deepEqual(
      activations.origins.map((origin) => origin.key),
      ["per_device_train_batch_size", "max_length"],
    );
    assert.deepEqual(breakdownOf(unknownModel()), []);
  });

  it("names an origin once", () => {
    const run = doesNotFit();
    const [first] = run.perDevice!.components;
    const twice = { ...first!, origins: [...first!.origins, ...first!.origins] };
    const rows = breakdownOf({ ...run, perDevice: { ...run.perDevice!, components: [twice] } });
    assert.equal(rows[0]?.origins.length, 1);
  });

  it("puts fitting plans first and keeps the index the host knows", () => {
    const run = doesNotFit();
    const [first, ...rest] = run.plans;
    const cards = plansOf({ ...run, plans: [{ ...first!, fits: false }, ...rest] });
    assert.equal(cards[0]?.index, 1);
    assert.equal(cards.findLast((card) => !card.fits)?.index, 5);
    assert.deepEqual(
      cards.map((card) => card.fits),
      [...cards.map((card) => card.fits)].sort().reverse(),
    );
  });

  it("takes the figures off a title that the card shows beside it", () => {
    assert.equal(bareTitle("Fused cross-entropy (Liger): 16.5 GiB"), "Fused cross-entropy (Liger)");
    assert.equal(bareTitle("开启梯度检查点：1,021.5 GiB"), "开启梯度检查点");
    assert.equal(bareTitle("Fused loss (Liger)"), "Fused loss (Liger)");
  });

  it("lists no modules where nothing lies in one", () => {
    const run = doesNotFit();
    const modules = [{ module: "", kind: "optimizer" as const, bytes: 5 }];
    const rows = breakdownOf({ ...run, perDevice: { ...run.perDevice!, modules } });
    assert.deepEqual(rows.find((row) => row.kind === "optimizer")?.modules, []);
  });

  it("adds the chosen card to the comparison", () => {
    const run = doesNotFit();
    const fitsOn = run.fitsOn!.filter((card) => !card.name.includes("4090"));
    assert.ok(devicesOf({ ...run, fitsOn }).some((row) => row.current && row.verdict !== "fits"));
  });

  it("judges a plan by the usable memory when the report does not", () => {
    const run = doesNotFit();
    const plans = run.plans.map(({ fits: _, ...plan }) => plan);
    assert.deepEqual(
      plansOf({ ...run, plans }).map((card) => card.fits),
      [true, true, true, true, true, false],
    );
  });

  it("sorts cards by size with the headroom of each", () => {
    const rows = devicesOf(doesNotFit());
    assert.ok(rows.every((row, index) => index === 0 || row.memoryBytes >= rows[index - 1]!.memoryBytes));
    assert.ok(rows[0]!.headroomBytes < 0);
    assert.deepEqual(
      rows.filter((row) => row.current).map((row) => row.name),
      ["NVIDIA GeForce RTX 4090"],
    );
    assert.deepEqual(devicesOf(unknownModel()), []);
  });
});
