/** Rules that look at a whole run, in the order in which their findings are told. */
import type { Rule } from "../rule";
import { ARGUMENT_RULES } from "./arguments";
import { DEEPSPEED_BATCH_RULES } from "./deepspeed/batch";
import { DEEPSPEED_KEYS_RULES } from "./deepspeed/keys";
import { DEEPSPEED_OFFLOAD_RULES } from "./deepspeed/offload";
import { DEEPSPEED_OPTIMIZERS_RULES } from "./deepspeed/optimizers";
import { DEEPSPEED_PRECISION_RULES } from "./deepspeed/precision";
import { DEEPSPEED_ZERO_RULES } from "./deepspeed/zero";
import { HOST_RULES } from "./host";
import { KEY_RULES } from "./keys";
import { LOOP_RULES } from "./loops";
import { STOP_RULES } from "./stops";
import { TRAINER_ATTENTION_RULES } from "./trainer/attention";
import { TRAINER_BATCH_RULES } from "./trainer/batch";
import { TRAINER_EVALUATION_RULES } from "./trainer/evaluation";
import { TRAINER_KEYS_RULES } from "./trainer/keys";
import { TRAINER_MODEL_RULES } from "./trainer/model";
import { TRAINER_OPTIMIZERS_RULES } from "./trainer/optimizers";
import { TRAINER_PRECISION_RULES } from "./trainer/precision";
import { TRAINER_SHARDING_RULES } from "./trainer/sharding";
import { TRL_RULES } from "./trl";

export const RULES: readonly Rule[] = [
  ...KEY_RULES,
  ...ARGUMENT_RULES,
  // Source: DeepSpeed 0.19 as its `docs/` and the code named in each rule describe it.
  ...DEEPSPEED_PRECISION_RULES,
  ...DEEPSPEED_BATCH_RULES,
  ...DEEPSPEED_OFFLOAD_RULES,
  ...DEEPSPEED_ZERO_RULES,
  ...DEEPSPEED_OPTIMIZERS_RULES,
  ...DEEPSPEED_KEYS_RULES,
  ...TRAINER_PRECISION_RULES,
  ...TRAINER_KEYS_RULES,
  ...TRAINER_BATCH_RULES,
  ...TRAINER_EVALUATION_RULES,
  ...TRAINER_SHARDING_RULES,
  ...TRAINER_OPTIMIZERS_RULES,
  ...TRAINER_ATTENTION_RULES,
  ...TRAINER_MODEL_RULES,
  ...TRL_RULES,
  ...HOST_RULES,
  ...LOOP_RULES,
  ...STOP_RULES,
];
