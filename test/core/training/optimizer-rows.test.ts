/** Rows of optimizers: each has a factory, and each name leads to one row. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findOptimizer } from "../../../src/core/training/optimizers";
import {
  OPTIMIZER_CLASSES,
  OPTIMIZER_ROWS,
  optimizerNamed,
  optimizerRow,
  TRAINER_OPTIMIZERS,
} from "../../../src/terms/optimizers";

describe("optimizers", () => {
  it("are rows alone: no other file knows one by its name, and each has its step", () => {
    for (const name of Object.keys(OPTIMIZER_ROWS)) assert.notEqual(findOptimizer(name), undefined, name);
    const folder = join(__dirname, "../../../src/core/training/optimizers");
    // Ways of stepping and classes of torch.optim have names of their own, some of which are the rows'.
    const shared = new Set<string>(
      Object.values(OPTIMIZER_ROWS).flatMap(({ by }) => [by.way, "rule" in by ? by.rule : ""]),
    );
    const own = Object.keys(OPTIMIZER_ROWS).filter((name) => !shared.has(name));
    const named = readdirSync(folder).flatMap((file) => {
      const text = readFileSync(join(folder, file), "utf8");
      return own
        .filter((name) => new RegExp(`"${name}"|^ *${name}:`, "m").test(text))
        .map((name) => `${file}: ${name}`);
    });
    assert.deepEqual(named, []);
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
