/**
 * What a checkpoint's own `quantization_config` says of how its weights are stored. Formats that transformers does not train
 * on have to be dequantized first (`is_trainable` in transformers/quantizers).
 */

import type { GroupedFormat, ModelConfig, QuantizationSpec } from "../../core/training/run";
import { table } from "../../terms/table";

type Json = Readonly<Record<string, unknown>>;

/** How the weights are stored while training. */
export type StoredWeights =
  | { readonly kind: "packed"; readonly spec: Pick<QuantizationSpec, "type" | "double" | "bits" | "groupSize"> & Extra }
  | { readonly kind: "dequantized"; readonly method: string };

type Extra = Pick<QuantizationSpec, "symmetric" | "skipModules" | "codebooks">;

function map(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function numberIn(config: Json, ...keys: readonly string[]): number | undefined {
  return keys.map((key) => config[key]).find((value): value is number => typeof value === "number");
}

function namesIn(config: Json, ...keys: readonly string[]): readonly string[] | undefined {
  const value = keys.map((key) => config[key]).find((item) => Array.isArray(item));
  return Array.isArray(value) ? value.map(String) : undefined;
}

/** Fields that are there. */
function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function grouped(type: GroupedFormat, own: Json, weights: Json = own): StoredWeights {
  const bits = numberIn(weights, "bits", "w_bit", "nbits", "num_bits");
  const groupSize = numberIn(weights, "group_size", "q_group_size");
  const skipModules = namesIn(own, "modules_to_not_convert", "skip_modules", "ignore");
  const symmetric = typeof weights["symmetric"] === "boolean" ? weights["symmetric"] : undefined;
  return { kind: "packed", spec: { type, double: false, ...present({ bits, groupSize, symmetric, skipModules }) } };
}

/** compressed-tensors: the scheme of the first group of layers; formats with quantized activations are inference only. */
function compressed(own: Json): StoredWeights {
  const scheme = map(Object.values(map(own["config_groups"]))[0]);
  const weights = map(scheme["weights"]);
  const bits = numberIn(weights, "num_bits") ?? 8;
  if (own["dequantize"] === true || own["run_compressed"] === false || (bits !== 4 && bits !== 8))
    return { kind: "dequantized", method: "compressed-tensors" };
  return grouped("compressed-tensors", own, weights);
}

/** bitsandbytes: checkpoints saved in 4 or 8 bits. */
function bitsandbytes(own: Json): StoredWeights {
  const skipModules = namesIn(own, "llm_int8_skip_modules");
  const four = own["load_in_4bit"] === true || own["_load_in_4bit"] === true;
  const type = four ? (own["bnb_4bit_quant_type"] === "fp4" ? "fp4" : "nf4") : "int8";
  const double = four && own["bnb_4bit_use_double_quant"] === true;
  return { kind: "packed", spec: { type, double, ...present({ skipModules }) } };
}

/** torchao trains on 8-bit integers only (quantizer_torchao.py). */
function torchao(own: Json): StoredWeights {
  const type = JSON.stringify(own["quant_type"] ?? "").toLowerCase();
  if (!/int8/.test(type)) return { kind: "dequantized", method: "torchao" };
  const skipModules = namesIn(own, "modules_to_not_convert");
  return { kind: "packed", spec: { type: "torchao", double: false, ...present({ skipModules }) } };
}

/** AQLM: additive codes (transformers/utils/quantization_config.py, AqlmConfig). */
function additive(own: Json): StoredWeights {
  const codebooks = {
    count: numberIn(own, "num_codebooks") ?? 1,
    bits: numberIn(own, "nbits_per_codebook") ?? 16,
    outputs: numberIn(own, "out_group_size") ?? 1,
    inputs: numberIn(own, "in_group_size") ?? 8,
  };
  const skipModules = namesIn(own, "linear_weights_not_to_quantize")?.map((name) => name.replace(/\.weight$/, ""));
  return { kind: "packed", spec: { type: "aqlm", double: false, codebooks, ...present({ skipModules }) } };
}

const METHODS: Readonly<Record<string, (own: Json) => StoredWeights>> = table({
  gptq: (own) => grouped("gptq", own),
  awq: (own) => grouped("awq", own),
  hqq: (own) => grouped("hqq", own, { ...own, ...map(map(own["quant_config"])["weight_quant_params"]) }),
  eetq: (own) => grouped("eetq", { modules_to_not_convert: own["modules_to_not_convert"] }),
  aqlm: additive,
  bitsandbytes,
  bitsandbytes_4bit: bitsandbytes,
  bitsandbytes_8bit: bitsandbytes,
  "compressed-tensors": compressed,
  torchao,
});

/** NVIDIA's 4 bits in blocks of 16, which kernels of axolotl's train on for experts; the rest is unpacked as it is loaded. */
export const NVFP4 = "nvfp4";

/** ModelOpt has several ways under its name. */
const methodOf = (own: Json): string => {
  const name = String(own["quant_method"] ?? "").toLowerCase();
  return name === "modelopt" ? String(own["quant_algo"] ?? name).toLowerCase() : name;
};

/** How the checkpoint stores its weights; null where it says nothing. */
export function storedWeights(config: ModelConfig): StoredWeights | null {
  const own = map(config["quantization_config"]);
  const method = methodOf(own);
  if (method === "") return null;
  const read = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  return read === undefined ? { kind: "dequantized", method } : read(own);
}
