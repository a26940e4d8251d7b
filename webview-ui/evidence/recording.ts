/** A recording of memory: the drawing, what lies under the pointer or the cursor, and what the peak is made of. Pure. */
import type { DeviceSummary, LineShare } from "../../src/evidence/snapshot/summary";
import type { Place } from "../../src/evidence/snapshot/types";
import type { EstimatePoint, EvidenceToHost } from "../../src/server/evidenceProtocol";
import { h, type PageNode } from "../dom/node";
import type { Words } from "./messages";
import { PART_ROLES, partName, partNumberName } from "./parts";
import type { FromDrawing, ListedTensor, View } from "./thread";

export interface RecordingState {
  readonly label: string;
  readonly devices: readonly DeviceSummary[];
  readonly device: number;
  readonly view: View;
  readonly search: string;
  readonly drawn: Extract<FromDrawing, { type: "drawn" }> | null;
  readonly moment: Extract<FromDrawing, { type: "found" }> | null;
  readonly estimate: { readonly label: string; readonly points: readonly EstimatePoint[] } | null;
}

export interface RecordingActions {
  readonly send: (message: EvidenceToHost) => void;
  readonly choose: (change: Partial<Pick<RecordingState, "device" | "view" | "search">>) => void;
  readonly zoom: (how: "closer" | "wider" | "whole") => void;
  readonly point: (event: PointerEvent) => void;
  readonly press: (event: KeyboardEvent) => void;
  readonly wheel: (event: WheelEvent) => void;
}

const MIB = 2 ** 20;
const GIB = 2 ** 30;

function bytesText(bytes: number): string {
  if (bytes >= GIB) return `${(bytes / GIB).toFixed(2)} GiB`;
  return bytes >= MIB ? `${(bytes / MIB).toFixed(1)} MiB` : `${Math.ceil(bytes / 1024)} KiB`;
}

function placeView(place: Place, { send }: RecordingActions): PageNode {
  const short = place.file.slice(place.file.lastIndexOf("/") + 1);
  const text = `${short === "" ? "" : `${short}:${place.line} `}${place.name}`;
  if (!place.file.endsWith(".py")) return h("span", null, text);
  const { file, line } = place;
  return h(
    "button.link",
    { attrs: { type: "button", title: file }, on: { click: () => send({ type: "source", file, line }) } },
    text,
  );
}

function controls(state: RecordingState, t: Words, { choose, zoom }: RecordingActions): PageNode {
  const value = (event: Event): string => (event.target as HTMLInputElement | HTMLSelectElement).value;
  const views: readonly View[] = ["timeline", "segments"];
  return h(
    "div.controls",
    { key: "controls" },
    state.devices.length < 2
      ? null
      : h(
          "label",
          { key: "device" },
          `${t("rec.device")} `,
          h(
            "select",
            {
              set: { value: String(state.device) },
              on: { change: (event) => choose({ device: Number(value(event)) }) },
            },
            ...state.devices.map(({ device }) => h("option", { attrs: { value: device } }, String(device))),
          ),
        ),
    h(
      "label",
      { key: "view" },
      `${t("rec.view")} `,
      h(
        "select",
        { set: { value: state.view }, on: { change: (event) => choose({ view: value(event) as View }) } },
        ...views.map((view) => h("option", { attrs: { value: view } }, t(`rec.view.${view}`))),
      ),
    ),
    h(
      "label",
      { key: "search" },
      `${t("rec.search")} `,
      h("input", {
        attrs: { type: "text" },
        set: { value: state.search },
        on: { input: (event) => choose({ search: value(event) }) },
      }),
    ),
    state.drawn?.found == null
      ? null
      : h(
          "span.quiet",
          { key: "found" },
          t("rec.found", { count: state.drawn.found.count, size: bytesText(state.drawn.found.bytes) }),
        ),
    ...(["closer", "wider", "whole"] as const).map((how) =>
      h("button.secondary", { key: how, attrs: { type: "button" }, on: { click: () => zoom(how) } }, t(`rec.${how}`)),
    ),
  );
}

function chart(
  state: RecordingState,
  summary: DeviceSummary,
  t: Words,
  { point, press, wheel }: RecordingActions,
): PageNode {
  const { moment } = state;
  const said =
    state.view === "timeline"
      ? t("rec.chart", {
          entries: summary.entries,
          peak: bytesText(summary.peakBytes),
          part: partName(summary.peakPart, t),
        })
      : t("rec.segments", {
          count: summary.pool?.segments ?? 0,
          reserved: bytesText(summary.pool?.reservedBytes ?? 0),
          allocated: bytesText(summary.pool?.allocatedBytes ?? 0),
        });
  const slider =
    state.view === "timeline"
      ? {
          role: "slider",
          "aria-valuemin": 0,
          "aria-valuemax": Math.max(0, summary.entries - 1),
          "aria-valuenow": moment?.entry ?? Math.max(0, summary.peakAt),
          "aria-valuetext": moment === null ? said : momentText(state, t),
        }
      : { role: "img" };
  const canvas = h("canvas.chart", {
    key: "canvas",
    attrs: { tabindex: 0, "aria-label": said, ...slider },
    on: {
      pointermove: (event) => point(event as PointerEvent),
      pointerdown: (event) => point(event as PointerEvent),
      keydown: (event) => press(event as KeyboardEvent),
      wheel: (event) => wheel(event as WheelEvent),
    },
  });
  return h("div.drawing", { key: "drawing" }, canvas, state.view === "timeline" ? axis(state.drawn?.top ?? 0) : null);
}

/** Sizes up the side, at powers of two; screen readers have them in the chart's own words. */
function axis(top: number): PageNode | null {
  if (top < 4) return null;
  const step = 2 ** Math.floor(Math.log2(top / 3));
  const lines = Array.from({ length: Math.floor(top / step) }, (_, index) => (index + 1) * step);
  return h(
    "ul.axis",
    { key: "axis", attrs: { "aria-hidden": "true" } },
    ...lines.map((bytes) =>
      h("li", { style: { bottom: `${((100 * bytes) / top).toFixed(2)}%` } }, h("span", null, bytesText(bytes))),
    ),
  );
}

function momentText({ moment }: RecordingState, t: Words): string {
  if (moment === null) return "";
  const { entry, aliveBytes, reservedBytes, count, part } = moment;
  const values = { entry, alive: bytesText(aliveBytes), count, part: partNumberName(part, t) };
  return reservedBytes === null
    ? t("rec.moment", values)
    : t("rec.moment.reserved", { ...values, reserved: bytesText(reservedBytes) });
}

function legend(t: Words, used: ReadonlySet<string | null>): PageNode {
  const shown = [...PART_ROLES.keys()].filter((part) =>
    [...used].some((name) => partName(name, t) === partNumberName(part, t)),
  );
  return h(
    "ul.legend",
    { key: "legend", attrs: { "aria-label": t("rec.legend") } },
    ...shown.map((part) =>
      h(
        "li",
        null,
        h("span.swatch", { style: { background: `var(${PART_ROLES[part] ?? ""})` } }),
        partNumberName(part, t),
      ),
    ),
  );
}

function tensorView(tensor: ListedTensor, summary: DeviceSummary, t: Words, actions: RecordingActions): PageNode {
  const { born, died } = tensor;
  const lived =
    born < 0 ? t("rec.lived.always") : died >= summary.entries ? t("rec.lived.end") : t("rec.lived", { born, died });
  return h(
    "section.part",
    { key: "tensor", attrs: { "aria-labelledby": "tensor" } },
    h(
      "h2",
      { attrs: { id: "tensor" } },
      t("rec.tensor", { size: bytesText(tensor.bytes), part: partNumberName(tensor.part, t) }),
    ),
    h("p.quiet", null, lived),
    tensor.stack.length === 0
      ? h("p", null, t("rec.stack.none"))
      : h(
          "ol.stack",
          { attrs: { "aria-label": t("rec.stack") } },
          ...tensor.stack.map((place) => h("li", null, placeView(place, actions))),
        ),
  );
}

function table(caption: string, heads: readonly string[], rows: readonly (readonly (PageNode | string)[])[]): PageNode {
  return h(
    "table",
    null,
    h("caption", null, caption),
    h("thead", null, h("tr", null, ...heads.map((head) => h("th", { attrs: { scope: "col" } }, head)))),
    h("tbody", null, ...rows.map((cells) => h("tr", null, ...cells.map((cell) => h("td", null, cell))))),
  );
}

function lineCell({ place }: Pick<LineShare, "place">, t: Words, actions: RecordingActions): PageNode | string {
  return place === null ? t("part.none") : placeView(place, actions);
}

function largestView({ moment }: RecordingState, t: Words, actions: RecordingActions): PageNode | null {
  if (moment === null) return null;
  const rows = moment.largest.map((tensor) => {
    const place =
      tensor.stack.find(({ file }) => file.endsWith(".py") && !file.includes("/torch/")) ?? tensor.stack[0] ?? null;
    return [bytesText(tensor.bytes), partNumberName(tensor.part, t), lineCell({ place }, t, actions)];
  });
  return h("div", { key: "largest" }, table(t("rec.largest"), [t("rec.size"), t("rec.part"), t("rec.line")], rows));
}

function peakView(summary: DeviceSummary, t: Words, actions: RecordingActions): PageNode {
  const heads = (last: string) => [t("rec.size"), t("rec.count"), last];
  return h(
    "section.part",
    { key: "peak", attrs: { "aria-labelledby": "peak" } },
    h("h2", { attrs: { id: "peak" } }, t("rec.peak")),
    h(
      "div.tables",
      null,
      table(
        t("rec.peak.parts"),
        heads(t("rec.part")),
        summary.parts.map(({ part, bytes, count }) => [bytesText(bytes), String(count), partName(part, t)]),
      ),
      table(
        t("rec.peak.lines"),
        heads(t("rec.line")),
        summary.lines.map((line) => [bytesText(line.bytes), String(line.count), lineCell(line, t, actions)]),
      ),
    ),
  );
}

function poolView({ pool }: DeviceSummary, t: Words): PageNode | null {
  if (pool === null) return null;
  const said = t("rec.pool.said", {
    reserved: bytesText(pool.reservedBytes),
    allocated: bytesText(pool.allocatedBytes),
    gaps: bytesText(pool.gapBytes),
    largest: bytesText(pool.largestGapBytes),
    cached: bytesText(pool.cachedBytes),
  });
  return h(
    "section.part",
    { key: "pool", attrs: { "aria-labelledby": "pool" } },
    h("h2", { attrs: { id: "pool" } }, t("rec.pool")),
    h("p", null, said),
  );
}

function failuresView({ failures }: DeviceSummary, t: Words, actions: RecordingActions): PageNode | null {
  if (failures.length === 0) return null;
  return h(
    "section.part",
    { key: "failures", attrs: { "aria-labelledby": "failures" } },
    h("h2", { attrs: { id: "failures" } }, t("rec.failures")),
    h(
      "ul",
      null,
      ...failures.map(({ requestedBytes, aliveBytes, freeBytes, part, place }) =>
        h(
          "li",
          null,
          t("rec.failure", {
            size: bytesText(requestedBytes),
            part: partName(part, t),
            alive: bytesText(aliveBytes),
            free: bytesText(freeBytes),
          }),
          " ",
          place === null ? null : placeView(place, actions),
        ),
      ),
    ),
  );
}

const [WIDE, HIGH] = [600, 120];

/** The estimate's own timeline of the run at hand, drawn to the recording's scale. */
function estimateView({ estimate }: RecordingState, summary: DeviceSummary, t: Words): PageNode | null {
  if (estimate === null || estimate.points.length === 0) return null;
  const peak = Math.max(...estimate.points.map(({ allocatedBytes }) => allocatedBytes));
  const top = Math.max(peak, summary.peakBytes, 1);
  const points = estimate.points.map(
    ({ at, allocatedBytes }) => `${(at * WIDE).toFixed(1)},${(HIGH - (allocatedBytes / top) * HIGH).toFixed(1)}`,
  );
  const said = t("rec.estimate.said", { size: bytesText(peak), measured: bytesText(summary.peakBytes) });
  return h(
    "section.part",
    { key: "estimate", attrs: { "aria-labelledby": "estimate" } },
    h("h2", { attrs: { id: "estimate" } }, t("rec.estimate", { file: estimate.label })),
    h("p", null, said),
    h(
      "svg",
      {
        attrs: {
          viewBox: `0 0 ${WIDE} ${HIGH}`,
          role: "img",
          "aria-label": said,
          class: "estimate",
          preserveAspectRatio: "none",
        },
      },
      h("polygon", { attrs: { points: `0,${HIGH} ${points.join(" ")} ${WIDE},${HIGH}` } }),
    ),
  );
}

export function recordingView(
  state: RecordingState,
  t: Words,
  actions: RecordingActions,
): readonly (PageNode | null)[] {
  const summary = state.devices.find(({ device }) => device === state.device);
  if (summary === undefined)
    return [h("h1", { key: "heading" }, state.label), h("p", { key: "reading" }, t("rec.reading"))];
  const used = new Set([...summary.parts.map(({ part }) => part as string | null), summary.peakPart]);
  const pointed = state.moment?.pointed ?? state.moment?.largest[0] ?? null;
  return [
    h("h1", { key: "heading" }, state.label),
    controls(state, t, actions),
    chart(state, summary, t, actions),
    legend(t, used),
    h(
      "p.moment",
      { key: "moment", attrs: { role: "status" } },
      state.moment === null
        ? t("rec.top", { peak: bytesText(summary.peakBytes), part: partName(summary.peakPart, t) })
        : momentText(state, t),
    ),
    failuresView(summary, t, actions),
    peakView(summary, t, actions),
    poolView(summary, t),
    estimateView(state, summary, t),
    pointed === null ? null : tensorView(pointed, summary, t, actions),
    largestView(state, t, actions),
  ];
}
