/** The drawing thread: reads a recording, draws it on a canvas of its own, and answers what lies under a point. */
import { aliveAt, type Lifetimes, lifetimesOf } from "../../src/evidence/snapshot/lifetimes";
import { entryParts, tensorParts } from "../../src/evidence/snapshot/parts";
import { readRecording } from "../../src/evidence/snapshot/read";
import { summarise, tracesOf } from "../../src/evidence/snapshot/summary";
import type { Recording, Trace } from "../../src/evidence/snapshot/types";
import { type Column, columnsOf, type Drawn, type Range, segmentRows, tensorAt } from "./drawing";
import type { FromDrawing, ListedTensor, ToDrawing } from "./thread";

interface DeviceData {
  readonly trace: Trace;
  readonly lifetimes: Lifetimes;
  readonly parts: Uint8Array;
  readonly entryParts: Uint8Array;
}

/** Tensors that are listed for a moment. */
const MOST_LISTED = 20;
/** Places of a stack that are listed. */
const MOST_PLACES = 40;
/** Rows of segments that are drawn. */
const MOST_ROWS = 400;
const ROOM_ABOVE = 1.05;

type DrawRequest = Extract<ToDrawing, { type: "draw" }>;

const scope = globalThis as unknown as {
  postMessage(message: FromDrawing): void;
  addEventListener(type: "message", listener: (event: { readonly data: ToDrawing }) => void): void;
};

let recording: Recording | undefined;
let canvas: OffscreenCanvas | undefined;
let last: { readonly request: DrawRequest; readonly range: Range; readonly top: number } | undefined;
const devices = new Map<number, DeviceData>();

function dataOf(device: number): DeviceData | undefined {
  const known = devices.get(device);
  if (known !== undefined || recording === undefined) return known;
  const trace = tracesOf(recording).find((one) => one.device === device);
  if (trace === undefined) return undefined;
  const lifetimes = lifetimesOf(recording, trace);
  const parts = tensorParts(recording, trace, lifetimes);
  const data = { trace, lifetimes, parts, entryParts: entryParts(recording, trace) };
  devices.set(device, data);
  return data;
}

/** For each stack whether a place of it has all words of the search. */
function searched({ stacks, places }: Recording, search: string): Uint8Array | null {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return null;
  const has = places.map(({ file, line, name }) => {
    const text = `${file}:${line} ${name}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return Uint8Array.from(stacks, (stack) => (stack.some((place) => has[place] === true) ? 1 : 0));
}

function drawColumns(
  context: OffscreenCanvasRenderingContext2D,
  columns: readonly Column[],
  request: DrawRequest,
  top: number,
): void {
  const { width, height, colours } = request;
  const wide = width / columns.length;
  for (const [index, { bands }] of columns.entries()) {
    for (const { from, to, part, found } of bands) {
      const high = height - (to / top) * height;
      const low = height - (from / top) * height;
      // Thinner than half a pixel is not seen, and thousands of such bands take long.
      if (low - high < 0.3) continue;
      context.globalAlpha = found ? 1 : 0.15;
      context.fillStyle = colours[Math.min(part, colours.length - 4)] ?? "";
      context.fillRect(index * wide, high, Math.ceil(wide), low - high);
    }
  }
  context.globalAlpha = 1;
}

function drawLine(
  context: OffscreenCanvasRenderingContext2D,
  request: DrawRequest,
  at: readonly (readonly [number, number])[],
): void {
  const { colours } = request;
  context.strokeStyle = colours[colours.length - 2] ?? "";
  context.lineWidth = 1;
  context.beginPath();
  for (const [k, [x, y]] of at.entries()) {
    if (k === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
  context.stroke();
}

function drawTimeline(
  context: OffscreenCanvasRenderingContext2D,
  data: DeviceData,
  drawn: Drawn,
  request: DrawRequest,
): void {
  const { lifetimes } = data;
  const { length } = data.trace.actions;
  const range = request.range ?? { from: 0, to: Math.max(1, length) };
  const top =
    ROOM_ABOVE * Math.max(1, lifetimes.peakBytes, ...(lifetimes.reserved.length > 0 ? [most(lifetimes.reserved)] : []));
  const columns = length === 0 ? [] : columnsOf(drawn, range, Math.max(1, Math.floor(request.width)));
  if (columns.length > 0) drawColumns(context, columns, request, top);
  const { width, height } = request;
  const wide = width / Math.max(1, columns.length);
  if (lifetimes.reserved.length > 0)
    drawLine(
      context,
      request,
      columns.map(({ entry }, k) => [(k + 0.5) * wide, height - (lifetimes.reserved[entry]! / top) * height] as const),
    );
  if (request.cursor !== null)
    drawLine(context, request, [
      [request.cursor * width, 0],
      [request.cursor * width, height],
    ]);
  last = { request, range, top };
}

function most(values: Float64Array): number {
  return values.reduce((best, value) => Math.max(best, value), 0);
}

function drawSegments(context: OffscreenCanvasRenderingContext2D, request: DrawRequest): void {
  const segments = (recording?.segments ?? []).filter(({ device }) => device === request.device);
  const rows = segmentRows(segments).slice(0, MOST_ROWS);
  const { width, height, colours } = request;
  const high = height / Math.max(1, rows.length);
  const found = recording === undefined ? null : searched(recording, request.search);
  for (const [index, { blocks, length }] of rows.entries()) {
    const y = index * high;
    const thick = Math.max(1, high * 0.8);
    context.fillStyle = colours[colours.length - 3] ?? "";
    context.fillRect(0, y, length * width, thick);
    for (const { from, to, used, stack } of blocks) {
      if (!used) continue;
      context.globalAlpha = found === null || found[stack] === 1 ? 1 : 0.15;
      context.fillStyle = colours[0] ?? "";
      context.fillRect(from * width, y, Math.max(0.5, (to - from) * width - 0.5), thick);
    }
    context.globalAlpha = 1;
  }
  last = undefined;
}

function draw(request: DrawRequest): void {
  const data = dataOf(request.device);
  if (recording === undefined || data === undefined || canvas === undefined) return;
  const { width, height, ratio } = request;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(ratio, ratio);
  context.clearRect(0, 0, width, height);
  const found = searched(recording, request.search);
  const drawn: Drawn = { lifetimes: data.lifetimes, parts: data.parts, found };
  if (request.view === "timeline") drawTimeline(context, data, drawn, request);
  else drawSegments(context, request);
  scope.postMessage({
    type: "drawn",
    id: request.id,
    range: last?.range ?? { from: 0, to: data.trace.actions.length },
    entries: data.trace.actions.length,
    top: last?.top ?? 0,
    found: found === null ? null : foundAtPeak(data, found),
  });
}

function foundAtPeak({ lifetimes }: DeviceData, found: Uint8Array): { count: number; bytes: number } {
  let [count, bytes] = [0, 0];
  for (const id of aliveAt(lifetimes, Math.max(0, lifetimes.peakAt)))
    if (found[lifetimes.stacks[id]!] === 1) {
      count++;
      bytes += lifetimes.sizes[id]!;
    }
  return { count, bytes };
}

function listed({ lifetimes, parts }: DeviceData, id: number): ListedTensor {
  const stack = recording?.stacks[lifetimes.stacks[id]!] ?? new Int32Array(0);
  const places = [...stack.subarray(0, MOST_PLACES)].map((place) => recording!.places[place]!);
  return {
    id,
    bytes: lifetimes.sizes[id]!,
    part: parts[id]!,
    born: lifetimes.births[id]!,
    died: lifetimes.deaths[id]!,
    stack: places,
  };
}

function answerAt(id: number, x: number, y: number | null): void {
  if (last === undefined) return;
  const { request, range, top } = last;
  const data = dataOf(request.device);
  if (data === undefined) return;
  const { lifetimes } = data;
  const span = range.to - range.from;
  // The moment that the column under the pointer shows: its fullest.
  const columns = Math.min(Math.max(1, Math.floor(request.width)), span);
  const column = Math.min(columns - 1, Math.max(0, Math.floor(x * columns)));
  const first = Math.floor(range.from + (column * span) / columns);
  const end = Math.max(first + 1, Math.floor(range.from + ((column + 1) * span) / columns));
  let entry = first;
  for (let k = first; k < end; k++) if (lifetimes.alive[k]! > lifetimes.alive[entry]!) entry = k;
  const ids = [...aliveAt(lifetimes, entry)];
  const pointed = y === null ? -1 : tensorAt(ids, lifetimes, y * top);
  const largest = [...ids].sort((a, b) => lifetimes.sizes[b]! - lifetimes.sizes[a]!).slice(0, MOST_LISTED);
  scope.postMessage({
    type: "found",
    id,
    entry,
    aliveBytes: lifetimes.alive[entry] ?? 0,
    reservedBytes: lifetimes.reserved[entry] ?? null,
    part: data.entryParts[entry] ?? 255,
    pointed: pointed < 0 ? null : listed(data, pointed),
    largest: largest.map((one) => listed(data, one)),
    count: ids.length,
  });
}

function receive(message: ToDrawing): void {
  switch (message.type) {
    case "open": {
      const read = readRecording(new Uint8Array(message.bytes));
      if (!read.ok) {
        const { why, what, at } = read;
        scope.postMessage({ type: "refused", why, what, at });
        return;
      }
      recording = read.recording;
      scope.postMessage({ type: "opened", kind: recording.kind, devices: summarise(recording) });
      return;
    }
    case "canvas":
      canvas = message.canvas;
      return;
    case "draw":
      draw(message);
      return;
    case "at":
      answerAt(message.id, message.x, message.y);
  }
}

scope.addEventListener("message", ({ data }) => receive(data));
