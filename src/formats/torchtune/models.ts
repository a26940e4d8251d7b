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

/** The published model that a builder makes, or the component itself when none is known. */
export function publishedModel(component: string): string {
  const { base } = builderOf(component);
  return PUBLISHED[base] ?? PUBLISHED[base.replace(/_(?:base|instruct)$/, "")] ?? component;
}
