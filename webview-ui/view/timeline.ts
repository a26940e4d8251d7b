/** The step's memory as a curve with a cursor for pointer and keyboard, and the same as a table. */
import type { ReportRun } from "../../src/core/report/schema";
import { h, type PageNode } from "../dom/node";
import { gib, gibUnit, percent } from "../model/format";
import {
  curve,
  hasModules,
  largestAlive,
  layersOf,
  moveCursor,
  type PhaseSpan,
  type Reading,
  type Sample,
  sampleAt,
  type Timeline,
  timelineOf,
} from "../model/timeline";
import { legendRow, swatch } from "./bar";
import { kindName, phaseName, type View } from "./context";

const WIDTH = 1000;
const HEIGHT = 200;

interface Drawn {
  readonly timeline: Timeline;
  /** Filled areas back to front; one without a fill when the report does not say what is alive. */
  readonly areas: readonly { readonly fill: string; readonly path: string }[];
  readonly line: string;
}

/** The curves of a run never change; moving the cursor must not draw them again. */
const drawn: Readonly<Record<Reading, WeakMap<ReportRun, Drawn | null>>> = {
  part: new WeakMap(),
  module: new WeakMap(),
};

function draw(run: ReportRun, reading: Reading): Drawn | null {
  const known = drawn[reading].get(run);
  if (known !== undefined) return known;
  const timeline = timelineOf(run, reading);
  const made =
    timeline === null
      ? null
      : { timeline, areas: areasOf(timeline, reading), line: curve(timeline, WIDTH, HEIGHT, false) };
  drawn[reading].set(run, made);
  return made;
}

function areasOf(timeline: Timeline, reading: Reading): Drawn["areas"] {
  const layers = layersOf(timeline);
  if (layers.length === 0) return [{ fill: "", path: curve(timeline, WIDTH, HEIGHT, true) }];
  return layers.map(({ series, samples }) => ({
    fill: fillOf(timeline, reading, series),
    path: curve(timeline, WIDTH, HEIGHT, true, samples),
  }));
}

/** Class that gives a series its colour: that of its kind, or of its place among the modules. */
function fillOf({ series }: Timeline, reading: Reading, place: number): string {
  const name = series[place] ?? "";
  return reading === "part" ? name : name === "" ? "cache" : `module-${place}`;
}

/** Name of a series as a person reads it. */
function seriesName(t: View["t"], { series }: Timeline, reading: Reading, place: number): string {
  const name = series[place] ?? "";
  return reading === "part" ? kindName(t, name) : name === "" ? t("bar.rest") : name;
}

const share = (part: number): string => `${(part * 100).toFixed(3)}%`;

export function timelineView(view: View, run: ReportRun): PageNode {
  const { state, t, act } = view;
  const reading = hasModules(run) ? state.arrangement.reading : "part";
  const made = draw(run, reading);
  if (made === null) return h("p.quiet", { key: "none" }, t("timeline.none"));
  const { timeline } = made;
  const cursor = state.arrangement.cursor;
  const index = cursor === null ? timeline.peakIndex : sampleAt(timeline.samples, cursor);
  const sample = timeline.samples[index]!;
  const up = sample.bytes / timeline.topBytes;
  const names: Names = timeline.series.map((_, place) => ({
    name: seriesName(t, timeline, reading, place),
    fill: fillOf(timeline, reading, place),
  }));

  const moveTo = (event: Event) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const at = Math.min(1, Math.max(0, ((event as PointerEvent).clientX - box.left) / Math.max(1, box.width)));
    act({ type: "arrange", change: { cursor: at } });
  };
  const onKey = (event: Event) => {
    const { key, ctrlKey, metaKey, altKey } = event as KeyboardEvent;
    if (ctrlKey || metaKey || altKey) return;
    const next = moveCursor(timeline, index, key);
    if (next === undefined) return;
    event.preventDefault();
    act({ type: "arrange", change: { cursor: timeline.samples[next]!.at } });
  };

  return h(
    "div.timeline",
    { key: "timeline" },
    hasModules(run) ? readingView(view, reading) : null,
    h(
      "div.plot",
      null,
      h(
        "div.ticks",
        { attrs: { "aria-hidden": "true" } },
        timeline.ticks.map((tick) =>
          h("span", { key: String(tick), style: { "--at": share(tick / timeline.topBytes) } }, gib(tick, t.locale)),
        ),
      ),
      h(
        "div.canvas",
        {
          attrs: {
            role: "slider",
            tabindex: 0,
            "aria-label": t("timeline.label"),
            "aria-describedby": "timeline-hint",
            "aria-valuemin": 0,
            "aria-valuemax": timeline.samples.length - 1,
            "aria-valuenow": index,
            "aria-valuetext": positionText(sample, names, t),
          },
          on: {
            pointermove: moveTo,
            pointerdown: moveTo,
            pointerleave: () => act({ type: "arrange", change: { cursor: null } }),
            keydown: onKey,
          },
        },
        h(
          "svg.chart",
          { attrs: { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" } },
          timeline.spans.map((span, place) =>
            h(`rect.span${place % 2 === 0 ? ".even" : ""}${span.phase === sample.phase ? ".here" : ""}`, {
              key: `span ${place}`,
              attrs: { x: span.start * WIDTH, y: 0, width: (span.end - span.start) * WIDTH, height: HEIGHT },
            }),
          ),
          timeline.ticks.map((tick) => {
            const y = HEIGHT - (tick / timeline.topBytes) * HEIGHT;
            return h("line.grid", { key: `tick ${tick}`, attrs: { x1: 0, x2: WIDTH, y1: y, y2: y } });
          }),
          h(
            "g.layers",
            { key: "layers" },
            made.areas.map(({ fill, path }) =>
              h(fill === "" ? "path.area" : `path.layer.fill-${fill}`, { key: fill, attrs: { d: path } }),
            ),
          ),
          h("path.line", { key: "line", attrs: { d: made.line } }),
          timeline.limitBytes === null ? null : limitLine(timeline.limitBytes / timeline.topBytes),
        ),
        timeline.limitBytes === null
          ? null
          : h(
              "span.limit-label",
              {
                key: "limit",
                attrs: { "aria-hidden": "true" },
                style: { "--at": share(timeline.limitBytes / timeline.topBytes) },
              },
              t("timeline.limit", { size: gibUnit(timeline.limitBytes, t.locale) }),
            ),
        h("span.cursor", { key: "cursor", attrs: { "aria-hidden": "true" }, style: { "--x": share(sample.at) } }),
        h("span.dot", {
          key: "dot",
          attrs: { "aria-hidden": "true" },
          style: { "--x": share(sample.at), "--y": share(up) },
        }),
        bubbleView(sample, { isPeak: index === timeline.peakIndex, inspected: cursor !== null, up }, names, t),
      ),
      h("div.phases", { attrs: { "aria-hidden": "true" } }, phaseLabels(timeline.spans, t)),
    ),
    h("p.hint", { attrs: { id: "timeline-hint" } }, t("timeline.hint")),
    reading === "module" ? modulesView(sample, names, t) : null,
    tableView(timeline, t),
  );
}

/** What a curve is read by: two ways to take it apart. */
function readingView({ t, act }: View, reading: Reading): PageNode {
  return h(
    "div.reading",
    { key: "reading", attrs: { role: "group", "aria-label": t("timeline.reading") } },
    (["part", "module"] as const).map((one) =>
      h(
        `button.option${one === reading ? ".chosen" : ""}`,
        {
          key: one,
          attrs: { type: "button", "aria-pressed": one === reading ? "true" : "false" },
          on: { click: () => act({ type: "arrange", change: { reading: one } }) },
        },
        t(`timeline.by.${one}`),
      ),
    ),
  );
}

/** Name and colour of each series, by its place. */
type Names = readonly { readonly name: string; readonly fill: string }[];

/** The modules by their colours, with what they hold at the cursor. */
function modulesView(sample: Sample, names: Names, t: View["t"]): PageNode {
  return h(
    "ul.legend.modules",
    { key: "modules", attrs: { "aria-label": t("timeline.by.module") } },
    names.map(({ name, fill }, place) => legendRow(fill, name, gib(sample.alive?.[place] ?? 0, t.locale))),
  );
}

/** What a screen reader says of a point: phase, size, place, and the largest of what is alive. */
function positionText(sample: Sample, names: Names, t: View["t"]): string {
  const parts = largestAlive(sample, 3).map(
    ({ series, bytes }) => `${names[series]?.name ?? ""} ${gib(bytes, t.locale)}`,
  );
  const position = t("timeline.position", {
    phase: phaseName(t, sample.phase),
    size: gib(sample.bytes, t.locale),
    share: percent(sample.at, t.locale),
  });
  return [position, ...parts].join(t.locale === "en" ? ", " : "，");
}

/** What is at the cursor; while it rests on the peak, only the size. */
function bubbleView(
  sample: Sample,
  { isPeak, inspected, up }: { readonly isPeak: boolean; readonly inspected: boolean; readonly up: number },
  names: Names,
  t: View["t"],
): PageNode {
  return h(
    `div.bubble${sample.at > 0.55 ? ".left" : ""}`,
    { key: "bubble", attrs: { "aria-hidden": "true" }, style: { "--x": share(sample.at), "--y": share(up) } },
    h("strong", null, gibUnit(sample.bytes, t.locale)),
    ` ${phaseName(t, sample.phase)}`,
    isPeak ? h("em", null, t("timeline.peak")) : null,
    inspected
      ? largestAlive(sample, 5).map(({ series, bytes }) =>
          h(
            "span.bubble-row",
            { key: String(series) },
            swatch(names[series]?.fill ?? ""),
            h("span.bubble-name", null, names[series]?.name ?? ""),
            h("span.number", null, gib(bytes, t.locale)),
          ),
        )
      : null,
  );
}

function limitLine(at: number): PageNode {
  const y = HEIGHT - at * HEIGHT;
  return h("line.limit", { key: "limit", attrs: { x1: 0, x2: WIDTH, y1: y, y2: y } });
}

/** Names of the phases that are wide enough to carry one; the others are reached with the cursor. */
function phaseLabels(spans: readonly PhaseSpan[], t: View["t"]): readonly PageNode[] {
  return spans.flatMap((span, index) =>
    span.end - span.start < 0.055
      ? []
      : [
          h(
            "span",
            { key: String(index), style: { "--x": share(span.start), "--w": share(span.end - span.start) } },
            phaseName(t, span.phase),
          ),
        ],
  );
}

function tableView(timeline: Timeline, t: View["t"]): PageNode {
  return h(
    "details.as-table",
    { key: "table" },
    h("summary", null, t("timeline.table")),
    h(
      "table",
      null,
      h("caption.unseen", null, t("timeline.title")),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { attrs: { scope: "col" } }, t("timeline.phase")),
          h("th.number", { attrs: { scope: "col" } }, t("timeline.from")),
          h("th.number", { attrs: { scope: "col" } }, t("timeline.peakColumn")),
        ),
      ),
      h(
        "tbody",
        null,
        timeline.spans.map((span, index) =>
          h(
            "tr",
            { key: String(index) },
            h("th", { attrs: { scope: "row" } }, phaseName(t, span.phase)),
            h("td.number", null, percent(span.start, t.locale)),
            h("td.number", null, gib(span.peakBytes, t.locale)),
          ),
        ),
      ),
    ),
  );
}
