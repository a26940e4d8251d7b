/** When a change of time is a factor, and how it is rounded. */
import { strict as assert } from "node:assert";
import { saidAsFactor } from "../../src/terms/factor";

describe("terms: a factor of time", () => {
  for (const [factor, said] of [
    [0.5, undefined],
    [1.99, undefined],
    [1.994, undefined],
    [1.996, "2"],
    [2.09, "2.1"],
    [9.06, "9.1"],
    [9.94, "9.9"],
    [9.95, "10"],
    [13.4, "13"],
  ] as const)
    it(`${factor} is ${said ?? "a percentage"}`, () => assert.equal(saidAsFactor(factor), said));
});
