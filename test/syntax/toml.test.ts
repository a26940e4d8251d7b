import { strict as assert } from "node:assert";
import fc from "fast-check";
import { parse, stringify } from "smol-toml";
import { parseToml } from "../../src/syntax/toml";
import { codes, plain, walk } from "./values";

describe("syntax: TOML", () => {
  const sample = `
title = "x \\u0041" # c
[training]
local_batch_size = 8
lr = 3e-4
big = 1_000_000
hex = 0xFF
neg = -1
[model.args]
'quoted key' = 'C:\\path'
list = [1, 2, # c
  3,]
inline = { a = 1, b.c = true }
[[jobs]]
name = """multi
line"""
[[jobs]]
when = 1979-05-27T07:32:00Z
`;

  it("agrees with a reference parser", () => {
    const ours = plain(parseToml(sample).root) as Record<string, unknown>;
    const reference = JSON.parse(JSON.stringify(parse(sample))) as Record<string, unknown>;
    (reference["jobs"] as { when?: string }[])[1]!.when = "1979-05-27T07:32:00Z";
    assert.deepEqual(ours, reference);
    assert.deepEqual(codes(parseToml(sample).problems), []);
    for (const { node } of walk(parseToml(sample).root))
      if (node.kind === "scalar") assert.equal(sample.slice(node.start, node.end), node.raw);
  });

  it("agrees with a reference writer on random values", () => {
    const key = fc.stringMatching(/^[a-z_]{1,8}$/).filter((name) => name !== "__proto__");
    const value = fc.oneof(
      fc.integer(),
      fc.boolean(),
      fc.string({ unit: "grapheme-ascii" }),
      fc.integer({ min: -1_000_000, max: 1_000_000 }).map((x) => x / 1024),
    );
    const table = fc.dictionary(
      key,
      fc.oneof(value, fc.array(fc.integer()), fc.dictionary(key, value, { noNullPrototype: true })),
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(table, (data) => {
        const text = stringify(data);
        assert.deepEqual(plain(parseToml(text).root), JSON.parse(JSON.stringify(parse(text))));
      }),
      { numRuns: 100 },
    );
  });

  it("skips a line that cannot be read and reports it", () => {
    const parsed = parseToml("a = 1\nb = \nc = nope\n[t\nd = 4\ne = [1,\n");
    const value = plain(parsed.root) as Record<string, unknown>;
    assert.equal(value["a"], 1);
    assert.equal(value["d"], 4);
    assert.ok(parsed.problems.length >= 4);
    assert.deepEqual(codes(parseToml("a = 1\na = 2\n[x]\n[x]\n").problems), ["duplicate-key", "duplicate-key"]);
  });
});
