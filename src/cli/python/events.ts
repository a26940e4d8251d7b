/** The event stream of a script that ran on a device that is not there: read as data, and replayed as the allocator would. */
import * as z from "zod/mini";
import { reservedPeak } from "../../core/allocator/replay";
import { starred } from "../../core/matching/allocations";
import type { Block, Stream } from "../../core/matching/parting";
import { jsonOf } from "../../terms/json";

const place = z.tuple([z.string(), z.string(), z.string(), z.int()]);
const file = z.object({
  schema: z.literal("vram-lens/events/1"),
  allocatedPeakBytes: z.int().check(z.minimum(0)),
  ended: z.string(),
  notes: z.array(z.string()),
  phases: z.record(z.string(), z.int().check(z.minimum(0))),
  versions: z.record(z.string(), z.string()),
  peak: z.object({ phase: z.string(), module: z.string(), file: z.string(), line: z.int() }),
  places: z.array(place),
  events: z.array(
    z.union([
      z.tuple([z.int().check(z.minimum(0)), z.int().check(z.minimum(0)), z.string(), z.int().check(z.minimum(0))]),
      z.int(),
    ]),
  ),
});

/** What is alive at the peak, by the place that made it. */
export interface Alive {
  readonly module: string;
  readonly place: string;
  readonly bytes: number;
}

export interface Measured extends Omit<z.infer<typeof file>, "events" | "places" | "schema"> {
  readonly reservedPeakBytes: number;
  /** The largest first. */
  readonly alive: readonly Alive[];
  /** What was allocated and freed, to be compared with an estimate's. */
  readonly stream: Stream;
}

/** Phases before the first step; what is not alive after them does not count for the pool. */
const LOADING = "load";

/** What a file of events says; undefined where it is none. */
export function readEvents(text: string): Measured | undefined {
  const read = file.safeParse(jsonOf(text));
  if (!read.success) return undefined;
  const { events, places, schema: _, ...facts } = read.data;
  // Blocks are numbered from nought: a larger number would make a table of as many places.
  if (events.some((event) => typeof event !== "number" && event[0] >= events.length)) return undefined;
  const bytes: number[] = [];
  const blocks: Block[] = [];
  const stream = events.map((event) => {
    if (typeof event === "number") return event;
    const [id, size, operator, at] = event;
    bytes[id] = size;
    blocks[id] = { bytes: size, operator, ...placeOf(places[at]) };
    return id;
  });
  const first = events.findIndex((event) => typeof event !== "number" && places[event[3]]?.[0] !== LOADING);
  return {
    ...facts,
    reservedPeakBytes: reservedPeak({ events: stream, bytes: Array.from(bytes, (n) => n ?? 0) }, Math.max(0, first)),
    alive: aliveAtPeak(read.data),
    stream: { blocks, events: stream },
  };
}

/** Phase, module and line of a place that may not be there. */
function placeOf(at: z.infer<typeof place> | undefined): Pick<Block, "phase" | "scope" | "place"> {
  const [phase, scope, path, line] = at ?? ["", "", "", 0];
  return { phase, scope, place: path === "" ? "" : `${path}:${line}` };
}

function aliveAtPeak({ events, places, allocatedPeakBytes }: z.infer<typeof file>): readonly Alive[] {
  const alive = new Map<number, readonly [number, number]>();
  let live = 0;
  for (const event of events) {
    if (typeof event === "number") {
      live -= alive.get(~event)?.[0] ?? 0;
      alive.delete(~event);
      continue;
    }
    const [id, size, , at] = event;
    alive.set(id, [size, at]);
    live += size;
    if (live === allocatedPeakBytes) break;
  }
  const sums = new Map<string, Alive>();
  for (const [size, at] of alive.values()) {
    const { phase, scope, place } = placeOf(places[at]);
    const module = starred(scope) || phase;
    const key = `${module} ${place}`;
    sums.set(key, { module, place, bytes: size + (sums.get(key)?.bytes ?? 0) });
  }
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}
