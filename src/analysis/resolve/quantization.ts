/** The quantized base below an adapter. */

import type { DType } from "../../core/engine/dtype";
import type { ModelConfig, QuantizationSpec } from "../../core/training/run";
import { floatNamed } from "../../terms/dtypes";
import { quantizerOf } from "../../terms/quantizers";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import { holds } from "../frameworks/versions";
import { quantizationOf as namedQuantization } from "../models/guess";
import { NVFP4, storedWeights } from "./checkpoint";
import type { ResolveContext } from "./context";
import { leftByLoader } from "./left-by-loader";
import { hasSeparateExperts } from "./release";

export function quantizationOf(
  c: ResolveContext,
  config: ModelConfig,
  trainer: string,
  loadDtype: DType,
): QuantizationSpec | null {
  const stated = c.settings.find("quantization");
  // TRL computes in the dtype the model is loaded in.
  const standard = c.namedTrainer ? loadDtype : "bfloat16";
  const compute = floatNamed(c.settings.string("quantization_compute_dtype")) ?? standard;
  const beside = {
    ...skippedModules(c, config),
    ...(holds("bitsandbytes<0.43.2", c.libraries) ? { keepsInputs: true } : {}),
    ...(holds("transformers<5", c.libraries) ? { packsSubclasses: true } : {}),
    ...packedExperts(c, config),
    ...(c.settings.on("packs_head") ? { packsHead: true } : {}),
  };
  if (stated !== undefined) {
    c.keep("quantization", stated);
    if (stated.value === "none") return null;
    return {
      type: String(stated.value) as QuantizationSpec["type"],
      double: c.settings.boolean("double_quantization") ?? false,
      prepareForKbit: c.settings.boolean("prepare_for_kbit") ?? (stated.place === null && preparesForKbit(c, trainer)),
      computeDtype: compute,
      ...beside,
    };
  }
  const own = storedWeights(ofName(c) ?? config);
  const four = c.settings.find("load_in_4bit");
  const eight = c.settings.find("load_in_8bit");
  const on = four?.value === true ? four : eight?.value === true ? eight : undefined;
  // Another library's way goes before what is asked of the loader (transformers/quantizers/auto.py, merge_quantization_configs).
  const isOther = own?.kind === "packed" && quantizerOf(own.spec.type) === undefined;
  if (on !== undefined && !isOther) {
    const type = on === four ? (c.settings.string("bnb_4bit_quant_type") ?? "nf4") : "int8";
    c.keep("quantization", on, type);
    if (quantizerOf(type)?.outliers) c.suppose(say("assume.int8-outliers"), "llm_int8_threshold");
    return {
      type: type as QuantizationSpec["type"],
      double: c.settings.boolean("double_quantization") ?? false,
      prepareForKbit: c.settings.boolean("prepare_for_kbit") ?? preparesForKbit(c, trainer),
      computeDtype: compute,
      ...beside,
    };
  }
  if (own?.kind === "packed") {
    c.put("quantization", own.spec.type, "linked", "quantization_config", null);
    if (quantizerOf(own.spec.type)?.outliers) c.suppose(say("assume.int8-outliers"), "llm_int8_threshold");
    return { ...own.spec, prepareForKbit: false, computeDtype: compute, prequantized: true, ...beside };
  }
  if (own?.method === NVFP4 && c.settings.on("expert_kernels")) {
    c.put("quantization", "nvfp4", "linked", "quantization_config", null);
    const alone = { packsExperts: true, packsOnlyExperts: true };
    return { type: "nvfp4", double: false, prepareForKbit: false, computeDtype: compute, prequantized: true, ...alone };
  }
  if (own !== null) c.suppose(say("assume.dequantized", { method: own.method, dtype: loadDtype }), "dequantize");
  if (c.trains) c.put("quantization", "none", "default", "quantization", null);
  return null;
}

/** What the name of a model nobody published says of its weights. */
function ofName({ inputs: { model } }: ResolveContext): ModelConfig | undefined {
  const stored = model?.kind === "missing" ? namedQuantization(model.name) : undefined;
  return stored && { quantization_config: stored };
}

/** Whether experts are linear layers of their own: in earlier releases, and in code of a framework's own. */
export function expertsAreLayers(c: ResolveContext, family: unknown): boolean {
  const own = c.framework.layersOfExperts?.(c.settings) === true;
  return hasSeparateExperts(String(family), (release) => own || holds(`transformers<${release}`, c.libraries));
}

/** Experts that are packed with the rest: axolotl's `quantize_moe_experts`, Unsloth's loader, and linear layers of earlier releases. */
function packedExperts(
  c: ResolveContext,
  { model_type: type }: ModelConfig,
): Pick<QuantizationSpec, "packsExperts" | "unpacksExperts"> {
  if (expertsAreLayers(c, type)) return { packsExperts: true };
  if (c.settings.boolean("packs_experts") !== true) return {};
  const whole = c.framework.parametrizesExperts === true && c.settings.boolean("expert_kernels") !== true;
  return { packsExperts: true, ...(whole ? { unpacksExperts: true } : {}) };
}

/**
 * Releases up to which TRL's trainers call `prepare_model_for_kbit_training` on quantized models (trl/models/utils.py until 0.25,
 * prepare_peft_model; the trainers' `__init__`); null: they still do.
 */
const PREPARES: Readonly<Record<string, string | null>> = table({
  sft: "trl<0.26",
  reward: "trl<0.26",
  grpo: "trl<0.26",
  rloo: "trl<0.27",
  dpo: "trl<0.29",
  kto: "trl<1.4",
  orpo: null,
  cpo: null,
  bco: null,
  prm: null,
  "online-dpo": null,
});

function preparesForKbit(c: ResolveContext, trainer: string): boolean {
  const until = c.namedTrainer ? PREPARES[trainer] : undefined;
  return until === null || (until !== undefined && holds(until, c.libraries));
}

/** `llm_int8_skip_modules` of bitsandbytes' config, stated or the loader's own. */
function skippedModules(c: ResolveContext, { model_type: type }: ModelConfig): Partial<QuantizationSpec> {
  const skipModules = c.settings.list("quantization_skip_modules");
  if (skipModules !== undefined) return { skipModules };
  const skipParts = leftByLoader(c.settings.string("quantizing_loader") ?? "", String(type), c.libraries);
  return skipParts.length === 0 ? {} : { skipParts };
}

export function inFourBits(quantization: QuantizationSpec | null): boolean {
  return quantizerOf(quantization?.type)?.bits === 4;
}
