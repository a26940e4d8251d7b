/** NeMo: Hydra YAML and its overrides in scripts; Megatron-Bridge's recipes, as YAML, in scripts and as Python. */

import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { LAUNCHER_OPTIONS } from "../launchers/options";
import { builds, has, hasGroup, hasKeys, NOT_RECOGNISED, sets } from "../recognition";
import { count, lookUp, schemaFormat, type View, valueAt } from "../schema";
import type { ConfigDocument } from "../types";
import accepted from "./accepted.json";
import { NEMO_KEYS } from "./keys";

const ACCEPTED: ReadonlySet<string> = new Set(accepted.names);

function derive(d: Deriving): void {
  if (Number(d.find("devices")?.value) >= 1) d.makeWorld();
  const half = d.find("megatron_amp_o2");
  const compute = d.find("compute_dtype");
  const below = compute?.value === "fp16" ? "float16" : "bfloat16";
  if (compute !== undefined) d.make(half, "load_dtype", half?.value !== true ? "float32" : below);
  // Recipes of Megatron-Bridge train in `bf16_mixed` unless told otherwise: bfloat16 weights beside a float32 copy, which
  // the distributed optimizer spreads (megatron/bridge/recipes).
  const recipe = d.stated.find(({ key }) => /^train\.(?:micro|global)_batch_size$/.test(key));
  const whole = recipe && ({ ...recipe, standing: true } as const);
  if (half === undefined) {
    if (compute === undefined) d.make(whole, "compute_dtype", "bf16");
    d.make(whole, "load_dtype", below);
  }
  // The distributed optimizer by its switch, by a recipe's default, or by its name (apex, DistributedFusedAdam).
  const named = d.find("optimizer");
  const isSpread = /^distributed_fused_adam/.test(String(named?.value));
  const sharded = d.find("distributed_optimizer") ?? (isSpread ? named : whole);
  if (sharded?.value !== false && !d.has("zero_stage")) d.make(sharded, "zero_stage", 1);
}

export const nemo = schemaFormat({
  id: "nemo",
  keys: NEMO_KEYS,
  unknownKeys: { known: ACCEPTED },
  views: (document) => dataView(document, ["yaml"], true),
  derive,
  recognise({ map }) {
    const model = count(map, [
      "model.tensor_model_parallel_size",
      "model.pipeline_model_parallel_size",
      "model.micro_batch_size",
      "model.megatron_amp_O2",
      "model.activations_checkpoint_granularity",
      "model.restore_from_path",
      "model.encoder_seq_length",
    ]);
    if (count(map, ["trainer"]) > 0 && model >= 2) return { confidence: 0.97, because: has("trainer", "model") };
    if (count(map, ["trainer", "exp_manager", "model"]) === 3)
      return { confidence: 0.95, because: has("trainer", "exp_manager", "model") };
    if (/^nemo\./.test(String(valueAt(map, "strategy._target_") ?? "")))
      return { confidence: 0.97, because: builds("NeMo strategy") };
    // Overrides of a Megatron-Bridge recipe: its blocks, and the batch under `train`.
    const bridge = count(map, ["model", "optimizer", "scheduler", "checkpoint", "dataset", "ddp", "dist", "rng"]);
    const iterations = lookUp(map, "train.train_iters") ?? lookUp(map, "train.global_batch_size");
    if (iterations !== undefined && bridge >= 2 && count(map, ["trainer", "actor_rollout_ref"]) === 0)
      return { confidence: 0.9, because: hasGroup("Megatron-Bridge") };
    return model >= 3 ? { confidence: 0.85, because: hasKeys(model, "NeMo") } : NOT_RECOGNISED;
  },
});

export const nemoShell = schemaFormat({
  id: "nemo",
  carrier: "shell",
  keys: NEMO_KEYS,
  unknownKeys: { known: new Set([...accepted.names, ...LAUNCHER_OPTIONS, "nodes"]) },
  views: shellViews,
  derive,
  recognise(view) {
    const overrides = view.map.entries.filter((entry) => /^(?:model|trainer|exp_manager)\./.test(entry.key)).length;
    if (view.map.entries.some((entry) => /^(?:actor_rollout_ref|critic)\./.test(entry.key))) return NOT_RECOGNISED;
    const bridge = view.map.entries.filter((entry) =>
      /^(?:train|dataset|checkpoint|scheduler)\./.test(entry.key),
    ).length;
    if (view.words.some((word) => /Megatron-Bridge|run_recipe\.py$/.test(word)) && overrides + bridge >= 2)
      return { confidence: 0.96, because: sets(overrides + bridge, "Megatron-Bridge") };
    const script = view.words.some((word) => /megatron_\w{1,80}\.py$|nemo/i.test(word));
    return overrides >= 2 && script ? { confidence: 0.95, because: sets(overrides, "NeMo") } : NOT_RECOGNISED;
  },
});

/** An attribute of a recipe's blocks, behind the name it is bound to (megatron/bridge/training/config.py, ConfigContainer). */
const BLOCK_ATTRIBUTE =
  /^\w{1,80}\.((?:train|model|optimizer|scheduler|dataset|ddp|dist|rng|checkpoint|peft|comm_overlap)(?:\.\w{1,80}){1,9}|mixed_precision)$/;

/** What a Python program sets on a recipe (`cfg.train.micro_batch_size = 1`), by the paths that YAML has. */
function recipeView({ parsed: { python } }: ConfigDocument): readonly View[] {
  if (python === undefined || !python.imports.some((name) => /^megatron\.bridge\b/.test(name))) return [];
  const entries = python.assignments.entries.flatMap((entry) => {
    const path = BLOCK_ATTRIBUTE.exec(entry.key)?.[1];
    return path === undefined ? [] : [{ ...entry, key: path }];
  });
  return entries.length === 0 ? [] : [{ map: { ...python.assignments, entries }, words: python.imports }];
}

export const megatronBridgePython = schemaFormat({
  id: "nemo",
  carrier: "python",
  keys: NEMO_KEYS,
  unknownKeys: { known: ACCEPTED },
  views: recipeView,
  derive,
  recognise: () => ({ confidence: 0.95, because: builds("Megatron-Bridge recipe") }),
});
