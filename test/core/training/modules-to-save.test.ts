import assert from "node:assert/strict";
import type { Tensor } from "../../../src/core/engine/tensor";
import { applyModulesToSave } from "../../../src/core/training/adapters/modules-to-save";
import { lab } from "../engine/lab";

describe("modules to save", () => {
  const place = (name: string) => {
    const l = lab();
    const frozen = l.tensor([1000, 64], "bfloat16");
    const byName = new Map<string, Tensor>([[name, frozen]]);
    const parameters: Tensor[] = [];
    const item = {
      name,
      sizes: frozen.sizes,
      dtype: frozen.dtype,
      module: "Linear",
      frozen: false,
      index: null,
      sharedWith: null,
      pattern: name,
    };
    applyModulesToSave(l.torch, item, byName, parameters);
    return { l, frozen, used: byName.get(name)!, parameters };
  };

  it("keep the frozen weight and train a copy of it in its own dtype", () => {
    const { l, frozen, used, parameters } = place("lm_head.weight");
    assert.notEqual(used, frozen);
    assert.equal(used.requiresGradFlag, true);
    assert.equal(used.dtype, "bfloat16");
    assert.deepEqual(parameters, [used]);
    assert.equal(l.live, 2 * 128_000);
  });
});
