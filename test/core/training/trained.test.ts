/** Layers that are trained are counted in every spelling of a model's depth. */
import { strict as assert } from "node:assert";
import { DIMENSIONS } from "../../../src/core/graph/dimensions";
import type { PlacedTensor } from "../../../src/core/training/placed";
import { withTrained } from "../../../src/core/training/trained";

const weight = (index: number): PlacedTensor => ({
  name: `transformer.layer.${index}.ffn.lin1.weight`,
  sizes: [8, 4],
  dtype: "float32",
  frozen: false,
  pattern: "transformer.layer.{i}.ffn.lin1.weight",
  module: "Linear",
  index,
  sharedWith: null,
});

describe("layers that are trained", () => {
  for (const key of [...DIMENSIONS.layers, "text_config.num_hidden_layers"])
    it(`are counted from the end where the config says ${key}`, () => {
      const spec = { layers: { count: 1, modules: null, besides: [] } };
      const placed = withTrained(spec, [0, 1, 2, 3].map(weight), (name) => (name === key ? 4 : undefined));
      assert.deepEqual(
        placed.filter(({ frozen }) => !frozen).map(({ index }) => index),
        [3],
      );
    });
});
