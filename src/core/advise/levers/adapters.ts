/** Levers on what is trained: adapters, their size, and the base under them. */

import { PEFT_TARGETS } from "../../training/adapters/peft-targets";
import type { AdapterSpec, TrainingRun } from "../../training/run";
import type { Lever, LeverOption, SettingChange } from "../types";
import { halves, lever, needs, one, set } from "./build";

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

/** The adapter without magnitude vectors (peft/tuners/lora/dora.py). */
function plain(run: TrainingRun): LeverOption[] {
  const { adapter } = run;
  return adapter?.type === "dora"
    ? one("lora", { ...run, adapter: { ...adapter, type: "lora" } }, set("use_dora", false))
    : [];
}

/** A frozen base in 4 or 8 bits below the adapters, those that are there or new ones. */
function quantized(type: "nf4" | "int8"): (run: TrainingRun) => LeverOption[] {
  return (run) => {
    // Sharding ZeRO-3's or FSDP's way needs the packed weights in a dtype that can be split.
    if (run.quantization !== null || run.parallel.deepspeed?.zeroStage === 3 || run.parallel.fsdp !== null) return [];
    const four = type === "nf4";
    return one(
      type,
      {
        ...run,
        adapter: run.adapter ?? LORA,
        quantization: { type, double: four, prepareForKbit: false, computeDtype: "bfloat16" },
      },
      ...(run.adapter === null ? LORA_SETTINGS : []),
      set("quantization", type),
      ...(four ? [set("double_quantization", true)] : []),
    );
  };
}

/** Adapters on the projections that peft itself would choose, instead of on every linear layer. */
function fewerTargets(run: TrainingRun): LeverOption[] {
  const { adapter } = run;
  const names = PEFT_TARGETS[run.model.family];
  if (adapter?.targetModules !== "all-linear" || names === undefined || typeof names === "string") return [];
  return one(
    names.join(", "),
    { ...run, adapter: { ...adapter, targetModules: names } },
    set("lora_target_modules", names.join(",")),
  );
}

export const ADAPTERS: readonly Lever[] = [
  lever("plain-lora", "method", plain),
  lever("lora-targets", "method", fewerTargets),
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
    { requires: [needs("peft")], uneven: true },
  ),
  lever(
    "dora",
    "method",
    (run) =>
      run.adapter === null && run.quantization === null
        ? one(LORA.rank, { ...run, adapter: { ...LORA, type: "dora" } }, ...LORA_SETTINGS, set("use_dora", true))
        : [],
    { requires: [needs("peft")], uneven: true, rare: true },
  ),
  lever("8-bit-base", "method", quantized("int8"), {
    requires: [needs("peft"), needs("bitsandbytes")],
    uneven: true,
    rare: true,
  }),
  lever("qlora", "method", quantized("nf4"), { requires: [needs("peft"), needs("bitsandbytes")], uneven: true }),
];
