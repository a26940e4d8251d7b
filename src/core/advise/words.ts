/** What plans are called and why they help, in a person's language. */
import { grouped } from "../../terms/sizes";
import { LEVERS as EN } from "../../words/en/levers";
import { LEVERS as ZH_CN } from "../../words/zh-cn/levers";
import type { LeverId, Plan } from "./types";

export type Language = "en" | "zh-cn";

export interface Phrase {
  readonly title: string;
  /** One sentence: where the memory comes from, and what it costs. */
  readonly why: string;
}

const WORDS: Readonly<Record<Language, Readonly<Record<LeverId, Phrase>>>> = { en: EN, "zh-cn": ZH_CN };

function fill(text: string, plan: Pick<Plan, "run">, value: string | number): string {
  return text
    .replaceAll("{value}", grouped(value))
    .replaceAll("{accumulation}", String(plan.run.gradientAccumulationSteps));
}

function phraseOf(id: LeverId, language: string): Phrase {
  return WORDS[language.toLowerCase().startsWith("zh") ? "zh-cn" : "en"][id];
}

/** Title and reason of a lever before it has a position: `{value}` and `{accumulation}` stand where they will be. */
export function leverPhrase(id: LeverId, language: string): Readonly<Phrase> {
  return phraseOf(id, language);
}

/** "Gradient checkpointing + 8-bit AdamW". Any language but Chinese is English. */
export function planTitle(plan: Pick<Plan, "steps" | "run">, language: string): string {
  const parts = plan.steps.map(({ lever, value }) => fill(phraseOf(lever, language).title, plan, value));
  const title = parts.join(" + ");
  return title.charAt(0).toUpperCase() + title.slice(1);
}

/** One sentence per lever. */
export function planWhy(plan: Pick<Plan, "steps" | "run">, language: string): string {
  return plan.steps
    .map(({ lever, value }) => fill(phraseOf(lever, language).why, plan, value))
    .join(language.toLowerCase().startsWith("zh") ? "" : " ");
}
