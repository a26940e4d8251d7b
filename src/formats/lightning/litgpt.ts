/** What litgpt's names mean (`litgpt/config.py`, `litgpt/lora.py`, `litgpt/finetune/lora.py`). */
import { table } from "../../terms/table";

/** Linear layers behind litgpt's `lora_<part>` switches, as transformers names them. */
const PARTS: Readonly<Record<string, readonly string[]>> = table({
  query: ["q_proj", "qkv_proj", "query_key_value", "c_attn"],
  key: ["k_proj", "qkv_proj", "query_key_value", "c_attn"],
  value: ["v_proj", "qkv_proj", "query_key_value", "c_attn"],
  projection: ["o_proj", "dense"],
  mlp: ["gate_proj", "up_proj", "down_proj", "gate_up_proj", "fc1", "fc2", "dense_h_to_4h", "dense_4h_to_h"],
  head: ["lm_head", "embed_out"],
});

/** Target modules as a regular expression; the switches that are on, or litgpt's defaults: query and value. */
export function targetsOf(on: (part: string) => boolean | undefined): string {
  const modules = Object.entries(PARTS).flatMap(([part, names]) =>
    (on(part) ?? (part === "query" || part === "value")) ? names : [],
  );
  return `(?:.*\\.)?(?:${[...new Set(modules)].join("|")})`;
}

const NAMES: Readonly<Record<string, string>> = table({
  "tiny-llama-1.1b": "TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T",
});

/** `checkpoints/<organisation>/<model>` and litgpt's own short names, as the hub names the model. */
export function publishedModel(written: string): string {
  const parts = written.split("/").filter((part) => part !== "" && part !== ".");
  const folder = parts.indexOf("checkpoints");
  const name = folder >= 0 && parts.length - folder === 3 ? parts.slice(folder + 1).join("/") : written;
  return NAMES[name] ?? name;
}
