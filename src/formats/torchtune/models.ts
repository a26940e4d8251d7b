/**
 * torchtune's model builders (`torchtune/models/<family>/_model_builders.py`) by the published model of the same dimensions. `lora_` and `qlora_` builders
 * are the plain one with adapters.
 */
import { table } from "../../terms/table";

const PUBLISHED: Readonly<Record<string, string>> = table({
  llama2_7b: "meta-llama/Llama-2-7b-hf",
  llama2_13b: "meta-llama/Llama-2-13b-hf",
  llama2_70b: "meta-llama/Llama-2-70b-hf",
  code_llama2_7b: "codellama/CodeLlama-7b-hf",
  code_llama2_13b: "codellama/CodeLlama-13b-hf",
  code_llama2_70b: "codellama/CodeLlama-70b-hf",
  llama3_8b: "meta-llama/Meta-Llama-3-8B",
  llama3_70b: "meta-llama/Meta-Llama-3-70B",
  llama3_1_8b: "meta-llama/Llama-3.1-8B",
  llama3_1_70b: "meta-llama/Llama-3.1-70B",
  llama3_1_405b: "meta-llama/Llama-3.1-405B",
  llama3_2_1b: "meta-llama/Llama-3.2-1B",
  llama3_2_3b: "meta-llama/Llama-3.2-3B",
  llama3_3_70b: "meta-llama/Llama-3.3-70B-Instruct",
  mistral_7b: "mistralai/Mistral-7B-v0.1",
  gemma_2b: "google/gemma-2b",
  gemma_7b: "google/gemma-7b",
  gemma2_2b: "google/gemma-2-2b",
  gemma2_9b: "google/gemma-2-9b",
  gemma2_27b: "google/gemma-2-27b",
  phi3_mini: "microsoft/Phi-3-mini-4k-instruct",
  phi4_14b: "microsoft/phi-4",
  qwen2_0_5b: "Qwen/Qwen2-0.5B",
  qwen2_1_5b: "Qwen/Qwen2-1.5B",
  qwen2_7b: "Qwen/Qwen2-7B",
  qwen2_5_0_5b: "Qwen/Qwen2.5-0.5B",
  qwen2_5_1_5b: "Qwen/Qwen2.5-1.5B",
  qwen2_5_3b: "Qwen/Qwen2.5-3B",
  qwen2_5_7b: "Qwen/Qwen2.5-7B",
  qwen2_5_14b: "Qwen/Qwen2.5-14B",
  qwen2_5_32b: "Qwen/Qwen2.5-32B",
  qwen2_5_72b: "Qwen/Qwen2.5-72B",
  qwen3_0_6b: "Qwen/Qwen3-0.6B",
  qwen3_1_7b: "Qwen/Qwen3-1.7B",
  qwen3_4b: "Qwen/Qwen3-4B",
  qwen3_8b: "Qwen/Qwen3-8B",
  qwen3_14b: "Qwen/Qwen3-14B",
  qwen3_32b: "Qwen/Qwen3-32B",
  smollm2_135m: "HuggingFaceTB/SmolLM2-135M",
  smollm2_360m: "HuggingFaceTB/SmolLM2-360M",
  smollm2_1_7b: "HuggingFaceTB/SmolLM2-1.7B",
});

/** A builder's name without its module, and what its prefix says. */
export function builderOf(component: string): { readonly adapter: "qlora" | "lora" | "none"; readonly base: string } {
  const name = component.split(".").at(-1) ?? "";
  const adapter = name.startsWith("qlora_") ? "qlora" : name.startsWith("lora_") ? "lora" : "none";
  return { adapter, base: name.replace(/^q?lora_/, "") };
}

/** Component builders that take dimensions (`_component_builders.py`), by the `model_type` of the same decoder. */
const COMPONENTS: Readonly<Record<string, string>> = table({
  llama2: "llama",
  llama3: "llama",
  llama3_1: "llama",
  llama3_2: "llama",
  mistral: "mistral",
  qwen2: "qwen2",
  qwen3: "qwen3",
  phi3: "phi3",
  gemma: "gemma",
  gemma2: "gemma2",
});

/** Components whose head is always their embedding. */
const TIED: ReadonlySet<string> = new Set(["llama3_2", "gemma", "gemma2"]);

/** The kind of decoder that a component builder makes from dimensions, and whether its head is tied unless a key says it. */
export function componentOf(component: string): { readonly type: string; readonly tied: boolean } | undefined {
  const { base } = builderOf(component);
  const type = COMPONENTS[base];
  return type === undefined ? undefined : { type, tied: TIED.has(base) };
}

/** Its decoders by the `model_type` of the published model (`models/graphs/torchtune.*.json`). */
const CODE: Readonly<Record<string, string>> = table({
  llama: "torchtune.llama",
  mistral: "torchtune.llama",
  qwen2: "torchtune.qwen2",
  qwen3: "torchtune.qwen3",
  phi3: "torchtune.phi3",
  gemma: "torchtune.gemma",
  gemma2: "torchtune.gemma2",
});

/** Positions of the rotary tables where a builder has others than the published config (`max_seq_len` of `_model_builders.py`). */
const POSITIONS: readonly (readonly [RegExp, number])[] = [
  [/^qwen2_5_.{1,20}_base$/, 131072],
  [/^qwen2_/, 32768],
  [/^qwen3_.{1,20}_base$/, 32768],
  [/^qwen3_/, 40960],
];

/** torchtune's own code for a model, and its config as the builder makes it. */
export function torchtuneCode(
  config: Readonly<Record<string, unknown>>,
  component: string,
): { readonly code: string; readonly config: Readonly<Record<string, unknown>> } | undefined {
  const code = CODE[String(config["model_type"])];
  if (code === undefined) return undefined;
  const { adapter, base } = builderOf(component);
  const positions = POSITIONS.find(([name]) => name.test(base))?.[1];
  return {
    code,
    config: {
      ...config,
      ...(positions === undefined ? {} : { max_position_embeddings: positions }),
      // `lora_<model>_self_attention` makes a rotary table for each layer, but for Llama 3.1 and later, whose layers are given one
      // (`pos_embeddings` of `lora_llama3_1_self_attention`, torchtune/models/*/_component_builders.py).
      rope_in_layers: adapter !== "none" && !/^llama3_[123]/.test(base),
    },
  };
}

/** The published model that a builder makes, or the component itself when none is known. */
export function publishedModel(component: string): string {
  const { base } = builderOf(component);
  return PUBLISHED[base] ?? PUBLISHED[base.replace(/_(?:base|instruct)$/, "")] ?? component;
}
