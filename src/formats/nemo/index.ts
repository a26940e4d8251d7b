/** NeMo: Hydra YAML and its overrides in scripts; Megatron-Bridge's recipes, as YAML, in scripts and as Python. */

import { dataView, shellViews } from "../carriers";
import { LAUNCHER_OPTIONS } from "../launchers/options";
import { builds, has, hasGroup, hasKeys, NOT_RECOGNISED, sets } from "../recognition";
import { count, derived, lookUp, schemaFormat, type View, valueAt } from "../schema";
import type { ConfigDocument, LocatedSetting } from "../types";
import accepted from "./accepted.json";
import { NEMO_KEYS } from "./keys";

const ACCEPTED: ReadonlySet<string> = new Set(accepted.names);

function derive(settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  const result: LocatedSetting[] = [];
  const find = (name: string) => settings.findLast((setting) => setting.name === name);
  const devices = find("devices");
  const nodes = find("nodes")?.value ?? 1;
  if (
    typeof devices?.value === "number" &&
    devices.value >= 1 &&
    typeof nodes === "number" &&
    find("world_size") === undefined
  )
    result.push(derived(devices, "world_size", devices.value * nodes));
  const half = find("megatron_amp_o2");
  const compute = find("compute_dtype");
  if (half !== undefined && compute !== undefined)
    result.push(
      derived(half, "load_dtype", half.value !== true ? "float32" : compute.value === "fp16" ? "float16" : "bfloat16"),
    );
  // Recipes of Megatron-Bridge train in `bf16_mixed` unless told otherwise: bfloat16 weights beside a float32 copy, which
  // the distributed optimizer spreads (megatron/bridge/recipes).
  const recipe = settings.find(({ key }) => /^train\.(?:micro|global)_batch_size$/.test(key));
  if (recipe !== undefined && half === undefined) {
    const whole = { ...recipe, standing: true } as const;
    if (compute === undefined) result.push(derived(whole, "compute_dtype", "bf16"));
    result.push(derived(whole, "load_dtype", compute?.value === "fp16" ? "float16" : "bfloat16"));
  }
  // The distributed optimizer by its switch, by a recipe's default, or by its name (apex, DistributedFusedAdam).
  const named = find("optimizer");
  const sharded =
    find("distributed_optimizer") ?? (/^distributed_fused_adam/.test(String(named?.value)) ? named : recipe);
  if (sharded !== undefined && sharded.value !== false && find("zero_stage") === undefined)
    result.push({ ...derived(sharded, "zero_stage", 1), ...(sharded === recipe && { standing: true }) });
  return result;
}

export const nemo = schemaFormat({
  id: "nemo",
  keys: NEMO_KEYS,
  unknownKeys: { known: ACCEPTED },
  views: (document) => dataView(document, ["yaml"], true),
  derive,
  recognise({ map }) {
    const model = [
      "model.tensor_model_parallel_size",
      "model.pipeline_model_parallel_size",
      "model.micro_batch_size",
      "model.megatron_amp_O2",
      "model.activations_checkpoint_granularity",
      "model.restore_from_path",
      "model.encoder_seq_length",
    ].filter((path) => lookUp(map, path) !== undefined).length;
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
