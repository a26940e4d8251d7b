/** What a key does, in the person's language: the table's English sentence, or its translation. */
import type { KeySpec } from "../../formats/types";
import { EFFECTS_ZH_CN } from "./effects-zh-cn";
import type { Locale } from "./index";

export function effectOf(spec: KeySpec, locale: Locale): string {
  return locale === "zh-cn" ? (EFFECTS_ZH_CN[spec.effect] ?? spec.effect) : spec.effect;
}
