/** Which trainer carries a run out. */

import { TRAINER_MARKS } from "../formats/trl/keys";
import type { Task } from "../terms/names";
import type { RunInputs } from "./inputs";
import type { Settings } from "./settings";
import { holds, type Versions } from "./versions";

/** Trainers by the names of TRL's classes (0.12 to 1.16) and of the scripts that use them. */
const NAMED: readonly (readonly [RegExp, string])[] = [
  [/^online_?dpo/i, "online-dpo"],
  [/^align_?prop|^ddpo/i, "ddpo"],
  [/^iterative_?sft/i, "iterative-sft"],
  [/^nash_?md/i, "nash-md"],
  [/^xpo/i, "xpo"],
  [/^prm$/i, "prm"],
  [/^bco/i, "bco"],
  [/^tpo/i, "tpo"],
  [/^gfpo/i, "gfpo"],
  [/^gmpo/i, "gmpo"],
  [/^a2po/i, "a2po"],
  [/^grpo_?with_?replay_?buffer/i, "replay-buffer"],
  [/^async_?grpo/i, "async-grpo"],
  [/^async_?distillation/i, "async-distillation"],
  [/^(?:server_?)?distillation/i, "distillation"],
  [/^gold/i, "gold"],
  [/^mini_?llm/i, "minillm"],
  [/^iw_?opd/i, "iw-opd"],
  [/^sdft/i, "sdft"],
  [/^sdpo/i, "sdpo"],
  [/^ssd$/i, "ssd"],
  [/^dpo/i, "dpo"],
  [/^kto/i, "kto"],
  [/^orpo/i, "orpo"],
  [/^cpo/i, "cpo"],
  [/^reward|^rm$/i, "reward"],
  [/^grpo/i, "grpo"],
  [/^rloo/i, "rloo"],
  [/^ppo/i, "ppo"],
  [/^gkd/i, "gkd"],
  [/^sft/i, "sft"],
];

const nameOf = (text: string): string | undefined => NAMED.find(([pattern]) => pattern.test(text))?.[1];

/** What says which trainer a document means. */
type Document = Pick<RunInputs, "main" | "format">;

/** `DPOConfig(...)` and `DPOTrainer(...)` in Python, `trl dpo` and `examples/scripts/dpo.py` in a script. */
function calledTrainer({ main }: Document): string | undefined {
  const parsed = main.config?.parsed;
  for (const { callee } of parsed?.python?.calls ?? []) {
    const name = /(?:^|\.)(\w+?)(?:Config|Trainer)$/.exec(callee)?.[1];
    const found = name === undefined ? undefined : nameOf(name);
    if (found !== undefined) return found;
  }
  for (const { words } of parsed?.shell?.commands ?? []) {
    const text = words.map((word) => word.text).join(" ");
    const name = /(?:^|\/|\s)trl\s+(\w+)/.exec(text)?.[1] ?? /(?:^|[\s/])(\w+)\.py\b/.exec(text)?.[1];
    const found = name === undefined ? undefined : nameOf(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Trainers that run the model's own loss, with what they make of the model: a label for every step of an argument. */
export const OWN_LOSS: Readonly<Record<string, { readonly task: Task; readonly labels: number }>> = {
  // trl/experimental/prm/prm_trainer.py of 1.11: AutoModelForTokenClassification(num_labels=2), no compute_loss
  prm: { task: "token-cls", labels: 2 },
};

/** Stages that are the plain trainer's. */
const PLAIN = new Set(["none", "sft", "pt", "false"]);

/** What a framework's own switch says is trained; undefined where it is the plain trainer's. */
function stageOf(settings: Settings): string | undefined {
  const stage = settings.string("rl") ?? settings.string("lf_stage");
  return stage === undefined || PLAIN.has(stage) ? undefined : stage;
}

/** Captured losses of trainers (`models/trainers`). */
export interface LossSource {
  readonly file: string;
  /** Of other code than the run's, with the same models and much the same logits: this name's stands for it. */
  readonly standsFor?: string;
  /** Liger's fused loss is the run's: one that never holds all logits either stands for it. */
  readonly forLiger?: true;
}

/** TRL's own: the newest release with another loss, and what stands for it. Before 0.29 DPO kept all hidden states, too. */
function ofTrl(libraries: Versions): LossSource {
  if (holds("trl>=1.15", libraries)) return { file: "trl" };
  const same = holds("trl>=0.29", libraries) && holds("trl<1.14", libraries);
  return { file: "trl-1.9", ...(same ? {} : { standsFor: `TRL ${libraries.trl}` }) };
}

/** Trainers whose loss Liger took over before TRL had a fused head (`use_liger_kernel`). */
const LIGER_LOSSES: ReadonlySet<string> = new Set(["dpo", "kto", "grpo"]);

/** PPO's loop is the same from 0.12 on; since 1.14 TRL has none. */
function ofPpo(libraries: Versions): LossSource {
  return { file: "trl-ppo", ...(holds("trl<0.12", libraries) ? { standsFor: `TRL ${libraries.trl}` } : {}) };
}

/** Where the losses of a document's trainer are; null where none but the model's own runs. */
export function lossesOf(inputs: Document, settings: Settings, libraries: Versions): LossSource | null {
  const format = inputs.format.id;
  if (format === "trl") {
    const trainer = trainerOf(inputs, settings);
    if (trainer === "ppo") return ofPpo(libraries);
    const liger = settings.boolean("fused_loss") === true && LIGER_LOSSES.has(trainer);
    if (liger && !holds("trl>=1.15", libraries)) return { file: "trl", forLiger: true };
    return ofTrl(libraries);
  }
  if (stageOf(settings) === undefined) return null;
  if (format === "axolotl") return ofTrl(libraries);
  if (format === "llama-factory") return { file: "llama-factory" };
  return format === "ms-swift" ? { file: "trl-1.9", standsFor: "ms-swift" } : null;
}

/** Which trainer runs: `trainer` (the plain one), `sft`, or one that keeps further models. */
export function trainerOf(inputs: Document, settings: Settings): string {
  const stage = stageOf(settings);
  if (stage !== undefined) return stage;
  const called = inputs.format.id === "trl" ? calledTrainer(inputs) : undefined;
  if (called !== undefined) return called;
  if (settings.find("reward_model") !== undefined) return "ppo";
  if (inputs.format.id !== "trl") return "trainer";
  const root = inputs.main.config?.parsed.root;
  const written = root?.kind === "map" ? root.entries.map((entry) => entry.key) : [];
  const keys = new Set([...inputs.main.read.settings.map((setting) => setting.key), ...written]);
  return TRAINER_MARKS.find((mark) => mark.keys.some((key) => keys.has(key)))?.trainer ?? "sft";
}
