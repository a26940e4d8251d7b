/** Rows of experts on other ranks go there and back around the experts' products. */
import { strict as assert } from "node:assert";
import { groupsExperts, withDispatch } from "../../../src/core/graph/dispatch";
import type { ArchitectureGraph } from "../../../src/core/graph/types";
import { graphsOf } from "../receipts/case";

/** What the function with experts does with rows, in order. */
function steps({ blocks }: ArchitectureGraph): string[] {
  const body = blocks.map((fn) => fn.body).find((one) => one.some((step) => "op" in step && step.op === "_grouped_mm"));
  return (body ?? []).flatMap((one) =>
    "op" in one && /^(?:_grouped_mm|all_to_all_single|sort_chunks)$/.test(one.op) ? [one.op] : [],
  );
}

describe("dispatch of rows to experts", () => {
  const mixtral = graphsOf("mixtral");
  const [graph] = mixtral.graphs;
  assert.ok(graph !== undefined);

  it("sends them before the first product and back behind the last, sorted where a rank has several experts", () => {
    assert.deepEqual(steps(graph), ["_grouped_mm", "_grouped_mm"]);
    assert.deepEqual(steps(withDispatch(graph, false)), [
      "all_to_all_single",
      "_grouped_mm",
      "_grouped_mm",
      "all_to_all_single",
    ]);
    assert.deepEqual(
      steps(withDispatch(graph, true)).join(" "),
      "all_to_all_single sort_chunks _grouped_mm _grouped_mm sort_chunks all_to_all_single",
    );
  });

  it("lets go of every new value once, and reads none that is gone", () => {
    const isNew = (name: string): boolean => /\.(?:arrived|own)/.test(name);
    for (const { body } of withDispatch(graph, true).blocks) {
      const there = new Set<string>();
      for (const one of body) {
        if ("drop" in one) for (const name of one.drop.filter(isNew)) assert.ok(there.delete(name), name);
        if (!("op" in one)) continue;
        for (const name of one.in)
          if (typeof name === "string" && isNew(name)) assert.ok(there.has(name.slice(1)), name);
        for (const name of one.out) if (name !== null && isNew(name)) there.add(name);
      }
      assert.equal(there.size, 0);
    }
  });

  it("knows families whose experts are multiplied together", () => {
    assert.ok(groupsExperts(mixtral));
    assert.ok(!groupsExperts(graphsOf("llama")));
  });
});
