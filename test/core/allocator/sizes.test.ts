import { strict as assert } from "node:assert";
import { NONE } from "../../../src/core/allocator/blocks";
import { Sizes } from "../../../src/core/allocator/sizes";

describe("sizes of free blocks", () => {
  it("are found as a sorted list finds them, small and large", () => {
    const sizes = new Sizes();
    const lists = new Map<number, number>();
    let seed = 7;
    const draw = (most: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return 1 + Math.floor((seed / 0x80000000) * most);
    };
    for (let round = 0; round < 4000; round++) {
      const size = draw(2) === 1 ? draw(4200) : draw(2 ** 33);
      if (lists.has(size) || draw(3) === 1) {
        const gone = lists.has(size) ? size : [...lists.keys()][draw(lists.size) - 1];
        if (gone === undefined) continue;
        sizes.leave(gone);
        lists.delete(gone);
      } else lists.set(size, sizes.enter(size));
      const wanted = draw(2) === 1 ? draw(4200) : draw(2 ** 33);
      const best = Math.min(...[...lists.keys()].filter((one) => one >= wanted));
      assert.equal(sizes.atLeast(wanted), lists.get(best) ?? NONE);
    }
    // Every list has a number of its own.
    assert.equal(new Set(lists.values()).size, lists.size);
  });
});
