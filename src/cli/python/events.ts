/** The event stream of a script that ran on a device that is not there: read as data, and replayed as the allocator would. */
import * as z from "zod";
import { reservedPeak } from "../../core/allocator/replay";
import { jsonOf } from "../../terms/json";

const place = z.tuple([z.string(), z.string(), z.string(), z.int()]);
const file = z.object({
  schema: z.literal("vram-lens/events/1"),
  allocatedPeakBytes: z.int().min(0),
  ended: z.string(),
  notes: z.array(z.string()),
  phases: z.record(z.string(), z.int().min(0)),
  versions: z.record(z.string(), z.string()),
  peak: z.object({ phase: z.string(), module: z.string(), file: z.string(), line: z.int() }),
  places: z.array(place),
  events: z.array(z.union([z.tuple([z.int().min(0), z.int().min(0), z.string(), z.int().min(0)]), z.int()])),
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
}

/** Phases before the first step; what is not alive after them does not count for the pool. */
const LOADING = "load";

/** What a file of events says; undefined where it is none. */
export function readEvents(text: string): Measured | undefined {
  const read = file.safeParse(jsonOf(text));
  if (!read.success) return undefined;
  const { events, places, schema: _, ...facts } = read.data;
  const bytes: number[] = [];
  const stream = events.map((event) => {
    if (typeof event === "number") return event;
    bytes[event[0]] = event[1];
    return event[0];
  });
  const first = events.findIndex((event) => typeof event !== "number" && places[event[3]]?.[0] !== LOADING);
  return {
    ...facts,
    reservedPeakBytes: reservedPeak({ events: stream, bytes: Array.from(bytes, (n) => n ?? 0) }, Math.max(0, first)),
    alive: aliveAtPeak(read.data),
  };
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
  const sums = new Map<number, number>();
  for (const [size, at] of alive.values()) sums.set(at, (sums.get(at) ?? 0) + size);
  return [...sums]
    .map(([at, size]): Alive => {
      const [phase, module, path, line] = places[at] ?? ["", "", "", 0];
      return { module: module || phase, place: path === "" ? "" : `${path}:${line}`, bytes: size };
    })
    .sort((a, b) => b.bytes - a.bytes);
}
