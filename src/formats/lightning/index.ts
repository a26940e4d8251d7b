/** Lightning CLI, litgpt and Hydra-Lightning configs: YAML. */

import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { flatten } from "../reader";
import { builds, has, hasKeys, hasWith, NOT_RECOGNISED, runs } from "../recognition";
import { count, lookUp, schemaFormat, type View, valueAt } from "../schema";
import type { Format } from "../types";
import accepted from "./accepted.json";
import { litgptCommands, startsLitgpt } from "./commands";
import captured from "./fields.json";
import { LIGHTNING_GROUP_KEYS, LIGHTNING_KEYS, LITGPT_KEYS } from "./keys";
import { mergedParts, publishedModel, targetsOf } from "./litgpt";
import { deriveStrategy } from "./strategies";

function hasClassPath({ map }: View): boolean {
  for (const { path } of flatten(map)) if (/(?:^|\.)(?:class_path|init_args)$/.test(path)) return true;
  return false;
}

/** What a strategy and the devices say of sharding and of the processes. */
export function derive(d: Deriving): void {
  deriveStrategy(d);
  const devices = d.find("devices");
  const nodes = d.find("nodes")?.value;
  const each = devices?.node.kind === "list" ? devices.node.items.length : Number(devices?.value);
  if (Number.isInteger(each) && each >= 1)
    d.make(devices, "world_size", each * (typeof nodes === "number" ? nodes : 1));
}

/** litgpt: accumulation follows from the global batch; a rank makes it LoRA. */
function deriveLitgpt(d: Deriving): void {
  derive(d);
  const model = d.find("model");
  if (typeof model?.value === "string") d.make(model, "model", publishedModel(model.value));
  d.make(model, "model_code", "litgpt");
  d.make(model, "loop_holds", "outputs");
  const quantized = d.find("quantization");
  const isQuantized = typeof quantized?.value === "string" && quantized.value !== "none";
  if (isQuantized && quantized?.node.kind === "scalar") {
    // `instantiate_bnb_optimizer` (litgpt/utils.py)
    d.make(d.find("optimizer") ?? quantized, "optimizer", "paged_adamw");
    d.make(quantized, "packs_head", true);
    d.make(quantized, "double_quantization", /-dq$/.test(String(quantized.node.value)));
    d.make(quantized, "prepare_for_kbit", false);
    d.make(quantized, "replaces_embedding", true);
  }
  const rank = (d.number("lora_rank") ?? 0) > 0 ? d.numeric("lora_rank") : undefined;
  const on = (part: string) => {
    const stated = d.stated.findLast(({ name }) => name === `lora_on_${part}`)?.value;
    return typeof stated === "boolean" ? stated : undefined;
  };
  d.make(rank, "adapter", isQuantized ? "qlora" : "lora");
  d.make(rank, "lora_target_modules", targetsOf(on));
  // Adapters are made in the model's dtype (litgpt/lora.py).
  d.make(rank, "autocast_adapter_dtype", false);
  d.make(rank, "lora_merged_parts", mergedParts(on).join(","));
  // Its finetuning multiplies by the head 128 tokens at a time (litgpt/finetune/lora.py, fit).
  d.make(rank, "loss_rows", 128);
  const devices = d.number("world_size") ?? 1;
  d.makeAccumulation(devices);
  if (devices > 1) {
    const world = d.numeric("world_size");
    // Both ways of fine-tuning on several GPUs wrap every block; pretraining does not, and keeps a copy on every machine.
    const tunes = model?.key === "checkpoint_dir";
    d.make(world, "fsdp", tunes ? "full_shard" : "hybrid_shard");
    if (tunes) d.make(world, "gradient_checkpointing", true);
  }
}

const OF_OTHERS = [
  "actor_rollout_ref",
  "base_model",
  "model_name_or_path",
  "exp_manager",
  "model.tensor_model_parallel_size",
];

const OPTIONS = [
  "trainer.accelerator",
  "trainer.devices",
  "trainer.precision",
  "trainer.strategy",
  "trainer.max_epochs",
  "trainer.max_steps",
  "trainer.num_nodes",
  "trainer.callbacks",
  "trainer.logger",
  "trainer.gradient_clip_val",
  "trainer.accumulate_grad_batches",
  "trainer.check_val_every_n_epoch",
  "trainer.log_every_n_steps",
];

export const lightning = schemaFormat({
  id: "lightning",
  keys: LIGHTNING_KEYS,
  views: (document) => dataView(document, ["yaml", "json"], true),
  derive,
  recognise(view) {
    const { map } = view;
    if (count(map, OF_OTHERS) > 0) return NOT_RECOGNISED;
    const options = count(map, OPTIONS);
    const classes = hasClassPath(view);
    const isWhole = count(map, ["model", "data", "optimizer", "lr_scheduler", "seed_everything"]) > 0;
    if (lookUp(map, "trainer")?.kind === "map" && classes && isWhole)
      return { confidence: 0.94, because: has("trainer", "class_path") };
    if (/lightning/.test(String(valueAt(map, "trainer._target_"))))
      return { confidence: 0.92, because: builds("Lightning trainer") };
    if (options >= 3 && count(map, ["model", "data", "seed_everything"]) > 0)
      return { confidence: 0.75, because: hasKeys(options, "Lightning Trainer") };
    if (count(map, ["seed_everything"]) > 0 && (options > 0 || classes))
      return { confidence: 0.9, because: has("seed_everything", "trainer") };
    // The root of a Hydra template names its groups.
    const groups = defaultGroups(map);
    return groups.has("trainer") &&
      ["model", "data", "datamodule", "callbacks", "logger"].some((name) => groups.has(name))
      ? { confidence: 0.82, because: has("defaults") }
      : NOT_RECOGNISED;
  },
});

/** What its `train` block takes. */
const STEPS = Object.keys(captured.fields).filter((name) => name.startsWith("train."));

export const litgpt = schemaFormat({
  id: "lightning",
  keys: LITGPT_KEYS,
  unknownKeys: { known: new Set(accepted.names), stops: "litgpt" },
  views: (document) => dataView(document, ["yaml"]),
  derive: deriveLitgpt,
  recognise({ map }) {
    const steps = count(map, STEPS);
    const own = count(map, [
      "checkpoint_dir",
      "out_dir",
      "precision",
      "devices",
      "model_name",
      "lora_r",
      "quantize",
      "initial_checkpoint_dir",
      "eval",
    ]);
    return steps >= 2 && own >= 2 ? { confidence: 0.95, because: hasWith("train", own, "litgpt") } : NOT_RECOGNISED;
  },
});

const COMMAND = {
  id: "lightning",
  keys: LITGPT_KEYS,
  carrier: "shell",
  derive: deriveLitgpt,
  recognise: (view: View) => (startsLitgpt(view) ? { confidence: 0.95, because: runs("litgpt") } : NOT_RECOGNISED),
} as const;

/** What a program does unless it is told otherwise is read, and changed by the command's words. */
export const litgptShell: Format = {
  ...schemaFormat({ ...COMMAND, views: litgptCommands }),
  edit: schemaFormat({ ...COMMAND, views: shellViews }).edit,
};

/** Names of the groups in a Hydra `defaults` list, `override` and package marks left out. */
function defaultGroups(map: View["map"]): ReadonlySet<string> {
  const list = lookUp(map, "defaults");
  if (list?.kind !== "list") return new Set();
  const names = list.items.flatMap((item) => (item.kind === "map" ? item.entries.map((entry) => entry.key) : []));
  return new Set(names.map((name) => name.replace(/^(?:optional |override )*\/?/, "").split("@", 1)[0] ?? ""));
}

/** Group files: `configs/trainer/*.yaml` and `configs/data/*.yaml` of a Hydra template. */
export const lightningGroup = schemaFormat({
  id: "lightning",
  keys: LIGHTNING_GROUP_KEYS,
  views: (document) => dataView(document, ["yaml"], true),
  derive,
  recognise({ map }) {
    const built = String(valueAt(map, "_target_") ?? "");
    if (/lightning[.\w]{0,200}\.Trainer$/.test(built)) return { confidence: 0.9, because: builds("Lightning trainer") };
    if (/DataModule$/.test(built) && count(map, ["batch_size", "num_workers", "data_dir"]) > 0)
      return { confidence: 0.75, because: builds("LightningDataModule") };
    const options = count(map, [
      "accelerator",
      "devices",
      "strategy",
      "num_nodes",
      "sync_batchnorm",
      "min_epochs",
      "max_epochs",
      "check_val_every_n_epoch",
      "accumulate_grad_batches",
      "default_root_dir",
    ]);
    return options >= 3 && count(map, ["train", "model", "optimizer", "model_name_or_path", "data"]) === 0
      ? { confidence: 0.7, because: hasKeys(options, "Lightning Trainer") }
      : NOT_RECOGNISED;
  },
});
