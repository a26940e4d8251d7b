import assert from "node:assert/strict";
import { promote, resultType } from "../../../src/core/engine/dtype";

const of = (dtype: Parameters<typeof promote>[0], ...sizes: number[]) => ({ dtype, sizes });

describe("promotion", () => {
  it("meets two half types in float32", () => {
    assert.equal(promote("float16", "bfloat16"), "float32");
    assert.equal(promote("bfloat16", "float32"), "float32");
  });

  it("prefers floating over integer over bool, whatever their width", () => {
    assert.equal(promote("int64", "float16"), "float16");
    assert.equal(promote("bool", "uint8"), "uint8");
  });

  it("lets tensors without dimensions and numbers raise only the category", () => {
    assert.equal(resultType([of("bfloat16", 3), of("float32")]), "bfloat16");
    assert.equal(resultType([of("bfloat16", 3), 0.5]), "bfloat16");
    assert.equal(resultType([of("int64", 3), 0.5]), "float32");
    assert.equal(resultType([of("int64", 3), of("float16")]), "float16");
    assert.equal(resultType([of("int64", 3), 2]), "int64");
    assert.equal(resultType([of("bool", 3), true]), "bool");
  });
});
