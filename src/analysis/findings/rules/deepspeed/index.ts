/** Rules about DeepSpeed's settings. Source: DeepSpeed 0.19 as `docs/` and the code named in each rule describe it. */
import type { Rule } from "../../rule";
import { DEEPSPEED_BATCH_RULES } from "./batch";
import { DEEPSPEED_KEYS_RULES } from "./keys";
import { DEEPSPEED_OFFLOAD_RULES } from "./offload";
import { DEEPSPEED_OPTIMIZERS_RULES } from "./optimizers";
import { DEEPSPEED_PRECISION_RULES } from "./precision";
import { DEEPSPEED_ZERO_RULES } from "./zero";

export const DEEPSPEED_RULES: readonly Rule[] = [
  ...DEEPSPEED_PRECISION_RULES,
  ...DEEPSPEED_BATCH_RULES,
  ...DEEPSPEED_OFFLOAD_RULES,
  ...DEEPSPEED_ZERO_RULES,
  ...DEEPSPEED_OPTIMIZERS_RULES,
  ...DEEPSPEED_KEYS_RULES,
];
