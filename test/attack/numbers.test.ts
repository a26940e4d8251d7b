/** A part of the numbers (`npm run attack` tries them all): one number in every numeric key of every format, whose answer is an answer. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { ALL_SEEDS } from "./format-seeds";
import { faultsOf } from "./judge";
import { numbersIn } from "./numbers";

/** Of the numbers in a run's keys every so many is tried. */
const STRIDE = 197;

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
});
