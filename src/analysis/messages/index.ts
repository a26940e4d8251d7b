/** Messages a person reads, in their language; English where a translation is missing. */
import type { Message } from "../../formats/types";
import { RULES } from "../findings/catalogue";
import { frameworkMessages } from "../findings/frameworks";
import { en } from "./en";
import { engineZh } from "./engine-zh";
import { syntaxZh } from "./syntax-zh";
import { zhCn } from "./zh-cn";

export { count, gib, size } from "./units";

export type Locale = "en" | "zh-cn";

/** Rules bring their own words. */
const ofRules = (locale: "en" | "zh"): Record<string, string> =>
  Object.fromEntries(RULES.map((rule) => [`rule.${rule.code}`, rule[locale]]));

/** Every message by language; a test checks that no id is missing in either. */
export const TABLES: Readonly<Record<Locale, Readonly<Record<string, string>>>> = {
  en: { ...en, ...frameworkMessages("en"), ...ofRules("en") },
  "zh-cn": { ...zhCn, ...frameworkMessages("zh"), ...ofRules("zh") },
};

/** The table a client's locale name selects (`zh-CN`, `zh-Hans` and `zh-cn` are one). */
export function localeOf(name: string | undefined): Locale {
  return /^zh(?:$|-cn|-hans|_cn)/i.test(name ?? "") ? "zh-cn" : "en";
}

/** `{count}`, or a word that goes with a count: `{count|GPU|GPUs}` is "GPU" where the count is 1. */
const HOLE = /\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g;

/** Text of a message. An id without a text is shown as it is, which a test forbids. */
export function text(message: Message, locale: Locale): string {
  if (message.id === "syntax" && locale === "zh-cn") return syntaxZh(String(message.args["reason"] ?? ""));
  if (message.id === "engine" && locale === "zh-cn") return engineZh(String(message.args["reason"] ?? ""));
  const template = TABLES[locale][message.id] ?? TABLES.en[message.id] ?? message.id;
  return template.replace(HOLE, (hole, name: string, one?: string, many?: string) => {
    const value = message.args[name];
    if (value === undefined) return hole;
    if (one !== undefined && many !== undefined) return Number(value) === 1 ? one : many;
    return typeof value === "object" ? text(value, locale) : String(value);
  });
}

/** Shorthand for messages made on the spot. */
export function t(locale: Locale, id: string, args: Message["args"] = {}): string {
  return text({ id, args }, locale);
}

/** Short name of a device in running text: without the maker, and a bare size as a card of that size. */
export function deviceLabel(name: string, locale: Locale): string {
  const bare = /^(\d+(?:\.\d+)?)\s*GI?B$/i.exec(name);
  return bare === null ? name.replace(/^NVIDIA (?:GeForce )?/, "") : t(locale, "device.size", { size: bare[1] ?? "" });
}
