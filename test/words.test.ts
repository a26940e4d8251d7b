/** Sentences are short: 120 characters at most in either language. */
import { strict as assert } from "node:assert";
import { TABLES } from "../src/analysis/messages";
import { EFFECTS as EN_EFFECTS } from "../src/words/en/effects";
import { EFFECTS as ZH_EFFECTS } from "../src/words/zh-cn/effects";
import { en } from "../webview-ui/messages/en";
import { zhCn } from "../webview-ui/messages/zh-cn";

const LONGEST = 120;

/** What a person reads: a hole counts as the word that fills it, and one of two forms is shown. */
function shown(text: string): string {
  return text.replace(/\{\w+\|[^|}]*\|([^}]*)\}/g, "$1").replace(/\{\w+\}/g, "8.0");
}

describe("words", () => {
  const tables = { ...TABLES, "en effects": EN_EFFECTS, "zh effects": ZH_EFFECTS, "en panel": en, "zh panel": zhCn };
  for (const [name, table] of Object.entries(tables)) {
    it(`are short: ${name}`, () => {
      const long = Object.entries(table as Readonly<Record<string, string>>)
        .filter(([, text]) => shown(text).length > LONGEST)
        .map(([id, text]) => `${id}: ${shown(text).length}`);
      assert.deepEqual(long, []);
    });
  }
});
