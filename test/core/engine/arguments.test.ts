import { strict as assert } from "node:assert";
import { NotModelled } from "../../../src/core/engine/not-modelled";
import { Arguments } from "../../../src/core/engine/ops/arguments";

describe("operands of an operator", () => {
  it("are refused where something else stands, as in a graph that somebody wrote by hand", () => {
    for (const other of ["__proto__", 3, true, [1], null, undefined])
      assert.throws(() => new Arguments([other as never], {}).tensor(0), NotModelled);
  });
});
