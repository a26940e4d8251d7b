/** Chinese for the effect sentences of the tables of keys, by the English sentence. */
export const EFFECTS_ZH_CN: Readonly<Record<string, string>> = {};
