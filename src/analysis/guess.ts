/**
 * The published model that a name without a `config.json` most likely means: a local folder or a copy keeps the name of
 * what it was made from (`/models/Qwen2.5-7B-Instruct`, `TheBloke/Llama-2-7B-GPTQ`). The run then says that it is a
 * guess, and which pin settles it.
 */
import type { ModelConfig } from "../core/training/run";
import type { Catalogue, CatalogueEntry } from "./catalogue";

/** Words of a name that say how a model was tuned or stored, not how large it is. */
const NEUTRAL = new Set(
  "instruct chat it base hf pt meta sft dpo orpo rlhf bf16 fp16 fp32 bnb gptq awq int4 int8 4bit 8bit nf4 unsloth".split(
    " ",
  ),
);
const SIZE = /^\d+(?:\.\d+)?[bm]$/;

/** Words of the last part of a name that tell models apart. */
function wordsOf(name: string): readonly string[] {
  const last =
    name
      .replace(/[\\/]+$/, "")
      .split(/[\\/]/)
      .at(-1) ?? "";
  return last
    .toLowerCase()
    .split(/[-_\s]+/)
    .filter((word) => word !== "" && !NEUTRAL.has(word));
}

export interface Guess {
  readonly entry: CatalogueEntry;
  readonly config: ModelConfig;
}

/** The entry whose words begin the name's, the longest one; only where one of them is a size. */
export function guessModel(name: string, catalogue: Catalogue): Guess | undefined {
  const words = wordsOf(name);
  let best: { entry: CatalogueEntry; length: number } | undefined;
  for (const [spelling, entry] of catalogue.spellings) {
    const own = wordsOf(spelling);
    if (own.length <= (best?.length ?? 1) || !own.some((word) => SIZE.test(word))) continue;
    if (own.every((word, index) => word === words[index])) best = { entry, length: own.length };
  }
  if (best === undefined) return undefined;
  const quantized = quantizationOf(name);
  const { entry } = best;
  return {
    entry,
    config: quantized === undefined ? entry.config : { ...entry.config, quantization_config: quantized },
  };
}

/** How a name says its weights are stored; 4 bits in groups of 128 is what quantized copies are made with by default. */
function quantizationOf(name: string): Readonly<Record<string, unknown>> | undefined {
  const bits = /(?:^|[-_])(?:int8|8bit)(?:$|[-_])/i.test(name) ? 8 : 4;
  if (/(?:^|[-_])gptq(?:$|[-_])/i.test(name)) return { quant_method: "gptq", bits, group_size: 128 };
  if (/(?:^|[-_])awq(?:$|[-_])/i.test(name)) return { quant_method: "awq", bits, group_size: 128 };
  if (/bnb[-_](?:4bit|nf4)/i.test(name))
    return {
      quant_method: "bitsandbytes",
      load_in_4bit: true,
      bnb_4bit_quant_type: "nf4",
      bnb_4bit_use_double_quant: true,
    };
  return undefined;
}
