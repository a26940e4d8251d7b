/**
 * A run of `nnUNetv2_train`: its trainer decides everything but the plans and the number of GPUs. Source:
 * nnunetv2/training/nnUNetTrainer/nnUNetTrainer.py (autocast and a scaler on CUDA, SGD with Nesterov's momentum over
 * `network.parameters()`, gradients clipped at 12, the batch shared out over the GPUs).
 */
import { nnunetGraphs } from "../../core/networks/nnunet";
import type { TrainingRun } from "../../core/training/run";
import { say } from "../../words/message";
import type { ResolveContext } from "./context";
import { deviceOf, modelOf, worldSizeOf } from "./model";
import { parallelOf } from "./parallel";
import type { Resolution } from "./types";

/** @returns the run; null where the plans describe no network that is known, which is said */
function nnunetRun(c: ResolveContext, device: ReturnType<typeof deviceOf>): TrainingRun | null {
  const model = modelOf(c);
  if (model === null) return null;
  if (nnunetGraphs(model.config) === null) {
    const network = String(model.config["network_class_name"] ?? "").replace(/^.*\./, "");
    c.obstacles.push({ code: "not-modelled", message: say("not-modelled.network", { network }) });
    return null;
  }
  const { spec } = device;
  if (model.source === "assumed")
    c.suppose(say("assume.nnunet-labels", { heads: Number(model.config["num_output_channels"]) }), "dataset.json");
  c.suppose(say("assume.nnunet-compile"), "nnUNet_compile");
  const worldSize = worldSizeOf(c, spec);
  const microBatchSize = batchOf(c, worldSize);
  if (microBatchSize === null) return null;
  c.put("task", "image-segmentation", "default", "configurations", null);
  c.put("compute_dtype", "fp16", "default", "autocast", null);
  c.put("optimizer", "sgd", "default", "optimizer", null);
  return {
    model,
    task: "image-segmentation",
    microBatchSize,
    sequenceLength: 0,
    targetLength: 0,
    imageSize: 0,
    gradientAccumulationSteps: 1,
    loadDtype: "float32",
    autocast: "float16",
    attention: "sdpa",
    checkpointing: null,
    optimizer: {
      name: "sgd",
      oneGroup: true,
      args: { momentum: "0.99", nesterov: "True", weight_decay: "3e-5" },
    },
    maxGradNorm: 12,
    adapter: null,
    quantization: null,
    fusedLoss: false,
    labelSmoothing: 0,
    plainLoop: true,
    parallel: parallelOf(c, model.config, null, worldSize),
    libraries: c.libraries,
    expandableSegments: c.settings.on("expandable_segments"),
    device: spec === null ? null : { ...spec, count: Math.max(spec.count, worldSize) },
  };
}

/** Patches on the GPU that has most: the plans' batch is that of all GPUs together, and the first ones take the rest. */
function batchOf(c: ResolveContext, worldSize: number): number | null {
  const own = c.keepNumber("micro_batch_size");
  if (own !== undefined) return own;
  const total = c.settings.find("global_batch_size");
  if (typeof total?.value !== "number" || total.value < 1) {
    c.obstacles.push({ code: "unresolved-auto", message: say("obstacle.batch") });
    return null;
  }
  c.keep("global_batch_size", total);
  const largest = Math.ceil(total.value / worldSize);
  c.put("micro_batch_size", largest, "auto", total.key, total.place);
  return largest;
}

/** The whole resolution of such a run. */
export function resolveNnunet(c: ResolveContext): Resolution {
  const device = deviceOf(c);
  const run = nnunetRun(c, device);
  return c.resolution({ run: c.obstacles.length > 0 ? null : run, device, trainer: "trainer", padding: null });
}
