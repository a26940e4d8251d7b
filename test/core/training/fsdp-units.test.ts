/** Which unit of FSDP a weight is in: paths of modules are names, whatever somebody writes there. */
import assert from "node:assert/strict";
import { unitOf, unitWithEnds } from "../../../src/core/training/parallel/fsdp/units";

const ENDS = { embedding: "embed", head: "lm_head", isTied: false };
const WEIGHT = { name: "model.layers.3.mlp.up.weight", pattern: "model.layers.{i}.mlp.up.weight", index: 3 };

describe("units of FSDP", () => {
  it("are layers, modules around them or inside of them, and no layer that is none", () => {
    assert.equal(unitOf({})(WEIGHT, ENDS), "model.layers.3");
    assert.equal(unitOf({ apart: ["model.layers.{i}.mlp"] })(WEIGHT, ENDS), "model.layers.3.mlp");
    assert.equal(unitOf({ apart: ["model.layers.3.mlp.up"] })(WEIGHT, ENDS), "model.layers.3.mlp.up");
    assert.equal(unitOf({ apart: ["model"], loose: ["model.layers.{i}"] })(WEIGHT, ENDS), "model");
    assert.equal(unitOf({ unsplit: true })(WEIGHT, ENDS), "");
    assert.equal(unitOf({ apart: ["model.lay", "mlp", "model.layers.4.mlp"] })(WEIGHT, ENDS), "model.layers.3");
  });

  it("have the ends apart, one where they have one weight", () => {
    const weight = (name: string) => ({ name, pattern: name, index: null });
    const units = unitWithEnds({});
    assert.deepEqual(
      ["embed.weight", "lm_head.weight", "norm.weight"].map((name) => units(weight(name), ENDS)),
      ["embedding", "tail", ""],
    );
    assert.equal(units(weight("embed.weight"), { ...ENDS, isTied: true }), "tail");
    assert.equal(units(weight("null.weight"), { embedding: null, head: null, isTied: false }), "");
  });

  it("are compared by name: what somebody calls a module is no pattern, and no name takes long", () => {
    const hostile = [
      "(",
      "model.layers.[3",
      "model.*",
      "(m+)+$",
      `${"model.".repeat(2000)}x`,
      "__proto__",
      "model.layers.\\d+.mlp",
    ];
    assert.equal(unitOf({ apart: hostile, loose: hostile })(WEIGHT, ENDS), "model.layers.3");
  });
});
