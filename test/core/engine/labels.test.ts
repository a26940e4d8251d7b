import { strict as assert } from "node:assert";
import { Labels, NO_KERNEL } from "../../../src/core/engine/labels";

describe("labels", () => {
  it("keep what each allocation is, however many there are", () => {
    const labels = new Labels();
    const product = { count: 1, rows: 2, columns: 3, inner: 4, dtype: "bfloat16" } as const;
    for (let k = 0; k < 5000; k++)
      labels.add("activations", `op${k % 7}`, `model.layers.${k}`, k, k % 2 === 0 ? { product } : null);
    const last = labels.add("temporaries", "add", "", NO_KERNEL, null);
    assert.equal(labels.count, 5001);
    assert.deepEqual(labels.at(4000), {
      kind: "activations",
      operator: "op3",
      scope: "model.layers.4000",
      kernel: { reads: 4000, product },
    });
    assert.deepEqual(labels.at(4001).kernel, { reads: 4001 });
    assert.equal(labels.at(last).kernel, null);
  });

  it("are booked anew without touching others of their kind", () => {
    const labels = new Labels();
    const [one, other] = [0, 1].map(() => labels.add("activations", "empty", "embed", 8, null));
    labels.setKind(one!, "weights");
    assert.deepEqual([labels.kindOf(one!), labels.kindOf(other!)], ["weights", "activations"]);
  });

  it("say which of them an operator has", () => {
    const labels = new Labels();
    for (const operator of ["mm", "add", "mm"]) labels.add("activations", operator, "", 0, null);
    assert.deepEqual([...(labels.ofOperator("mm") ?? [])], [1, 0, 1]);
    assert.equal(labels.ofOperator("bmm"), null);
  });
});
