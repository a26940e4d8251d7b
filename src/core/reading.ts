/** What is read off an event stream: what is alive at the peak, the peak of every phase, the step as a timeline. */
import type { Ledger } from "./engine/ledger";
import {
  COMPONENT_KINDS,
  type Component,
  type ComponentKind,
  type ModuleShare,
  PHASES,
  type Phase,
  type StepTimeline,
  type TimelinePoint,
} from "./report/estimate";

/** Points the timeline is thinned to. */
const TIMELINE_POINTS = 240;

/** Position of a kind in `COMPONENT_KINDS`. */
const KIND_INDEX = Object.fromEntries(COMPONENT_KINDS.map((kind, index) => [kind, index])) as Readonly<
  Record<ComponentKind, number>
>;

/** What is alive at the peak, by kind and by module. */
export function breakdown(ledger: Ledger): { components: Component[]; modules: ModuleShare[] } {
  const modules: (ModuleShare & { bytes: number })[] = [];
  const byModule = new Map<string, Map<ComponentKind, ModuleShare & { bytes: number }>>();
  const byScope = new Map<string, Map<ComponentKind, ModuleShare & { bytes: number }>>();
  const shareOf = (kind: ComponentKind, scope: string): ModuleShare & { bytes: number } => {
    let shares = byScope.get(scope);
    if (shares === undefined) {
      const module = moduleOf(scope);
      shares = byModule.get(module) ?? new Map();
      byModule.set(module, shares);
      byScope.set(scope, shares);
    }
    let share = shares.get(kind);
    if (share === undefined) {
      share = { module: moduleOf(scope), kind, bytes: 0 };
      shares.set(kind, share);
      modules.push(share);
    }
    return share;
  };
  const found: number[] = [];
  const bytes = ledger.bytesByLabel(ledger.peakEvent + 1, found);
  for (const label of found) shareOf(ledger.kindOfLabel(label), ledger.scopeOfLabel(label)).bytes += bytes[label]!;
  const components = COMPONENT_KINDS.flatMap((kind) => {
    const shares = modules.filter((share) => share.kind === kind);
    return shares.length === 0 ? [] : [{ kind, bytes: shares.reduce((sum, share) => sum + share.bytes, 0) }];
  });
  return { components, modules: modules.sort((a, b) => b.bytes - a.bytes) };
}

/** The path that layers have in common. */
function moduleOf(scope: string): string {
  return scope.replace(/\.\d+(?=\.|$)/g, ".*");
}

/** Highest peak of each phase over loading and the steps. */
export function phasePeaks(ledger: Ledger, loading: Ledger | null): { phase: Phase; peakBytes: number }[] {
  const peaks = new Map<Phase, number>();
  for (const { phase, peak } of [...(loading?.phaseList ?? []), ...ledger.phaseList])
    peaks.set(phase, Math.max(peaks.get(phase) ?? 0, peak));
  return PHASES.filter((phase) => peaks.has(phase)).map((phase) => ({ phase, peakBytes: peaks.get(phase)! }));
}

/** Share of the timeline that loading takes where it is the peak. */
const LOADING_SHARE = 0.25;

/** Modules that the timeline is taken apart by; more could not be told apart. */
const TIMELINE_MODULES = 7;

/** The second step, after loading where that is the peak. */
export function timelineOf(ledger: Ledger, loading: Ledger | null): StepTimeline {
  const paths: string[] = [];
  const step = timeline(ledger, secondStep(ledger), paths);
  if (loading === null) return withLargestModules(step, paths);
  const before = timeline(loading, 0, paths);
  return withLargestModules(
    [
      ...before.map((point) => ({ ...point, at: point.at * LOADING_SHARE })),
      ...step.map((point) => ({ ...point, at: LOADING_SHARE + point.at * (1 - LOADING_SHARE) })),
    ],
    paths,
  );
}

/** Of all modules those that hold the most at some point. */
function withLargestModules(points: readonly TimelinePoint[], paths: readonly string[]): StepTimeline {
  const most = new Array<number>(paths.length).fill(0);
  for (const { modules } of points)
    for (let index = 0; index < modules.length; index++)
      if (modules[index]! > most[index]!) most[index] = modules[index]!;
  const kept = paths
    .flatMap((path, index) => (path === "" || most[index] === 0 ? [] : [{ path, index }]))
    .sort((a, b) => most[b.index]! - most[a.index]!)
    .slice(0, TIMELINE_MODULES);
  return {
    points: points.map((point) => ({ ...point, modules: kept.map(({ index }) => point.modules[index] ?? 0) })),
    modules: kept.map(({ path }) => path),
  };
}

/** Where the timeline looks for a block: the name below layers that repeat (`model.layers.*.mlp`), else three names. */
function timelineModule(scope: string): string {
  const names = scope.split(".");
  const layer = names.findIndex((name) => /^\d+$/.test(name));
  if (layer < 0) return names.slice(0, 3).join(".");
  return [...names.slice(0, layer), "*", ...names.slice(layer + 1, layer + 2)].join(".");
}

/** A moment that the timeline shows. */
interface Stop {
  readonly event: number;
  readonly phase: Phase;
}

/** The highest moment of every slice of the stream from event `start` on. */
function stopsOf({ events, bytes, phaseList }: Ledger, start: number, live: number): Stop[] {
  const end = events.length;
  const slice = Math.max(1, Math.ceil((end - start) / TIMELINE_POINTS));
  const stops: Stop[] = [];
  let alive = live;
  let phase = 0;
  for (let from = start, to = start; from < end; from = to) {
    while ((phaseList[phase + 1]?.firstEvent ?? end) <= from) phase++;
    const sliceEnd = from + slice - ((from - start) % slice);
    to = Math.min(end, sliceEnd, phaseList[phase + 1]?.firstEvent ?? end);
    let best = -1;
    let bestAt = from;
    for (let k = from; k < to; k++) {
      const event = events[k]!;
      alive += event >= 0 ? bytes[event]! : -bytes[~event]!;
      if (alive > best) {
        best = alive;
        bestAt = k;
      }
    }
    stops.push({ event: bestAt, phase: phaseList[phase]!.phase });
  }
  return stops;
}

/**
 * What is alive at moments of the stream from event `start` on, in their order.
 *
 * @param paths of modules, in the order of the points' `modules`; those that come up here are added
 */
function pointsAt(
  ledger: Ledger,
  start: number,
  stopsFrom: (live: number) => readonly Stop[],
  paths: string[],
): TimelinePoint[] {
  const { events, bytes, labelIndices } = ledger;
  const kinds = ledger.kindsOfLabels(KIND_INDEX);
  const placeOf = new Map(paths.map((path, place) => [path, place]));
  const places = ledger.scopesOfLabels((scope) => {
    const path = timelineModule(scope);
    const place = placeOf.get(path) ?? paths.push(path) - 1;
    placeOf.set(path, place);
    return place;
  });
  // What is alive of each kind in each module; a label's blocks are all of one.
  const held = new Float64Array(COMPONENT_KINDS.length * paths.length);
  const cells = new Int32Array(kinds.length);
  for (let label = 0; label < cells.length; label++) cells[label] = kinds[label]! * paths.length + places[label]!;
  const before = ledger.bytesByLabel(start);
  let live = 0;
  for (let label = 0; label < before.length; label++) {
    held[cells[label]!]! += before[label]!;
    live += before[label]!;
  }
  let from = start;
  const last = Math.max(1, events.length - start - 1);
  return stopsFrom(live).map(({ event, phase }) => {
    for (; from <= event; from++) {
      const own = events[from]!;
      if (own >= 0) held[cells[labelIndices[own]!]!]! += bytes[own]!;
      else held[cells[labelIndices[~own]!]!]! -= bytes[~own]!;
    }
    const alive: number[] = [];
    const modules = new Array<number>(paths.length).fill(0);
    let allocatedBytes = 0;
    for (let kind = 0, cell = 0; kind < COMPONENT_KINDS.length; kind++) {
      let own = 0;
      for (let place = 0; place < modules.length; place++, cell++) {
        const bytes = held[cell]!;
        if (bytes === 0) continue;
        own += bytes;
        modules[place]! += bytes;
      }
      alive.push(own);
      allocatedBytes += own;
    }
    return { at: (event - start) / last, phase, allocatedBytes, alive, modules };
  });
}

/** The stream from event `start` on, thinned so that every slice keeps its highest point. */
function timeline(ledger: Ledger, start: number, paths: string[]): TimelinePoint[] {
  return pointsAt(ledger, start, (live) => stopsOf(ledger, start, live), paths);
}

/** Where the second step begins. */
function secondStep({ phaseList }: Ledger): number {
  return phaseList.find(({ step }) => step === 2)?.firstEvent ?? 0;
}

/**
 * The second step of a run of which two depths were followed.
 *
 * @param nearOf the event of the first stream that one of the second is; -1: none
 * @param whole what two numbers come to at the run's depth
 */
export function timelineBetween(
  near: Ledger,
  far: Ledger,
  nearOf: (far: number) => number,
  whole: (near: number, far: number) => number,
): StepTimeline {
  const paths: string[] = [];
  const [before, start] = [secondStep(near), secondStep(far)];
  const stops: { readonly near: Stop; readonly far: Stop }[] = [];
  let last = -1;
  pointsAt(
    far,
    start,
    (live) => {
      const all = stopsOf(far, start, live);
      for (const stop of all) {
        const event = nearOf(stop.event);
        if (event <= last) continue;
        last = event;
        stops.push({ near: { ...stop, event }, far: stop });
      }
      return [];
    },
    paths,
  );
  const [one, two] = [
    pointsAt(near, before, () => stops.map((stop) => stop.near), paths),
    pointsAt(far, start, () => stops.map((stop) => stop.far), paths),
  ];
  const length = Math.max(1, whole(near.eventCount - before, far.eventCount - start) - 1);
  const points = two.map((point, k) => {
    const other = one[k]!;
    const each = (a: readonly number[], b: readonly number[]): number[] => b.map((bytes, n) => whole(a[n] ?? 0, bytes));
    return {
      at: whole(stops[k]!.near.event - before, stops[k]!.far.event - start) / length,
      phase: point.phase,
      allocatedBytes: whole(other.allocatedBytes, point.allocatedBytes),
      alive: each(other.alive, point.alive),
      modules: each(other.modules, point.modules),
    };
  });
  return withLargestModules(points, paths);
}
