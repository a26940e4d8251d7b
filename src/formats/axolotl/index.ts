/** Axolotl's YAML; inherits much of TrainingArguments and names a DeepSpeed file. */

import type { MapNode } from "../../syntax/tree";
import { optimizerRow } from "../../terms/optimizers";
import { dataView } from "../carriers";
import { readDeepspeedBlock } from "../deepspeed/read";
import type { Deriving } from "../deriving";
import { removing, setting } from "../fix";
import { hasDefaults, packageHeader } from "../hydra";
import { hasKeys, hasWith, NOT_RECOGNISED } from "../recognition";
import { count, namesOf, schemaFormat } from "../schema";
import { problem } from "../table";
import type { ConfigDocument, LocatedSetting } from "../types";
import { isTemplate } from "../value";
import accepted from "./accepted.json";
import { AXOLOTL_KEYS } from "./keys";

/** Keys that no other program has under these names, or that few have. */
const OWN = [
  "datasets",
  "pretraining_dataset",
  "sequence_len",
  "sample_packing",
  "dataset_prepared_path",
  "micro_batch_size",
];

/** Keys that people call so in configs of their own programs, too: beside them one of its own has to stand. */
const SHARED = ["adapter", "num_epochs", "val_set_size", "lora_r"];

const TAKEN: ReadonlySet<string> = new Set(accepted.names);

/**
 * Whether axolotl would read it: it is one file, put together from no others (`load_cfg` in axolotl/cli/config.py), and most of what it
 * says is something that axolotl takes.
 */
function readable(map: MapNode, companions: number, document: ConfigDocument): boolean {
  const foreign = [...namesOf(map)].filter((name) => !TAKEN.has(name)).length;
  return foreign <= companions && !hasDefaults(document) && packageHeader(document.text) === undefined;
}

function on(settings: readonly LocatedSetting[], name: string): LocatedSetting | undefined {
  return settings.findLast((setting) => setting.name === name && setting.value === true);
}

/**
 * Losses that never hold all logits: Liger's, and Cut Cross Entropy, which is on as soon as its plugin is listed
 * (integrations/cut_cross_entropy/args.py). What belongs to a plugin that is not listed changes nothing.
 */
function makeFusedLoss(d: Deriving): void {
  const cutting = d.find("cut_cross_entropy")?.value === false ? undefined : pluginOf(d, /CutCrossEntropyPlugin$/);
  const liger = pluginOf(d, /LigerPlugin$/) !== undefined;
  const fused = liger ? d.said("liger_fused_loss", true) : undefined;
  d.make(fused, "fused_loss", true);
  d.make(cutting, "fused_head", true);
  if (!liger) return;
  // Liger's layers are switched apart from its loss.
  const norms = d.said("liger_norms", true);
  const gates = d.said("liger_gates", true);
  const layers = norms === undefined ? gates && "gates" : gates === undefined ? "norms" : true;
  d.make(norms ?? gates ?? fused, "fused_layers", layers ?? false);
}

/** The entry of `plugins` that ends so. */
function pluginOf(d: Deriving, name: RegExp): LocatedSetting | undefined {
  const plugins = d.stated.find((setting) => setting.name === "plugins");
  const items = plugins?.node.kind === "list" ? plugins.node.items : [];
  const node = items.find((item) => item.kind === "scalar" && name.test(String(item.value)));
  return plugins === undefined || node === undefined ? undefined : { ...plugins, node, valueSpan: node };
}

export const axolotl = schemaFormat({
  id: "axolotl",
  keys: AXOLOTL_KEYS,
  unknownKeys: { parents: [""], known: new Set(accepted.names) },
  views: (document) => dataView(document, ["yaml", "json"]),
  recognise({ map }, document) {
    const own = count(map, OWN);
    const companions = own + count(map, SHARED);
    if (!readable(map, companions, document)) return NOT_RECOGNISED;
    if (count(map, ["base_model"]) > 0 && (own > 0 || companions > 2))
      return {
        confidence: Math.min(0.98, 0.85 + 0.05 * companions),
        because: hasWith("base_model", companions, "axolotl"),
      };
    return companions >= 4 && count(map, ["model_name_or_path", "actor_rollout_ref"]) === 0
      ? { confidence: 0.7, because: hasKeys(companions, "axolotl") }
      : NOT_RECOGNISED;
  },
  derive(d) {
    d.made.push(...readDeepspeedBlock(d.stated).settings);
    // The weights follow the precision: bf16 (or auto) bfloat16, fp16 float16, neither float32.
    const half = d.find("bf16");
    const auto = typeof half?.value === "object" && half.value !== null;
    const follows = auto ? "bfloat16" : half?.value === false ? "float32" : undefined;
    if (!d.has("load_dtype")) d.make(half, "load_dtype", follows);
    // Axolotl's own defaults of bitsandbytes: nf4, double quantization, storage in the compute dtype.
    const four = d.said("load_in_4bit", true);
    if (!d.has("bnb_4bit_quant_storage")) d.make(four, "bnb_4bit_quant_storage", "bfloat16");
    if (!d.has("double_quantization")) d.make(four, "double_quantization", true);
    makeFusedLoss(d);
    // A block of FSDP's options asks for it.
    const options: readonly (string | null)[] = ["fsdp_cpu_offload", "fsdp_wrap_class", "fsdp_reshard_after_forward"];
    const kept = d.said("fsdp_reshard_after_forward", false) !== undefined;
    if (!d.has("fsdp", "fsdp_options"))
      d.make(
        d.stated.find(({ name }) => options.includes(name)),
        "fsdp",
        kept ? "shard_grad_op" : "full_shard",
      );
  },
  check(settings, _view, document) {
    const find = (name: string): LocatedSetting | undefined =>
      settings.findLast(
        (setting) =>
          setting.name === name &&
          (setting.value !== null || setting.node.kind === "list") &&
          !(typeof setting.value === "string" && isTemplate(setting.value)),
      );
    const problems = [];
    const adapter = find("adapter");
    if (adapter?.value === "qlora" && on(settings, "load_in_4bit") === undefined)
      problems.push(
        problem("qlora-needs-4bit", "error", adapter.valueSpan, "qlora-needs-4bit", {}, [
          setting("load_in_4bit", { name: "load_in_4bit", value: true }, true),
        ]),
      );
    const loaded = on(settings, "load_in_4bit") ?? on(settings, "load_in_8bit");
    if (
      loaded !== undefined &&
      (adapter === undefined || adapter.value === "none") &&
      find("lora_model_dir") === undefined
    )
      problems.push(
        problem("quantized-without-adapter", "error", loaded.keySpan, "quantized-without-adapter", {}, [
          setting("adapter", { name: "adapter", value: loaded.name === "load_in_4bit" ? "qlora" : "lora" }, false),
        ]),
      );
    const deepspeed = find("deepspeed");
    if (deepspeed !== undefined && (find("fsdp_options") ?? find("fsdp")) !== undefined)
      problems.push(
        problem("deepspeed-and-fsdp", "error", deepspeed.keySpan, "deepspeed-and-fsdp", {}, [
          { ...removing(deepspeed), safe: false },
        ]),
      );
    const offload = on(settings, "offload_activations");
    if (
      offload !== undefined &&
      settings.some((setting) => setting.name === "gradient_checkpointing" && setting.value === false)
    )
      problems.push(
        problem("offloading-needs-checkpointing", "error", offload.keySpan, "offloading-needs-checkpointing", {}, [
          setting("gradient_checkpointing", { name: "gradient_checkpointing", value: true }, true),
        ]),
      );
    const plugins = find("plugins");
    const listed = plugins === undefined ? "" : document.text.slice(plugins.valueSpan.start, plugins.valueSpan.end);
    const liger = settings.filter(({ key, value }) => /^liger_(?!rms_norm_gated)/.test(key) && value === true);
    if (!/liger/i.test(listed))
      for (const { key, keySpan } of liger.slice(0, 1))
        problems.push(problem("liger-plugin", "warning", keySpan, "liger-plugin", { key }));
    const optimizer = find("optimizer");
    const hosted = on(settings, "fsdp_cpu_offload");
    if (
      hosted !== undefined &&
      optimizerRow(String(optimizer?.value ?? ""))?.bits === 8 &&
      String(find("fsdp_version")?.value) !== "2"
    )
      problems.push(
        problem(
          "fsdp-offload-8bit",
          "error",
          hosted.keySpan,
          "fsdp-offload-8bit",
          {
            optimizer: String(optimizer?.value),
          },
          [setting("optimizer", { name: "optimizer", value: "adamw_torch_fused" }, false)],
        ),
      );
    const both = find("batch_size_per_gpu");
    if (both !== undefined && find("gradient_accumulation_steps") !== undefined)
      problems.push(problem("batch-keys", "error", both.keySpan, "batch-keys", {}, [removing(both)]));
    return problems;
  },
});
