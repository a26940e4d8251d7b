import assert from "node:assert/strict";
import { Expressions, type Value } from "../../../src/core/graph/expression";

const NAMES: Readonly<Record<string, Value>> = {
  hidden_size: 4096,
  "text_config.hidden_size": 2048,
  S: 7,
  i: 3,
  act: "gelu",
  tied: true,
  missing: null,
};

const run = (source: string): Value => new Expressions().evaluate(source, (name) => NAMES[name]);

describe("expressions", () => {
  it("follow Python's precedence", () => {
    assert.equal(run("1 + 2 * 3"), 7);
    assert.equal(run("(1 + 2) * 3"), 9);
    assert.equal(run("2 * -3 + 1"), -5);
    assert.equal(run("10 - 4 - 3"), 3);
    assert.equal(run("7 // 2 * 2"), 6);
    assert.equal(run("not 1 == 2"), true);
    assert.equal(run("1 < 2 and 3 < 2 or 5"), 5);
  });

  it("divide and take remainders as Python does", () => {
    assert.equal(run("-7 // 2"), -4);
    assert.equal(run("-7 % 3"), 2);
    assert.equal(run("7 / 2"), 3.5);
    assert.equal(run("ceil_div(7, 2)"), 4);
    assert.equal(run("min(3, 1) + max(2, 5)"), 6);
  });

  it("look names up, nested ones too", () => {
    assert.equal(run("hidden_size // 32"), 128);
    assert.equal(run("text_config.hidden_size"), 2048);
    assert.equal(run("unknown"), null);
    assert.equal(run("unknown == null"), true);
  });

  it("compare strings, booleans and null", () => {
    assert.equal(run("act == 'gelu'"), true);
    assert.equal(run("act != 'relu' and tied"), true);
    assert.equal(run("tied == true"), true);
    assert.equal(run("tied == 1"), true);
    assert.equal(run("missing != null"), false);
    assert.equal(run("missing == false"), false);
    assert.equal(run("tied and 'a' or 'b'"), "a");
    assert.equal(run("not tied and 'a' or 'b'"), "b");
  });

  it("give null or not-a-number for what cannot be computed, and never throw", () => {
    assert.ok(Number.isNaN(run("unknown + 1")));
    assert.equal(run("unknown > 3"), false);
    assert.equal(run(""), null);
    assert.ok(Number.isNaN(run("1 +")));
  });

  it("survive anything", () => {
    const pieces = [
      "1",
      "S",
      "'x'",
      "+",
      "-",
      "*",
      "//",
      "%",
      "(",
      ")",
      ",",
      "and",
      "or",
      "not",
      "==",
      "<",
      "min",
      "max(",
      "null",
      "§",
      "'",
      "..",
      " ",
    ];
    let seed = 7;
    const random = (count: number): number => {
      seed = (seed * 48271) % 2147483647;
      return seed % count;
    };
    for (let round = 0; round < 3000; round++) {
      const source = Array.from({ length: 1 + random(12) }, () => pieces[random(pieces.length)]!).join("");
      const value = run(source);
      assert.ok(value === null || ["number", "string", "boolean"].includes(typeof value), source);
    }
  });

  it("agree with JavaScript on random arithmetic", () => {
    let seed = 11;
    const random = (count: number): number => {
      seed = (seed * 48271) % 2147483647;
      return seed % count;
    };
    const build = (depth: number): [string, number] => {
      if (depth === 0) {
        const n = random(20);
        return [String(n), n];
      }
      const [left, a] = build(depth - 1);
      const [right, b] = build(depth - 1);
      switch (random(3)) {
        case 0:
          return [`(${left} + ${right})`, a + b];
        case 1:
          return [`(${left} - ${right})`, a - b];
        default:
          return [`(${left} * ${right})`, a * b];
      }
    };
    for (let round = 0; round < 300; round++) {
      const [source, value] = build(3);
      assert.equal(run(source), value, source);
    }
  });
});
