/**
 * Adapters of which a script says only that there is one: of a class that peft does not have (a fork's), or saved elsewhere and
 * trained further (peft/peft_model.py, `from_pretrained` with `is_trainable`).
 */
import type { PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, plain } from "./called";
import { callsBehind, isBefore, trainingOf } from "./training";

const WRAPS = /(?:^|\.)get_peft_model$/;
const CONTINUES = /(?:^|\.)PeftModel\w{0,40}\.from_pretrained$/;
const CONFIG = /(?:^|\.)(\w{1,40})Config$/;

export function foreignAdapter(python: PythonModule, settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  if (settings.some(({ name }) => name === "adapter")) return [];
  const training = trainingOf(python);
  const before = [...training.parts].filter((call) => isBefore(training, call));
  const wraps = before.find(({ callee }) => WRAPS.test(callee));
  const kind = wraps === undefined ? undefined : classOf(python, wraps);
  if (wraps !== undefined && kind !== undefined) return [at("adapter", wraps, kind)];
  const continues = before.find((call) => CONTINUES.test(call.callee) && plain(given(call, "is_trainable")) === true);
  return continues === undefined ? [] : [at("adapter", continues, "lora"), at("adapter_elsewhere", continues, true)];
}

/** The class of the config that the model is wrapped with, in lower case. */
function classOf(python: PythonModule, wraps: PythonCall): string | undefined {
  const config = given(wraps, "peft_config") ?? wraps.positional[1];
  const made = callsBehind(python, config).map(({ callee }) => CONFIG.exec(callee)?.[1]);
  return made.find((name) => name !== undefined && name !== "Lora")?.toLowerCase();
}
