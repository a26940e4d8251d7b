/** Messages of the page in the language the host names. */
import { languageTag } from "../model/format";
import { en, type MessageKey, type MessageTable } from "./en";
import { zhCn } from "./zh-cn";

export type { MessageKey };

export interface Translate {
  (key: MessageKey, values?: Readonly<Record<string, string | number>>): string;
  /** Tag for number formats. */
  readonly locale: "en" | "zh-CN";
  /** A message by a key made at run time; `otherwise` when there is none (a kind newer than this page). */
  readonly named: (key: string, otherwise: string) => string;
}

/** Fills `{name}` places of a message. */
export function fill(message: string, values: Readonly<Record<string, string | number>> = {}): string {
  return message.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** The messages of a locale; everything but Chinese reads English. */
export function translator(locale: string): Translate {
  const tag = languageTag(locale);
  const table: MessageTable = tag === "zh-CN" ? zhCn : en;
  const translate = (key: MessageKey, values?: Readonly<Record<string, string | number>>) => fill(table[key], values);
  return Object.assign(translate, {
    locale: tag,
    named: (key: string, otherwise: string) => (key in table ? table[key as MessageKey] : otherwise),
  });
}
