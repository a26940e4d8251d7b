/** Sentences of the editor's client, by id. */
import { CLIENT as EN } from "./en/client";
import type { Locale } from "./locale";
import { CLIENT as ZH } from "./zh-cn/client";

export type ClientWord = keyof typeof EN;

/** A sentence of the client with `{0}`, `{1}` and so on filled. */
export type Translate = (id: ClientWord, ...values: readonly (string | number)[]) => string;

export function clientWords(locale: Locale): Translate {
  const words: Readonly<Record<ClientWord, string>> = locale === "en" ? EN : ZH;
  return (id, ...values) => words[id].replace(/\{(\d)\}/g, (_, place) => String(values[Number(place)] ?? ""));
}
