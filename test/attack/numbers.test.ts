/** A part of the numbers (`npm run attack` tries them all): one number in every numeric key of every format, whose answer is an answer. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { ALL_SEEDS } from "./format-seeds";
import { faultsOf } from "./judge";
import { modelNumbers } from "./model-numbers";
import { numbersIn } from "./numbers";

/** Of the numbers in a run's keys every so many is tried. */
const STRIDE = 397;
const MODEL_STRIDE = 2749;

describe("attacks: numbers", () => {
  let place = 0;
  for (const [name, seed] of Object.entries(ALL_SEEDS)) {
    it(name, async () => {
      for (const { what, value, files } of numbersIn(seed, () => place++ % STRIDE === 0)) {
        const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(seed.main), { device: "RTX 4090" });
        assert.deepEqual(faultsOf(analysis, value === ".nan" ? "NaN" : value), [], what);
      }
    });
  }

  it("in models' configs", async () => {
    let model = 0;
    for (const { what, value, main, files } of modelNumbers(() => model++ % MODEL_STRIDE === 0)) {
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(main), { device: "RTX 4090" });
      assert.deepEqual(faultsOf(analysis, value), [], what);
    }
  });
});
