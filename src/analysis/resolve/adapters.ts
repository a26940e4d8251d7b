/** Adapters and the quantized base below them. */
import { PEFT_TARGETS } from "../../core/training/adapters/peft-targets";
import type { AdapterSpec, DType, ModelConfig, QuantizationSpec } from "../../core/training/run";
import { keyFor } from "../defaults";
import { say } from "../problems";
import type { Setting, SettingValue } from "../settings";
import { holds } from "../versions";
import type { ResolveContext } from "./context";
import { DTYPES } from "./precision";

/** Adapters the engine follows. */
const ADAPTERS = new Set(["lora", "qlora", "dora", "none", "true"]);

export function quantizationOf(
  c: ResolveContext,
  config: ModelConfig,
  trainer: string,
  loadDtype: DType,
): QuantizationSpec | null {
  const stated = c.settings.find("quantization");
  // TRL computes in the dtype the model is loaded in.
  const standard = c.trl ? loadDtype : "bfloat16";
  const compute = DTYPES[c.settings.string("quantization_compute_dtype") ?? ""] ?? standard;
  const old = {
    ...(holds("bitsandbytes<0.43.2", c.libraries) ? { keepsInputs: true } : {}),
    ...(holds("transformers<5", c.libraries) ? { packsSubclasses: true } : {}),
  };
  if (stated !== undefined) {
    c.keep("quantization", stated);
    if (stated.value === "none") return null;
    return {
      type: String(stated.value) as QuantizationSpec["type"],
      double: c.settings.boolean("double_quantization") ?? false,
      prepareForKbit: c.settings.boolean("prepare_for_kbit") ?? (stated.place === null && trainer === "sft"),
      computeDtype: compute,
      ...old,
    };
  }
  const four = c.settings.find("load_in_4bit");
  const eight = c.settings.find("load_in_8bit");
  const on = four?.value === true ? four : eight?.value === true ? eight : undefined;
  if (on !== undefined) {
    const type = on === four ? (c.settings.string("bnb_4bit_quant_type") ?? "nf4") : "int8";
    c.keep("quantization", on, type);
    return {
      type: type as QuantizationSpec["type"],
      double: c.settings.boolean("double_quantization") ?? false,
      prepareForKbit: trainer === "sft",
      computeDtype: compute,
      ...old,
    };
  }
  const own = config["quantization_config"];
  const method =
    typeof own === "object" && own !== null ? String((own as Record<string, unknown>)["quant_method"] ?? "") : "";
  if (method === "gptq" || method === "awq" || method === "hqq") {
    c.put("quantization", method, "linked", "quantization_config", null);
    return { type: method, double: false, prepareForKbit: false, computeDtype: compute };
  }
  if (c.trains) c.put("quantization", "none", "default", "quantization", null);
  return null;
}

export function adapterOf(c: ResolveContext, quantized: boolean, config: ModelConfig): AdapterSpec | null {
  const stated = c.settings.find("adapter");
  const peft = c.settings.find("use_peft");
  const rank = c.settings.find("lora_rank");
  const standard = stated === undefined && c.trains ? c.formatDefault("adapter") : undefined;
  if (standard !== undefined && standard !== "none") {
    return adapterFrom(
      c,
      {
        name: "adapter",
        value: standard,
        from: "default",
        key: keyFor(c.inputs.format, "adapter", c.libraries)?.key ?? "adapter",
        place: null,
      },
      quantized,
      config,
    );
  }
  const off = stated?.value === "none" || (stated === undefined && peft?.value === false);
  // A pinned adapter block without `type` still is an adapter; TRL's lora_* keys need use_peft.
  const pinnedRank = rank !== undefined && rank.from === "pin";
  const origin = stated ?? (peft?.value === true ? peft : pinnedRank ? rank : undefined);
  if (off || origin === undefined) {
    if (origin !== undefined || stated !== undefined || peft !== undefined) {
      const setting = stated ?? peft;
      if (setting !== undefined) c.keep("adapter", setting, "none");
    } else if (c.trains) c.put("adapter", "none", "default", "adapter", null);
    return null;
  }
  return adapterFrom(c, origin, quantized, config);
}

function adapterFrom(c: ResolveContext, origin: Setting, quantized: boolean, config: ModelConfig): AdapterSpec | null {
  const stated = c.settings.find("adapter");
  const rank = c.settings.find("lora_rank");
  const kind = String(origin.value);
  if (origin.name === "adapter" && !ADAPTERS.has(kind)) {
    c.keep("adapter", origin);
    c.obstacles.push({ code: "not-modelled", message: say("not-modelled.adapter", { adapter: kind }) });
    return null;
  }
  // Axolotl tells `lora` and `qlora` apart by name.
  const named = c.inputs.format.id === "axolotl" && typeof stated?.value === "string";
  const dora = c.settings.boolean("use_dora") === true || stated?.value === "dora";
  c.keep("adapter", origin, dora ? "dora" : named ? String(stated?.value) : quantized ? "qlora" : "lora");
  const rankValue = c.settings.number("lora_rank") ?? c.defaultNumber("lora_rank", 8);
  if (rank !== undefined) c.keep("lora_rank", rank);
  else c.put("lora_rank", rankValue, "default", "lora_r", null);
  const target = c.settings.find("lora_target_modules")?.value ?? c.formatDefault("lora_target_modules") ?? null;
  if (target === null)
    c.suppose(say("assume.target-modules"), "adapter.target_modules", { lora_target_modules: "all-linear" });
  return {
    type: dora ? "dora" : "lora",
    rank: rankValue,
    alpha: c.settings.number("lora_alpha") ?? c.defaultNumber("lora_alpha", rankValue),
    dropout: c.settings.number("lora_dropout") ?? c.defaultNumber("lora_dropout", 0),
    targetModules: targetModules(target, config),
    modulesToSave: c.settings.list("lora_modules_to_save") ?? [],
    bias: (c.settings.string("lora_bias") ?? "none") as AdapterSpec["bias"],
    useRslora: c.settings.boolean("use_rslora") ?? false,
    // TRL casts the adapters of a quantized base to bfloat16; peft raises half-precision adapters to float32.
    autocastAdapterDtype: c.settings.boolean("autocast_adapter_dtype") ?? !(c.trl && quantized),
  };
}

/** Named modules, or peft's own choice; architectures it has no choice for must name them. */
function targetModules(target: SettingValue, config: ModelConfig): readonly string[] | string {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.length === 1 && target[0] === "all-linear" ? "all-linear" : target;
  return PEFT_TARGETS[String(config["model_type"])] ?? "all-linear";
}
