/** Divisors next to a limit, as plain trial finds them, and at once for the largest numbers. */
import { strict as assert } from "node:assert";
import { divisorAtLeast, divisorAtMost } from "../../src/terms/divisors";

describe("terms: divisors", () => {
  it("are those that trying every number finds", () => {
    for (let total = 1; total <= 60; total++)
      for (let limit = 1; limit <= 65; limit++) {
        let below = Math.min(limit, total);
        while (total % below !== 0) below--;
        let above: number | null = limit;
        while (above <= total && total % above !== 0) above++;
        assert.equal(divisorAtMost(total, limit), below, `${total} ${limit}`);
        assert.equal(divisorAtLeast(total, limit), above > total ? null : above, `${total} ${limit}`);
      }
  });

  it("of what is no whole number, or too large to be divided, are none", () => {
    for (const total of [0, -4, 1.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])
      assert.equal(divisorAtMost(total, 7), null);
    assert.equal(divisorAtMost(2 ** 31 - 1, 2 ** 31 - 2), 1);
    assert.equal(divisorAtMost(12, 0), null);
  });
});
