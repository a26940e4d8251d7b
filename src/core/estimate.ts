/**
 * The one entry of the estimator: a resolved run and its architecture graph in, an estimate out.
 * Pure and synchronous; never throws on anything a user can write.
 */

import { type Message, say } from "../words/message";
import { expandablePeak } from "./allocator/expandable";
import { pressedPool, reservedPeak } from "./allocator/replay";
import { operatorsOf } from "./cost/operators";
import { ELEMENT_BYTES } from "./engine/dtype";
import { convolutionWorkspace, kernelTemporaries } from "./engine/kernels";
import type { Ledger } from "./engine/ledger";
import { NotModelled } from "./engine/not-modelled";
import { textConfig } from "./graph/relatives";
import type { FamilyGraphs } from "./graph/types";
import { overheadBand } from "./hardware/context";
import { poolLimit, streamOf } from "./pool";
import { breakdown, phasePeaks, timelineOf } from "./reading";
import type { ComponentKind, Estimate } from "./report/estimate";
import type { Simulation } from "./simulate";
import { countParameters } from "./simulation/parameters";
import { notCaptured, unmetConditions } from "./simulation/program";
import { simulateFullest } from "./stages";
import { standIn } from "./stand-in";
import { type SplitUncertainty, splitsModel } from "./training/parallel/local";
import type { TrainingRun } from "./training/run";

/** Either an estimate, or why there is none (shown to the user as it is). */
export type EstimateResult =
  | { readonly ok: true; readonly estimate: Estimate }
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
 * @param enoughBytes where tensors, context and libraries alone use more than this, the pool that they live in is not
 *   modelled: the peak is then "at least", for searches that only ask whether a run fits
 */
export function estimate(
  run: TrainingRun,
  graphs: FamilyGraphs | undefined,
  detail: "full" | "peaks" = "full",
  enoughBytes = Number.POSITIVE_INFINITY,
): EstimateResult {
  if (graphs === undefined)
    return { ok: false, code: "unknown-model", reason: say("engine.family", { family: run.model.family }) };
  try {
    const relative = graphs.family !== run.model.family;
    const result = simulateFullest(standIn(run, graphs), graphs);
    if (!result.ok) return result;
    const { simulation } = result;
    const { ledger } = simulation;
    // A size that is no number makes every sum after it none, and the peak the largest before it.
    if (!Number.isFinite(ledger.live) || ledger.peakEvent < 0)
      return refused(run, graphs, { reason: say("engine.sizes") });
    const eager = widenedBy(read(run, simulation, detail === "full", enoughBytes, graphs.kernels), [
      ...result.uncertain,
      ...missingKernels(ledger, graphs.kernels),
      ...adaptedExperts(simulation),
      ...mixedFactors(simulation),
      ...takenFor(run, graphs, simulation.sharesRows ? unbalanced(run, graphs, ledger) : 0),
      ...engineCopies(run, ledger),
      ...workspaces(ledger),
      ...decompositions(simulation),
      ...raisedHead(run, simulation),
      ...scattered(ledger),
    ]);
    const plain = run.recomputesModules ? recomputedBand(eager, run, graphs) : eager;
    const own = run.compiled === undefined ? plain : compiledBand(plain, run, graphs);
    if (relative) return { ok: true, estimate: widened(own, relativeStands(run.model.family, graphs.family)) };
    const unmet = unmetConditions(run, graphs);
    if (unmet.length > 0) return { ok: true, estimate: widened(own, branchStands(run.model.family, unmet)) };
    const stands = run.standsFor !== undefined || run.trainer?.standIn === true || splitsModel(run);
    return { ok: true, estimate: stands ? widenedActivations(own) : own };
  } catch (error) {
    if (error instanceof NotModelled) return { ok: false, code: "not-modelled", reason: error.reason };
    const failure = error instanceof Error ? error.message : String(error);
    return refused(run, graphs, { reason: say("engine.config", { failure }), failure });
  }
}

/**
 * Why there is no estimate: the branch of the code that the config takes was not captured, the engine has no rule for what an
 * operator is given, or the config is at fault.
 *
 * @param fault what is wrong with the config, if it is the config, and what an operator said
 */
function refused(
  run: TrainingRun,
  graphs: FamilyGraphs,
  { reason, failure }: { readonly reason: Message; readonly failure?: string },
): EstimateResult {
  try {
    if (graphs.family === run.model.family && unmetConditions(run, graphs).length > 0)
      return { ok: false, code: "not-modelled", reason: notCaptured(run, graphs) };
    // A config that gives a size to every parameter is not what fails.
    const parameters = failure === undefined ? 0 : (countParameters(run, graphs)?.parameters ?? 0);
    if (Number.isFinite(parameters) && parameters > 0)
      return {
        ok: false,
        code: "not-modelled",
        reason: say("engine.no-rule", { failure: failure ?? "" }),
      };
  } catch {
    // What the config cannot even count is its own fault.
  }
  return { ok: false, code: "invalid-config", reason };
}

/**
 * How far an architecture may be from the one that stands in for it: activations of a block differ by up to about half
 * between families of the same dimensions, weights by the gate of the feed-forward (a third).
 */
const STAND_IN_LOW = 0.7;
const STAND_IN_HIGH = 1.5;

function relativeStands(family: string, relative: string): Message {
  return say("engine.relative", { family, relative });
}

function branchStands(family: string, unmet: readonly string[]): Message {
  return say("engine.branch", { family, conditions: unmet.join(" and ") });
}

/** The estimate of something else that stands in, which the assumption says. */
function widened(estimate: Estimate, what: Message): Estimate {
  const { band } = estimate;
  return {
    ...estimate,
    band: {
      ...band,
      lowBytes: Math.round(band.lowBytes * STAND_IN_LOW),
      highBytes: Math.round(band.highBytes * STAND_IN_HIGH),
    },
    assumptions: [
      ...estimate.assumptions,
      {
        what,
        settleWith: "model",
        effectBytes: Math.round(estimate.usedPeakBytes * (STAND_IN_HIGH - 1)),
      },
    ],
  };
}

/** Recomputing some modules of a layer keeps no more than recomputing none, and no less than recomputing all of it. */
function recomputedBand(estimate: Estimate, run: TrainingRun, graphs: FamilyGraphs): Estimate {
  if (run.checkpointing !== null) return estimate;
  const least = simulateFullest({ ...run, checkpointing: { useReentrant: false } }, graphs);
  if (!least.ok) return estimate;
  const saved = Math.max(0, estimate.allocatedPeakBytes - least.simulation.ledger.peak);
  return { ...estimate, band: { ...estimate.band, lowBytes: estimate.band.lowBytes - saved } };
}

/** Share of what a step adds to what stays that inductor's choices move (measured against its generated code, see tests). */
const FUSION = 0.06;

/**
 * The number is that of one graph for all that is compiled. Where tracing breaks off, code runs eagerly, at most all of it:
 * the band reaches up to eager's peak. Down it leaves room for fusions that the rules do not follow.
 */
function compiledBand(estimate: Estimate, run: TrainingRun, graphs: FamilyGraphs): Estimate {
  const { compiled: _, ...eagerRun } = run;
  const eager = simulateFullest(eagerRun, graphs);
  const step = Math.max(0, estimate.allocatedPeakBytes - estimate.residentBytes);
  const more = eager.ok ? Math.max(0, eager.simulation.ledger.peak - estimate.allocatedPeakBytes) : 0;
  const { band } = estimate;
  return {
    ...estimate,
    band: {
      ...band,
      lowBytes: Math.round(band.lowBytes - FUSION * step),
      highBytes: Math.round(band.highBytes + Math.max(more, FUSION * step)),
    },
  };
}

/** Bytes alive when the second step begins. */
function betweenSteps(ledger: Ledger): number {
  return ledger.phaseList.find(({ step }) => step === 2)?.before ?? 0;
}

/** Other code of the same dimensions: everything that lives on between steps is the same, the rest is not. */
function widenedActivations(estimate: Estimate): Estimate {
  const { band, residentBytes: persistent } = estimate;
  const scaled = (bytes: number, factor: number): number =>
    Math.round(persistent + Math.max(0, bytes - persistent) * factor);
  return {
    ...estimate,
    band: { ...band, lowBytes: scaled(band.lowBytes, STAND_IN_LOW), highBytes: scaled(band.highBytes, STAND_IN_HIGH) },
  };
}

/** The band and the assumptions by what is uncertain of a split over devices, or of kernels. */
function widenedBy(estimate: Estimate, uncertain: readonly SplitUncertainty[]): Estimate {
  if (uncertain.length === 0) return estimate;
  const sum = (bytes: readonly number[]): number => Math.round(bytes.reduce((all, one) => all + one, 0));
  const { band } = estimate;
  return {
    ...estimate,
    band: {
      ...band,
      lowBytes: Math.max(0, band.lowBytes - sum(uncertain.map(({ lessBytes }) => lessBytes))),
      highBytes: band.highBytes + sum(uncertain.map(({ moreBytes }) => moreBytes)),
    },
    assumptions: [
      ...estimate.assumptions,
      ...uncertain.map(({ what, settleWith, moreBytes, lessBytes }) => ({
        what,
        settleWith,
        effectBytes: Math.round(Math.max(moreBytes, lessBytes)),
      })),
    ],
  };
}

/** Adapters on experts whose matrices are stored together take plain LoRA only. */
function adaptedExperts({ adapterRefused }: Simulation): SplitUncertainty[] {
  if (!adapterRefused) return [];
  const what = say("engine.adapted-experts");
  return [{ what, settleWith: "lora_dropout", moreBytes: 0, lessBytes: 0 }];
}

/** Weights that a model makes in float32 whatever it is loaded in meet others of it in one product (DeBERTa's biases of queries). */
function mixedFactors(simulation: Simulation): SplitUncertainty[] {
  if (!simulation.mixedFactors) return [];
  const what = say("engine.mixed-dtypes");
  return [{ what, settleWith: "dtype", moreBytes: 0, lessBytes: 0 }];
}

/** Bytes on top where every token goes to the same experts: one expert's rows are all there are, and so are its temporaries. */
function unbalanced(run: TrainingRun, graphs: FamilyGraphs, { peak }: Ledger): number {
  const one = simulateFullest(standIn({ ...run, routesToOne: true }, graphs), graphs);
  return one.ok ? Math.max(0, one.simulation.ledger.peak - peak) : 0;
}

/**
 * What the graph takes the data to be where that decides which code runs.
 *
 * @param moreBytes on top where experts are not given what the first of them says
 */
function takenFor({ task }: TrainingRun, { assumes }: FamilyGraphs, moreBytes: number): SplitUncertainty[] {
  const own = (assumes ?? []).filter(({ tasks }) => tasks.includes(task));
  return own.map(({ what, settleWith }, k) => ({
    what: { id: what, args: {} },
    settleWith,
    moreBytes: k === 0 ? moreBytes : 0,
    lessBytes: 0,
  }));
}

/**
 * Transformer Engine's 8-bit copies follow its source for delayed scaling; block-scaled recipes keep both layouts with a scale
 * for every 32 elements, others let one go: at the peak there may be half as many again, or half.
 */
function engineCopies({ float8 }: TrainingRun, ledger: Ledger): SplitUncertainty[] {
  if (float8?.backend !== "transformer-engine") return [];
  let bytes = 0;
  for (const id of ledger.aliveAt(ledger.peakEvent))
    if (ledger.labelOf(id).operator === "quantize") bytes += ledger.bytes[id]!;
  const what = say("engine.transformer-engine");
  return [{ what, settleWith: "fp8_recipe", moreBytes: bytes / 2, lessBytes: bytes / 2 }];
}

/** Convolutions whose workspace is too small to be said. */
const SMALL_WORKSPACE = 64 * 2 ** 20;

function workspaces(ledger: Ledger): SplitUncertainty[] {
  const moreBytes = convolutionWorkspace(ledger);
  const what = say("engine.cudnn");
  return moreBytes < SMALL_WORKSPACE ? [] : [{ what, settleWith: "cudnn", moreBytes, lessBytes: 0 }];
}

/**
 * A singular value decomposition on a card works on a copy of the matrix, with a workspace that is not smaller
 * (aten/src/ATen/native/cuda/linalg/BatchLinearAlgebraLib.cpp, svd_cusolver).
 */
function decompositions({ ledger, loading }: Simulation): SplitUncertainty[] {
  const decomposed = loading?.labelsOf("_linalg_svd");
  if (loading === null || decomposed == null) return [];
  let largest = 0;
  const { bytes, labelIndices } = loading;
  for (let id = 0; id < bytes.length; id++)
    if (decomposed[labelIndices[id]!] === 1) largest = Math.max(largest, bytes[id]!);
  const what = say("engine.cusolver");
  const moreBytes = Math.max(0, loading.peak + 2 * largest - Math.max(loading.peak, ledger.peak));
  return moreBytes === 0 ? [] : [{ what, settleWith: "init_lora_weights", moreBytes, lessBytes: 0 }];
}

/** Bytes per element that a trained weight gains in float32: its own, its gradient's, and those of two states. */
const RAISED_TRAINED = 2 + 2 + 4;
const RAISED = 2;

/**
 * GRPO's `cast_lm_head_to_fp32` raises the head's weight where it was loaded in half precision (a tied embedding with it), that
 * of a reference model, too, and multiplies float32 hidden states (trl/trainer/grpo_trainer.py, _cast_lm_head_to_fp32;
 * trl/trainer/utils.py, add_fused_lm_head). Its number is that of the head as loaded.
 */
function raisedHead(run: TrainingRun, { parameters, trainableParameters }: Simulation): SplitUncertainty[] {
  const { trainer, loadDtype, microBatchSize, sequenceLength } = run;
  if (trainer?.headInFloat32 !== true) return [];
  const { vocab_size: rows, hidden_size: width } = textConfig(run.model.config);
  if (typeof rows !== "number" || typeof width !== "number") return [];
  const half = ELEMENT_BYTES[loadDtype] === 2;
  const copies = trainer.variant["reference"] === "model" ? RAISED : 0;
  const perElement = half ? (trainableParameters === parameters ? RAISED_TRAINED : RAISED) + copies : 0;
  // The states and their gradient.
  const hidden = 2 * ELEMENT_BYTES.float32 * microBatchSize * sequenceLength * width;
  const what = say("engine.raised-head");
  return [{ what, settleWith: "cast_lm_head_to_fp32", moreBytes: perElement * rows * width + hidden, lessBytes: 0 }];
}

/** Operators of a gradient that goes into zeros, as the engine has them (`gatherLike` in `engine/ops/gathering.ts`). */
const SCATTERS: ReadonlySet<string> = new Set(["scatter_add", "_index_put_impl_"]);
/** A second tensor that is too small to be said. */
const SMALL_SCATTER = 16 * 2 ** 20;

/**
 * The gradient of what was picked is put into zeros, out of place as the reference's tensors have it; a plain tensor of a
 * card is written in place (aten/src/ATen/native/TensorAdvancedIndexing.cpp, gather_backward; FunctionsManual.cpp,
 * index_backward): where that is the peak, it is one tensor less there.
 */
function scattered(ledger: Ledger): SplitUncertainty[] {
  const id = ledger.events[ledger.peakEvent] ?? -1;
  if (id < 0 || !SCATTERS.has(ledger.labelOf(id).operator)) return [];
  const lessBytes = ledger.sizeOf(id);
  const what = say("engine.scatter");
  return lessBytes < SMALL_SCATTER ? [] : [{ what, settleWith: "torch", moreBytes: 0, lessBytes }];
}

/** Kinds of bytes that code of a module makes while it runs. */
const ACTIVE: ReadonlySet<ComponentKind> = new Set<ComponentKind>(["activations", "temporaries"]);

/**
 * The library runs its plain PyTorch code where a package of fused kernels is missing (transformers'
 * integrations/hub_kernels.py). With the package the modules hold less: at most all they hold at the peak is spared.
 */
function missingKernels(ledger: Ledger, kernels: FamilyGraphs["kernels"]): SplitUncertainty[] {
  if (kernels === undefined) return [];
  const inside = new RegExp(`\\.${kernels.module}(\\.|$)`);
  let lessBytes = 0;
  const { bytes } = ledger;
  for (const id of ledger.aliveAt(ledger.peakEvent)) {
    const { kind, scope } = ledger.labelOf(id);
    if (ACTIVE.has(kind) && inside.test(scope)) lessBytes += bytes[id]!;
  }
  const what = say("engine.missing-kernels", { packages: kernels.packages.join(" + "), module: kernels.module });
  return lessBytes === 0 ? [] : [{ what, settleWith: "libraries", moreBytes: 0, lessBytes }];
}

function read(
  run: TrainingRun,
  simulation: Simulation,
  full: boolean,
  enoughBytes: number,
  kernels: FamilyGraphs["kernels"],
): Estimate {
  const { ledger, loading, parameters, trainableParameters, host } = simulation;
  const replayed = (stream: Ledger, loaded: number): number =>
    run.expandableSegments
      ? expandablePeak(streamOf(stream, run), loaded)
      : reservedPeak(streamOf(stream, run), loaded, run.allocator);
  // Loading is over before the steps begin: whichever needs more is the peak of the run.
  const fullest = loading !== null && loading.peak > ledger.peak ? loading : ledger;
  const overhead = overheadBand(run.device?.architecture ?? "unknown", run.parallel.worldSize, {
    torch: run.libraries.torch,
    workspace: run.blasWorkspaceBytes,
  });
  const reserved =
    fullest.peak + overhead.likely > enoughBytes
      ? fullest.peak
      : Math.max(replayed(ledger, simulation.loadedEvents), loading === null ? 0 : replayed(loading, 0), fullest.peak);
  const releases =
    loading === null && reserved > fullest.peak ? releasesOf(run, simulation, overhead.likely, reserved) : null;
  const { components, modules } = full ? breakdown(fullest) : { components: [], modules: [] };
  return {
    parameters,
    trainableParameters,
    allocatedPeakBytes: fullest.peak,
    reservedPeakBytes: reserved,
    usedPeakBytes: reserved + overhead.likely,
    ...(releases === null ? {} : { releases }),
    band: {
      lowBytes: fullest.peak + overhead.low,
      highBytes: highBound(reserved + kernelTemporaries(ledger), overhead.high),
      coverage: 0.99,
    },
    peakPhase: fullest.phaseList[fullest.peakPhase]!.phase,
    residentBytes: betweenSteps(ledger),
    components,
    modules,
    phases: phasePeaks(ledger, loading),
    timeline: full ? timelineOf(ledger, fullest === loading ? loading : null) : [],
    host: {
      pinnedBytes: Math.round(host.pinned),
      pageableBytes: Math.round(host.pageable),
      nvmeBytes: Math.round(host.nvme),
    },
    ...(simulation.cacheBytes === null ? {} : { cacheBytes: Math.round(simulation.cacheBytes) }),
    assumptions: [],
    operators: operatorsOf(
      ledger,
      { tensors: simulation.trainableTensors, offloadedBytes: simulation.offloadedBytes },
      kernels === undefined ? null : new RegExp(`\\.${kernels.module}$`),
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

/**
 * Stated bound: workspaces and temporaries inside kernels live in the caching allocator too and can open a few more
 * segments than the stream shows.
 */
function highBound(reserved: number, overheadHigh: number): number {
  return Math.round(reserved * 1.02) + overheadHigh;
}
