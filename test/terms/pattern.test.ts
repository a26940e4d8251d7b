/** Patterns of configs match as Python's `re` matches (capture/facts/python_patterns.py wrote down what it says), in linear time. */
import { strict as assert } from "node:assert";
import { compilePattern, type Mode } from "../../src/terms/pattern";
import answers from "./python-patterns.json";

const MODES: readonly Mode[] = ["full", "start", "anywhere"];

interface Answers {
  readonly texts: readonly string[];
  /** `found`: per text a digit of three bits, fullmatch first. */
  readonly patterns: readonly { readonly pattern: string; readonly invalid?: boolean; readonly found?: string }[];
}

describe("patterns", () => {
  for (const [name, { texts, patterns }] of Object.entries(answers as Record<string, Answers>)) {
    it(`${name}: as Python, or said to be beyond it`, () => {
      let unsupported = 0;
      for (const { pattern, invalid, found } of patterns) {
        const compiled = compilePattern(pattern);
        if (!compiled.ok) {
          if (compiled.kind === "unsupported") unsupported += 1;
          else assert.equal(invalid, true, `${pattern}: ${compiled.reason}`);
          continue;
        }
        assert.notEqual(invalid, true, `${pattern} is none in Python`);
        const bits = texts.map((text) => MODES.map((mode) => Number(compiled.matches(text, mode))).join(""));
        assert.equal(bits.map((one) => Number.parseInt(one, 2)).join(""), found, pattern);
      }
      assert.ok(unsupported < 12, `${unsupported} unsupported`);
    });
  }

  it("takes a number of steps that no pattern and no text can make large", () => {
    const text = `${"a".repeat(5000)}b`;
    for (const pattern of ["(a+)+$", "((a*)*)*c", "(a|aa)+$", "(.*)*(.*)*(.*)*c", "^(a?){100}a{100}$"]) {
      const compiled = compilePattern(pattern);
      assert.ok(compiled.ok);
      assert.equal(compiled.matches(text, "full"), false, pattern);
    }
    const names = "model.layers.0.self_attn.q_proj";
    const looks = compilePattern(`${"(?=.*".repeat(40)}q${")".repeat(40)}.*`);
    assert.ok(looks.ok && looks.matches(names, "full"));
  });

  it("refuses what is too large, whatever it is made of", () => {
    for (const pattern of [
      "(".repeat(5000),
      `${"(".repeat(200)}a${")".repeat(200)}`,
      "a{1000000000}",
      "(((){9999}){9999}){9999}",
      "((a{100}){100}){100}",
      "((?=a{999})){999}",
      "a".repeat(100_000),
    ]) {
      const compiled = compilePattern(pattern);
      assert.ok(!compiled.ok, pattern.slice(0, 20));
    }
  });
});
