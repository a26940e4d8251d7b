/** What kernels take beside their tensors, and which of them run. */
import { say } from "../../words/message";
import { reservedPeak } from "../allocator/replay";
import { CONVOLUTIONS, type Convolution, convolutionWorkspaces } from "../engine/kernels";
import { streamOf, withMoments } from "../pool";
import type { ComponentKind } from "../report/estimate";
import type { EffectRule } from "./types";

/** Kinds of bytes that code of a module makes while it runs. */
const ACTIVE: ReadonlySet<ComponentKind> = new Set<ComponentKind>(["activations", "temporaries"]);

/**
 * The library runs its plain PyTorch code where a package of fused kernels is missing. With the package the modules hold less:
 * at most all they hold at the peak is spared.
 */
const MISSING_KERNELS: EffectRule = {
  id: "missing-kernels",
  source: "transformers/integrations/hub_kernels.py",
  effects: ({ run, ledger, graphs: { kernels } }) => {
    if (kernels === undefined || run.stateSpaceKernels !== undefined) return [];
    const inside = new RegExp(`\\.${kernels.module}(\\.|$)`);
    let lessBytes = 0;
    for (const { label, bytes } of ledger.aliveByLabel(ledger.peakEvent))
      if (ACTIVE.has(label.kind) && inside.test(label.scope)) lessBytes += bytes;
    const what = say("engine.missing-kernels", { packages: kernels.packages.join(" + "), module: kernels.module });
    return lessBytes === 0 ? [] : [{ what, settleWith: "libraries", moreBytes: 0, lessBytes }];
  },
};

/**
 * Transformer Engine's 8-bit copies follow its source for delayed scaling; block-scaled recipes keep both layouts with a scale
 * for every 32 elements, others let one go: at the peak there may be half as many again, or half.
 */
const ENGINE_COPIES: EffectRule = {
  id: "transformer-engine",
  source:
    "transformer_engine/pytorch/tensor/storage/float8_tensor_storage.py, update_usage; common/recipe (DelayedScaling)",
  effects: ({ run, ledger }) => {
    if (run.float8?.backend !== "transformer-engine") return [];
    let bytes = 0;
    for (const { label, bytes: own } of ledger.aliveByLabel(ledger.peakEvent))
      if (label.operator === "quantize") bytes += own;
    const half = bytes / 2;
    return [{ what: say("engine.transformer-engine"), settleWith: "fp8_recipe", moreBytes: half, lessBytes: half }];
  },
};

/** Convolutions whose workspace is too small to be said. */
const SMALL_WORKSPACE = 64 * 2 ** 20;

/**
 * A workspace is a block of the pool for a moment. The next tensor takes the segment it leaves, and the next workspace needs another:
 * the pool comes to more than the largest of them. What it comes to with one for every gradient, and for every result, is replayed;
 * partial sums of a kernel that splits its product are as much again as the largest.
 */
const WORKSPACES: EffectRule = {
  id: "cudnn",
  source:
    "cuDNN's developer guide, Tensor Core Operations; aten/src/ATen/native/cudnn/Conv_v8.cpp, run_conv_plan; engine/kernels.ts, convolutionWorkspaces",
  effects: ({ run, ledger, simulation, pool }) => {
    const workspaces = convolutionWorkspaces(ledger);
    if (workspaces === null || workspaces.largest < SMALL_WORKSPACE) return [];
    const stream = streamOf(ledger, run);
    const there = new Set(workspaces.kinds.values());
    const reserved = (kinds: readonly Convolution[]): number => {
      const wanted = workspaces.bytes.map((bytes, label) =>
        kinds.some((kind) => kind === workspaces.kinds.get(label)) ? bytes : 0,
      );
      const sizeAfter = (id: number): number => wanted[ledger.labelIndexOf(id)]!;
      return reservedPeak(withMoments(stream, sizeAfter), simulation.loadedEvents, run.allocator);
    };
    const tried = there.size > 1 ? [CONVOLUTIONS.slice(1), CONVOLUTIONS] : [CONVOLUTIONS];
    const pools = run.expandableSegments ? [] : tried.map((kinds) => reserved(kinds) - pool());
    const moreBytes = Math.max(0, ...pools) + workspaces.largest;
    return [{ what: say("engine.cudnn"), settleWith: "cudnn", moreBytes, lessBytes: 0 }];
  },
};

/** A singular value decomposition on a card works on a copy of the matrix, with a workspace that is not smaller. */
const DECOMPOSITIONS: EffectRule = {
  id: "cusolver",
  source: "aten/src/ATen/native/cuda/linalg/BatchLinearAlgebraLib.cpp, svd_cusolver",
  effects: ({ simulation: { ledger, loading: loaded } }) => {
    const loading = loaded();
    const decomposed = loading?.labelsOf("_linalg_svd");
    if (loading === null || decomposed == null) return [];
    let largest = 0;
    const { bytes, labelIndices } = loading;
    for (let id = 0; id < bytes.length; id++)
      if (decomposed[labelIndices[id]!] === 1) largest = Math.max(largest, bytes[id]!);
    const moreBytes = Math.max(0, loading.peak + 2 * largest - Math.max(loading.peak, ledger.peak));
    return moreBytes === 0
      ? []
      : [{ what: say("engine.cusolver"), settleWith: "init_lora_weights", moreBytes, lessBytes: 0 }];
  },
};

/** Operators of a gradient that goes into zeros, as the engine has them (`gatherLike` in `engine/ops/gathering.ts`). */
const SCATTERS: ReadonlySet<string> = new Set(["scatter_add", "_index_put_impl_"]);
/** A second tensor that is too small to be said. */
const SMALL_SCATTER = 16 * 2 ** 20;

/**
 * The gradient of what was picked is put into zeros, out of place as the reference's tensors have it; a plain tensor of a
 * card is written in place: where that is the peak, it is one tensor less there.
 */
const SCATTERED: EffectRule = {
  id: "scatter",
  source:
    "aten/src/ATen/native/TensorAdvancedIndexing.cpp, gather_backward; torch/csrc/autograd/FunctionsManual.cpp, index_backward",
  effects: ({ ledger }) => {
    const id = ledger.events[ledger.peakEvent] ?? -1;
    if (id < 0 || !SCATTERS.has(ledger.labelOf(id).operator)) return [];
    const lessBytes = ledger.sizeOf(id);
    return lessBytes < SMALL_SCATTER
      ? []
      : [{ what: say("engine.scatter"), settleWith: "torch", moreBytes: 0, lessBytes }];
  },
};

export const OF_PACKAGES: readonly EffectRule[] = [MISSING_KERNELS];
export const OF_KERNELS: readonly EffectRule[] = [ENGINE_COPIES, WORKSPACES, DECOMPOSITIONS];
export const OF_GRADIENTS: readonly EffectRule[] = [SCATTERED];
