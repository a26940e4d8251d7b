import assert from "node:assert/strict";
import { partOf } from "../../../src/core/training/parts";

describe("parts of a model of pictures and text", () => {
  it("are told by where the library puts them", () => {
    assert.equal(partOf("model.visual.blocks.3.attn.qkv"), "vision");
    assert.equal(partOf("model.vision_tower.encoder.layers.0.mlp.fc1"), "vision");
    assert.equal(partOf("model.language_model.layers.0.self_attn.q_proj"), "language");
    assert.equal(partOf("lm_head"), "language");
  });

  it("know a projector inside the tower", () => {
    assert.equal(partOf("model.visual.merger.mlp.0"), "projector");
    assert.equal(partOf("model.multi_modal_projector.linear_1"), "projector");
  });

  it("are none where a model has only one", () => assert.equal(partOf("model.layers.0.mlp.up_proj"), null));
});
