/** NeMo: Hydra YAML and its overrides in scripts. */
import { dataView, LAUNCHER_OPTIONS, shellViews } from "../carriers";
import { count, derived, lookUp, NOT_RECOGNISED, schemaFormat, valueAt } from "../schema";
import type { LocatedSetting } from "../types";
import { ACCEPTED } from "./accepted";
import { NEMO_KEYS } from "./keys";

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
    if (count(map, ["trainer"]) > 0 && model >= 2)
      return { confidence: 0.97, because: "has `trainer` and Megatron's keys under `model`" };
    if (count(map, ["trainer", "exp_manager", "model"]) === 3)
      return { confidence: 0.95, because: "has `trainer`, `exp_manager` and `model`" };
    if (/^nemo\./.test(String(valueAt(map, "strategy._target_") ?? "")))
      return { confidence: 0.97, because: "builds a strategy of NeMo" };
    // Overrides of a Megatron-Bridge recipe: its blocks, and the batch under `train`.
    const bridge = count(map, ["model", "optimizer", "scheduler", "checkpoint", "dataset", "ddp", "dist", "rng"]);
    const iterations = lookUp(map, "train.train_iters") ?? lookUp(map, "train.global_batch_size");
    if (iterations !== undefined && bridge >= 2 && count(map, ["trainer", "actor_rollout_ref"]) === 0)
      return { confidence: 0.9, because: "has Megatron-Bridge's `train` and other blocks" };
    return model >= 3 ? { confidence: 0.85, because: `has ${model} NeMo keys` } : NOT_RECOGNISED;
  },
});

export const nemoShell = schemaFormat({
  id: "nemo",
  carrier: "shell",
  keys: NEMO_KEYS,
  unknownKeys: { known: new Set([...ACCEPTED, ...LAUNCHER_OPTIONS, "nodes"]) },
  views: shellViews,
  derive,
  recognise(view) {
    const overrides = view.map.entries.filter((entry) => /^(?:model|trainer|exp_manager)\./.test(entry.key)).length;
    if (view.map.entries.some((entry) => /^(?:actor_rollout_ref|critic)\./.test(entry.key))) return NOT_RECOGNISED;
    const bridge = view.map.entries.filter((entry) =>
      /^(?:train|dataset|checkpoint|scheduler)\./.test(entry.key),
    ).length;
    if (view.words.some((word) => /Megatron-Bridge|run_recipe\.py$/.test(word)) && overrides + bridge >= 2)
      return { confidence: 0.96, because: `sets ${overrides + bridge} keys of a Megatron-Bridge recipe` };
    const script = view.words.some((word) => /megatron_\w+\.py$|nemo/i.test(word));
    return overrides >= 2 && script ? { confidence: 0.95, because: `sets ${overrides} NeMo keys` } : NOT_RECOGNISED;
  },
});
