/** Lightning's strategies: what each shards, and its arguments. Source: `lightning/pytorch/strategies/*.py` of 2.6. */
import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import type { EffectId } from "../../words/message";
import { SHARDING } from "../accelerate/keys";
import { readDeepspeedBlock } from "../deepspeed/read";
import type { Deriving } from "../deriving";
import { memory, touching } from "../effects";
import type { KeySpec, LocatedSetting } from "../types";

type Means = Partial<Record<SettingName, LocatedSetting["value"]>>;

const FSDP: Means = { fsdp: "full_shard" };
/** What `DeepSpeedStrategy` puts into the config that it makes (`_create_default_config`). */
const DEEPSPEED: Means = {
  zero_stage: 2,
  overlap_comm: true,
  allgather_bucket_size: 200_000_000,
  reduce_bucket_size: 200_000_000,
  sub_group_size: 1_000_000_000_000,
  offload_optimizer_pin_memory: false,
};
const HOSTED: Means = { ...DEEPSPEED, offload_optimizer: "cpu" };
const FINDS: Means = { ddp_find_unused_parameters: true };

/** Registered names and classes (`register_strategies`) by what they say where their arguments do not. */
const STRATEGIES: Readonly<Record<string, Means>> = table({
  fsdp: FSDP,
  fsdp_cpu_offload: { ...FSDP, fsdp_cpu_offload: true },
  fsdp_native: FSDP,
  FSDPStrategy: FSDP,
  deepspeed: DEEPSPEED,
  DeepSpeedStrategy: DEEPSPEED,
  deepspeed_stage_1: { ...DEEPSPEED, zero_stage: 1 },
  deepspeed_stage_1_offload: { ...HOSTED, zero_stage: 1 },
  deepspeed_stage_2: DEEPSPEED,
  deepspeed_stage_2_offload: HOSTED,
  deepspeed_stage_3: { ...DEEPSPEED, zero_stage: 3 },
  deepspeed_stage_3_offload: { ...HOSTED, zero_stage: 3, offload_param: "cpu" },
  deepspeed_stage_3_offload_nvme: { ...DEEPSPEED, zero_stage: 3, offload_optimizer: "nvme", offload_param: "nvme" },
  ddp_find_unused_parameters_true: FINDS,
  ddp_spawn_find_unused_parameters_true: FINDS,
  ddp_fork_find_unused_parameters_true: FINDS,
  ddp_notebook_find_unused_parameters_true: FINDS,
});

const ARGUMENTS = "trainer.strategy.init_args.";
/** An argument, as LightningCLI has it below `init_args` and Hydra beside `_target_`. */
const argument = (key: string, name: SettingName, effect: EffectId, extra?: Partial<KeySpec>): KeySpec =>
  memory(ARGUMENTS + key, name, effect, { aliases: [`trainer.strategy.${key}`], ...extra });
const uncounted = (effect: EffectId, key: string, computed: readonly string[]): readonly KeySpec[] =>
  touching(effect, ARGUMENTS + key).map((row) => ({ ...row, computed, aliases: [`trainer.strategy.${key}`] }));

const ON_CPU = { means: { true: "cpu", false: "none" } } as const;

export const STRATEGY_KEYS: readonly KeySpec[] = [
  argument("stage", "zero_stage", "zero"),
  argument("offload_optimizer", "offload_optimizer", "offload-optimizer", ON_CPU),
  argument("offload_parameters", "offload_param", "offload-param", ON_CPU),
  argument("pin_memory", "offload_optimizer_pin_memory", "pin_memory"),
  argument("sub_group_size", "sub_group_size", "sub_group_size"),
  argument("allgather_bucket_size", "allgather_bucket_size", "allgather_bucket_size"),
  argument("reduce_bucket_size", "reduce_bucket_size", "reduce_bucket_size"),
  argument("contiguous_gradients", "contiguous_gradients", "contiguous_gradients"),
  argument("overlap_comm", "overlap_comm", "overlap_comm"),
  argument("config", "deepspeed", "deepspeed", { link: "engine" }),
  ...uncounted("offload-optimizer", "offload_optimizer_device", ["cpu"]),
  ...uncounted("offload-param", "offload_params_device", ["cpu"]),
  ...uncounted("checkpointing", "cpu_checkpointing", ["false"]),
  argument("sharding_strategy", "fsdp", "fsdp", { means: table({ ...SHARDING, NO_SHARD: "none" }) }),
  argument("cpu_offload", "fsdp_cpu_offload", "offload-param"),
  argument("auto_wrap_policy", "fsdp_wrap_class", "transformer_layer_cls_to_wrap"),
  argument("activation_checkpointing_policy", "fsdp_activation_checkpointing", "checkpointing", { type: "any" }),
  argument("activation_checkpointing", "fsdp_activation_checkpointing", "checkpointing", { type: "any" }),
  argument("mixed_precision.reduce_dtype", "fsdp_reduce_dtype", "compute"),
  ...uncounted("compute", "mixed_precision.param_dtype", []),
  ...uncounted("fsdp", "device_mesh", []),
  argument("use_orig_params", "fsdp_use_orig_params", "fsdp_use_orig_params"),
  argument("backward_prefetch", "fsdp_backward_prefetch", "fsdp_backward_prefetch", {
    means: { BACKWARD_PRE: "backward_pre", BACKWARD_POST: "backward_post" },
  }),
  ...uncounted("fsdp_state_dict_type", "state_dict_type", ["sharded"]),
  argument("data_parallel_size", "dp_shard_size", "parallelism_config_dp_shard_size", { auto: true }),
  argument("tensor_parallel_size", "tensor_parallel", "tensor", { auto: true }),
  argument("find_unused_parameters", "ddp_find_unused_parameters", "ddp_find_unused_parameters"),
  argument("gradient_as_bucket_view", "ddp_bucket_views", "ddp_bucket_views"),
  argument("static_graph", "ddp_static_graph", "ddp_static_graph"),
];

/**
 * ModelParallelStrategy makes the mesh alone: machines share data, the GPUs of one tensors, where no size says otherwise. What is split
 * over it, the module's `configure_model` says, which is not followed: FSDP2 and every matrix stand in (model_parallel.py).
 */
function deriveMesh(d: Deriving, strategy: LocatedSetting): void {
  const sizes = { devices: d.find("devices")?.value, nodes: d.find("nodes")?.value ?? 1 };
  const data = d.number("dp_shard_size") ?? sizes.nodes;
  if (typeof data === "number" && data > 1) {
    d.make(strategy, "fsdp", "full_shard");
    d.make(strategy, "fsdp_version", 2);
  }
  if (d.number("tensor_parallel") === undefined && typeof sizes.devices === "number")
    d.make(strategy, "tensor_parallel", sizes.devices);
  d.made.push({ ...strategy, valueSpan: strategy.keySpan, name: null, uncounted: true });
}

/** What a strategy says by its name, or its class, and by its policy of recomputing. */
export function deriveStrategy(d: Deriving): void {
  const strategy = d.find("strategy");
  d.made.push(...readDeepspeedBlock(d.stated).settings);
  if (typeof strategy?.value !== "string") return;
  const name = strategy.value.slice(strategy.value.lastIndexOf(".") + 1);
  // A config of one's own is taken instead of all that the arguments say (deepspeed.py).
  const said = d.has("deepspeed") ? {} : (STRATEGIES[name] ?? {});
  // A default stands in for an argument that is not known, and that one is said.
  for (const [setting, value] of Object.entries(said) as [SettingName, LocatedSetting["value"]][])
    if (d.find(setting)?.unknown === true || !d.has(setting)) d.make(strategy, setting, value);
  if (name === "ModelParallelStrategy") deriveMesh(d, strategy);
  const policy = d.find("fsdp_activation_checkpointing");
  if (policy !== undefined && (policy.node.kind !== "scalar" || policy.node.value)) {
    d.make(policy, "gradient_checkpointing", true);
    // `checkpoint_wrapper` recomputes without a node of its own (lightning/fabric/strategies/fsdp.py).
    d.make(policy, "use_reentrant", false);
  }
}
