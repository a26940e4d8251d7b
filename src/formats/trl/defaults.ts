/**
 * Defaults that differ from one trainer of TRL to the next, and from version to version. Source: trl/trainer/*_config.py and
 * trl/experimental of 0.15 to 1.16; `capture/facts/trl_defaults.py` reads them, `test/formats/trl-defaults.test.ts` compares.
 */

import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";

type Value = string | number | boolean | null;

/** A default: since which condition another one holds, the first that does; else `now`. */
export interface TrainerDefault {
  readonly now: Value;
  readonly older?: Readonly<Record<string, Value>>;
}

type Table = Readonly<Partial<Record<SettingName, TrainerDefault>>>;

/** What every config class has since it is one. */
const ALL: Table = {
  // null: where the file names no `fp16` either, TRL switches bfloat16 on.
  bf16: { now: null, older: { "trl<0.19": false } },
  gradient_checkpointing: { now: true, older: { "trl<0.22": false } },
};

const PREFERENCES: Table = {
  ...ALL,
  beta: { now: 0.1 },
  disable_dropout: { now: true },
  sequence_length: { now: 1024 },
};

/** Prompts were cut to a length of their own before 0.29. */
const WITH_PROMPTS: Table = { ...PREFERENCES, max_prompt_length: { now: null, older: { "trl<0.29": 512 } } };

/** Trainers that compare completions of their own; `vllm_mode` is online DPO's default. */
const COMPARES: Table = {
  ...ALL,
  beta: { now: 0.1 },
  disable_dropout: { now: true },
  loss_type: { now: "sigmoid" },
  max_new_tokens: { now: 64 },
  sequence_length: { now: 512 },
  use_vllm: { now: false },
  vllm_enable_sleep_mode: { now: false },
  vllm_gpu_memory_utilization: { now: 0.55 },
  vllm_mode: { now: "colocate", older: { "trl<1": "server" } },
};

const GENERATES: Table = {
  ...ALL,
  disable_dropout: { now: false },
  max_completion_length: { now: 512, older: { "trl<1.10": 256 } },
  max_prompt_length: { now: null, older: { "trl<0.29": 512 } },
  num_iterations: { now: 1 },
  use_vllm: { now: false },
  vllm_enable_sleep_mode: { now: false },
  vllm_gpu_memory_utilization: { now: 0.3 },
  vllm_mode: { now: "colocate", older: { "trl<1": "server" } },
};

/** By trainer, then canonical name. */
export const TRAINER_DEFAULTS: Readonly<Record<string, Table>> = table({
  sft: { ...ALL, sequence_length: { now: 1024 } },
  dpo: { ...WITH_PROMPTS, loss_type: { now: "sigmoid" }, precompute_ref_log_probs: { now: false } },
  kto: { ...WITH_PROMPTS, loss_type: { now: "kto" }, precompute_ref_log_probs: { now: false } },
  orpo: WITH_PROMPTS,
  cpo: { ...WITH_PROMPTS, loss_type: { now: "sigmoid" }, cpo_alpha: { now: 1 } },
  reward: { ...ALL, disable_dropout: { now: true }, sequence_length: { now: 1024 } },
  grpo: {
    ...GENERATES,
    beta: { now: 0, older: { "trl<0.19": 0.04 } },
    loss_type: { now: "dapo", older: { "trl<0.22": "bnpo" } },
    num_generations: { now: 8 },
  },
  rloo: { ...GENERATES, beta: { now: 0.05 }, num_generations: { now: 2 } },
  gkd: {
    ...ALL,
    beta: { now: 0.5 },
    disable_dropout: { now: true },
    lmbda: { now: 0.5 },
    max_new_tokens: { now: 128 },
    sequence_length: { now: 1024 },
  },
  ppo: {
    ...ALL,
    local_rollout_forward_batch_size: { now: 64 },
    num_mini_batches: { now: 1 },
    response_length: { now: 53 },
  },
  "online-dpo": COMPARES,
  xpo: COMPARES,
  "nash-md": COMPARES,
});
