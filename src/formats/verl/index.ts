/** verl: Hydra YAML (trainers and their group files) and `key=value` overrides in scripts. */

import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { removing } from "../fix";
import { flatten } from "../reader";
import { builds, has, hasGroup, hasKeys, NOT_RECOGNISED, runs, sets } from "../recognition";
import { count, lookUp, schemaFormat, type View, valueAt } from "../schema";
import { problem } from "../table";
import type { ConfigDocument, FormatProblem, LocatedSetting } from "../types";
import accepted from "./accepted.json";
import { VERL_GROUP_KEYS, VERL_KEYS, VERL_SFT_KEYS } from "./keys";

const ACCEPTED: ReadonlySet<string> = new Set(accepted.names);

/** `ppo_max_token_len_per_gpu`. */
const TOKENS_PER_MICRO_BATCH = 16_384;

/**
 * A micro-batch of all GPUs together: `ppo_micro_batch_size //= device_mesh.size() // ulysses_sequence_parallel_size`
 * (verl/workers/fsdp_workers.py, `ActorRolloutRefWorker.__init__`). Releases before 0.2 know no other.
 */
const OF_ALL = /^(?:actor_rollout_ref\.)?(?:actor\.)?ppo_micro_batch_size$/;

/**
 * Completions that the shared micro-batch is multiplied by: of each prompt in releases before 0.2 (verl/workers/fsdp_workers.py of 0.1),
 * whose whole config has no micro-batch of one GPU.
 */
function multiplied(map: View["map"], completions: unknown): number {
  const actor = "actor_rollout_ref.actor";
  const isWhole = count(map, [`${actor}.ppo_epochs`]) > 0;
  const knowsOwn = count(map, [`${actor}.ppo_micro_batch_size_per_gpu`]) > 0;
  return isWhole && !knowsOwn && typeof completions === "number" ? completions : 1;
}

function derive(d: Deriving, { map }: View): void {
  d.makeWorld();
  const devices = d.find("devices")?.value;
  const nodes = d.find("nodes")?.value ?? 1;
  const world = typeof devices === "number" && typeof nodes === "number" ? devices * nodes : 0;
  const prompt = d.find("max_prompt_length")?.value;
  const response = d.find("max_completion_length");
  const length =
    typeof prompt === "number" && typeof response?.value === "number" ? prompt + response.value : undefined;
  d.make(response, "sequence_length", length);
  const isOpen = typeof d.find("micro_batch_size")?.value !== "number";
  const shared = isOpen ? d.stated.findLast(({ key }) => OF_ALL.test(key)) : undefined;
  const ulysses = Number(d.find("context_parallel")?.value ?? 1);
  const each = Math.max(1, Math.floor(world / ulysses));
  const completions = d.find("num_generations")?.value;
  const own =
    typeof shared?.value === "number" && world > 0
      ? Math.max(1, Math.floor(shared.value / each)) * multiplied(map, completions)
      : 0;
  if (own > 0) d.make(shared, "micro_batch_size", own);
  // A dynamic batch is filled up to its limit (verl/utils/seqlen_balancing.py).
  const dynamic = length !== undefined && length > 0 ? d.said("dynamic_batch", true) : undefined;
  const tokens = d.find("tokens_per_micro_batch")?.value ?? TOKENS_PER_MICRO_BATCH;
  const rows = Math.max(1, Math.floor(Number(tokens) / Number(length)));
  d.make(dynamic, "micro_batch_size", rows);
  const stated = d.find("micro_batch_size")?.value ?? (own > 0 ? own : undefined);
  const micro = dynamic === undefined ? stated : rows;
  // Prompts per update, over all GPUs, times their completions (verl/workers/engine_workers.py).
  const update = d.find("ppo_mini_batch_size");
  if (typeof update?.value === "number" && typeof micro === "number" && world > 0) {
    const samples = Number(completions ?? 1);
    d.make(update, "gradient_accumulation_steps", Math.max(1, Math.ceil((update.value * samples) / (world * micro))));
  }
  const rank = d.find("lora_rank");
  if (typeof rank?.value === "number") d.make(rank, "adapter", rank.value > 0 ? "lora" : "none");
  // EasyR1 casts what its adapters leave as it is (verl/workers/fsdp_workers.py, `_build_model_optimizer`).
  if (rank?.key === "worker.actor.model.lora.rank" && Number(rank.value) > 0) d.make(rank, "load_dtype", "bfloat16");
  const model = d.find("model");
  // `attn_implementation` is flash_attention_2 unless `override_config` says otherwise (verl/workers/fsdp_workers.py).
  if (!d.has("attention")) d.make(model, "attention", "flash_attention_2");
  // FSDP's mixed precision and autocast are bfloat16 (verl/workers/config/engine.py).
  d.make(model, "bf16", true);
  if (makeMegatron(d)) return;
  const strategy = d.find("strategy");
  const sharding = d.said("fsdp_reshard_after_forward", false) === undefined ? "full_shard" : "shard_grad_op";
  if (typeof strategy?.value === "string")
    d.make(strategy, "fsdp", /^fsdp2?$/.test(strategy.value) ? sharding : "none");
}

/**
 * The actor on Megatron's layers and optimizer, where it is told how those split it: half-precision weights, main gradients in float32,
 * an optimizer spread over the data-parallel ranks, sequences split with tensors (verl/trainer/config/engine/megatron.yaml,
 * verl/workers/engine/megatron/transformer_impl.py). Whether it is.
 */
function makeMegatron(d: Deriving): boolean {
  const told =
    d.said("strategy", "megatron") ??
    d.stated.findLast(({ key }) => /^(?:actor_rollout_ref\.)?actor\.megatron\./.test(key));
  if (told === undefined) return false;
  d.make(told, "model_code", "mcore");
  d.make(told, "fsdp", "none");
  d.make(told, "load_dtype", "bfloat16");
  if (!d.has("sequence_parallelism")) d.make(told, "sequence_parallelism", true);
  if (d.said("distributed_optimizer", false) === undefined) d.make(told, "zero_stage", 1);
  return true;
}

function check(settings: readonly LocatedSetting[], { map }: View): readonly FormatProblem[] {
  const problems: FormatProblem[] = [];
  for (const path of ["actor_rollout_ref.actor", "critic"]) {
    const old = settings.find((setting) => setting.key === `${path}.ppo_micro_batch_size`);
    const both =
      typeof valueAt(map, `${path}.ppo_micro_batch_size`) === "number" &&
      typeof valueAt(map, `${path}.ppo_micro_batch_size_per_gpu`) === "number";
    if (old !== undefined && both)
      problems.push(problem("micro-batch-twice", "error", old.keySpan, "micro-batch-twice", {}, [removing(old)]));
  }
  return problems;
}

const SHARED = { id: "verl", unknownKeys: { known: ACCEPTED }, derive } as const;
/** Of documents, and of commands. */
const DATA = { ...SHARED, views: (document: ConfigDocument) => dataView(document, ["yaml"], true) } as const;
const SHELL = {
  ...SHARED,
  unknownKeys: { known: ACCEPTED, stops: "Hydra" },
  carrier: "shell",
  views: shellViews,
} as const;

export const verl = schemaFormat({
  ...DATA,
  keys: VERL_KEYS,
  check,
  recognise({ map }) {
    if (count(map, ["actor_rollout_ref"]) > 0) return { confidence: 0.98, because: has("actor_rollout_ref") };
    const parts = count(map, [
      "critic.optim",
      "critic.ppo_micro_batch_size_per_gpu",
      "algorithm.adv_estimator",
      "reward_model.reward_manager",
      "custom_reward_function",
      "trainer.n_gpus_per_node",
      "data.max_response_length",
      "custom_reward_function.path",
      "data.reward_model_key",
    ]);
    return parts >= 2 ? { confidence: 0.85, because: hasKeys(parts, "verl") } : NOT_RECOGNISED;
  },
});

export const verlSft = schemaFormat({
  ...DATA,
  keys: VERL_SFT_KEYS,
  recognise({ map }) {
    const parts = count(map, [
      "data.micro_batch_size_per_gpu",
      "model.partial_pretrain",
      "model.fsdp_config",
      "data.multiturn",
      "ulysses_sequence_parallel_size",
      "trainer.default_local_dir",
    ]);
    return parts >= 2 ? { confidence: 0.92, because: hasKeys(parts, "verl SFT") } : NOT_RECOGNISED;
  },
});

/** Group files name their class (`_target_: verl.…`) or extend a sibling of verl's. */
export const verlGroup = schemaFormat({
  ...DATA,
  keys: VERL_GROUP_KEYS,
  recognise({ map }) {
    for (const { path, entry } of flatten(map)) {
      if (
        /(?:^|\.)_target_$/.test(path) &&
        entry.value.kind === "scalar" &&
        String(entry.value.value).startsWith("verl.")
      )
        return { confidence: 0.9, because: builds("verl class") };
    }
    // Recipes extend verl's own trainers by name.
    const parents = lookUp(map, "defaults");
    const extended =
      parents?.kind === "list" &&
      parents.items.some(
        (item) =>
          item.kind === "scalar" &&
          /^(?:ppo|sft|ppo_megatron|dapo|legacy)\w*(?:trainer|data)?$/.test(String(item.value)),
      );
    const path = lookUp(map, "hydra.searchpath");
    if (
      extended &&
      path?.kind === "list" &&
      path.items.some((item) => item.kind === "scalar" && /verl\/trainer/.test(String(item.value)))
    )
      return { confidence: 0.92, because: has("defaults") };
    if (
      count(map, [
        "prompt_key",
        "max_prompt_length",
        "max_response_length",
        "return_raw_chat",
        "filter_overlong_prompts",
        "return_raw_input_ids",
        "reward_fn_key",
      ]) >= 3
    )
      return { confidence: 0.85, because: hasGroup("verl data") };
    if (count(map, ["rollout_is", "rollout_is_threshold", "rollout_rs", "rollout_rs_threshold"]) >= 2)
      return { confidence: 0.8, because: hasGroup("verl rollout correction") };
    const own = count(map, [
      "ppo_micro_batch_size_per_gpu",
      "ppo_mini_batch_size",
      "ppo_max_token_len_per_gpu",
      "log_prob_micro_batch_size_per_gpu",
      "ulysses_sequence_parallel_size",
      "use_remove_padding",
      "entropy_from_logits_with_chunking",
      "free_cache_engine",
      "rollout_n",
      "fsdp_config",
      "reward_manager",
      "optimizer_offload",
      "param_offload",
    ]);
    return own >= 2 ? { confidence: 0.85, because: hasKeys(own, "verl") } : NOT_RECOGNISED;
  },
});

/** Whether a command runs the SFT trainer, which has a config of its own (`verl/trainer/config/sft_trainer.yaml`). */
function runsSft({ words }: View): boolean {
  return words.some((word) =>
    /^verl\.trainer\.\w{0,80}sft\w{0,80}$|verl\/trainer\/\w{0,80}sft\w{0,80}\.py$/.test(word),
  );
}

export const verlSftShell = schemaFormat({
  ...SHELL,
  keys: VERL_SFT_KEYS,
  recognise: (view) => (runsSft(view) ? { confidence: 0.95, because: runs("verl SFT") } : NOT_RECOGNISED),
});

export const verlShell = schemaFormat({
  ...SHELL,
  keys: VERL_KEYS,
  check,
  recognise(view) {
    const overrides = view.map.entries.filter((entry) =>
      /^(?:actor_rollout_ref|critic|reward_model|algorithm)\./.test(entry.key),
    ).length;
    if (runsSft(view)) return NOT_RECOGNISED;
    if (overrides >= 2) return { confidence: 0.98, because: sets(overrides, "verl") };
    return view.words.some((word) => /^(?:verl|recipe)\.[\w.]*(?:trainer|main)|verl\/trainer\//.test(word))
      ? { confidence: 0.95, because: runs("verl") }
      : NOT_RECOGNISED;
  },
});
