/** nanotron's YAML. */

import { dataView } from "../carriers";
import { has, hasKeys, NOT_RECOGNISED } from "../recognition";
import { count, derived, lookUp, schemaFormat } from "../schema";
import type { LocatedSetting } from "../types";
import accepted from "./accepted.json";
import { NANOTRON_KEYS } from "./keys";

/** `is_llama_config: true` names the family (nanotron/config/models_config.py). */
const FAMILY_FLAG = /(?:^|\.)is_\w{1,40}_config$/;

export const nanotron = schemaFormat({
  id: "nanotron",
  keys: NANOTRON_KEYS,
  unknownKeys: { known: new Set(accepted.names), stops: "nanotron" },
  views: (document) => dataView(document, ["yaml"]),
  readsBeside: (path) => FAMILY_FLAG.test(path),
  recognise({ map }) {
    const blocks = count(map, ["parallelism", "tokens", "optimizer", "model", "general", "checkpoints", "data_stages"]);
    if (count(map, ["parallelism", "tokens"]) === 2 && blocks >= 3)
      return { confidence: 0.98, because: has("parallelism", "tokens") };
    const own = [
      "tokens.micro_batch_size",
      "parallelism.tp_mode",
      "parallelism.dp",
      "model.model_config",
      "optimizer.accumulate_grad_in_fp32",
    ].filter((path) => lookUp(map, path) !== undefined).length;
    return own >= 2 ? { confidence: 0.85, because: hasKeys(own, "nanotron") } : NOT_RECOGNISED;
  },
  derive(settings, { map }) {
    const result: LocatedSetting[] = [];
    const find = (name: string) => settings.findLast((setting) => setting.name === name);
    const degree = (name: string): number => {
      const value = settings.find((setting) => setting.name === name)?.value;
      return typeof value === "number" ? value : 1;
    };
    const dp = settings.find((setting) => setting.name === "data_parallel");
    if (typeof dp?.value === "number") {
      const world = dp.value * degree("tensor_parallel") * degree("pipeline_parallel") * degree("context_parallel");
      result.push(derived(dp, "world_size", world));
      const micro = degree("micro_batch_size");
      const steps = degree("gradient_accumulation_steps");
      const stated = settings.find((setting) => setting.name === "micro_batch_size");
      if (stated !== undefined) result.push(derived(stated, "global_batch_size", dp.value * micro * steps));
    }
    const architecture = lookUp(map, "model.model_config");
    const flag =
      architecture?.kind === "map" ? architecture.entries.find((entry) => FAMILY_FLAG.test(entry.key)) : undefined;
    const width = settings.find((setting) => setting.name === "hidden_size");
    if (flag !== undefined && width !== undefined)
      result.push(derived(width, "model_type", flag.key.replace(/^is_(\w+)_config$/, "$1")));
    // `tie_word_embeddings` is off by default (nanotron/config/models_config.py)
    if (width !== undefined && find("tied_embeddings") === undefined)
      result.push(derived(width, "tied_embeddings", false));
    const mode = find("tp_mode");
    if (mode?.value === "REDUCE_SCATTER") result.push(derived(mode, "sequence_parallelism", true));
    const optimizer = find("optimizer");
    if (optimizer?.value === "adamw_torch" && find("optimizer_fused")?.value === true)
      result.push(derived(optimizer, "optimizer", "adamw_torch_fused"));
    return result;
  },
});
