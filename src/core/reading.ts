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
  const step = timeline(ledger, ledger.phaseList.find(({ step }) => step === 2)?.firstEvent ?? 0, paths);
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
  const most = paths.map((_, index) => points.reduce((top, { modules }) => Math.max(top, modules[index] ?? 0), 0));
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

/**
 * The stream from event `start` on, thinned so that every slice keeps its highest point.
 *
 * @param paths of modules, in the order of the points' `modules`; those that come up here are added
 */
function timeline(ledger: Ledger, start: number, paths: string[]): TimelinePoint[] {
  const { events, bytes, labelIndices, phaseList } = ledger;
  const kinds = ledger.kindsOfLabels(KIND_INDEX);
  const placeOf = new Map(paths.map((path, place) => [path, place]));
  const places = ledger.scopesOfLabels((scope) => {
    const path = timelineModule(scope);
    const place = placeOf.get(path) ?? paths.push(path) - 1;
    placeOf.set(path, place);
    return place;
  });
  const end = events.length;
  const slice = Math.max(1, Math.ceil((end - start) / TIMELINE_POINTS));
  const points: TimelinePoint[] = [];
  // What is alive of each kind in each module; a label's blocks are all of one.
  const held = new Float64Array(COMPONENT_KINDS.length * paths.length);
  const cells = Int32Array.from(kinds, (kind, label) => kind * paths.length + places[label]!);
  const book = (from: number, to: number): void => {
    for (let k = from; k < to; k++) {
      const event = events[k]!;
      if (event >= 0) held[cells[labelIndices[event]!]!]! += bytes[event]!;
      else held[cells[labelIndices[~event]!]!]! -= bytes[~event]!;
    }
  };
  const sums = (): Pick<TimelinePoint, "alive" | "modules"> => {
    const alive = COMPONENT_KINDS.map(() => 0);
    const modules = paths.map(() => 0);
    for (let cell = 0; cell < held.length; cell++) {
      const bytes = held[cell]!;
      if (bytes === 0) continue;
      alive[Math.floor(cell / paths.length)]! += bytes;
      modules[cell % paths.length]! += bytes;
    }
    return { alive, modules };
  };
  ledger.bytesByLabel(start).forEach((bytes, label) => {
    held[cells[label]!]! += bytes;
  });
  let live = held.reduce((sum, part) => sum + part, 0);
  let phase = 0;
  for (let from = start, to = start; from < end; from = to) {
    while ((phaseList[phase + 1]?.firstEvent ?? end) <= from) phase++;
    const sliceEnd = from + slice - ((from - start) % slice);
    to = Math.min(end, sliceEnd, phaseList[phase + 1]?.firstEvent ?? end);
    let best = -1;
    let bestAt = from;
    for (let k = from; k < to; k++) {
      const event = events[k]!;
      live += event >= 0 ? bytes[event]! : -bytes[~event]!;
      if (live > best) {
        best = live;
        bestAt = k;
      }
    }
    book(from, bestAt + 1);
    points.push({
      at: (bestAt - start) / Math.max(1, end - start - 1),
      phase: phaseList[phase]!.phase,
      allocatedBytes: best,
      ...sums(),
    });
    book(bestAt + 1, to);
  }
  return points;
}
