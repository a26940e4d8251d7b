/** The languages that sentences are in. */
export type Locale = "en" | "zh-cn";

/** The language for the name that a client or a terminal has for one: `zh-CN`, `zh-Hans` and `zh_CN.UTF-8` are one, `zh-TW` is none. */
export function localeOf(name: string | undefined): Locale {
  return /^zh(?![a-z])/i.test(name ?? "") && !/^zh[-_](?:tw|hk|mo|hant)/i.test(name ?? "") ? "zh-cn" : "en";
}
