import { strict as assert } from "node:assert";
import { parseJson } from "../../src/syntax/json";
import { codes, plain } from "./values";

describe("syntax: JSON and HJSON", () => {
  const read = (text: string) => plain(parseJson(text).root);
  const problems = (text: string) => codes(parseJson(text).problems);

  it("reads strict JSON without a problem and with exact places", () => {
    const text = '{"zero_optimization": {"stage": 3, "b": [1, -2.5e8, true, null, "x\\u0041\\n"]}}';
    assert.deepEqual(read(text), JSON.parse(text));
    assert.deepEqual(problems(text), []);
    const root = parseJson(text).root;
    assert.ok(root?.kind === "map");
    const zero = root.entries[0]?.value;
    assert.ok(zero?.kind === "map");
    const stage = zero.entries[0];
    assert.ok(stage !== undefined);
    assert.equal(text.slice(stage.keySpan.start, stage.keySpan.end), '"stage"');
    assert.equal(text.slice(stage.value.start, stage.value.end), "3");
  });

  it("takes what hjson takes and names what strict JSON rejects", () => {
    assert.deepEqual(read('{"stage": 3 # x\n}'), { stage: 3 });
    assert.deepEqual(read("{device: cpu, # x\n}"), { device: "cpu, # x" });
    assert.deepEqual(read('{"a": auto\n}'), { a: "auto" });
    assert.deepEqual(read('{"a": 1,}'), { a: 1 });
    assert.deepEqual(read('{"a": 1\n"b": 2}'), { a: 1, b: 2 });
    assert.deepEqual(read("{a: '''\n  long\n''' /* c */, b: 'x'}"), { a: "long", b: "x" });
    assert.deepEqual(read("a: 1\nb: two words\n"), { a: 1, b: "two words" });
    for (const text of ['{"stage": 3 # x\n}', '{"a": 1,}', '{"a": 1\n"b": 2}', '{"a": auto\n}', "{a: 1}"]) {
      assert.deepEqual([...new Set(problems(text))], ["not-strict-json"], text);
    }
  });

  it("reports what nobody takes, and reads the rest", () => {
    assert.ok(problems('{"a": auto}').includes("syntax"));
    assert.deepEqual(read('{"a": auto}'), { a: "auto" });
    assert.ok(problems('{"a": {"b": 1}').includes("syntax"));
    assert.deepEqual(read('{"a": \n "b": 2}'), { a: { unknown: "no value" }, b: 2 });
    assert.ok(problems('  "a": 1\n}\n').includes("syntax"));
    assert.deepEqual(problems(""), []);
  });

  it("keeps duplicate keys and reports the second", () => {
    const text = '{"a": 1, "b": 2, "a": 3}';
    const [problem] = parseJson(text).problems;
    assert.equal(problem?.code, "duplicate-key");
    assert.equal(problem?.start, text.lastIndexOf('"a"'));
  });

  it("does not follow nesting or size without bound", () => {
    assert.deepEqual(
      problems("[".repeat(100_000)).filter((code) => code === "too-deep"),
      ["too-deep"],
    );
    assert.deepEqual(
      problems(`{"a": ${'{"a":'.repeat(5000)}`).filter((code) => code === "too-deep"),
      ["too-deep"],
    );
    assert.deepEqual(problems("x".repeat(5 * 1024 * 1024)), ["too-large"]);
  });

  it("shows merge conflicts, NUL and a byte-order mark at their place", () => {
    const text = '{\n<<<<<<< HEAD\n"a": 1\n=======\n"a": 2\n>>>>>>> other\n}';
    const parsed = parseJson(text);
    assert.deepEqual(plain(parsed.root), { a: 1 });
    assert.deepEqual(codes(parsed.problems), ["merge-conflict", "merge-conflict"]);
    assert.equal(parsed.problems[0]?.start, 2);
    assert.deepEqual(read('\ufeff{"a": 1}'), { a: 1 });
    assert.ok(problems('{"a": \0 1}').includes("nul"));
  });
});
