/** Which trainer carries a run out. */
import { TRAINER_MARKS } from "../formats/trl/keys";
import type { RunInputs } from "./inputs";
import type { Settings } from "./settings";

/** Trainers by the names of TRL's classes and of the scripts that use them. */
const NAMED: readonly (readonly [RegExp, string])[] = [
  [/^(?:online_?dpo)/i, "online-dpo"],
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

/** `DPOConfig(...)` and `DPOTrainer(...)` in Python, `trl dpo` and `examples/scripts/dpo.py` in a script. */
function calledTrainer({ main }: RunInputs): string | undefined {
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

/** Which trainer runs: `trainer` (the plain one), `sft`, or one that keeps further models. */
export function trainerOf(inputs: RunInputs, settings: Settings): string {
  const stage = settings.string("rl") ?? settings.string("lf_stage");
  if (stage !== undefined && !["none", "sft", "pt", "false"].includes(stage)) return stage;
  if (settings.find("reward_model") !== undefined) return "ppo";
  if (inputs.format.id !== "trl") return "trainer";
  const called = calledTrainer(inputs);
  if (called !== undefined) return called;
  const root = inputs.main.config?.parsed.root;
  const written = root?.kind === "map" ? root.entries.map((entry) => entry.key) : [];
  const keys = new Set([...inputs.main.read.settings.map((setting) => setting.key), ...written]);
  return TRAINER_MARKS.find((mark) => mark.keys.some((key) => keys.has(key)))?.trainer ?? "sft";
}
