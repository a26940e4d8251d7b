/** Messages a person reads, in their language; English where a translation is missing. */

import { lazily } from "../../terms/lazily";
import { english } from "../../words/en";
import type { Locale } from "../../words/locale";
import { fill, type Message, type MessageId } from "../../words/message";
import { inMarkdown } from "../../words/printable";
import { chinese } from "../../words/zh-cn";

export { gib } from "../../terms/sizes";
export { type Locale, localeOf } from "../../words/locale";
export { exact, size, sizeBetween } from "./units";

/** Every message by language; a test checks that no id is missing in either. */
const TABLES: Readonly<Record<Locale, () => Readonly<Record<string, string>>>> = {
  en: lazily(english),
  "zh-cn": lazily(chinese),
};

export function tableOf(locale: Locale): Readonly<Record<string, string>> {
  return TABLES[locale]();
}

function template(id: MessageId, locale: Locale): string {
  return tableOf(locale)[id] ?? tableOf("en")[id] ?? id;
}

/** Text of a message. An id without a text is shown as it is, which a test forbids. */
export function text(message: Message, locale: Locale): string {
  return fill(template(message.id, locale), message.args, (nested) => text(nested, locale));
}

/** The same in Markdown: a value cannot be a link, a picture or a tag. */
export function markdown(message: Message, locale: Locale): string {
  return fill(template(message.id, locale), message.args, (nested) => markdown(nested, locale), inMarkdown);
}

/** The id, if a table has it: for names that come from data. */
export function messageId(name: string): MessageId | undefined {
  return Object.hasOwn(tableOf("en"), name) ? (name as MessageId) : undefined;
}

/** Shorthand for messages made on the spot. */
export function t(locale: Locale, id: MessageId, args: Message["args"] = {}): string {
  return text({ id, args }, locale);
}

/** Short name of a device in running text: without the maker, and a bare size as a card of that size. */
export function deviceLabel(name: string, locale: Locale): string {
  const bare = /^(\d+(?:\.\d+)?)\s*GI?B$/i.exec(name);
  return bare === null ? name.replace(/^NVIDIA (?:GeForce )?/, "") : t(locale, "device.size", { size: bare[1] ?? "" });
}
