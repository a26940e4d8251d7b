import { strict as assert } from "node:assert";
import { text } from "../../src/analysis/messages";
import { parseDocument } from "../../src/syntax/dispatch";

/** Broken texts that make the parsers say what they can say. */
const BROKEN: readonly (readonly [string, string])[] = [
  ["a.json", '{"a" 1, "b": {"c": auto}, "a": 2, "a": 3'],
  ["a.json", '{"a": "x\n, : ]'],
  ["a.json", "[".repeat(300)],
  ["a.json", `"${"x".repeat(1_100_000)}"`],
  ["a.json", '{"a": \n "b": "\\q"} x'],
  ["a.yaml", "a: [1\n"],
  ["a.yaml", "a: b: c\n"],
  ["a.yaml", "a: @x\n"],
  ["a.yaml", "a:\n\tb: 1\na: 2\nc: *x\n<<<<<<< a\nd: {{ e }}\n"],
  ["a.toml", "a = \nb = x\n[c\nd = [1\n"],
  ["a.toml", 'a = 1\na = 2 3\nb = "x\nc == 1\n'],
  ["a.sh", "run --a 1 \\ \n run --b 'x \\\n"],
  ["a.sh", "run --a 1 \\\n # c\n --b\0 2"],
];

describe("analysis: words of the parsers", () => {
  it("are translated", () => {
    for (const [name, broken] of BROKEN) {
      for (const problem of parseDocument(name, "", broken).problems) {
        assert.doesNotMatch(text(problem.message, "en"), /\{\w+\}/);
        assert.match(text(problem.message, "zh-cn"), /[\u4e00-\u9fff]/, problem.message.id);
      }
    }
  });
});
