/** Fixes that the formats' findings carry. */
import type { Span } from "../syntax/tree";
import type { LocatedSetting, ProblemFix, SettingChange } from "./types";

/** Removes a key with its value. */
export function removing({ key, keySpan }: Pick<LocatedSetting, "key" | "keySpan">): ProblemFix {
  return { title: { id: "fix.remove", args: { key } }, safe: true, remove: keySpan };
}

/** Puts another value in the place of a setting's: a JSON literal or a bare word, spelled as its document does. */
export function replacing(
  { key, valueSpan }: Pick<LocatedSetting, "key" | "valueSpan">,
  newText: string,
  safe: boolean,
): ProblemFix {
  const value = newText.replace(/^"|"$/g, "");
  return { title: { id: "fix.replace", args: { key, value } }, safe, replace: { ...valueSpan, newText } };
}

/** Sets a setting that may not be stated yet; `key` is what the format calls it. */
export function setting(key: string, change: SettingChange, safe: boolean): ProblemFix {
  return { title: { id: "fix.replace", args: { key, value: String(change.value) } }, safe, changes: [change] };
}

/** Spells a key as it was probably meant. What is computed changes: the library reads it then. */
export function renaming(keySpan: Span, to: string): ProblemFix {
  return { title: { id: "fix.rename", args: { key: to } }, safe: false, rename: { ...keySpan, to } };
}
