/** Accelerate's launch config: YAML or JSON, written by `accelerate config`. */

import { table } from "../../terms/table";
import { dataView } from "../carriers";
import { removing, replacing } from "../fix";
import { has, hasGroup, NOT_RECOGNISED } from "../recognition";
import { count, schemaFormat, valueAt } from "../schema";
import { problem } from "../table";
import type { LocatedSetting, ProblemFix } from "../types";
import accepted from "./accepted.json";
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

/** Kinds of `distributed_type` that have a launcher of their own (accelerate/commands/launch.py, `launch_command`). */
const ON_GPUS: ReadonlySet<string> = new Set(["DEEPSPEED", "FSDP", "MEGATRON_LM", "MULTI_GPU"]);

/** Keys that accelerate drops with FSDP2 (`accelerate/commands/to_fsdp2.py`). */
const FSDP1_ONLY: ReadonlySet<string> = new Set([
  "sharding_strategy",
  "backward_prefetch",
  "forward_prefetch",
  "use_orig_params",
  "sync_module_states",
]);

/** The same sharding as the other FSDP spells it (`FullyShardedDataParallelPlugin` in accelerate/utils/dataclasses.py). */
const RESHARDED: Readonly<Record<string, string>> = table({
  full_shard: "true",
  shard_grad_op: "false",
  true: '"FULL_SHARD"',
  false: '"SHARD_GRAD_OP"',
});

function resharded(at: LocatedSetting, written: string): readonly ProblemFix[] {
  const other = RESHARDED[written.toLowerCase()];
  return other === undefined ? [] : [replacing(at, other, true)];
}

export const accelerate = schemaFormat({
  id: "accelerate",
  keys: ACCELERATE_KEYS,
  unknownKeys: { parents: [""], known: new Set(accepted.names), stops: "accelerate" },
  views: (document) => dataView(document, ["yaml", "json"]),
  recognise({ map }) {
    const companions = count(map, COMPANIONS);
    if (count(map, ["distributed_type"]) > 0 && companions > 0)
      return { confidence: 0.97, because: has("distributed_type") };
    if (ON_GPUS.has(String(valueAt(map, "distributed_type"))))
      return { confidence: 0.8, because: has("distributed_type") };
    if (count(map, ["compute_environment"]) > 0 && companions > 1)
      return { confidence: 0.9, because: has("compute_environment") };
    if (count(map, ["deepspeed_config", "fsdp_config", "megatron_lm_config"]) > 0 && companions > 2)
      return { confidence: 0.8, because: hasGroup("accelerate plugin") };
    return NOT_RECOGNISED;
  },
  derive(d, { map }) {
    const type = d.find("distributed_type");
    if (!d.has("fsdp")) d.make(d.said("distributed_type", "FSDP"), "fsdp", "full_shard");
    if (!d.has("zero_stage", "deepspeed")) d.make(d.said("distributed_type", "DEEPSPEED"), "zero_stage", 2);
    // The launchers of several GPUs never hand `use_cpu` on (accelerate/utils/launch.py: `ACCELERATE_USE_CPU` is the simple one's).
    if (ON_GPUS.has(String(type?.value))) d.make(d.said("use_cpu", true), "use_cpu", false);
    // `distributed_type: NO` starts one process, whatever num_processes says.
    if (type?.value === "NO" || valueAt(map, "distributed_type") === false) d.make(type, "world_size", 1);
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
    const version = settings.findLast((setting) => setting.name === "fsdp_version")?.value ?? 1;
    const reshard = settings.findLast((setting) => setting.name === "fsdp_reshard_after_forward");
    const written = reshard?.node.kind === "scalar" ? reshard.node.value : undefined;
    const isBoolean = typeof written === "boolean" || /^(?:true|false)$/i.test(String(written));
    const retype =
      reshard === undefined || written == null || isBoolean === (version === 2)
        ? []
        : [
            problem(
              "fsdp-reshard-type",
              "error",
              reshard.valueSpan,
              "fsdp-reshard-type",
              {
                version: Number(version),
                key: reshard.key.replace(/^.*\./, ""),
                expected: { id: `fsdp-reshard-type.${version === 2 ? "boolean" : "strategy"}`, args: {} },
              },
              resharded(reshard, String(written)),
            ),
          ];
    const old = settings.filter(
      ({ key, value }) => version === 2 && value !== null && FSDP1_ONLY.has(key.replace(/^.*\.(?:fsdp_)?/, "")),
    );
    return [
      ...retype,
      ...[...new Map(old.map((setting) => [setting.key, setting])).values()].map((setting) =>
        problem(
          "fsdp2-old-key",
          "warning",
          setting.keySpan,
          "fsdp2-old-key",
          { key: setting.key.replace(/^.*\./, "") },
          [removing(setting)],
        ),
      ),
      ...(file === undefined || both.length === 0
        ? []
        : [
            problem("accelerate-file-conflict", "error", file.keySpan, "accelerate-file-conflict", {
              keys: both.map((key) => `\`${key}\``).join(", "),
            }),
          ]),
      ...unquoted.map((setting) =>
        problem("unquoted-no", "hint", setting.valueSpan, "unquoted-no", { key: setting.key }, [
          replacing(setting, '"no"', true),
        ]),
      ),
    ];
  },
});
