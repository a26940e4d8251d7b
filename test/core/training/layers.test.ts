import { strict as assert } from "node:assert";
import type { DType } from "../../../src/core/engine/dtype";
import type { Tensor } from "../../../src/core/engine/tensor";
import { counterparts, layerSignatures } from "../../../src/core/training/layers";
import { lab } from "../engine/lab";

describe("parameters of layers", () => {
  const { tensor } = lab();
  const parameter = (layer: number | null, pattern: string, sizes = [4, 4], dtype: DType = "float32"): Tensor => {
    const made = tensor(sizes, dtype);
    made.layer = layer;
    made.pattern = pattern;
    return made;
  };

  it("tell layers apart by names, sizes, dtypes, what is trained, and how many there are", () => {
    const trained = parameter(4, "w");
    trained.requiresGradFlag = true;
    const signature = layerSignatures([
      parameter(null, "head"),
      parameter(0, "w"),
      parameter(1, "w"),
      parameter(2, "w", [4, 8]),
      parameter(3, "w", [4, 4], "bfloat16"),
      trained,
      parameter(5, "v"),
      parameter(6, "w"),
      parameter(6, "b", [4]),
    ]);
    assert.equal(signature(0), signature(1));
    assert.equal(new Set([0, 2, 3, 4, 5, 6].map(signature)).size, 6);
    assert.equal(signature(9), "");
  });

  it("are found in another layer by their pattern", () => {
    const [first, second] = [parameter(0, "layers.{i}.w"), parameter(1, "layers.{i}.w")];
    const find = counterparts([first, second, parameter(1, "layers.{i}.b")]);
    assert.equal(find(first, 1), second);
    assert.equal(find(first, 2), undefined);
  });
});
