/** Rules about TrainingArguments: precision, checkpointing, optimizers, batches, sharding. */
import type { Rule } from "../../rule";
import { TRAINER_ATTENTION_RULES } from "./attention";
import { TRAINER_BATCH_RULES } from "./batch";
import { TRAINER_EVALUATION_RULES } from "./evaluation";
import { TRAINER_KEYS_RULES } from "./keys";
import { TRAINER_MODEL_RULES } from "./model";
import { TRAINER_OPTIMIZERS_RULES } from "./optimizers";
import { TRAINER_PRECISION_RULES } from "./precision";
import { TRAINER_SHARDING_RULES } from "./sharding";

export const TRAINER_RULES: readonly Rule[] = [
  ...TRAINER_PRECISION_RULES,
  ...TRAINER_KEYS_RULES,
  ...TRAINER_BATCH_RULES,
  ...TRAINER_EVALUATION_RULES,
  ...TRAINER_SHARDING_RULES,
  ...TRAINER_OPTIMIZERS_RULES,
  ...TRAINER_ATTENTION_RULES,
  ...TRAINER_MODEL_RULES,
];
