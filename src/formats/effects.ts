/** Notation of the tables of keys: keys that change memory, and keys that do not. */

import { spelled } from "../terms/dtypes";
import { isType, type SettingType } from "../terms/setting-row";
import { type SettingName, settingRow } from "../terms/settings";
import { table } from "../terms/table";
import type { EffectId } from "../words/message";
import type { KeySpec } from "./types";

type Extra = Partial<Omit<KeySpec, "key" | "name" | "type" | "effect" | "memory">>;

/** The last word of a dotted path. */
export type LastWord<Path extends string> = Path extends `${string}.${infer Below}` ? LastWord<Below> : Path;

/**
 * A row of a table. Type and range are the setting's, where the row has no others; what is said of a key has the key's last word for
 * its id, where the row names no other.
 */
interface Row {
  <Key extends string>(key: LastWord<Key> extends EffectId ? Key : never, name: SettingName, extra?: Extra): KeySpec;
  (key: string, name: SettingName, effect: EffectId, extra?: Extra): KeySpec;
  <Key extends string>(
    key: LastWord<Key> extends EffectId ? Key : never,
    name: SettingName | null,
    type: SettingType,
    extra?: Extra,
  ): KeySpec;
  (key: string, name: SettingName | null, type: SettingType, effect: EffectId, extra?: Extra): KeySpec;
}

/** A key that changes GPU memory. */
export const memory: Row = rows(true);

/** A key that costs no GPU memory but decides something about the run. */
export const other: Row = rows(false);

function rows(memory: boolean): Row {
  return (key: string, name: SettingName | null, ...said: readonly (SettingType | EffectId | Extra | undefined)[]) => {
    const words = said.filter((part) => typeof part === "string");
    const type = words.find(isType) ?? (name === null ? "any" : settingRow(name).type);
    const effect = words.find((word): word is EffectId => !isType(word)) ?? lastWord(key);
    const extra = said.find((part) => typeof part === "object");
    return { key, name, type, effect, memory, ...rangeOf(name, type), ...extra };
  };
}

/** The range of a setting's numbers, for a key that spells them as the setting does. */
export function rangeOf(name: SettingName | null, type: SettingType): Pick<KeySpec, "min" | "max"> {
  if (name === null) return {};
  const { type: own, min, max } = settingRow(name);
  return own === type ? { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) } : {};
}

/** What is said of a key by default; that there are words of this id, the row's type has seen to. */
export function lastWord(key: string): EffectId {
  return key.slice(key.lastIndexOf(".") + 1) as EffectId;
}

/** Keys that touch memory in one way and stand for no setting the estimate takes. */
export function touching(effect: EffectId, keys: string): KeySpec[] {
  return keys.split(" ").map((key) => memory(key, null, "any", effect));
}

/** Keys that change nothing on the GPU in a training step. */
export function harmless(keys: string): KeySpec[] {
  return keys.split(" ").map((key) => other(key, null, "any", "harmless"));
}

/** Canonical compute dtypes by the words the frameworks use. */
export const PRECISION: Readonly<Record<string, string>> = table({
  ...spelled("bfloat16", "bf16"),
  "bf16-mixed": "bf16",
  "bf16-true": "bf16",
  amp_bf16: "bf16",
  "torch.bfloat16": "bf16",
  ...spelled("float16", "fp16"),
  "16": "fp16",
  "16-mixed": "fp16",
  "16-true": "fp16",
  amp_fp16: "fp16",
  ...spelled("float32", "fp32"),
  "32": "fp32",
  "32-true": "fp32",
  no: "fp32",
  false: "fp32",
  fp8: "fp8",
  amp_fp8: "fp8",
});

/** Canonical storage dtypes by the words the frameworks use. */
export const STORAGE: Readonly<Record<string, string>> = table({
  ...spelled("bfloat16", "bfloat16"),
  "bf16-true": "bfloat16",
  "torch.bfloat16": "bfloat16",
  ...spelled("float16", "float16"),
  "torch.float16": "float16",
  "16-true": "float16",
  ...spelled("float32", "float32"),
  "32": "float32",
  "32-true": "float32",
  "bf16-mixed": "float32",
  "16-mixed": "float32",
  "torch.float32": "float32",
});

/** On means the named dtype, off nothing: for boolean keys such as `bf16`. */
export function onlyWhenOn(value: string): Readonly<Record<string, string>> {
  return { true: value };
}
