import { strict as assert } from "node:assert";
import { layerCut, leftLayers } from "../../src/terms/layer-cut";

describe("layers that are cut out", () => {
  it("are Python's slices, one after the other", () => {
    assert.deepEqual(leftLayers(6, [{ from: 0, to: 4, keeps: true }]), [0, 1, 2, 3]);
    assert.deepEqual(leftLayers(6, [{ from: -2, to: null, keeps: false }]), [0, 1, 2, 3]);
    assert.deepEqual(
      leftLayers(6, [
        { from: 2, to: 4, keeps: false },
        { from: 1, to: null, keeps: true },
      ]),
      [1, 4, 5],
    );
    assert.deepEqual(leftLayers(2, [{ from: 5, to: 9, keeps: true }]), []);
  });

  it("are every so many of them, or some by their indices", () => {
    assert.deepEqual(leftLayers(6, [{ from: 1, to: null, step: 2, keeps: true }]), [1, 3, 5]);
    assert.deepEqual(leftLayers(6, [{ from: 0, to: 5, step: 2, keeps: false }]), [1, 3, 5]);
    assert.deepEqual(leftLayers(6, [{ at: [0, 2, -1, 9], keeps: true }]), [0, 2, 5]);
  });

  it("are none where the text is not one", () => assert.equal(layerCut("{"), undefined));
});
