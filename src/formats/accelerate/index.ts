/** Accelerate's launch config: YAML or JSON, written by `accelerate config`. */
import { dataView } from "../carriers";
import { count, derived, NOT_RECOGNISED, schemaFormat, valueAt } from "../schema";
import { problem } from "../table";
import type { LocatedSetting } from "../types";
import { ACCEPTED } from "./accepted";
import { ACCELERATE_KEYS } from "./keys";

const COMPANIONS = [
  "compute_environment",
  "mixed_precision",
  "num_processes",
  "num_machines",
  "machine_rank",
  "main_training_function",
  "downcast_bf16",
  "deepspeed_config",
  "fsdp_config",
  "use_cpu",
  "debug",
];

export const accelerate = schemaFormat({
  id: "accelerate",
  keys: ACCELERATE_KEYS,
  unknownKeys: { parents: [""], known: ACCEPTED, stops: "accelerate" },
  views: (document) => dataView(document, ["yaml", "json"]),
  recognise({ map }) {
    const companions = count(map, COMPANIONS);
    if (count(map, ["distributed_type"]) > 0 && companions > 0)
      return { confidence: 0.97, because: "has `distributed_type` and other keys of accelerate's config" };
    if (count(map, ["compute_environment"]) > 0 && companions > 1)
      return { confidence: 0.9, because: "has `compute_environment`" };
    if (count(map, ["deepspeed_config", "fsdp_config", "megatron_lm_config"]) > 0 && companions > 2)
      return { confidence: 0.8, because: "has an accelerate plugin's block" };
    return NOT_RECOGNISED;
  },
  derive(settings, { map }) {
    const result: LocatedSetting[] = [];
    const type = settings.find((setting) => setting.name === "distributed_type");
    const fsdp = settings.some((setting) => setting.name === "fsdp");
    if (type?.value === "FSDP" && !fsdp) result.push(derived(type, "fsdp", "full_shard"));
    if (
      type?.value === "DEEPSPEED" &&
      !settings.some((setting) => setting.name === "zero_stage" || setting.name === "deepspeed")
    ) {
      result.push(derived(type, "zero_stage", 2));
    }
    // `distributed_type: NO` starts one process, whatever num_processes says.
    if (type !== undefined && (type.value === "NO" || valueAt(map, "distributed_type") === false))
      result.push(derived(type, "world_size", 1));
    return result;
  },
  check(settings, { map }, document) {
    const file = settings.find((setting) => setting.name === "deepspeed");
    const inline = [
      "gradient_accumulation_steps",
      "gradient_clipping",
      "zero_stage",
      "offload_optimizer_device",
      "offload_param_device",
      "zero3_save_16bit_model",
    ];
    const both =
      file === undefined ? [] : inline.filter((key) => valueAt(map, `deepspeed_config.${key}`) !== undefined);
    const unquoted = settings.filter(
      (setting) =>
        setting.key === "mixed_precision" &&
        setting.node.kind === "scalar" &&
        setting.node.value === false &&
        /^(?:no|NO|No)$/.test(document.text.slice(setting.valueSpan.start, setting.valueSpan.end)),
    );
    return [
      ...(file === undefined || both.length === 0
        ? []
        : [
            problem("accelerate-file-conflict", "error", file.keySpan, "accelerate-file-conflict", {
              keys: both.map((key) => `\`${key}\``).join(", "),
            }),
          ]),
      ...unquoted.map((setting) =>
        problem("unquoted-no", "hint", setting.valueSpan, "unquoted-no", { key: setting.key }),
      ),
    ];
  },
});
