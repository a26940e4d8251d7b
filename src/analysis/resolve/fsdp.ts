/** FSDP as a run's files and its framework have it. */
import { factsOf } from "../../core/graph/facts";
import { DEVICES_PER_MACHINE } from "../../core/hardware/devices";
import type { FsdpSpec } from "../../core/training/run";
import { floatNamed } from "../../terms/dtypes";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import type { OwnFsdp } from "../frameworks/framework";
import type { Setting } from "../frameworks/settings";
import { holds } from "../frameworks/versions";
import type { ResolveContext } from "./context";

const SHARDING: Readonly<Record<string, FsdpSpec["sharding"]>> = table({
  full_shard: "full_shard",
  shard_grad_op: "shard_grad_op",
  hybrid_shard: "hybrid_shard",
  hybrid_shard_zero2: "hybrid_shard",
  no_shard: "no_shard",
});

/**
 * Copies of the sharded model: stated (`dp_replicate_size`), or with hybrid sharding one for every machine
 * (torch/distributed/fsdp/_init_utils.py, `_init_intra_and_inter_node_groups`).
 */
function replicasOf(c: ResolveContext, sharding: FsdpSpec["sharding"], worldSize: number): number {
  const stated = c.settings.number("dp_replicate_size");
  if (stated !== undefined && stated >= 1 && worldSize % stated === 0) return stated;
  if (sharding !== "hybrid_shard") return 1;
  const machines = c.settings.number("num_machines") ?? Math.ceil(worldSize / DEVICES_PER_MACHINE);
  return worldSize % machines === 0 ? machines : 1;
}

/** What a framework shards by itself on several GPUs. */
function shardedByFramework(c: ResolveContext, worldSize: number): Setting | undefined {
  const shards = worldSize > 1 ? c.framework.shards : undefined;
  return shards === undefined ? undefined : { name: "fsdp", value: shards, from: "default", key: "fsdp", place: null };
}

/**
 * Units are the model's layers. A class that is none of theirs makes other units, and one that the model has not got at all stops
 * accelerate (accelerate/utils/dataclasses.py, set_auto_wrap_policy; utils/fsdp_utils.py, fsdp2_prepare_auto_wrap_policy).
 */
function supposeWrapped(c: ResolveContext): void {
  const stated = c.settings.find("fsdp_wrap_class");
  const model = c.inputs.model;
  if (stated === undefined || model?.kind !== "found") return;
  const layers = factsOf(String(model.config["model_type"])).layers;
  const named = (Array.isArray(stated.value) ? stated.value.map(String) : String(stated.value ?? "").split(","))
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const other = named.filter((name) => layers?.includes(name) === false);
  if (other.length > 0) c.suppose(say("assume.wrap-class", { named: other.join(", ") }), stated.key);
}

/** By what FSDP's units are made (accelerate/utils/dataclasses.py, `set_auto_wrap_policy`). */
export function wrapsBy({ settings }: Pick<ResolveContext, "settings">): "class" | "size" | "none" {
  const policy = settings.string("fsdp_wrap_policy")?.toUpperCase();
  if (policy === "NO_WRAP") return "none";
  return policy === "SIZE_BASED_WRAP" ? "size" : "class";
}

/** The family whose class says which modules are wrapped (`_no_split_modules`), where nothing else does. */
function wrappingFamily({ settings, inputs: { model } }: ResolveContext): string | undefined {
  const said = settings.find("fsdp_wrap_class") !== undefined;
  return said || model?.kind !== "found" ? undefined : String(model.config["model_type"]);
}

/** Which modules are units: those of the classes that the family's class names, or the whole model where it names none. */
function unitsOf(c: ResolveContext, { groups }: OwnFsdp): Pick<FsdpSpec, "unsplit" | "apart" | "loose"> {
  const by = groups === undefined ? wrapsBy(c) : "class";
  if (by === "none") return { unsplit: true };
  if (by === "size") {
    c.suppose(say("assume.wraps-by-size"), "fsdp_wrap_policy");
    return {};
  }
  const family = wrappingFamily(c);
  if (family === undefined || groups !== undefined) return {};
  const { unsplit = false, keptTogether: apart = [], looseLayers: loose = [] } = factsOf(family);
  if (unsplit) return { unsplit };
  // A loop of one's own wraps what it names.
  if (c.settings.find("spread_by") !== undefined) return {};
  // What is wrapped is what `fsdp_config.activation_checkpointing` recomputes, which is not followed inside or around layers.
  if (c.settings.on("fsdp_activation_checkpointing") && [...apart, ...loose].some((path) => path.includes("{i}")))
    c.suppose(say("assume.wraps-stages"), "fsdp_activation_checkpointing");
  return { ...(apart.length > 0 ? { apart } : {}), ...(loose.length > 0 ? { loose } : {}) };
}

/**
 * What torch itself does where a script's loop calls it: layers and the rest are groups, the model's own parameters stay gathered
 * (torch/distributed/fsdp/_fully_shard/_fully_shard.py), and nothing is raised.
 */
function byLoop({ settings, ownLoop }: ResolveContext): OwnFsdp | undefined {
  if (!ownLoop || settings.find("spread_by") === undefined) return undefined;
  const version = settings.number("fsdp_version") === 2 ? 2 : 1;
  return {
    version,
    ...(version === 2 ? { groups: "layers", rootStays: true } : {}),
    ...(version === 1 && !settings.on("casts_buffers") ? { keepsBuffers: true } : {}),
    ...(settings.find("mixed_policy") === undefined ? { autocastsAround: true } : {}),
    ...(settings.on("reduces_each") ? { reducesEach: true } : {}),
  };
}

/** `fsdp: "full_shard auto_wrap offload"` (4.x), or `fsdp: true` with `fsdp_config` (5.x). */
export function fsdpSpec(c: ResolveContext, worldSize: number): FsdpSpec | null {
  const { settings } = c;
  const stated = settings.find("fsdp_options");
  const named = settings.find("fsdp");
  const origin = named ?? stated ?? shardedByFramework(c, worldSize);
  if (origin === undefined || origin.value === "" || origin.value === false || origin.value === "none") {
    if (origin !== undefined || c.trains) {
      c.put("fsdp", "none", origin?.from ?? "default", origin?.key ?? "fsdp", origin?.place ?? null);
    }
    return null;
  }
  const words = Array.isArray(origin.value) ? origin.value.map(String) : String(origin.value).split(/[\s,]+/);
  const sharding = words.map((word) => SHARDING[word]).find((value) => value !== undefined) ?? "full_shard";
  c.put("fsdp", sharding, origin.from, origin.key, origin.place);
  supposeWrapped(c);
  const replicas = replicasOf(c, sharding, worldSize);
  const own = byLoop(c) ?? c.framework.fsdpOf?.(settings, c.libraries) ?? c.framework.fsdp ?? {};
  // torchtune/training/_distributed.py (get_shard_conditions)
  const units = settings.find("fsdp_units")?.value;
  const apart = Array.isArray(units) ? units.filter((unit) => typeof unit === "string") : [];
  const known = own.version ?? (holds("transformers>=5", c.libraries) ? 2 : 1);
  const engine = settings.string("strategy") === "fsdp2" ? 2 : undefined;
  const version = (settings.number("fsdp_version") ?? engine ?? known) === 2 ? 2 : 1;
  const reduce = floatNamed(settings.string("fsdp_reduce_dtype") ?? String(c.formatDefault("fsdp_reduce_dtype") ?? ""));
  const prefetch =
    PREFETCHES[
      (settings.string("fsdp_backward_prefetch") ?? String(c.formatDefault("fsdp_backward_prefetch"))).toLowerCase()
    ];
  return {
    ...own,
    version,
    sharding,
    // torchtune and torchtitan name it as DeepSpeed does (torchtune/training/_distributed.py, torchtitan's apply_fsdp: CPUOffloadPolicy)
    cpuOffload:
      words.includes("offload") ||
      (settings.boolean("fsdp_cpu_offload") ?? false) ||
      settings.string("offload_param") === "cpu",
    ...unitsOf(c, own),
    ...(reduce === undefined ? {} : { reduceDtype: reduce }),
    reshardAfterForward: reshardingOf(c, worldSize / replicas) ?? sharding !== "shard_grad_op",
    ...(replicas > 1 ? { replicas } : {}),
    ...(apart.length > 0 && own.groups === "layers" ? { apart } : {}),
    ...(version === 1 && settings.boolean("fsdp_use_orig_params") === false ? { flatOptimizer: true } : {}),
    ...(version === 1 && prefetch !== undefined ? { backwardPrefetch: prefetch } : {}),
  };
}

/**
 * Whether parameters are spread again after forward, or over so many of the ranks that share them; what torch refuses counts as not said
 * (torch/distributed/fsdp/_fully_shard/_fsdp_init.py, _get_post_forward_mesh_info).
 */
function reshardingOf({ settings }: ResolveContext, ranks: number): boolean | number | undefined {
  const said = settings.find("fsdp_reshard_after_forward")?.value;
  if (typeof said !== "number") return settings.boolean("fsdp_reshard_after_forward");
  if (said === 1) return false;
  if (said === ranks) return true;
  return Number.isInteger(said) && said > 1 && said < ranks && ranks % said === 0 ? said : undefined;
}

/** When FSDP1 gathers the unit before in backward (torch/distributed/fsdp/api.py, BackwardPrefetch). */
const PREFETCHES: Readonly<Record<string, NonNullable<FsdpSpec["backwardPrefetch"]>>> = table({
  backward_pre: "before",
  backward_post: "after",
});
