import assert from "node:assert/strict";
import type { Tensor } from "../../../src/core/engine/tensor";
import { applyModulesToSave } from "../../../src/core/training/adapters/modules-to-save";
import type { AdapterSpec } from "../../../src/core/training/run";
import { lab } from "../engine/lab";

const ADAPTER: AdapterSpec = {
  type: "lora",
  rank: 8,
  alpha: 16,
  dropout: 0,
  targetModules: ["q_proj"],
  modulesToSave: ["lm_head"],
  bias: "none",
  useRslora: false,
  autocastAdapterDtype: true,
};

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
      pattern: name,
    };
    const saved = applyModulesToSave(l.torch, ADAPTER, item, byName, parameters);
    return { l, saved, frozen, used: byName.get(name)!, parameters };
  };

  it("keep the frozen weight and train a copy of it in its own dtype", () => {
    const { l, saved, frozen, used, parameters } = place("lm_head.weight");
    assert.equal(saved, true);
    assert.notEqual(used, frozen);
    assert.equal(used.requiresGradFlag, true);
    assert.equal(used.dtype, "bfloat16");
    assert.deepEqual(parameters, [used]);
    assert.equal(l.live, 2 * 128_000);
  });

  it("leave other modules alone", () => {
    const { saved, frozen, used } = place("model.lm_head_norm.weight");
    assert.equal(saved, false);
    assert.equal(used, frozen);
  });
});
