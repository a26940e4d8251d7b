/**
 * The one entry of the estimator: a resolved run and its architecture graph in, an estimate out.
 * Pure and synchronous; never throws on anything a user can write.
 */
import { once } from "../terms/once";
import { type Message, say } from "../words/message";
import { expandablePeak } from "./allocator/expandable";
import type { VariedReserve } from "./allocator/lengths";
import { pressedPool, reservedPeak } from "./allocator/replay";
import { operatorsOf } from "./cost/operators";
import { type DepthReader, deepEstimate } from "./depth/deep";
import { kernelTemporaries } from "./engine/kernels";
import type { Ledger } from "./engine/ledger";
import { ImpossibleSizes, NotModelled } from "./engine/not-modelled";
import { isTraced } from "./graph/own";
import type { FamilyGraphs } from "./graph/types";
import { type ByteBand, measuredBand, overheadBand } from "./hardware/context";
import { deviceSpec } from "./hardware/devices";
import type { Device } from "./hardware/types";
import { MOST_PADDED, type PaddedBatches, reserveOfPadded } from "./padded";
import { poolLimit, streamOf } from "./pool";
import { breakdown, phasePeaks, timelineOf } from "./reading";
import type { ComponentKind, Enough, Estimate } from "./report/estimate";
import type { Simulation } from "./simulate";
import { countParameters } from "./simulation/parameters";
import { forwardSizes, notCaptured, unmetConditions } from "./simulation/program";
import { simulateFullest } from "./stages";
import { isOwnCode, standIn } from "./stand-in";
import type { TrainingRun } from "./training/run";
import { withUncertainties } from "./uncertainty";
import { CLAIMS, kindOf } from "./uncertainty/coverage";

/** Either an estimate, or why there is none (shown to the user as it is). */
export type EstimateResult =
  | {
      readonly ok: true;
      readonly estimate: Estimate;
      /** What the pool holds where batches differ in length, if that was asked for. */
      readonly padded?: VariedReserve | null;
    }
  | {
      readonly ok: false;
      readonly code: "unknown-model" | "invalid-config" | "not-modelled";
      readonly reason: Message;
    };

/**
 * Simulates two optimizer steps of `run` on `graphs` and reads peaks, breakdown and timeline off the event stream.
 *
 * @param run everything resolved, see {@link TrainingRun}
 * @param graphs the captured graphs of `run.model.family`, or of the relative that stands in for it (`relativeOf`), which
 *   widens the band; undefined when there is neither
 * @param detail `peaks` leaves breakdown, modules and timeline empty, for searches that only compare totals
 * @param enough where it is for what the steps' tensors, context and libraries use, their pool and loading are not modelled, nor
 *   what is uncertain and what the kernels do, for searches that only ask whether a run fits
 * @param batches how the lengths of batches differ, where the pool that they make is wanted too
 */
export function estimate(
  run: TrainingRun,
  graphs: FamilyGraphs | undefined,
  detail: Exclude<Detail, "untimed"> = "full",
  enough: Enough = () => false,
  batches?: PaddedBatches,
): EstimateResult {
  if (graphs === undefined)
    return { ok: false, code: "unknown-model", reason: say("engine.family", { family: run.model.family }) };
  try {
    const elsewhere = tracedElsewhere(run, graphs);
    if (elsewhere !== null) return elsewhere;
    const deep = deepEstimate(run, graphs, readerOf(graphs, detail));
    if (deep !== null && countable(deep)) return { ok: true, estimate: deep };
    const result = simulateFullest(standIn(run, graphs), graphs);
    if (!result.ok) return result;
    const { simulation } = result;
    const { ledger } = simulation;
    // A size that is no number makes every sum after it none, and the peak the largest before it. Beyond 2⁵³ sums are not
    // exact: addresses of the pool would not be told apart.
    if (![ledger.live, ledger.peak].every(Number.isSafeInteger) || ledger.peakEvent < 0)
      return beyondBytes(ledger.peak) ?? refused(run, graphs, { reason: say("engine.sizes") });
    const pool = once(() => poolOf(run, ledger, simulation.loadedEvents));
    const plain = read(run, simulation, detail, enough, graphs, pool);
    if (!countable(plain))
      return beyondBytes(plain.usedPeakBytes) ?? refused(run, graphs, { reason: say("engine.sizes") });
    if (plain.isAtLeast) return { ok: true, estimate: plain };
    const whole = withUncertainties(plain, { run, graphs, simulation, ledger, pool }, result.uncertain);
    if (!countable(whole))
      return beyondBytes(whole.band.highBytes) ?? refused(run, graphs, { reason: say("engine.sizes") });
    if (batches === undefined || whole.events > MOST_PADDED) return { ok: true, estimate: whole };
    const overhead = whole.usedPeakBytes - whole.reservedPeakBytes;
    return { ok: true, estimate: whole, padded: reserveOfPadded(run, graphs, batches, overhead, simulation) };
  } catch (error) {
    // Sizes that no library takes are the config's fault wherever they were met.
    if (error instanceof NotModelled)
      return error instanceof ImpossibleSizes
        ? refused(run, graphs, { reason: error.reason })
        : { ok: false, code: "not-modelled", reason: error.reason };
    // What the language says of its own mistakes is nothing a reader can act on.
    const own = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
    const failure = error instanceof Error ? error.message : String(error);
    const reason = own ? say("engine.config-sizes") : say("engine.config", { failure });
    return refused(run, graphs, { reason, failure, own });
  }
}

/**
 * Why there is no estimate of a run whose sizes are others than those that somebody's own graph was traced for; null where it holds
 * for them. All that such a graph asks for are sizes (own.py, `traced`), and its numbers at other ones are those of other code
 * (windows filled up, tables cut), by no factor that anybody knows: no band makes up for that.
 */
function tracedElsewhere(run: TrainingRun, graphs: FamilyGraphs): EstimateResult | null {
  if (!isTraced(graphs)) return null;
  const unmet = unmetConditions(run, graphs);
  if (unmet.length === 0) return null;
  const asked = Object.entries(forwardSizes(run)).filter(([letter]) =>
    unmet.some((condition) => new RegExp(`\\b${letter}\\b`).test(condition)),
  );
  const sizes = asked.map(([letter, size]) => `${letter}=${size}`).join(" ");
  const name = run.model.family.replace(/^own\./, "");
  return {
    ok: false,
    code: "not-modelled",
    reason: say("engine.traced-elsewhere", { name, conditions: unmet.join(", "), sizes }),
  };
}

/** How the depths of a deep model are read. */
function readerOf(graphs: FamilyGraphs, detail: Detail): DepthReader {
  return {
    read: (run, { simulation, uncertain }) => {
      const steps = { ...simulation, loading: () => null };
      const { ledger } = simulation;
      const pool = once(() => poolOf(run, ledger, simulation.loadedEvents));
      const shown = detail === "full" ? "untimed" : detail;
      const { releases: _, ...plain } = read(run, steps, shown, () => false, graphs, pool);
      return withUncertainties(plain, { run, graphs, simulation, ledger, pool }, uncertain);
    },
    pool: poolOf,
    margin: POOL_MARGIN,
    timed: detail === "full",
  };
}

/** What the process takes beside the pool: as a receipt of the card says it, else as it was reported of its architecture. */
function overheadOf({ device, parallel, libraries, blasWorkspaceBytes }: TrainingRun): ByteBand {
  const { alone, together } = device?.measuredOverhead ?? {};
  const measured = parallel.worldSize > 1 ? together : alone;
  if (measured !== undefined) return measuredBand(measured);
  const options = { torch: libraries.torch, workspace: blasWorkspaceBytes };
  return overheadBand(device?.architecture ?? "unknown", parallel.worldSize, options);
}

/** How much is read off a stream; `untimed`: all but the timeline. */
type Detail = "full" | "untimed" | "peaks";

/** The peak and its band. */
export type Peak = Pick<Estimate, "usedPeakBytes" | "band">;

/** An estimate's peak as it would be on another card: what the process takes beside the pool is that card's. */
export function peakOn(peak: Peak, run: TrainingRun, device: Device): Peak {
  if (device.name === run.device?.name) return peak;
  const [here, there] = [overheadOf(run), overheadOf({ ...run, device: deviceSpec({ device, count: 1 }) })];
  const { band, usedPeakBytes } = peak;
  return {
    usedPeakBytes: usedPeakBytes + there.likely - here.likely,
    band: {
      ...band,
      lowBytes: band.lowBytes + there.low - here.low,
      highBytes: band.highBytes + there.high - here.high,
    },
  };
}

/** Whether every size is one that bytes can have: a negative dimension, or a product beyond 2⁵³, gives others. */
function countable(estimate: Estimate): boolean {
  const { allocatedPeakBytes, reservedPeakBytes, usedPeakBytes, band, components, host } = estimate;
  const sizes = [
    allocatedPeakBytes,
    reservedPeakBytes,
    usedPeakBytes,
    band.highBytes,
    ...components.map(({ bytes }) => bytes),
  ];
  const all = [...sizes, host.pinnedBytes, host.pageableBytes, host.nvmeBytes];
  return all.every((bytes) => Number.isSafeInteger(bytes) && bytes >= 0);
}

/** What is said of a run that the config gives every size of, but whose bytes are more than numbers hold exactly; else null. */
function beyondBytes(bytes: number): EstimateResult | null {
  if (!(Number.isFinite(bytes) && bytes > Number.MAX_SAFE_INTEGER)) return null;
  return { ok: false, code: "not-modelled", reason: say("engine.too-many-bytes") };
}

/**
 * Why there is no estimate: the branch of the code that the config takes was not captured, the engine has no rule for what an
 * operator is given, or the config is at fault.
 *
 * @param fault what is wrong with the config, if it is the config, what an operator said, and whether the engine's own code did
 */
function refused(
  run: TrainingRun,
  graphs: FamilyGraphs,
  { reason, failure, own }: { readonly reason: Message; readonly failure?: string; readonly own?: boolean },
): EstimateResult {
  try {
    if (isOwnCode(run, graphs) && unmetConditions(run, graphs).length > 0)
      return { ok: false, code: "not-modelled", reason: notCaptured(run, graphs) };
    // A config that gives a size to every parameter is not what fails.
    const parameters = failure === undefined ? 0 : (countParameters(run, graphs)?.parameters ?? 0);
    if (Number.isFinite(parameters) && parameters > 0)
      return {
        ok: false,
        code: "not-modelled",
        reason: say(own ? "engine.fault" : "engine.no-rule", { failure: failure ?? "" }),
      };
  } catch {
    // What the config cannot even count is its own fault.
  }
  return { ok: false, code: "invalid-config", reason };
}

/** Bytes alive when the second step begins. */
function betweenSteps(ledger: Ledger): number {
  return ledger.phaseList.find(({ step }) => step === 2)?.before ?? 0;
}

const TRAINED: ReadonlySet<ComponentKind> = new Set(["weights", "adapters", "gradients"]);

/** Bytes of weights and gradients that are alive when the optimizer steps for the first time; 0 where it never does. */
function beforeOptimizer(ledger: Ledger): number {
  const step = ledger.phaseList.find(({ phase }) => phase === "optimizer");
  if (step === undefined) return 0;
  const alive: number[] = [];
  const bytes = ledger.bytesByLabel(step.firstEvent, alive);
  let sum = 0;
  for (const label of alive) if (TRAINED.has(ledger.kindOfLabel(label))) sum += bytes[label]!;
  return sum;
}

/** What the pool comes to over a stream, of whose first `loaded` events only what survives them counts. */
export function poolOf(run: TrainingRun, stream: Ledger, loaded: number): number {
  return run.expandableSegments
    ? expandablePeak(streamOf(stream, run), loaded)
    : reservedPeak(streamOf(stream, run), loaded, run.allocator);
}

function read(
  run: TrainingRun,
  simulation: Simulation,
  detail: Detail,
  enough: Enough,
  graphs: FamilyGraphs,
  pool: () => number,
): Estimate {
  const { ledger, parameters, trainableParameters, host } = simulation;
  const overhead = overheadOf(run);
  const isAtLeast = enough(ledger.peak + overhead.likely);
  const loading = isAtLeast ? null : simulation.loading();
  // Loading is over before the steps begin: whichever needs more is the peak of the run.
  const fullest = loading !== null && loading.peak > ledger.peak ? loading : ledger;
  const reserved = isAtLeast
    ? fullest.peak
    : Math.max(pool(), loading === null ? 0 : poolOf(run, loading, 0), fullest.peak);
  const releases =
    loading === null && reserved > fullest.peak ? releasesOf(run, simulation, overhead.likely, reserved) : null;
  const { components, modules } = detail !== "peaks" ? breakdown(fullest) : { components: [], modules: [] };
  return {
    parameters,
    trainableParameters,
    allocatedPeakBytes: fullest.peak,
    reservedPeakBytes: reserved,
    usedPeakBytes: reserved + overhead.likely,
    ...(isAtLeast ? { isAtLeast } : {}),
    ...(releases === null ? {} : { releases }),
    band: {
      lowBytes: fullest.peak + overhead.low,
      highBytes: highBound(reserved + kernelTemporaries(ledger), overhead.high),
      coverage: CLAIMS[kindOf(run, graphs)].claimed,
    },
    peakPhase: fullest.phaseList[fullest.peakPhase]!.phase,
    residentBytes: betweenSteps(ledger),
    trainedBytes: beforeOptimizer(ledger),
    components,
    modules,
    phases: phasePeaks(ledger, loading),
    timeline:
      detail === "full" ? timelineOf(ledger, fullest === loading ? loading : null) : { points: [], modules: [] },
    host: {
      pinnedBytes: Math.round(host.pinned),
      pageableBytes: Math.round(host.pageable),
      nvmeBytes: Math.round(host.nvme),
    },
    ...(simulation.cacheBytes === null ? {} : { cacheBytes: Math.round(simulation.cacheBytes) }),
    assumptions: [],
    events: ledger.eventCount,
    effort: ledger.effort,
    operators: isAtLeast
      ? null
      : operatorsOf(
          ledger,
          {
            tensors: simulation.trainableTensors,
            offloadedBytes: simulation.offloadedBytes,
            taken: run.keepsBatches === "step" ? run.gradientAccumulationSteps : 1,
          },
          graphs.kernels === undefined ? null : new RegExp(`\\.${graphs.kernels.module}$`),
        ),
  };
}

/**
 * Times that the allocator empties its cache for the run to go on, where a pool that grows freely is more than the device
 * has; null where it has enough, or where the run stops all the same.
 *
 * @param overheadBytes of the process beside the pool
 */
function releasesOf(run: TrainingRun, simulation: Simulation, overheadBytes: number, reserved: number): number | null {
  const limit = poolLimit(run, overheadBytes);
  if (run.expandableSegments || reserved <= limit || simulation.ledger.peak > limit) return null;
  const pool = pressedPool(streamOf(simulation.ledger, run), simulation.loadedEvents, run.allocator ?? {}, limit);
  return pool.served ? pool.releases : null;
}

/** Share of the pool that the bound is above it. */
const POOL_MARGIN = 0.02;

/**
 * Stated bound: workspaces and temporaries inside kernels live in the caching allocator too and can open a few more
 * segments than the stream shows.
 */
function highBound(reserved: number, overheadHigh: number): number {
  return Math.round(reserved * (1 + POOL_MARGIN)) + overheadHigh;
}
