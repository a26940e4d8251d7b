/** What litgpt's names mean (`litgpt/config.py`, `litgpt/lora.py`, `litgpt/finetune/lora.py`). */
import { table } from "../../terms/table";

/** Linear layers behind litgpt's `lora_<part>` switches, as transformers and as it names them (litgpt/model.py). */
const PARTS: Readonly<Record<string, readonly string[]>> = table({
  query: ["q_proj", "qkv_proj", "query_key_value", "c_attn", "qkv"],
  key: ["k_proj", "qkv_proj", "query_key_value", "c_attn", "qkv"],
  value: ["v_proj", "qkv_proj", "query_key_value", "c_attn", "qkv"],
  projection: ["o_proj", "dense", "attn\\.proj"],
  mlp: [
    ...["gate_proj", "up_proj", "down_proj", "gate_up_proj", "fc1", "fc2", "dense_h_to_4h", "dense_4h_to_h"],
    ...["mlp\\.fc", "fc_1", "fc_2", "mlp\\.proj"],
  ],
  head: ["lm_head", "embed_out"],
});

/** Target modules as a regular expression; the switches that are on, or litgpt's defaults: query and value. */
export function targetsOf(on: (part: string) => boolean | undefined): string {
  const modules = Object.entries(PARTS).flatMap(([part, names]) =>
    (on(part) ?? (part === "query" || part === "value")) ? names : [],
  );
  return `(?:.*\\.)?(?:${[...new Set(modules)].join("|")})`;
}

/** Queries, keys and values, which one layer makes, as far as they have factors. */
export function mergedParts(on: (part: string) => boolean | undefined): string[] {
  return ["query", "key", "value"].filter((part) => on(part) ?? part !== "key");
}

/** Its model by the `model_type` of the published one (`models/graphs/litgpt.*.json`). */
const CODE: Readonly<Record<string, string>> = table({
  llama: "litgpt.llama",
  mistral: "litgpt.llama",
  qwen2: "litgpt.llama",
  qwen3: "litgpt.qwen3",
  phi3: "litgpt.llama",
  gemma: "litgpt.gemma",
  gemma2: "litgpt.gemma2",
  gpt_neox: "litgpt.gpt_neox",
  phi: "litgpt.phi",
  falcon: "litgpt.falcon",
  stablelm: "litgpt.stablelm",
});

/** Kinds whose windows it takes from the published config (`sliding_window_size` of litgpt/config.py). */
const WINDOWED: ReadonlySet<string> = new Set(["mistral", "phi3"]);

/** Shares of a head that rotate where a config leaves them out (transformers' config classes). */
const SHARES: Readonly<Record<string, number>> = table({ gpt_neox: 0.25, phi: 0.5, stablelm: 0.25 });

type Config = Readonly<Record<string, unknown>>;

/** The number that the first of some keys has. */
function numberOf(config: Config, keys: readonly string[], fallback: number): number {
  const found = keys.map((key) => config[key]).find((value) => typeof value === "number");
  return typeof found === "number" ? found : fallback;
}

/** litgpt's own code for a model, with the dimensions that its config computes (litgpt/config.py, `__post_init__`). */
export function litgptCode(config: Config): { readonly code: string; readonly config: Config } | undefined {
  const type = String(config["model_type"]);
  const windowed = WINDOWED.has(type) && typeof config["sliding_window"] === "number";
  const code = windowed ? "litgpt.window" : CODE[type];
  const hidden = numberOf(config, ["hidden_size"], 0);
  const heads = numberOf(config, ["num_attention_heads"], 0);
  if (code === undefined || hidden === 0 || heads === 0) return undefined;
  const width = numberOf(config, ["head_dim"], hidden / heads);
  const share = numberOf(config, ["partial_rotary_factor", "rotary_pct"], SHARES[type] ?? 1);
  const groups = config["multi_query"] === true && config["new_decoder_architecture"] !== true ? 1 : heads;
  return {
    code,
    config: {
      ...config,
      head_dim: width,
      num_key_value_heads: numberOf(config, ["num_key_value_heads", "num_kv_heads"], groups),
      intermediate_size: numberOf(config, ["intermediate_size", "ffn_hidden_size"], 4 * hidden),
      rope_n_elem: Math.trunc(share * width),
      attention_bias: type === "qwen2",
      new_decoder_architecture: config["new_decoder_architecture"] === true,
    },
  };
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
