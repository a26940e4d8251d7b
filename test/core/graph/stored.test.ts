/** What stands in a family's file more than once is said once. */
import { strict as assert } from "node:assert";
import { familyGraphs } from "../../../src/core/graph/stored";

const head = { schema: "vram-lens/graphs/3", family: "tiny" };

describe("stored graphs", () => {
  it("puts parts where they are pointed to, parts of parts too, as one object", () => {
    const graphs = familyGraphs(
      JSON.stringify({
        ...head,
        parts: [{ op: "add" }, { body: [{ same: 0 }, { drop: ["1"] }] }],
        graphs: [{ main: { same: 1 } }, { main: { same: 1 }, blocks: [{ same: 0 }] }],
      }),
    ) as unknown as { graphs: readonly { main: unknown; blocks?: readonly unknown[] }[] };
    assert.deepEqual(graphs, {
      family: "tiny",
      graphs: [
        { main: { body: [{ op: "add" }, { drop: ["1"] }] } },
        { main: { body: [{ op: "add" }, { drop: ["1"] }] }, blocks: [{ op: "add" }] },
      ],
    });
    assert.equal(graphs.graphs[0]?.main, graphs.graphs[1]?.main);
  });

  it("puts a stretch of a part's items into a list", () => {
    const graphs = familyGraphs(
      JSON.stringify({
        ...head,
        parts: [
          ["a", "b", "c", "d"],
          ["x", { run: [0, 1, 2] }, "y"],
        ],
        graphs: [{ body: [{ run: [1, 0, 3] }, "z"] }, { body: { same: 1 } }],
      }),
    );
    assert.deepEqual(graphs, {
      family: "tiny",
      graphs: [{ body: ["x", "b", "c", "z"] }, { body: ["x", "b", "c", "y"] }],
    });
  });

  it("is nothing where a text is no file of graphs", () => {
    for (const text of ["", "null", "{", "[]", JSON.stringify({ ...head, schema: "vram-lens/graphs/2", graphs: [] })])
      assert.equal(familyGraphs(text), undefined, text);
  });
});
