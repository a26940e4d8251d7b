/** What a key does, in the person's language. */
import type { KeySpec } from "../../formats/types";
import { EFFECTS as EN } from "../../words/en/effects";
import type { EffectId } from "../../words/message";
import { EFFECTS as ZH_CN } from "../../words/zh-cn/effects";
import type { Locale } from "./index";

export function effectOf({ effect }: KeySpec, locale: Locale): string {
  return effectText(effect, locale);
}

/** The words of an effect by its id. */
export function effectText(effect: EffectId, locale: Locale): string {
  return (locale === "zh-cn" ? ZH_CN : EN)[effect];
}
