/** Fields that were read from libraries' sources, beside the rows that say what they mean. */
import { strict as assert } from "node:assert";
import deepspeed from "../../src/formats/deepspeed/fields.json";
import { DEEPSPEED_KEYS, OTHER_DEEPSPEED_KEYS } from "../../src/formats/deepspeed/keys";
import { rowsOver } from "../../src/formats/fields";

describe("formats: fields", () => {
  it("give a row its type, default and range, and the row says more or otherwise", () => {
    const { memory, other } = rowsOver({
      "block.bucket": { type: "integer", default: 5, min: 1, aliases: ["block.b"], since: "library 2" },
      word: { type: "string", default: "a" },
    });
    assert.deepEqual(memory("block.bucket", "reduce_bucket_size", "reduce_bucket_size", { min: 2 }), {
      ...{ key: "block.bucket", name: "reduce_bucket_size", effect: "reduce_bucket_size", memory: true },
      ...{ type: "integer", default: 5, min: 2, aliases: ["block.b"] },
    });
    assert.equal(other("word", null, "harmless", { values: ["a", "b"] }).type, "enum");
  });

  it("of blocks in which DeepSpeed stops at a key it does not know have a row each", () => {
    const known = new Set([
      ...DEEPSPEED_KEYS.flatMap(({ key, aliases = [] }) => [key, ...aliases]),
      ...OTHER_DEEPSPEED_KEYS,
    ]);
    assert.deepEqual(
      Object.keys(deepspeed.fields).filter((name) => !known.has(name)),
      [],
    );
  });
});
