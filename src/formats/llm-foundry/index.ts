/** llm-foundry's YAML: OmegaConf with `variables`, plain or inside an MCLI job's `parameters`. */

import { interpolate } from "../../syntax/interpolate";
import type { MapNode } from "../../syntax/tree";
import { dataView } from "../carriers";
import { has, hasGroup, hasKeys, NOT_RECOGNISED, runs } from "../recognition";
import { count, lookUp, schemaFormat, type View, valueAt } from "../schema";
import type { ConfigDocument } from "../types";
import accepted from "./accepted.json";
import { LLM_FOUNDRY_KEYS } from "./keys";

/** MCLI jobs put the training config under `parameters`, beside `compute`. */
function views(document: ConfigDocument): readonly View[] {
  return dataView(document, ["yaml"], true).map((view) => {
    const inner = document.parsed.root?.kind === "map" ? lookUp(document.parsed.root, "parameters") : undefined;
    if (inner?.kind !== "map" || count(inner, ["max_seq_len", "model", "models", "train_loader", "icl_tasks"]) === 0)
      return view;
    const compute = view.map.entries.filter((entry) => entry.key === "compute");
    const parameters = interpolate(inner);
    const map: MapNode = { ...parameters, entries: [...parameters.entries, ...compute] };
    return { ...view, map, target: inner, words: ["parameters"] };
  });
}

export const llmFoundry = schemaFormat({
  id: "llm-foundry",
  keys: LLM_FOUNDRY_KEYS,
  unknownKeys: { known: new Set(accepted.names) },
  views,
  recognise({ map, words }, document) {
    // Jobs for the MosaicML platform, evaluation tasks, and models for its benchmarks.
    const job = count(map, ["image", "compute", "command", "integrations"]) >= 2;
    const around = document.parsed.root?.kind === "map" ? document.parsed.root : map;
    if (
      (job || words.length > 0 || count(around, ["integrations", "command"]) === 2) &&
      /llm-foundry|llmfoundry/.test(document.text)
    )
      return { confidence: 0.85, because: runs("llm-foundry") };
    if (count(map, ["icl_tasks", "eval_gauntlet"]) > 0) return { confidence: 0.75, because: has("icl_tasks") };
    const shape = lookUp(map, "model.name");
    if (
      count(map, ["max_seq_len", "tokenizer"]) === 2 &&
      shape?.kind === "scalar" &&
      /_causal_lm$/.test(String(shape.value))
    )
      return { confidence: 0.8, because: has("max_seq_len", "model") };
    const batch = count(map, [
      "device_train_microbatch_size",
      "global_train_batch_size",
      "device_train_grad_accum",
      "device_train_batch_size",
      "device_eval_batch_size",
    ]);
    if (count(map, ["max_seq_len"]) > 0 && batch > 0)
      return { confidence: 0.97, because: has("max_seq_len", "global_train_batch_size") };
    if (batch > 0 && count(map, ["train_loader", "eval_loader", "max_duration"]) > 0)
      return { confidence: 0.93, because: hasGroup("Composer") };
    const composer = count(map, [
      "train_loader",
      "max_duration",
      "eval_interval",
      "scheduler",
      "algorithms",
      "icl_tasks",
      "models",
      "device_eval_batch_size",
      "fsdp_config",
      "precision",
    ]);
    return composer >= 3 && count(map, ["max_seq_len", "max_duration"]) > 0
      ? { confidence: 0.8, because: hasKeys(composer, "Composer") }
      : NOT_RECOGNISED;
  },
  derive(d, { map }) {
    d.makeAccumulation(d.number("world_size"));
    if (!d.has("model")) d.make(d.said("model_class", "mpt_causal_lm"), "model_type", "mpt");
    // Composer names a micro-batch's outputs until the next one's are there, in their own dtype (composer/trainer/trainer.py, _train_microbatch).
    const batch = d.numeric("global_batch_size") ?? d.numeric("micro_batch_size");
    d.make(batch, "loop_holds", "outputs");
    d.make(batch, "loop_keeps_dtype", true);
    // Texts are cut or padded to the whole length (llmfoundry/data/text_data.py, StreamingTextDataset._tokenize).
    if (valueAt(map, "train_loader.name") === "text") d.make(batch, "pad_to_sequence_length", true);
    const packed = d.find("packing");
    if (packed?.value !== false && packed?.value !== null) d.make(packed, "packing", true);
  },
});
