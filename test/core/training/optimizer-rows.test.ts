/** Rows of optimizers: each has a factory, and each name leads to one row. */
import { strict as assert } from "node:assert";
import { OPTIMIZER_NAMES } from "../../../src/core/training/optimizers";
import {
  OPTIMIZER_CLASSES,
  OPTIMIZER_ROWS,
  optimizerNamed,
  optimizerRow,
  TRAINER_OPTIMIZERS,
} from "../../../src/terms/optimizers";

describe("optimizers", () => {
  it("are rows, each with a factory, and no factory is without a row", () => {
    assert.deepEqual(Object.keys(OPTIMIZER_ROWS).toSorted(), [...OPTIMIZER_NAMES].toSorted());
  });

  it("have names of their own: those of the Trainer, of other trainers and of classes", () => {
    assert.equal(new Set(TRAINER_OPTIMIZERS).size, TRAINER_OPTIMIZERS.length);
    for (const name of TRAINER_OPTIMIZERS) assert.ok(optimizerNamed(name) !== undefined, name);
    assert.equal(optimizerNamed("ao_adamw_8bit"), "adamw_torch_8bit");
    assert.equal(optimizerNamed("adamw_apex_fused"), "adamw_torch_fused");
    assert.equal(optimizerNamed("nobody_knows"), undefined);
    assert.equal(OPTIMIZER_CLASSES["PagedAdamW"], "paged_adamw_32bit");
  });

  it("say what rules ask of them", () => {
    const are = (trait: "inBackward" | "layerwise" | "projects" | "adamw"): string[] =>
      Object.keys(OPTIMIZER_ROWS).filter((name) => optimizerRow(name)?.[trait] === true);
    assert.deepEqual(
      are("inBackward").filter((name) => !are("layerwise").includes(name)),
      ["lomo", "adalomo"],
    );
    assert.ok(are("layerwise").every((name) => are("projects").includes(name)));
    assert.deepEqual(are("adamw"), ["adamw_torch", "adamw_torch_fused", "adamw_hf"]);
    assert.equal(optimizerRow("galore_adamw_8bit_layerwise")?.bits, 8);
  });
});
