/** What stands in a family's file more than once is said once. */
import { strict as assert } from "node:assert";
import { familyGraphs } from "../../../src/core/graph/stored";

const head = { schema: "vram-lens/graphs/2", family: "tiny" };

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

  it("is nothing where a text is no file of graphs", () => {
    for (const text of ["", "null", "{", "[]", JSON.stringify({ ...head, schema: "vram-lens/graphs/1", graphs: [] })])
      assert.equal(familyGraphs(text), undefined, text);
  });
});
