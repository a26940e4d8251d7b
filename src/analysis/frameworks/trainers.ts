/** Which trainer carries a run out. */

import { TRAINER_MARKS } from "../../formats/trl/keys";
import type { Format } from "../../formats/types";
import type { Task } from "../../terms/names";
import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import type { LoadedDocument } from "../documents/store";
import type { LossSource, RecordedLosses } from "./framework";
import { frameworkOf } from "./frameworks";
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
  [/^simpo/i, "simpo"],
  [/^reward|^rm$/i, "reward"],
  [/^grpo/i, "grpo"],
  [/^rloo/i, "rloo"],
  [/^ppo/i, "ppo"],
  [/^gkd/i, "gkd"],
  [/^sft|^unsloth/i, "sft"],
];

const nameOf = (text: string): string | undefined => NAMED.find(([pattern]) => pattern.test(text))?.[1];

/** What says which trainer a document means. */
interface Document {
  readonly main: LoadedDocument;
  readonly format: Format;
  /** The program that its command starts. */
  readonly program?: { readonly document: LoadedDocument } | undefined;
}

/** `DPOConfig(...)` and `DPOTrainer(...)` in Python, `trl dpo` and `examples/scripts/dpo.py` in a script. */
function calledTrainer({ main, program }: Document): string | undefined {
  const parsed = main.config?.parsed;
  const code = parsed?.python ?? program?.document.config?.parsed.python;
  for (const { callee } of code?.calls ?? []) {
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
export const OWN_LOSS: Readonly<Record<string, { readonly task: Task; readonly labels: number }>> = table({
  // trl/experimental/prm/prm_trainer.py of 1.11: AutoModelForTokenClassification(num_labels=2), no compute_loss
  prm: { task: "token-cls", labels: 2 },
});

/** Stages that are the plain trainer's. */
const PLAIN = new Set(["none", "sft", "pt", "false"]);

/** What a framework's own switch says is trained; undefined where it is the plain trainer's. */
function stageOf(settings: Settings): string | undefined {
  const stage = settings.string("rl") ?? settings.string("lf_stage");
  return stage === undefined || PLAIN.has(stage) ? undefined : stage;
}

/** A recorded release, and the releases whose code keeps the same models and logits. */
interface Recorded extends RecordedLosses {
  readonly from: string;
  readonly before: string;
}

/** Before 0.29 (capture/trainers/trl_before_029.py). */
const EARLIER: Pick<Recorded, "some" | "terms"> = { some: true, terms: ["likelihood", "weighting"] };

/**
 * TRL's own losses, newest first. What changed between them: the fused head (1.15), DPO over batches that the collator joins
 * (0.29), the states of every layer beside DPO's logits (0.19), log-probabilities sequence by sequence (0.15), prompts and
 * completions that come apart (0.12).
 */
const OF_TRL: readonly Recorded[] = [
  { file: "trl", release: "1.16", from: "1.15", before: "2" },
  { file: "trl-1.9", release: "1.9", from: "0.29", before: "1.14", terms: ["weighting"] },
  { file: "trl-0.24", release: "0.24", from: "0.19", before: "0.29", ...EARLIER },
  { file: "trl-0.17", release: "0.17", from: "0.15", before: "0.19", ...EARLIER },
  { file: "trl-0.12", release: "0.12", from: "0.12", before: "0.15", ...EARLIER },
  { file: "trl-0.11", release: "0.11", from: "0.9", before: "0.12", ...EARLIER },
];

/** Trainers that changed at other releases, or that a release has not got. */
const APART: Readonly<Record<string, readonly Recorded[]>> = table({
  // Until 1.3 it scored what follows the prompt; until 0.15 it had one loss for every `beta`.
  gkd: [
    { file: "trl", release: "1.16", from: "1.4", before: "2" },
    { file: "trl-0.24", release: "0.24", from: "0.16", before: "1.4" },
    { file: "trl-0.12", release: "0.12", from: "0.11", before: "0.16" },
  ],
  // Before 0.16 logits were not divided by a temperature; 0.14 was the first.
  grpo: [
    ...OF_TRL.slice(0, 2),
    { file: "trl-0.24", release: "0.24", from: "0.20", before: "0.29" },
    { file: "trl-0.17", release: "0.17", from: "0.16", before: "0.20" },
  ],
  // Before 0.22 another algorithm under the name.
  rloo: [...OF_TRL.slice(0, 2), { file: "trl-0.24", release: "0.24", from: "0.22", before: "0.29" }],
  reward: [
    ...OF_TRL.slice(0, 1),
    { file: "trl-1.9", release: "1.9", from: "0.24", before: "1.14" },
    { file: "trl-0.17", release: "0.17", from: "0.9", before: "0.24", apart: true },
  ],
});

/** Names that frameworks have for trainers of the table above. */
const ALIASES: Readonly<Record<string, string>> = table({ rm: "reward", gdpo: "grpo" });

/** TRL's own: the recorded release that is the run's, or the one before it that stands for it. */
function ofTrl(trainer: string, libraries: Versions): LossSource {
  const recorded = APART[ALIASES[trainer] ?? trainer] ?? OF_TRL;
  const found = recorded.find(({ from }) => holds(`trl>=${from}`, libraries)) ?? recorded.at(-1)!;
  const { from, before, ...losses } = found;
  const same = holds(`trl>=${from}`, libraries) && holds(`trl<${before}`, libraries);
  return { ...losses, ...(same ? {} : { standsFor: `TRL ${libraries.trl}` }) };
}

/** Trainers whose loss Liger took over before TRL had a fused head (`use_liger_kernel`). */
const LIGER_LOSSES: ReadonlySet<string> = new Set(["dpo", "kto", "grpo"]);

/** PPO's loop is the same from 0.12 on; since 1.14 TRL has none. */
function ofPpo(libraries: Versions): LossSource {
  return {
    file: "trl-ppo",
    release: "1.11",
    ...(holds("trl<0.12", libraries) ? { standsFor: `TRL ${libraries.trl}` } : {}),
  };
}

/** Trainers that compare completions of their own. */
const COMPARES: ReadonlySet<string> = new Set(["online-dpo", "xpo", "nash-md"]);

/** Their steps have the same models and logits since 0.15 (online DPO is there still, the others until 1.13). */
function ofComparing(libraries: Versions): LossSource {
  const same = holds("trl>=0.15", libraries);
  return { file: "trl-online", release: "1.11", ...(same ? {} : { standsFor: `TRL ${libraries.trl}` }) };
}

/** Where the losses of a document's trainer are; null where none but the model's own runs. */
export function lossesOf(inputs: Document, settings: Settings, libraries: Versions): LossSource | null {
  const { trainer, losses, recorded, reinforces, name } = frameworkOf(inputs.format);
  if (trainer === "named") return ofTrlItself(trainerOf(inputs, settings), settings, libraries);
  const stage = reinforces === undefined ? stageOf(settings) : trainerOf(inputs, settings);
  if (stage === undefined || (reinforces !== undefined && stage !== reinforces)) return null;
  if (recorded !== undefined || losses === undefined) return recorded ?? null;
  return { ...ofTrl(stage, libraries), ...(losses === "alike" ? { standsFor: name } : {}) };
}

/** Where the losses of TRL's own trainers are. */
function ofTrlItself(trainer: string, settings: Settings, libraries: Versions): LossSource | null {
  if (trainer === "ppo") return ofPpo(libraries);
  if (COMPARES.has(trainer)) return ofComparing(libraries);
  const liger = settings.on("fused_loss") && LIGER_LOSSES.has(trainer);
  if (liger && !holds("trl>=1.15", libraries)) return { file: "trl", release: "1.16", forLiger: true };
  return ofTrl(trainer, libraries);
}

/** Settings that only reinforcement learning has. */
const REINFORCES: readonly SettingName[] = ["adv_estimator", "rollout_engine", "max_completion_length"];

/** Which trainer runs: `trainer` (the plain one), `sft`, or one that keeps further models. */
export function trainerOf(inputs: Document, settings: Settings): string {
  const stage = stageOf(settings);
  if (stage !== undefined) return stage;
  const framework = frameworkOf(inputs.format);
  const called = framework.trainer === "named" ? calledTrainer(inputs) : undefined;
  if (called !== undefined) return called;
  if (framework.reinforces !== undefined)
    return REINFORCES.some((name) => settings.find(name) !== undefined) ? framework.reinforces : "trainer";
  if (settings.find("reward_model") !== undefined) return "ppo";
  if (framework.trainer !== "named") return "trainer";
  const root = inputs.main.config?.parsed.root;
  const written = root?.kind === "map" ? root.entries.map((entry) => entry.key) : [];
  const keys = new Set([...inputs.main.read.settings.map((setting) => setting.key), ...written]);
  const marked = TRAINER_MARKS.find((mark) => mark.keys.some((key) => keys.has(key)));
  const shared = marked?.trainer === "dpo" && marked.keys.every((key) => !keys.has(key) || SHARED.has(key));
  return (shared ? ofPath(inputs.main.uri) : undefined) ?? marked?.trainer ?? "sft";
}

/** Keys that DPO's config has in common with those of other trainers of pairs. */
const SHARED: ReadonlySet<string> = new Set(["beta", "max_prompt_length"]);

/** The trainer that a file's name or folder says (`recipes/zephyr/orpo/config.yaml`), of those that have DPO's keys. */
function ofPath(uri: string): string | undefined {
  return /(?:^|[/_.-])(orpo|cpo|kto|simpo)(?=[/_.-])/.exec(uri.split("/").slice(-2).join("/").toLowerCase())?.[1];
}
