/** Where tokens are cut by hand is found by looking at what a module assigns a few times, however much that is. */
import { strict as assert } from "node:assert";
import { tokenizedLengths } from "../../src/formats/hf-scripts/tokenizing";
import { parsePython } from "../../src/syntax/python";

function readsOf(count: number): { readonly reads: number; readonly found: unknown } {
  const names = Array.from({ length: count }, (_, k) => `a${k} = ${k}\n`).join("");
  const python = parsePython(`${names}MOST = 96\ninput_ids = input_ids[:MOST]\n`).python;
  assert.ok(python);
  let reads = 0;
  const counted = python.assignments.entries.map(({ key, ...rest }) => ({
    ...rest,
    get key() {
      reads++;
      return key;
    },
  }));
  const [found] = tokenizedLengths({ ...python, assignments: { ...python.assignments, entries: counted } });
  return { reads, found: found?.value };
}

describe("formats: tokens that are cut by hand", () => {
  it("are found in as many steps as there are names", () => {
    const few = readsOf(100);
    const many = readsOf(1000);
    assert.equal(few.found, 96);
    assert.equal(many.found, 96);
    assert.ok(many.reads <= 11 * few.reads, `${few.reads} and ${many.reads} reads`);
  });
});
