import { strict as assert } from "node:assert";
import { renamedGraphs } from "../../../src/core/graph/renamed";
import type { FamilyGraphs } from "../../../src/core/graph/types";

describe("graph: names of an earlier release", () => {
  const shared = [{ path: "m.stages.2.blocks.{k}.attention.q_proj" }];
  const graph = {
    main: shared,
    again: shared,
    weight: "@m.stages.2.blocks.0.attention.q_proj.weight",
    when: "a.b == 2",
  };
  const newest = { family: "x", graphs: [graph] } as unknown as FamilyGraphs;

  it("renames names within paths, one after another, and keeps what stands for any", () => {
    const pairs = [
      ["attention.q_proj", "attention.self.query"],
      ["stages.*.blocks", "encoder.block.*"],
      ["q_proj", "never"],
    ] as const;
    const [own] = renamedGraphs(newest, pairs).graphs as unknown as (typeof graph)[];
    assert.deepEqual(own?.main, [{ path: "m.encoder.block.2.{k}.attention.self.query" }]);
    assert.equal(own?.weight, "@m.encoder.block.2.0.attention.self.query.weight");
    assert.equal(own?.when, "a.b == 2");
    assert.equal(own?.again, own?.main);
  });

  it("renames nothing in the middle of a name", () => {
    const [own] = renamedGraphs(newest, [["proj", "x"]]).graphs as unknown as (typeof graph)[];
    assert.deepEqual(own, graph);
  });
});
