/** A case for every finding: how people come to it. Patterns of public configs and questions, written anew. */
import type { Case } from "./base";
import { DEEPSPEED_CASES } from "./deepspeed";
import { FRAMEWORK_CASES } from "./frameworks";
import { GENERAL_CASES } from "./general";
import { TRAINER_CASES } from "./trainer";

export type { Case } from "./base";

export const CASES: Readonly<Record<string, Case>> = {
  ...GENERAL_CASES,
  ...FRAMEWORK_CASES,
  ...DEEPSPEED_CASES,
  ...TRAINER_CASES,
};
