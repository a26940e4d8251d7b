/**
 * Runs of a deep model with fewer of its layers. Beyond so many a stack repeats: what a further round of its kinds of layers adds
 * is the same wherever it stands, so three depths tell every other one.
 */
import { MOST_WEIGHTS } from "../engine/budget";
import { configView } from "../graph/config";
import { DIMENSIONS } from "../graph/dimensions";
import type { FamilyGraphs } from "../graph/types";
import { forwardSizes, programOf } from "../simulation/program";
import { placeTensors } from "../training/placed";
import type { ModelConfig, TrainingRun } from "../training/run";

/** Layers from which on three depths cost less than all layers. */
const DEEP = 768;
/** Layers at each end that may be unlike the others. */
const ENDS = 16;
/** The least number of layers between two depths: what the allocator's pool has of them is more than its segments are large. */
const APART = 48;
/** Longest round of kinds of layers. */
const LONGEST_PERIOD = 16;

export interface Shallow {
  /** Layers of the run itself. */
  readonly layers: number;
  /** Numbers of layers, as far apart from one another, and the runs of them. */
  readonly depths: readonly [number, number, number];
  readonly runs: readonly [TrainingRun, TrainingRun, TrainingRun];
  /** How many times the run has as many layers more than the third as that has more than the second. */
  readonly times: number;
}

/** Three runs of less depth; null where the run is not deep, or not the same all the way. */
export function shallowRuns(run: TrainingRun, graphs: FamilyGraphs): Shallow | null {
  const layers = deepest(run.model.config);
  if (layers < DEEP || layers > MOST_WEIGHTS || namesLayers(run)) return null;
  const period = periodOf(run, graphs, layers);
  if (period === null) return null;
  const apart = period * Math.ceil(APART / period);
  const first = apart + (layers % apart);
  const depths = [first, first + apart, first + 2 * apart] as const;
  const [one, two, three] = depths.map((depth) => ({
    ...run,
    model: { ...run.model, config: cut(run.model.config, layers, depth) as ModelConfig },
  }));
  const runs = [one!, two!, three!] as const;
  const times = (layers - depths[2]) / apart;
  return hasLayersAlike(run, runs, graphs, times) ? { layers, depths, runs, times } : null;
}

const COUNTS: ReadonlySet<string> = new Set(DIMENSIONS.layers);

/** The most layers that a config, or that of a part of its model, says; 0: none. */
function deepest(config: ModelConfig): number {
  let most = 0;
  for (const [key, value] of Object.entries(config)) {
    if (COUNTS.has(key) && Number.isSafeInteger(value)) most = Math.max(most, value as number);
    else if (isObject(value) && !Array.isArray(value)) most = Math.max(most, deepest(value));
  }
  return most;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** A number in a name that is not part of a word: of a layer, mostly. */
const NUMBERED = /(?:^|[^a-z\d])\d/i;

/** Whether the run says something of single layers, or of how many from one end, or a stage has some of them. */
function namesLayers({
  adapter,
  trained,
  quantization,
  prunedWeights,
  optimizer,
  frozenParts,
  parallel,
}: TrainingRun): boolean {
  if (parallel.pipelineParallel > 1 || optimizer.block !== undefined || adapter?.layersToTransform !== undefined)
    return true;
  if (trained?.layers !== undefined || trained?.frozenShare !== undefined) return true;
  let numbered = false;
  JSON.stringify([adapter, trained, quantization, prunedWeights, frozenParts, parallel.fsdp], (key, value: unknown) => {
    numbered ||= NUMBERED.test(key) && !/^\d+$/.test(key);
    numbered ||= typeof value === "string" && NUMBERED.test(value);
    return value;
  });
  return numbered;
}

/** After how many layers kinds, and lists that have something for each layer, come again; null: they do not. */
function periodOf(run: TrainingRun, graphs: FamilyGraphs, layers: number): number | null {
  const view = configView(graphs, run.model.config, forwardSizes(run));
  const program = programOf(run, graphs, forwardSizes(run), false);
  if (program === null) return null;
  const kinds = Array.from({ length: layers }, (_, index) => view.layerKind(index));
  const lists: (readonly unknown[])[] = [kinds];
  collect(run.model.config, layers, lists);
  for (let period = 1; period <= LONGEST_PERIOD; period++)
    if (lists.every((list) => comesAgain(list, period))) return period;
  return null;
}

function comesAgain(list: readonly unknown[], period: number): boolean {
  for (let k = ENDS + period; k < list.length - ENDS; k++)
    if (list[k] !== list[k - period] && JSON.stringify(list[k]) !== JSON.stringify(list[k - period])) return false;
  return true;
}

/** Whether a value has something for each layer. */
function isList(value: unknown, layers: number): value is string | readonly unknown[] {
  return (typeof value === "string" || Array.isArray(value)) && value.length === layers;
}

function collect(value: unknown, layers: number, into: (readonly unknown[])[]): void {
  if (isList(value, layers)) into.push([...value]);
  else if (isObject(value)) for (const inner of Object.values(value)) collect(inner, layers, into);
}

/** A config with so many layers less in the middle. */
function cut(value: unknown, layers: number, depth: number): unknown {
  if (isList(value, layers)) {
    const before = depth >> 1;
    const after = layers - depth + before;
    return typeof value === "string"
      ? value.slice(0, before) + value.slice(after)
      : [...value.slice(0, before), ...value.slice(after)];
  }
  if (!isObject(value) || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      COUNTS.has(key) && inner === layers ? depth : cut(inner, layers, depth),
    ]),
  );
}

/** Whether the whole run's weights and layers are what those of the shallow ones come to. */
function hasLayersAlike(whole: TrainingRun, runs: Shallow["runs"], graphs: FamilyGraphs, times: number): boolean {
  const [one, two, three, all] = [...runs, whole].map((run) => elementsOf(run, graphs));
  return three! - two! === two! - one! && all === three! + times * (three! - two!);
}

/** Elements of all weights; NaN where there is no program. */
function elementsOf(run: TrainingRun, graphs: FamilyGraphs): number {
  const program = programOf(run, graphs, forwardSizes(run), false);
  if (program === null) return Number.NaN;
  const placed = placeTensors([...program.graph.parameters, ...program.graph.buffers], program.view, run.loadDtype);
  return placed.reduce((sum, { sizes }) => sum + sizes.reduce((product, size) => product * size, 1), 0);
}
