/** Trainers with losses of their own, and the models they keep beside the trained one. */

import type { DType } from "../../engine/dtype";
import type { GenerationSpec, PagedSpec } from "./generation";
import type { ModelSpec } from "./model";

/**
 * Trainers whose loss calls more than one forward of one model; the plain ones have no spec. `reward` trains a sequence
 * classifier, `rm` a language model with a value head, `embedding` a model without a head, of the texts of a sample.
 */
export type TrainerKind =
  | "sft"
  | "dpo"
  | "kto"
  | "orpo"
  | "cpo"
  | "reward"
  | "rm"
  | "embedding"
  | "grpo"
  | "rloo"
  | "gkd"
  | "ppo"
  | "online-dpo"
  | "xpo"
  | "nash-md";

/** Another model beside the trained one, that only runs forward. */
export interface CompanionSpec {
  readonly model: ModelSpec;
  readonly loadDtype: DType;
}

/** How a rollout follows from the micro-batch and its accumulation (trl/trainer/grpo_config.py, __post_init__). */
export interface RolloutPace {
  /** Micro-batches whose completions are generated at once (`steps_per_generation`). */
  readonly steps?: number;
  /** Completions generated at once on this device (`generation_batch_size`); absent, as `steps`: those of one optimizer step. */
  readonly sequences?: number;
  /** They are generated before every optimizer step, however many of them it learns from. */
  readonly everyStep?: true;
  /** How often each is learned from (`num_iterations`). */
  readonly iterations: number;
  /** Scored wherever generation and optimizer step meet. */
  readonly alwaysScores: boolean;
}

/** How the trained weights get to the engine that generates with them. */
export interface WeightSyncSpec {
  /** Where parameters are spread, batches of layers that are whole at once (1: the model); null: one parameter after the other. */
  readonly batches: number | null;
  /** They are packed on the first rank and sent to a server; absent: the engine is in the same process. */
  readonly packs?: true;
  /** Ranks that an engine's weights are spread over (`vllm_tensor_parallel_size`); 1 when absent. */
  readonly spread?: number;
}

/** Completions that are generated and scored before the steps that learn from them. */
export interface RolloutSpec {
  /** What `sequences`, `every` and `scores` follow from. */
  readonly pace?: RolloutPace;
  /** Sequences generated at once on this device. */
  readonly sequences: number;
  /** How the policy's own key-value cache is kept; it grows when absent. */
  readonly cache?: GenerationSpec["cache"];
  readonly paged?: PagedSpec;
  /** Micro-batches from one generation to the next. */
  readonly every: number;
  /** Whether the policy scores them before it learns from them (`old_per_token_logps`). */
  readonly scores: boolean;
  /** Whether the policy itself generates, with a key-value cache beside it. */
  readonly generates: boolean;
  /** Whether sharded parameters are gathered whole for it (`ds3_gather_for_generation`); true when absent. */
  readonly gathers?: boolean;
  /** Absent: the policy itself generates, or its weights are handed over by code nobody has followed. */
  readonly sync?: WeightSyncSpec;
  /**
   * What of the trained model waits on the host while vLLM generates; beside main parameters their gradients go with the weights,
   * and they with the optimizer.
   */
  readonly parks?: { readonly weights: boolean; readonly optimizer: boolean; readonly mainParameters?: boolean };
  /** Bytes that vLLM takes of the card while it generates, and while the policy trains. */
  readonly generatingBytes: number;
  readonly sleepingBytes: number;
  /** Its weights, of those bytes, are the trained model's own tensors (unsloth_zoo/vllm_utils.py, `convert_vllm_to_huggingface`). */
  readonly sharesWeights?: true;
}

/** What PPO adds to a rollout. */
export interface PpoSpec {
  /** Completions generated and scored at once (`local_rollout_forward_batch_size`). */
  readonly piece: number;
  readonly miniBatches: number;
}

/** A critic that is trained in turn with the policy, with AdamW in float32; like the policy when no model is named. */
export interface CriticSpec {
  readonly model?: CompanionSpec;
  /** What of it stays on the device while the policy trains and generates. */
  readonly keepsWeights: boolean;
  readonly keepsStates: boolean;
}

/** A trainer of TRL with a loss of its own. */
export interface TrainerSpec {
  readonly kind: TrainerKind;
  /**
   * What the loss's code branches on, as the `when` of its graph. `reference` is the frozen model beside the trained one:
   * `model` (a copy), `adapter` (the trained one without its adapter) or `none`.
   */
  readonly variant: Readonly<Record<string, boolean | string>>;
  /** `disable_dropout`: the modules' dropout is off, adapters' included. */
  readonly disableDropout: boolean;
  /** Tokens of one sequence that are scored. */
  readonly scoredTokens: number;
  /** Tokens of prompt and completion where the trainer keeps them apart (0 otherwise). */
  readonly promptLength: number;
  readonly completionLength: number;
  /** Absent or null where completions come with the data. */
  readonly rollout?: RolloutSpec | null;
  /** The output head is raised to float32, and what it multiplies with it (GRPO's `cast_lm_head_to_fp32`). */
  readonly headInFloat32?: true;
  /** The reference is a copy even beside an adapter: another model was named for it. */
  readonly referenceApart?: boolean;
  /** The shards of the reference wait on the host between its forwards. */
  readonly referenceOnHost?: true;
  /** Pictures wait on the host until their micro-batch is there. */
  readonly mediaOnHost?: true;
  /** The model in the reference's place, where that is another one: a teacher. */
  readonly companion?: CompanionSpec;
  /** The models beside policy and reference that give one number for every token; absent: like the policy. */
  readonly scorers?: { readonly value?: CompanionSpec; readonly reward?: CompanionSpec };
  readonly ppo?: PpoSpec;
  readonly critic?: CriticSpec;
  /** Bytes that vLLM takes of the card while it generates, and while the policy trains; absent: the policy generates. */
  readonly vllm?: Pick<RolloutSpec, "generatingBytes" | "sleepingBytes" | "sync">;
  /** Text the policy generates before each micro-batch, its prompts from the data; absent or null: none. */
  readonly generation?: GenerationSpec | null;
  /** Texts of a sample behind its first one. */
  readonly candidates?: number;
  /** Samples that are embedded at once, one of their texts after the other; absent: all of a micro-batch. */
  readonly piece?: number;
  /** The loss is another version's or another library's, which widens the band. */
  readonly standIn?: boolean;
}
