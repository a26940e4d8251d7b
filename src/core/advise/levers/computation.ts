/** Levers on how the same step is computed: kernels, precision, recomputation. */
import { ligerPatches } from "../../graph/liger";
import type { Float8Spec } from "../../training/run";
import type { Lever } from "../types";
import { learnsFromText, lever, needs, older, one, set, sharded, withDeepSpeed } from "./build";

/** Architectures whose tensor cores take bfloat16; older NVIDIA parts mix with float16. */
const NO_BFLOAT16 = new Set(["pascal", "volta", "turing"]);

/** Architectures with FlashAttention-2 kernels (flash-attn README: Ampere, Ada, Hopper and MI200 on). */
const FLASH = new Set(["ampere", "ada", "hopper", "blackwell", "cdna2", "cdna3", "cdna4"]);

/** Architectures with 8-bit floating-point units (torch/_scaled_mm: compute capability 8.9 on, MI300 on). */
const FLOAT8 = new Set(["ada", "hopper", "blackwell", "cdna3", "cdna4"]);

/** What accelerate does when it is told nothing else (accelerate/utils/ao.py); the formats' own come with reading them. */
const FLOAT8_SPEC: Float8Spec = {
  backend: "torchao",
  recipe: "tensorwise",
  keeps: "first-and-last",
  cachesWeights: false,
};

/** Parts without CUDA's virtual memory management. */
const NO_EXPANDABLE = new Set(["apple", "gaudi", "xe"]);

export const COMPUTATION: readonly Lever[] = [
  lever("attention", "nothing", (run) =>
    run.attention === "eager" ? one("sdpa", { ...run, attention: "sdpa" }, set("attention", "sdpa")) : [],
  ),
  lever(
    "flash-attention",
    "nothing",
    (run) => {
      const half = run.autocast !== null || run.loadDtype !== "float32";
      const slow = run.attention === "eager" || run.attention === "sdpa";
      return slow && half && FLASH.has(run.device?.architecture ?? "unknown")
        ? one("flash_attention_2", { ...run, attention: "flash_attention_2" }, set("attention", "flash_attention_2"))
        : [];
    },
    { requires: [needs("flash-attn")] },
  ),
  lever(
    "mixed-precision",
    "numerics",
    (run) => {
      const architecture = run.device?.architecture ?? "unknown";
      const engine = run.parallel.deepspeed;
      const on = run.autocast !== null || (engine !== null && engine.engineDtype !== null);
      if (on || run.loadDtype !== "float32" || architecture === "apple") return [];
      const dtype = NO_BFLOAT16.has(architecture) ? "float16" : "bfloat16";
      const name = dtype === "float16" ? "fp16" : "bf16";
      const changed =
        engine === null
          ? { ...run, autocast: dtype as "float16" | "bfloat16" }
          : withDeepSpeed(run, { engineDtype: dtype });
      return one(name, changed, set("compute_dtype", name));
    },
    { uneven: true },
  ),
  lever(
    "fp8",
    "numerics",
    (run) => {
      const half = run.autocast === "bfloat16" || run.loadDtype === "bfloat16";
      const apart = run.quantization === null && run.adapter === null;
      return run.float8 == null && half && apart && FLOAT8.has(run.device?.architecture ?? "unknown")
        ? one("fp8", { ...run, float8: FLOAT8_SPEC }, set("compute_dtype", "fp8"))
        : [];
    },
    { uneven: true, rare: true },
  ),
  lever("half-weights", "numerics", (run) => {
    const architecture = run.device?.architecture ?? "unknown";
    const usable = run.autocast !== "float16" && run.quantization === null && !sharded(run);
    return run.loadDtype === "float32" && usable && !NO_BFLOAT16.has(architecture)
      ? one("bfloat16", { ...run, loadDtype: "bfloat16" }, set("load_dtype", "bfloat16"))
      : [];
  }),
  lever("gradient-checkpointing", "nothing", (run) =>
    run.checkpointing === null
      ? one(
          "on",
          { ...run, checkpointing: { useReentrant: older(run.libraries.transformers, 5) } },
          set("gradient_checkpointing", true),
        )
      : [],
  ),
  lever("checkpoint-every-layer", "nothing", (run) =>
    (run.checkpointing?.everyNLayers ?? 1) > 1
      ? one(
          "all",
          {
            ...run,
            checkpointing: {
              ...run.checkpointing,
              useReentrant: run.checkpointing?.useReentrant ?? false,
              everyNLayers: 1,
            },
          },
          set("checkpoint_every_n_layers", 1),
        )
      : [],
  ),
  lever(
    "checkpointing-kind",
    "nothing",
    (run) => {
      if (run.checkpointing === null) return [];
      const useReentrant = !run.checkpointing.useReentrant;
      return one(
        useReentrant ? "reentrant" : "non-reentrant",
        { ...run, checkpointing: { ...run.checkpointing, useReentrant } },
        set("use_reentrant", useReentrant),
      );
    },
    { uneven: true, rare: true },
  ),
  lever(
    "fused-loss",
    "nothing",
    (run) =>
      !run.fusedLoss &&
      run.takesLabels !== true &&
      run.task === "causal-lm" &&
      learnsFromText(run) &&
      ligerPatches(run.model.family, "fused_linear_cross_entropy")
        ? one("liger", { ...run, fusedLoss: true, fusedLayers: true }, set("fused_loss", true))
        : [],
    { requires: [needs("liger-kernel")] },
  ),
  lever("expandable-segments", "nothing", (run) =>
    run.expandableSegments !== true && !NO_EXPANDABLE.has(run.device?.architecture ?? "unknown")
      ? one("on", { ...run, expandableSegments: true }, set("expandable_segments", true))
      : [],
  ),
];
