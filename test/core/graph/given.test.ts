/** What layers of each kind are given. */
import assert from "node:assert/strict";
import { withheldInputs } from "../../../src/core/graph/given";
import type { GraphFunction, Instruction, RepeatInstruction } from "../../../src/core/graph/types";

const reader = (...names: readonly string[]): GraphFunction => ({
  inputs: ["x0", "x1", "x2", "x3", "x4"],
  outputs: ["0"],
  body: names.map((name): Instruction => ({ op: "add.Tensor", in: ["%x0", `%${name}`], out: ["0"] })),
});

const attending = (fn: GraphFunction, mask: string): GraphFunction => ({
  ...fn,
  body: [
    ...fn.body,
    { op: "scaled_dot_product_attention", in: ["%x0", "%x0", "%x0", `%${mask}`, 0, false], out: ["1"] },
  ],
});

const repeat = (bodies: number): RepeatInstruction => ({
  repeat: {
    from: "0",
    to: "4",
    bodies: Array.from({ length: bodies }, (_, block) => ({ block, when: `i % ${bodies} == ${block}` })),
    in: ["%0", "%1", "%2", "%3", "%4"],
    carry: [0, null, null, null, null],
    out: ["5"],
    checkpoint: true,
    positional: [0],
  },
});

const sets = (blocks: readonly GraphFunction[]): number[][] =>
  [...withheldInputs(repeat(blocks.length), blocks).values()].map((which) => [...which]);

describe("inputs of layers of several kinds", () => {
  it("withholds the other kind's value of the same argument", () => {
    assert.deepEqual(sets([reader("x1"), reader("x2")]), [[2], [1]]);
    assert.deepEqual(sets([reader("x1", "x3"), reader("x2", "x4")]), [
      [2, 4],
      [1, 3],
    ]);
  });

  it("gives every kind what only some of them read", () => {
    assert.deepEqual(sets([reader("x1"), reader("x2", "x3", "x4")]), [[2], [1]]);
    assert.deepEqual(sets([reader("x1"), reader("x1", "x3")]), [[], []]);
  });

  it("withholds a mask that only the other kind attends with", () => {
    assert.deepEqual(sets([reader("x1"), attending(reader("x1"), "x4")]), [[4], []]);
  });

  it("withholds what the graph states instead", () => {
    const stated = repeat(2);
    const bodies = stated.repeat.bodies.map((body, block) => (block === 0 ? { ...body, withheld: [3] } : body));
    const given = withheldInputs({ repeat: { ...stated.repeat, bodies } }, [reader("x1"), reader("x2", "x3")]);
    assert.deepEqual(
      [...given.values()].map((which) => [...which]),
      [[3], []],
    );
  });

  it("gives layers of one kind everything", () => {
    assert.equal(withheldInputs(repeat(1), [reader("x1")]).size, 0);
  });
});
