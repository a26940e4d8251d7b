/**
 * torchtitan's flavors (`torchtitan/models/<name>/__init__.py`) by the published model of the same dimensions.
 */
import { table, tables } from "../../terms/table";

const PUBLISHED: Readonly<Record<string, Readonly<Record<string, string>>>> = tables({
  llama2: {
    "7B": "meta-llama/Llama-2-7b-hf",
    "13B": "meta-llama/Llama-2-13b-hf",
    "70B": "meta-llama/Llama-2-70b-hf",
  },
  llama3: {
    "1B": "meta-llama/Llama-3.2-1B",
    "3B": "meta-llama/Llama-3.2-3B",
    "8B": "meta-llama/Llama-3.1-8B",
    "70B": "meta-llama/Llama-3.1-70B",
    "405B": "meta-llama/Llama-3.1-405B",
  },
  qwen3: {
    "0.6B": "Qwen/Qwen3-0.6B",
    "1.7B": "Qwen/Qwen3-1.7B",
    "4B": "Qwen/Qwen3-4B",
    "8B": "Qwen/Qwen3-8B",
    "14B": "Qwen/Qwen3-14B",
    "32B": "Qwen/Qwen3-32B",
    "30B-A3B": "Qwen/Qwen3-30B-A3B",
    "235B-A22B": "Qwen/Qwen3-235B-A22B",
  },
  deepseek_v3: {
    "16B": "deepseek-ai/DeepSeek-V2-Lite",
    "236B": "deepseek-ai/DeepSeek-V2",
    "671B": "deepseek-ai/DeepSeek-V3",
  },
  gpt_oss: { "20b": "openai/gpt-oss-20b", "120b": "openai/gpt-oss-120b" },
});

/** The model that a name and a flavor mean; both words where no published model has those dimensions. */
export function publishedModel(name: string | undefined, flavor: string): string {
  // The Python registry of a model states no name: the flavors of Llama 3 are told by their sizes alone.
  const known = name === undefined ? undefined : PUBLISHED[name]?.[flavor];
  return known ?? (name === undefined ? flavor : `${name} ${flavor}`);
}

/** Its decoders by the `model_type` of the published model of the same dimensions (`models/graphs/torchtitan.*.json`). */
const CODE: Readonly<Record<string, string>> = table({
  llama: "torchtitan.llama3",
  qwen3: "torchtitan.qwen3",
  qwen3_moe: "torchtitan.qwen3_moe",
  deepseek_v2: "torchtitan.deepseek_v3",
  deepseek_v3: "torchtitan.deepseek_v3",
});

/** What the flavors say of routing and configs leave to the code of a model type (torchtitan/models/deepseek_v3/__init__.py). */
const ROUTING: Readonly<Record<string, Config>> = table({
  deepseek_v2: { scoring_func: "softmax", norm_topk_prob: false, n_group: 1, topk_group: 1 },
  deepseek_v3: { scoring_func: "sigmoid", norm_topk_prob: true },
});

/**
 * What selective checkpointing keeps of no layer, as operators or ends of modules' paths: products with a router's matrix
 * (torchtitan/config/job_config.py, `per_op_sac_force_recompute_mm_shapes_by_fqns`), and rows from other ranks where a model's list
 * does not have them (models/qwen3/infra/parallelize.py, `_op_sac_save_list`).
 */
export function recomputedAll(code: string | undefined): readonly string[] {
  return code === CODE["qwen3_moe"] ? ["router.gate", "all_to_all_single"] : ["router.gate"];
}

type Config = Readonly<Record<string, unknown>>;

/** torchtitan's own code for a model; its Llama 3 never ties its head (torchtitan/models/llama3/model/model.py). */
export function torchtitanCode(config: Config): { readonly code: string; readonly config: Config } | undefined {
  const type = String(config["model_type"]);
  const code = CODE[type];
  return code === undefined ? undefined : { code, config: { ...ROUTING[type], ...config } };
}
