/**
 * The published model that a name without a `config.json` most likely means: a local folder or a copy keeps the name of
 * what it was made from (`/models/Qwen2.5-7B-Instruct`, `TheBloke/Llama-2-7B-GPTQ`). The run then says that it is a
 * guess, and which pin settles it.
 */

import type { ModelConfig } from "../../core/training/run";
import { withoutEnding } from "../../terms/text";
import type { Catalogue, CatalogueEntry } from "./catalogue";

const STORED =
  "bf16 fp16 fp32 fp8 nvfp4 mxfp4 dynamic bnb gptq awq aqlm 2bit 1x16 2x8 int4 int8 4bit 8bit nf4 unsloth".split(" ");
/** Words of a name that say how a model was tuned or stored, not how large it is. */
const NEUTRAL = new Set([..."instruct chat it base hf pt meta sft dpo orpo rlhf".split(" "), ...STORED]);
/** What copies add to the name of the repository they were made from. */
const SUFFIX = new RegExp(`(?:[-_](?:${STORED.join("|")})){1,9}$`);
/** Numbers of parameters (`7b`, `8x7b`, `e4b`), and the words that families without them in their names have. */
const SIZE = /^(?:(?:\d+x|e)?\d+(?:\.\d+)?[bm]|tiny|nano|micro|small|medium|large|xlarge|xxlarge|xl|xxl|huge|giant)$/;

/** The last part of a repository or path, as spellings are compared. */
function lastPart(name: string): string {
  const parts = withoutEnding(name, /[\\/]/).split(/[\\/]/);
  // ModelScope's folders have three for a dot.
  return (parts.at(-1) ?? "").toLowerCase().replaceAll("___", ".");
}

/** Words of the last part of a name that tell models apart; folders have other signs for a dot (`Qwen2_5`, `v1-5`). */
function wordsOf(name: string): readonly string[] {
  return lastPart(name)
    .split(/[-_.\s]+/)
    .filter((word) => word !== "" && !NEUTRAL.has(word));
}

export interface Guess {
  readonly entry: CatalogueEntry;
  readonly config: ModelConfig;
}

/** The entry of which the name is a folder or a stored copy, else the one whose words begin the name's. */
export function guessModel(name: string, catalogue: Catalogue): Guess | undefined {
  const entry = catalogue.spellings.get(lastPart(name).replace(SUFFIX, "")) ?? longestStart(name, catalogue);
  if (entry === undefined) return undefined;
  const quantized = quantizationOf(name);
  return {
    entry,
    config: quantized === undefined ? entry.config : { ...entry.config, quantization_config: quantized },
  };
}

/** The entry whose words begin the name's, the longest one; only where one of them is a size. */
function longestStart(name: string, catalogue: Catalogue): CatalogueEntry | undefined {
  const words = wordsOf(name);
  let best: { entry: CatalogueEntry; length: number } | undefined;
  for (const [spelling, entry] of catalogue.spellings) {
    const own = wordsOf(spelling);
    if (own.length <= (best?.length ?? 1) || !own.some((word) => SIZE.test(word))) continue;
    if (own.every((word, index) => word === words[index])) best = { entry, length: own.length };
  }
  return best !== undefined && isOwnRelease(name, words.slice(best.length), best.entry, catalogue)
    ? undefined
    : best?.entry;
}

/**
 * Whether an organisation that publishes models says a release of one of its own, which begins as somebody else's does
 * (`Alibaba-NLP/gte-large-en-v1.5` is no `gte-large`); what people make of models may have versions, too.
 */
function isOwnRelease(name: string, rest: readonly string[], entry: CatalogueEntry, catalogue: Catalogue): boolean {
  if (!/^[\w.-]+\/[\w.-]+$/.test(name) || !rest.some((word) => /^v\d/.test(word))) return false;
  const own = `${name.slice(0, name.indexOf("/")).toLowerCase()}/`;
  const published = [...catalogue.spellings].filter(([spelling]) => spelling.startsWith(own));
  return published.length > 0 && published.every(([, { name: other }]) => other !== entry.name);
}

/**
 * How a name says its weights are stored; 4 bits in groups of 128 is what quantized copies are made with by default, and what says bits
 * alone are GPTQ's (Qwen's `-Int4` and `-Int8`).
 */
export function quantizationOf(name: string): Readonly<Record<string, unknown>> | undefined {
  const word = (pattern: string): boolean => new RegExp(`(?:^|[-_/])(?:${pattern})(?:$|[-_/])`, "i").test(name);
  const bits = word("int8|8bit") ? 8 : 4;
  if (word("awq")) return { quant_method: "awq", bits, group_size: 128 };
  if (/bnb[-_](?:4bit|nf4)/i.test(name))
    return {
      quant_method: "bitsandbytes",
      load_in_4bit: true,
      bnb_4bit_quant_type: "nf4",
      bnb_4bit_use_double_quant: true,
    };
  if (word("aqlm")) return { quant_method: "aqlm", ...codebooksOf(name) };
  if (word("gptq|int4|int8")) return { quant_method: "gptq", bits, group_size: 128 };
  const method = ["nvfp4", "mxfp4", "fp8"].find(word);
  return method === undefined ? undefined : { quant_method: method };
}

/** AQLM's names say codebooks and bits of a code (`2Bit-1x16`). */
function codebooksOf(name: string): Readonly<Record<string, number>> {
  const [, count, bits] = /(?:^|[-_])([1-8])x(\d{1,2})(?:$|[-_])/.exec(name) ?? [];
  return count === undefined ? {} : { num_codebooks: Number(count), nbits_per_codebook: Number(bits) };
}
