/** Messages a person reads, in their language; English where a translation is missing. */
import type { Message } from "../../formats/types";
import { en } from "./en";
import { zhCn } from "./zh-cn";

export type Locale = "en" | "zh-cn";

const TABLES: Readonly<Record<Locale, Readonly<Record<string, string>>>> = { en, "zh-cn": zhCn };

/** The table a client's locale name selects (`zh-CN`, `zh-Hans` and `zh-cn` are one). */
export function localeOf(name: string | undefined): Locale {
  return /^zh(?:$|-cn|-hans|_cn)/i.test(name ?? "") ? "zh-cn" : "en";
}

/** Text of a message. An id without a text is shown as it is, which a test forbids. */
export function text(message: Message, locale: Locale): string {
  const template = TABLES[locale][message.id] ?? en[message.id] ?? message.id;
  return template.replace(/\{(\w+)\}/g, (hole, name: string) => {
    const value = message.args[name];
    return value === undefined ? hole : String(value);
  });
}

/** Shorthand for messages made on the spot. */
export function t(locale: Locale, id: string, args: Message["args"] = {}): string {
  return text({ id, args }, locale);
}

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** `41.2 GiB`; below 0.1 GiB in MiB, so that small things are not called zero. */
export function size(bytes: number): string {
  const magnitude = Math.abs(bytes);
  if (magnitude === 0) return "0 GiB";
  if (magnitude >= 0.095 * GIB) return `${(bytes / GIB).toFixed(1)} GiB`;
  return magnitude >= MIB ? `${(bytes / MIB).toFixed(0)} MiB` : `${Math.ceil(bytes / 1024)} KiB`;
}

/** The number alone, in GiB with one decimal. */
export function gib(bytes: number): string {
  return (bytes / GIB).toFixed(1);
}

/** `1.24 B`, `124 M`. */
export function count(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toFixed(2)} B`;
  if (value >= 1e6) return `${(value / 1e6).toFixed(0)} M`;
  return String(value);
}
