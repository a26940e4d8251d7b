/** What stands in a family's file more than once is said once. */
import { strict as assert } from "node:assert";
import { familyGraphs, withTable } from "../../../src/core/graph/stored";

const head = { schema: "vram-lens/graphs/4", family: "tiny" };

const fn = (body: unknown, outputs: readonly string[] = []) => ({ inputs: [], outputs, body });
const stored = (parts: readonly unknown[], graphs: readonly unknown[]) =>
  familyGraphs(JSON.stringify({ ...head, parts, graphs }));

describe("stored graphs", () => {
  it("puts parts where they are pointed to, parts of parts too, as one object", () => {
    const scope = { scope: "model" };
    const graphs = stored(
      [scope, fn([{ same: 0 }, { drop: ["a"] }])],
      [
        { main: { same: 1 }, blocks: [] },
        { main: { same: 1 }, blocks: [fn([{ same: 0 }])] },
      ],
    );
    const main = fn([scope, { drop: ["a"] }]);
    assert.equal(graphs?.family, "tiny");
    assert.deepEqual(graphs?.graphs, [
      { main, blocks: [] },
      { main, blocks: [fn([scope])] },
    ]);
    assert.equal(graphs?.graphs[0]?.main, graphs?.graphs[1]?.main);
  });

  it("puts a stretch of a part's items into a list", () => {
    const scope = (name: string) => ({ scope: name });
    const graphs = stored(
      [["a", "b", "c", "d"].map(scope), [scope("x"), { run: [0, 1, 2] }, scope("y")]],
      [
        { main: fn([{ run: [1, 0, 3] }, scope("z")]), blocks: [] },
        { main: fn({ same: 1 }), blocks: [] },
      ],
    );
    assert.deepEqual(
      graphs?.graphs.map(({ main }) => main.body),
      [["x", "b", "c", "z"].map(scope), ["x", "b", "c", "y"].map(scope)],
    );
  });

  it("numbers values by how far back they were made", () => {
    const body = [
      { op: "embedding", in: ["%input_ids"], out: ["+"] },
      { op: "split", in: ["%-0", ["%-0"]], kw: { dtype: "$dtype(%-0)" }, out: ["+", null, "+2"] },
      { op: "add_", in: ["%-1"], out: ["-1"] },
      { drop: ["-3", "input_ids"] },
      { repeat: { in: ["%-0"], out: ["+"], collect: ["*+"], carry: [0] } },
      { op: "cat", in: ["%*-0"], out: ["+"] },
      { drop: ["*-1"] },
    ];
    const graphs = stored([], [{ main: fn(body, ["-0", "-2"]), blocks: [] }]);
    assert.deepEqual(graphs?.graphs[0]?.main, {
      inputs: [],
      outputs: ["6", "4"],
      body: [
        { op: "embedding", in: ["%input_ids"], out: ["0"] },
        { op: "split", in: ["%0", ["%0"]], kw: { dtype: "$dtype(%0)" }, out: ["1", null, "3"] },
        { op: "add_", in: ["%2"], out: ["2"] },
        { drop: ["0", "input_ids"] },
        { repeat: { in: ["%3"], out: ["4"], collect: ["*5"], carry: [0] } },
        { op: "cat", in: ["%*5"], out: ["6"] },
        { drop: ["*5"] },
      ],
    });
  });

  it("keeps an instruction that is said once one object where its numbers are the same", () => {
    const sum = { op: "add.Tensor", in: ["%x", "%x"], out: ["+"] };
    const graphs = stored(
      [sum],
      [
        { main: fn([{ same: 0 }, { same: 0 }]), blocks: [] },
        { main: fn([{ same: 0 }, { drop: ["-0"] }]), blocks: [] },
      ],
    );
    const [one, other] = graphs?.graphs ?? [];
    assert.equal(one?.main.body[0], other?.main.body[0]);
    assert.deepEqual(one?.main.body[1], { ...sum, out: ["1"] });
  });

  it("goes on from the table that it names", async () => {
    const scope = { scope: "model" };
    const table = JSON.stringify({ schema: head.schema, parts: [scope] });
    const text = JSON.stringify({
      schema: head.schema,
      like: "others",
      parts: [fn([{ same: 0 }])],
      family: "tiny",
      graphs: [{ main: { same: 1 }, blocks: [] }],
    });
    const read = async (name: string) => (name === "others" ? table : undefined);
    const graphs = await withTable(text, read, familyGraphs);
    assert.deepEqual(graphs?.graphs, [{ main: fn([scope]), blocks: [] }]);
    assert.equal(await withTable(text, async () => undefined, familyGraphs), undefined);
  });

  it("names the body of each graph, the table's where a graph names none, and keeps what is the same one object", async () => {
    const [call, scope] = [{ call: "Linear", path: "~.q", attrs: { weight: "@~.q.weight" } }, { scope: "other.~" }];
    const table = JSON.stringify({ schema: head.schema, root: "model", parts: [call, scope] });
    const graph = { main: fn([{ same: 0 }, { same: 1 }, { scope: "~" }, { scope: "~x" }]), blocks: [] };
    const text = JSON.stringify({
      schema: head.schema,
      like: "others",
      parts: [],
      family: "tiny",
      graphs: [graph, { root: "bert", ...graph }, graph, { root: "", ...graph }],
    });
    const graphs = await withTable(text, async () => table, familyGraphs);
    const called = (root: string) => ({ call: "Linear", path: `${root}q`, attrs: { weight: `@${root}q.weight` } });
    assert.deepEqual(
      graphs?.graphs,
      ["model", "bert", "model", ""].map((root) => ({
        main: fn([called(root && `${root}.`), scope, { scope: root }, { scope: "~x" }]),
        blocks: [],
      })),
    );
    assert.equal(graphs.graphs[0]?.main.body[0], graphs.graphs[2]?.main.body[0]);
  });

  it("is nothing where a text is no file of graphs", () => {
    for (const text of ["", "null", "{", "[]", JSON.stringify({ ...head, schema: "vram-lens/graphs/3", graphs: [] })])
      assert.equal(familyGraphs(text), undefined, text);
  });
});
