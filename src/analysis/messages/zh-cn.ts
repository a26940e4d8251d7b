/** Simplified Chinese messages; ids as in `en.ts`. */
export const zhCn: Readonly<Record<string, string>> = {};
