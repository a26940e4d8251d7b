/**
 * How a loop of one's own copies its model to several GPUs, or spreads it over them, by the calls of torch that do so. Nothing of these
 * says how many there are: whoever starts the script does.
 */
import type { PythonCall, PythonModule } from "../../syntax/tree";
import { floatNamed, shortOf } from "../../terms/dtypes";
import type { LocatedSetting } from "../types";
import { at, given, lastName, plain, qualified, uncounted } from "./called";
import { compressionSettings } from "./compression";
import { rawOf } from "./loads";

/** Whether a call sets gradients aside until the last micro-batch of a step (FSDP1, FSDP2). */
const WAITS = /(?:^|\.)(?:no_sync|set_requires_gradient_sync)$/;
const POLICY = /(?:^|\.)MixedPrecision(?:Policy)?$/;
const AUTOCAST = /(?:^|\.)autocast$/;

/** torch's calls by what the name of each, as it is imported, ends with. */
const SPREADS = {
  copies: /(?:^|\.)(?:DistributedDataParallel|DDP)$/,
  replicas: /(?:^|\.)nn\.(?:parallel\.)?DataParallel$/,
  fully: /(?:^|\.)fully_shard$/,
  flat: /(?:^|\.)(?:FullyShardedDataParallel|FSDP)$/,
};

/** Mixed precision of torch's sharding; where nothing says any, autocast is around the model and parameters are gathered as they rest. */
function policyOf({ calls }: PythonModule): LocatedSetting[] {
  const policy = calls.find(({ callee }) => POLICY.test(callee));
  if (policy === undefined) return [];
  const [compute, reduce, buffers] = ["param_dtype", "reduce_dtype", "buffer_dtype"].map((key) =>
    floatNamed(String(plain(given(policy, key)) ?? "")),
  );
  return [
    at("mixed_policy", policy, true),
    ...(compute === "bfloat16" || compute === "float16" ? [at("compute_dtype", policy, shortOf(compute))] : []),
    ...(reduce === undefined ? [] : [at("fsdp_reduce_dtype", policy, reduce)]),
    ...(buffers !== undefined && buffers === compute ? [at("casts_buffers", policy, true)] : []),
  ];
}

/** What is not followed, by the call that asks for it. */
function unfollowed({ callee, calleeSpan }: PythonCall): LocatedSetting {
  return uncounted(callee, calleeSpan, calleeSpan);
}

/** FSDP2: the modules that are given to it, from the inside out (torch/distributed/fsdp/_fully_shard/_fully_shard.py). */
function fullySharded(python: PythonModule, made: readonly PythonCall[], call: PythonCall): LocatedSetting[] {
  const reshards = plain(given(call, "reshard_after_forward"));
  const split = made.length > 1;
  return [
    at("fsdp", call, reshards === false ? "shard_grad_op" : "full_shard"),
    at("fsdp_version", call, 2),
    ...(given(call, "offload_policy") === undefined ? [] : [at("fsdp_cpu_offload", call, true)]),
    ...policyOf(python),
    // The whole model as one unit.
    ...(split ? [] : [unfollowed(call)]),
  ];
}

/** FSDP1 and what it does where it is told nothing (torch/distributed/fsdp/fully_sharded_data_parallel.py, `__init__`). */
function flatSharded(python: PythonModule, call: PythonCall): LocatedSetting[] {
  const strategy = lastName(rawOf(given(call, "sharding_strategy")) ?? "FULL_SHARD").toLowerCase();
  const policy = policyOf(python);
  const casts = policy.length === 0 && python.calls.some(({ callee }) => AUTOCAST.test(callee));
  return [
    at("fsdp", call, strategy),
    at("fsdp_version", call, 1),
    at("fsdp_use_orig_params", call, plain(given(call, "use_orig_params")) === true),
    at("fsdp_backward_prefetch", call, "backward_pre"),
    ...(given(call, "cpu_offload") === undefined ? [] : [at("fsdp_cpu_offload", call, true)]),
    ...policy,
    ...(casts || given(call, "auto_wrap_policy") === undefined ? [unfollowed(call)] : []),
  ];
}

/** What spreads the model of a loop, and how; nothing where it stays on one GPU as far as the script says. */
export function spreadSettings(python: PythonModule): readonly LocatedSetting[] {
  const made = (pattern: RegExp): PythonCall[] =>
    python.calls.filter((call) => pattern.test(qualified(call.callee, python)));
  const fully = made(SPREADS.fully);
  const [sharded] = fully;
  const [flat] = made(SPREADS.flat);
  const waits = python.calls.some(({ callee }) => WAITS.test(callee));
  const shards = sharded ?? flat;
  if (shards !== undefined)
    return [
      at("spread_by", shards, shards.callee),
      ...(sharded === undefined ? flatSharded(python, shards) : fullySharded(python, fully, sharded)),
      ...(waits ? [] : [at("reduces_each", shards, true)]),
    ];
  const [replicas] = made(SPREADS.replicas);
  if (replicas !== undefined) return [at("gathers_replicas", replicas, replicas.callee)];
  // Under a condition that is not known, one GPU is what the script may well be for.
  const copies = made(SPREADS.copies).find(({ guards = [] }) => guards.length === 0);
  return copies === undefined ? [] : [at("spread_by", copies, copies.callee), ...compressionSettings(python)];
}
