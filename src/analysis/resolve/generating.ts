/** What trainers that generate say of it: lengths, batches of completions, what vLLM takes of the card. */

import type { DType } from "../../core/engine/dtype";
import { PAGED_DEFAULTS } from "../../core/training/generation/paged";
import type {
  CompanionSpec,
  RolloutPace,
  RolloutSpec,
  TrainerKind,
  TrainerSpec,
  WeightSyncSpec,
} from "../../core/training/run";
import { paced } from "../../core/training/trainers/pace";
import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import { frameworkOf, hasMainParameters } from "../frameworks/frameworks";
import type { Settings } from "../frameworks/settings";
import { holds } from "../frameworks/versions";
import type { RunInputs } from "../linking/inputs";
import type { ResolveContext } from "./context";
import { standbyShare } from "./standby";

/** Trainers that generate the completions they learn from. */
export const GENERATES: ReadonlySet<TrainerKind> = new Set(["grpo", "rloo"]);

/** What decides how much is generated at once. */
export interface Batch {
  /** Completions per device and forward. */
  readonly micro: number;
  readonly accumulation: number;
  readonly world: number;
  /** Memory of the card in bytes; null when no card is known. */
  readonly deviceBytes: number | null;
  readonly generated: GeneratedLengths | null;
  /** Dtype the models are loaded in. */
  readonly loadDtype: DType;
}

/** Tokens that PPO generates unless told otherwise (PPOConfig.response_length). */
const RESPONSE = 53;

/** Completions that PPO generates and scores at once (PPOConfig.local_rollout_forward_batch_size). */
const PIECE = 64;

/** Tokens of a prompt and of the completion that is generated for it. */
export interface GeneratedLengths {
  readonly prompt: number;
  readonly completion: number;
}

/** Tokens of a prompt when nothing says it; as many again for a picture in it. */
const ASSUMED_PROMPT = 512;

/**
 * Tokens of prompt and completion where the trainer generates; null where `max_length` bounds the whole.
 *
 * @param sees whether the model reads pictures, too
 */
export function generatedLengths(c: ResolveContext, trainer: string, sees: boolean): GeneratedLengths | null {
  const kind = c.framework.flavours?.[trainer]?.kind;
  const ppo = kind === "ppo";
  if (c.losses === null || kind === undefined || !(ppo || GENERATES.has(kind))) return null;
  const completion = Number(ppo ? c.value("response_length", RESPONSE) : c.value("max_completion_length", 512));
  const stated = c.keepNumber("max_prompt_length");
  if (stated !== undefined) return { prompt: stated, completion };
  const standard = c.ofTrainer("max_prompt_length");
  if (typeof standard === "number") {
    c.put("max_prompt_length", standard, "default", "max_prompt_length", null);
    return { prompt: standard, completion };
  }
  const length = ASSUMED_PROMPT * (sees ? 2 : 1);
  c.put("max_prompt_length", length, "assumed", "max_prompt_length", null);
  c.suppose(say("assume.prompt-length", { length }), "max_prompt_length", { max_prompt_length: String(2 * length) });
  return { prompt: length, completion };
}

/**
 * PPO: value and reward model are loaded from one place (trl's examples/scripts/ppo), completions are generated and scored
 * for a whole accumulation (trl/experimental/ppo/ppo_trainer.py, `local_batch_size`).
 */
export function ppoSpec(c: ResolveContext, adapted: boolean, batch: Batch): TrainerSpec {
  const scorer = companionOf(c, "reward_model", batch.loadDtype);
  if (scorer === null) c.suppose(say("assume.scorers"), "reward_model_path");
  if (holds("trl>=1.14", c.libraries)) c.suppose(say("assume.ppo-version"), "libraries");
  if (c.value("gradient_checkpointing", true) === true)
    c.suppose(say("assume.ppo-checkpointing"), "gradient_checkpointing");
  const { prompt, completion } = batch.generated ?? { prompt: 0, completion: 0 };
  const pace: RolloutPace = { iterations: 1, alwaysScores: true };
  const generated = paced(pace, batch.micro, batch.accumulation);
  return {
    kind: "ppo",
    variant: { reference: adapted ? "adapter" : "model" },
    disableDropout: true,
    scoredTokens: completion,
    promptLength: prompt,
    completionLength: completion,
    ...(scorer === null ? {} : { scorers: { value: scorer, reward: scorer } }),
    ppo: {
      piece: Math.max(1, Math.min(generated.sequences, Number(c.value("local_rollout_forward_batch_size", PIECE)))),
      miniBatches: Math.max(1, Number(c.value("num_mini_batches", 1))),
    },
    rollout: {
      pace,
      ...generated,
      generates: true,
      generatingBytes: 0,
      sleepingBytes: 0,
    },
  };
}

/**
 * Online DPO, XPO and Nash-MD: what is generated fills the sequence up; a reward model rates it, or functions on the host do
 * (trl/experimental/{online_dpo,xpo,nash_md}).
 */
export function comparingSpec(
  c: ResolveContext,
  kind: TrainerKind,
  sequenceLength: number,
  adapted: boolean,
  batch: Batch,
): TrainerSpec {
  const named = c.settings.find("reward_model") !== undefined;
  const scorer = companionOf(c, "reward_model", batch.loadDtype);
  // Only online DPO takes functions; the others call a model.
  const rewards = named || kind !== "online-dpo" ? "model" : "function";
  if (rewards === "function") c.suppose(say("assume.rewards-outside"), "reward_model_path");
  else if (scorer === null) c.suppose(say("assume.rater"), "reward_model_path");
  if (kind !== "online-dpo" && holds("trl>=1.14", c.libraries))
    c.suppose(say("assume.trainer-gone", { trainer: kind.toUpperCase() }), "libraries");
  const completion = Math.max(1, Math.min(sequenceLength - 1, Number(c.value("max_new_tokens", 64))));
  const prompt = Math.max(1, sequenceLength - completion);
  const vllm = c.value("use_vllm", false) === true;
  const loss = kind === "nash-md" ? {} : { loss: c.value("loss_type", "sigmoid") === "ipo" ? "ipo" : "sigmoid" };
  // Checkpointing makes it generate without a cache: forwards without gradients, which need less than the training's.
  const cached = !vllm && c.value("gradient_checkpointing", true) !== true;
  return {
    kind,
    variant: { ...loss, rewards, reference: adapted ? "adapter" : "model" },
    disableDropout: c.value("disable_dropout", true) === true,
    scoredTokens: completion,
    promptLength: prompt,
    completionLength: completion,
    ...(scorer === null ? {} : { scorers: { reward: scorer } }),
    ...(vllm ? { vllm: { ...vllmBytes(c, batch), sync: syncOf(c) } } : {}),
    ...(cached
      ? {
          generation: {
            batchSize: batch.micro * (kind === "online-dpo" ? 2 : 1),
            promptLength: prompt,
            newTokens: completion,
            beams: 1,
            samples: true,
            cache: cacheOf(c, batch).cache ?? ("dynamic" as const),
          },
        }
      : {}),
  };
}

/** A model that another setting names, in the dtype the trained one is loaded in; null: none, or it was not found. */
export function companionOf(c: ResolveContext, name: SettingName, loadDtype: DType): CompanionSpec | null {
  const found = c.inputs.companions.get(name);
  c.keepStated(name);
  if (found?.kind !== "found") return null;
  const { config, source } = found;
  return {
    model: { name: found.name, family: String(config["model_type"]), config, source },
    loadDtype,
  };
}

/** GRPO and RLOO: what is generated and scored at once, and what vLLM takes of the card for it. */
export function rolloutSpec(c: ResolveContext, kind: TrainerKind, adapted: boolean, batch: Batch): TrainerSpec {
  const lengths = batch.generated ?? { prompt: 0, completion: 0 };
  const stated = c.settings.number("steps_per_generation");
  const total = c.settings.number("generation_batch_size");
  const steps = stated ?? (total === undefined ? batch.accumulation : total / (batch.micro * batch.world));
  if (stated === undefined) c.put("steps_per_generation", steps, "auto", "steps_per_generation", null);
  const beta = Number(c.value("beta", 0));
  const vllm = c.value("use_vllm", false) === true;
  const corrects = vllm && c.settings.boolean("vllm_importance_sampling_correction") !== false;
  const pace: RolloutPace = {
    ...(stated !== undefined ? { steps: stated } : total !== undefined ? { sequences: total / batch.world } : {}),
    iterations: Number(c.value("num_iterations", 1)),
    alwaysScores: kind === "rloo" || corrects,
  };
  const { scores, ...generated } = paced(pace, batch.micro, batch.accumulation);
  const reference = beta === 0 ? "none" : adapted ? "adapter" : "model";
  // Tensors that both have are handed to nobody.
  const handed = c.settings.on("engine_shares_weights") ? ({ sharesWeights: true } as const) : { sync: syncOf(c) };
  const bytes = vllm ? { ...vllmBytes(c, batch), ...parkedOf(c), ...handed } : { generatingBytes: 0, sleepingBytes: 0 };
  const level = c.settings.string("importance_sampling_level") === "sequence" ? "sequence" : "token";
  const loss = c.settings.list("loss_type")?.[0] ?? String(c.ofTrainer("loss_type") ?? "dapo");
  if (kind === "grpo" && c.settings.find("loss_type") === undefined)
    c.put("loss_type", loss, "default", "loss_type", null);
  return {
    kind,
    variant: kind === "rloo" ? { reference } : { loss, kl: beta !== 0, level, old: scores, reference },
    disableDropout: c.value("disable_dropout", false) === true,
    ...(kind === "grpo" && c.settings.on("head_in_float32") ? { headInFloat32: true } : {}),
    scoredTokens: lengths.completion,
    promptLength: lengths.prompt,
    completionLength: lengths.completion,
    rollout: {
      pace,
      ...generated,
      scores,
      generates: !vllm,
      ...cacheOf(c, batch),
      gathers: c.settings.boolean("ds3_gather_for_generation") !== false,
      ...bytes,
    },
  };
}

/**
 * verl: the completions of a step are generated by a colocated engine, scored under the old policy and the reference, and
 * learned from in micro-batches (verl/trainer/ppo/ray_trainer.py, fit). The reference's shards wait on the host, where FSDP 1 is
 * told so for every model that only runs forward (verl/workers/engine/fsdp/transformer_impl.py, _build_fsdp_module); of a
 * policy with LoRA it is the base.
 */
export function verlSpec(c: ResolveContext, adapted: boolean, batch: Batch): TrainerSpec {
  const lengths = batch.generated ?? { prompt: 0, completion: 0 };
  c.keepStated("sequence_length");
  const kl = c.value("use_kl_loss", false) === true;
  const reference = kl || c.value("use_kl_in_reward", false) === true;
  const prompts = Number(c.value("global_batch_size", 1024));
  const samples = Number(c.value("num_generations", 1));
  const vllm = c.settings.string("rollout_engine") !== "hf";
  const trains = (c.settings.string("adv_estimator") ?? "gae") === "gae";
  const critic = trains ? companionOf(c, "critic_model", "float32") : null;
  if (trains) c.suppose(say("assume.critic"), "adv_estimator", { adv_estimator: "grpo" });
  if (trains && critic === null) c.suppose(say("assume.critic-model"), "critic_model");
  const pace: RolloutPace = {
    sequences: (prompts * samples) / batch.world,
    everyStep: true,
    iterations: 1,
    alwaysScores: true,
  };
  return {
    kind: "grpo",
    variant: {
      kl,
      entropy: (c.settings.number("entropy_coeff") ?? 0) !== 0 || c.settings.on("calculate_entropy"),
      reference: !reference ? "none" : adapted ? "adapter" : "model",
    },
    disableDropout: false,
    scoredTokens: lengths.completion,
    promptLength: lengths.prompt,
    completionLength: lengths.completion,
    // Megatron's reference is where the policy is (verl/trainer/config/ref/megatron_ref.yaml).
    ...(!hasMainParameters(c.framework, c.settings) || c.settings.string("offload_param") === "cpu"
      ? { referenceOnHost: true as const }
      : {}),
    // Arrays of pictures are no tensors of the batch until a micro-batch is taken (verl/workers/actor/dp_actor.py).
    mediaOnHost: true,
    standIn: true,
    ...(trains
      ? {
          critic: {
            ...(critic === null ? {} : { model: critic }),
            keepsWeights: c.settings.string("critic_offload_param") !== "cpu",
            keepsStates: c.settings.string("critic_offload_optimizer") !== "cpu",
          },
        }
      : {}),
    rollout: {
      pace,
      ...paced(pace, batch.micro, batch.accumulation),
      generates: !vllm,
      parks: {
        weights: c.settings.string("offload_param") === "cpu",
        optimizer: c.settings.string("offload_optimizer") === "cpu",
        mainParameters: hasMainParameters(c.framework, c.settings),
      },
      ...(vllm ? vllmBytes(c, batch) : { generatingBytes: 0, sleepingBytes: 0 }),
    },
  };
}

/** Caches by the names transformers has for them (transformers/cache_utils.py, generation/configuration_utils.py). */
const CACHES: Readonly<Record<string, NonNullable<RolloutSpec["cache"]>>> = table({
  static: "static",
  hybrid: "static",
  sliding_window: "static",
  offloaded: "offloaded",
  quantized: "quantized",
});

/** Sizes of the pages that a config states. */
type Paged = "block_size" | "num_blocks" | "max_batch_tokens" | "max_memory_percent";

/** Continuous batching of transformers takes a share of the card for pages (`transformers_continuous_batching_config`). */
function pagedOf(c: ResolveContext, { deviceBytes }: Batch): Pick<RolloutSpec, "cache" | "paged"> | null {
  const on = (["use_transformers_continuous_batching", "use_transformers_paged"] as const).find(
    (name) => c.value(name, false) === true,
  );
  if (on === undefined) return null;
  if (deviceBytes === null) c.suppose(say("assume.paged"), "device");
  const number = (name: Paged): number | null => c.settings.number(`paged_${name}`) ?? null;
  const { blockTokens, share } = PAGED_DEFAULTS;
  return {
    cache: "paged",
    paged: {
      blockTokens: number("block_size") ?? blockTokens,
      share: number("max_memory_percent") ?? share,
      blocks: number("num_blocks"),
      batchTokens: number("max_batch_tokens"),
    },
  };
}

function cacheOf(c: ResolveContext, batch: Batch): Pick<RolloutSpec, "cache" | "paged"> {
  const paged = pagedOf(c, batch);
  if (paged !== null) return paged;
  const cache = CACHES[c.settings.string("cache_implementation") ?? ""];
  return cache === undefined ? {} : { cache };
}

/** Whether the trainer is told the config's share for vLLM. */
export function handsOnVllmShare({ format }: RunInputs, settings: Settings): boolean {
  return frameworkOf(format).vllmShareNeedsMode !== true || settings.find("vllm_mode") !== undefined;
}

/**
 * How the weights get to vLLM: one by one unless adapters are merged (trl/generation/vllm_generation.py, _iter_named_params), or in
 * batches of layers; a server has them packed (trl/generation/vllm_client.py, update_named_params).
 */
function syncOf(c: ResolveContext): WeightSyncSpec {
  const { sendsBatches } = frameworkOf(c.inputs.format);
  const spread = c.settings.number("vllm_tensor_parallel_size") ?? 1;
  return {
    batches: sendsBatches === true ? (c.settings.number("move_model_batches") ?? 1) : null,
    ...(spread > 1 ? { spread } : {}),
    ...(c.value("vllm_mode", "colocate") === "server" && sendsBatches !== true ? { packs: true } : {}),
  };
}

/** What waits on the host while vLLM generates (swift/rlhf_trainers/rollout_mixin.py, swift/megatron/trainers/rollout_mixin.py: `offload_context`). */
function parkedOf(c: ResolveContext): Pick<RolloutSpec, "parks"> {
  const weights = c.settings.on("parks_weights");
  const optimizer = c.settings.on("parks_optimizer");
  return weights || optimizer
    ? { parks: { weights, optimizer, mainParameters: hasMainParameters(c.framework, c.settings) } }
    : {};
}

/** vLLM on the training GPUs takes a share of the card: weights, cache and all; asleep it keeps none (its sleep level 2). */
function vllmBytes(c: ResolveContext, { deviceBytes }: Batch): { generatingBytes: number; sleepingBytes: number } {
  if (c.value("vllm_mode", "colocate") === "server") return { generatingBytes: 0, sleepingBytes: 0 };
  const name = "vllm_gpu_memory_utilization";
  const stated = Number(handsOnVllmShare(c.inputs, c.settings) ? c.value(name, 0.3) : c.ofTrainer(name));
  const share = c.settings.on("engine_standby") ? standbyShare(deviceBytes) : stated;
  if (deviceBytes === null) c.suppose(say("assume.vllm"), "device");
  const bytes = Math.round((deviceBytes ?? 0) * share);
  // ms-swift's levels: 1 keeps the weights on the host, 2 nowhere (swift/rlhf_trainers/args_mixin.py).
  const sleeps = c.value("vllm_enable_sleep_mode", false) === true || (c.settings.number("vllm_sleep_level") ?? 0) > 0;
  return { generatingBytes: bytes, sleepingBytes: sleeps ? 0 : bytes };
}
