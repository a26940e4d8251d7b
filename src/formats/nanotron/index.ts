/** nanotron's YAML. */

import { dataView } from "../carriers";
import { has, hasKeys, NOT_RECOGNISED } from "../recognition";
import { count, lookUp, schemaFormat } from "../schema";
import type { SettingName } from "../types";
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
    const own = count(map, [
      "tokens.micro_batch_size",
      "parallelism.tp_mode",
      "parallelism.dp",
      "model.model_config",
      "optimizer.accumulate_grad_in_fp32",
    ]);
    return own >= 2 ? { confidence: 0.85, because: hasKeys(own, "nanotron") } : NOT_RECOGNISED;
  },
  derive(d, { map }) {
    const degree = (name: SettingName): number => d.number(name) ?? 1;
    const dp = d.find("data_parallel");
    if (typeof dp?.value === "number") {
      d.make(
        dp,
        "world_size",
        dp.value * degree("tensor_parallel") * degree("pipeline_parallel") * degree("context_parallel"),
      );
      const steps = degree("micro_batch_size") * degree("gradient_accumulation_steps");
      d.make(d.find("micro_batch_size"), "global_batch_size", dp.value * steps);
    }
    const width = d.find("hidden_size");
    const architecture = lookUp(map, "model.model_config");
    const flag =
      architecture?.kind === "map" ? architecture.entries.find(({ key }) => FAMILY_FLAG.test(key)) : undefined;
    d.make(width, "model_type", flag?.key.replace(/^is_(\w+)_config$/, "$1"));
    // `tie_word_embeddings` is off by default (nanotron/config/models_config.py)
    if (!d.has("tied_embeddings")) d.make(width, "tied_embeddings", false);
    d.make(d.said("tp_mode", "REDUCE_SCATTER"), "sequence_parallelism", true);
    d.makeFused();
  },
});
