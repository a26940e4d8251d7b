/** Messages of the page in the language the host names. */
import { fill } from "../../messages";
import { languageTag } from "../../model/format";
import { type EvidenceKey, en } from "./en";
import { zhCn } from "./zh-cn";

export type Words = (key: EvidenceKey, values?: Readonly<Record<string, string | number>>) => string;

export function wordsOf(locale: string): Words {
  const table = languageTag(locale) === "zh-CN" ? zhCn : en;
  return (key, values) => fill(table[key], values);
}
