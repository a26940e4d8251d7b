/** gpt-neox YAML: JSON-like flow style, keys with dashes or underscores. */

import type { Entry, LocatedNode } from "../../syntax/tree";
import { dataView } from "../carriers";
import { has, hasGroup, hasKeys, NOT_RECOGNISED } from "../recognition";
import { count, schemaFormat, type View } from "../schema";
import type { ConfigDocument } from "../types";
import accepted from "./accepted.json";
import { DERIVED, derive } from "./derive";
import { GPT_NEOX_KEYS } from "./keys";

const MODEL = ["num_layers", "hidden_size", "num_attention_heads", "seq_length", "max_position_embeddings"];
const RUN = [
  "pipe_parallel_size",
  "model_parallel_size",
  "train_iters",
  "lr_decay_iters",
  "no_weight_tying",
  "pos_emb",
  "rotary_pct",
  "init_method",
  "data_impl",
  "checkpoint_activations",
  "train_micro_batch_size_per_gpu",
  "hidden_dropout",
  "num_attention_heads",
  "synchronize_each_layer",
  "distributed_backend",
];
/** Files that only hold paths, loggers or the launcher are merged with a model file at launch. */
const SIDE = [
  "data_path",
  "vocab_file",
  "merge_file",
  "tensorboard_dir",
  "log_dir",
  "checkpoint_validation_with_forward_pass",
  "save",
  "load",
  "data_impl",
  "launcher",
  "deepspeed_slurm",
  "hostfile",
  "use_wandb",
  "tokenizer_type",
  "train_data_paths",
  "eval_interval",
  "mmap_warmup",
  "eval_tasks",
  "wandb_project",
  "wandb_host",
  "wandb_team",
  "deepspeed_mpi",
  "log_interval",
  "save_iters",
  "checkpoint_factor",
  "global_num_gpus",
  "profile",
  "profile_step_start",
  "profile_step_stop",
  "memory_profiling",
  "attention_config",
  "sparsity_config",
  "text_gen_type",
  "maximum_tokens",
  "num_samples",
  "sample_input_file",
  "sample_output_file",
  "s3_path",
  "checkpoint",
  "optimizer",
  "precision",
  "gas",
  "steps_per_print",
  "wall_clock_breakdown",
  "pos_emb",
  "norm",
  "train_batch_size",
];

function underscored(node: LocatedNode): LocatedNode {
  if (node.kind !== "map") return node;
  const entries = node.entries.map(
    (entry): Entry => ({ ...entry, key: entry.key.replaceAll("-", "_"), value: underscored(entry.value) }),
  );
  return { ...node, entries };
}

function views(document: ConfigDocument): readonly View[] {
  return dataView(document, ["yaml", "json"]).map((view) => {
    const map = underscored(view.map);
    return map.kind === "map" ? { ...view, map } : view;
  });
}

export const gptNeox = schemaFormat({
  id: "gpt-neox",
  keys: GPT_NEOX_KEYS,
  unknownKeys: { parents: [""], known: new Set(accepted.names) },
  views,
  readsBeside: (path) => DERIVED.has(path),
  recognise({ map }, document) {
    if (
      count(map, [
        "MODEL_ARGS",
        "trainer",
        "model",
        "actor_rollout_ref",
        "base_model",
        "output_dir",
        "model_name_or_path",
      ]) > 0
    )
      return NOT_RECOGNISED;
    const parallel = count(map, ["pipe_parallel_size", "model_parallel_size"]);
    const model = count(map, MODEL);
    const run = count(map, RUN);
    if (parallel > 0 && model + run > 1) return { confidence: 0.99, because: has("pipe_parallel_size", "num_layers") };
    // DeepSpeed's own files, which these extend, have no dimensions of a model.
    if (model >= 2 && run >= 2)
      return { confidence: document.languageId === "json" ? 0.99 : 0.9, because: hasKeys(model + run, "gpt-neox") };
    const side = count(map, SIDE);
    const flow = document.text
      .replace(/^[ \t]*#.*$/gm, "")
      .trimStart()
      .startsWith("{");
    if (document.languageId !== "yaml") return NOT_RECOGNISED;
    if (flow && side >= 2) return { confidence: 0.85, because: hasKeys(side, "gpt-neox") };
    return flow && side + run >= 1 && map.entries.length > 0 && side + run >= map.entries.length / 2
      ? { confidence: 0.7, because: hasGroup("gpt-neox") }
      : NOT_RECOGNISED;
  },
  derive,
});
