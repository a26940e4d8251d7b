/** The levers, as data: when each applies, where it can go, and the settings that say so. */
import type { AdapterSpec, DeepSpeedSpec, TrainingRun } from "../training/run";
import type { Effect, Lever, LeverId, LeverOption, Requirement, SettingChange } from "./types";

/** Architectures whose tensor cores take bfloat16; older NVIDIA parts mix with float16. */
const NO_BFLOAT16 = new Set(["pascal", "volta", "turing"]);

/** Adam in PyTorch's own forms: the optimizers that the 8-bit forms and Adafactor replace. */
const TORCH_ADAM = new Set(["adamw_torch", "adamw_torch_fused", "adamw_apex_fused", "adamw_hf"]);

/** Model types whose loss Liger fuses (liger_kernel/transformers/monkey_patch.py, `MODEL_TYPE_TO_APPLY_LIGER_FN`). */
const LIGER_FAMILIES = new Set([
  "gemma",
  "gemma2",
  "gemma3",
  "gemma3_text",
  "glm4",
  "granite",
  "llama",
  "llava",
  "mistral",
  "mixtral",
  "mllama",
  "olmo2",
  "paligemma",
  "phi3",
  "qwen2",
  "qwen2_5_vl",
  "qwen2_vl",
  "qwen3",
  "qwen3_moe",
  "smollm3",
]);

/** Architectures with FlashAttention-2 kernels (flash-attn README: Ampere, Ada, Hopper and MI200 on). */
const FLASH = new Set(["ampere", "ada", "hopper", "blackwell", "cdna2", "cdna3", "cdna4"]);

const SHORTEST_SEQUENCE = 256;
const SMALLEST_RANK = 4;

/** LoRA as people start with it (TRL's own defaults: rank 16, alpha 32, all linear layers). */
const LORA: AdapterSpec = {
  type: "lora",
  rank: 16,
  alpha: 32,
  dropout: 0.05,
  targetModules: "all-linear",
  modulesToSave: [],
  bias: "none",
  useRslora: false,
  autocastAdapterDtype: true,
};
const LORA_SETTINGS: readonly SettingChange[] = [
  { name: "adapter", value: "lora" },
  { name: "lora_rank", value: LORA.rank },
  { name: "lora_target_modules", value: "all-linear" },
];

const set = (name: string, value: SettingChange["value"]): SettingChange => ({ name, value });
const one = (value: string | number, run: TrainingRun, ...settings: SettingChange[]): LeverOption[] => [
  { value, run, settings },
];
const needs = (name: string): readonly Requirement[] => [{ kind: "package", name }];

/**
 * Levers that spend memory, too: autocast keeps 16-bit copies of weights, adapters add float32 weights and their own
 * activations, k-bit preparation raises what is left to float32, and sharding needs buckets and gathered layers.
 */
const UNEVEN: ReadonlySet<LeverId> = new Set([
  "mixed-precision",
  "lora",
  "qlora",
  "zero-stage",
  "fsdp",
  "offload-fsdp",
  "offload-optimizer",
  "offload-parameters",
]);

function lever(
  id: LeverId,
  effect: Effect,
  options: (run: TrainingRun) => readonly LeverOption[],
  requires: readonly Requirement[] = [],
): Lever {
  return { id, effect, requires, options, uneven: UNEVEN.has(id) };
}

function withDeepSpeed(run: TrainingRun, change: Partial<DeepSpeedSpec>): TrainingRun {
  const { deepspeed } = run.parallel;
  return deepspeed === null ? run : { ...run, parallel: { ...run.parallel, deepspeed: { ...deepspeed, ...change } } };
}

function sharded(run: TrainingRun): boolean {
  return run.parallel.deepspeed !== null || run.parallel.fsdp !== null;
}

function older(version: string, major: number): boolean {
  const found = Number.parseInt(version, 10);
  return Number.isFinite(found) && found < major;
}

/** Beyond this no batch is meant seriously, and listing divisors would take noticeable time. */
const LARGEST_BATCH = 2 ** 20;

/** Divisors of `product` below `from`, largest first. */
function divisorsBelow(product: number, from: number): number[] {
  const found: number[] = [];
  if (product > LARGEST_BATCH) return halves(from, 1).filter((value) => product % value === 0);
  for (let small = 1; small * small <= product; small++)
    if (product % small === 0) found.push(small, ...(small * small === product ? [] : [product / small]));
  return found.filter((divisor) => divisor < from).sort((a, b) => b - a);
}

/** Every whole number from `from - 1` down to 1; only halves of it when there would be too many. */
function below(from: number): number[] {
  return from > 1024 ? halves(from, 1) : Array.from({ length: Math.max(0, from - 1) }, (_, index) => from - 1 - index);
}

/** Halves of `from` down to `least`, largest first. */
function halves(from: number, least: number): number[] {
  const found: number[] = [];
  for (let value = Math.floor(from / 2); value >= least; value = Math.floor(value / 2)) found.push(value);
  return found;
}

function swapOptimizer(name: string): (run: TrainingRun) => LeverOption[] {
  return (run) =>
    TORCH_ADAM.has(run.optimizer.name) && run.adapter === null && !sharded(run)
      ? one(name, { ...run, optimizer: { name, args: {} } }, set("optimizer", name))
      : [];
}

/** Smaller micro-batches whose accumulation keeps the global batch. */
export const MICRO_BATCH: Lever = lever("micro-batch", "nothing", (run) => {
  const product = run.microBatchSize * run.gradientAccumulationSteps;
  return divisorsBelow(product, run.microBatchSize).map((batch) => ({
    value: batch,
    run: { ...run, microBatchSize: batch, gradientAccumulationSteps: product / batch },
    settings: [set("micro_batch_size", batch), set("gradient_accumulation_steps", product / batch)],
  }));
});

/** Smaller micro-batches with everything else as it is: the global batch shrinks with them. */
export const SMALLER_BATCH: Lever = lever("micro-batch", "method", (run) =>
  below(run.microBatchSize).map((batch) => ({
    value: batch,
    run: { ...run, microBatchSize: batch },
    settings: [set("micro_batch_size", batch)],
  })),
);

/**
 * In the order that they are applied and that titles name them. Adapters come before the optimizers, which do not
 * apply to them, and a smaller rank before the adapters, so that it is one of adapters that were there.
 */
export const LEVERS: readonly Lever[] = [
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
    needs("flash-attn"),
  ),
  lever("mixed-precision", "numerics", (run) => {
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
  }),
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
  lever(
    "fused-loss",
    "nothing",
    (run) =>
      !run.fusedLoss && run.task === "causal-lm" && LIGER_FAMILIES.has(run.model.family)
        ? one("liger", { ...run, fusedLoss: true, fusedLayers: true }, set("fused_loss", true))
        : [],
    needs("liger-kernel"),
  ),
  lever("lora-rank", "method", (run) => {
    const { adapter } = run;
    if (adapter === null) return [];
    return halves(adapter.rank, SMALLEST_RANK).map((rank) => ({
      value: rank,
      run: { ...run, adapter: { ...adapter, rank, alpha: (adapter.alpha * rank) / adapter.rank } },
      settings: [set("lora_rank", rank), set("lora_alpha", (adapter.alpha * rank) / adapter.rank)],
    }));
  }),
  lever(
    "lora",
    "method",
    (run) =>
      run.adapter === null && run.quantization === null
        ? one(LORA.rank, { ...run, adapter: LORA }, ...LORA_SETTINGS)
        : [],
    needs("peft"),
  ),
  lever(
    "qlora",
    "method",
    (run) =>
      run.quantization === null && run.parallel.deepspeed?.zeroStage !== 3 && run.parallel.fsdp === null
        ? one(
            "nf4",
            {
              ...run,
              adapter: run.adapter ?? LORA,
              quantization: { type: "nf4", double: true, prepareForKbit: true, computeDtype: "bfloat16" },
            },
            ...(run.adapter === null ? LORA_SETTINGS : []),
            set("quantization", "nf4"),
            set("double_quantization", true),
          )
        : [],
    [...needs("peft"), ...needs("bitsandbytes")],
  ),
  lever("fused-optimizer", "nothing", (run) =>
    run.optimizer.name === "adamw_torch" && !sharded(run)
      ? one(
          "adamw_torch_fused",
          { ...run, optimizer: { ...run.optimizer, name: "adamw_torch_fused" } },
          set("optimizer", "adamw_torch_fused"),
        )
      : [],
  ),
  lever("8-bit-optimizer", "numerics", swapOptimizer("adamw_bnb_8bit"), needs("bitsandbytes")),
  lever("paged-8-bit-optimizer", "numerics", swapOptimizer("paged_adamw_8bit"), [
    ...needs("bitsandbytes"),
    { kind: "host-memory", name: "optimizer" },
  ]),
  lever("adafactor", "numerics", swapOptimizer("adafactor")),
  ...([1, 2, 3] as const).map((stage) =>
    lever("zero-stage", "nothing", (run) => {
      const { deepspeed, worldSize } = run.parallel;
      return deepspeed !== null && worldSize >= 2 && deepspeed.zeroStage < stage
        ? one(stage, withDeepSpeed(run, { zeroStage: stage }), set("zero_stage", stage))
        : [];
    }),
  ),
  lever("fsdp", "nothing", (run) =>
    run.parallel.worldSize >= 2 && !sharded(run) && run.quantization === null
      ? one(
          "full_shard",
          {
            ...run,
            parallel: {
              ...run.parallel,
              fsdp: {
                version: older(run.libraries.transformers, 5) ? 1 : 2,
                sharding: "full_shard",
                cpuOffload: false,
                reshardAfterForward: true,
              },
            },
          },
          set("fsdp", "full_shard"),
        )
      : [],
  ),
  lever(
    "offload-fsdp",
    "nothing",
    (run) => {
      const { fsdp } = run.parallel;
      return fsdp !== null && !fsdp.cpuOffload && run.parallel.worldSize >= 2
        ? one(
            "cpu",
            { ...run, parallel: { ...run.parallel, fsdp: { ...fsdp, cpuOffload: true } } },
            set("fsdp_cpu_offload", true),
          )
        : [];
    },
    [{ kind: "host-memory", name: "parameters and optimizer" }],
  ),
  lever(
    "offload-optimizer",
    "nothing",
    (run) => {
      const { deepspeed } = run.parallel;
      if (deepspeed === null || deepspeed.offloadOptimizer !== "none") return [];
      // Without partitioning there is nothing to offload.
      const zeroStage = deepspeed.zeroStage === 0 ? 2 : deepspeed.zeroStage;
      const stage = zeroStage === deepspeed.zeroStage ? [] : [set("zero_stage", zeroStage)];
      return one(
        "cpu",
        withDeepSpeed(run, { offloadOptimizer: "cpu", zeroStage }),
        ...stage,
        set("offload_optimizer", "cpu"),
      );
    },
    [{ kind: "host-memory", name: "optimizer" }],
  ),
  lever(
    "offload-parameters",
    "nothing",
    (run) => {
      const { deepspeed } = run.parallel;
      if (deepspeed === null || deepspeed.offloadParam !== "none") return [];
      const stage = deepspeed.zeroStage === 3 ? [] : [set("zero_stage", 3)];
      return one(
        "cpu",
        withDeepSpeed(run, { offloadParam: "cpu", zeroStage: 3 }),
        ...stage,
        set("offload_param", "cpu"),
      );
    },
    [{ kind: "host-memory", name: "parameters" }],
  ),
  lever("shorter-sequence", "method", (run) =>
    halves(run.sequenceLength, SHORTEST_SEQUENCE).map((length) => ({
      value: length,
      run: { ...run, sequenceLength: length },
      settings: [set("sequence_length", length)],
    })),
  ),
];
