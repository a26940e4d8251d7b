/** Signs that open something and patterns that ask for more than they say: there is an answer, and nothing in it is ours to mend. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { faultsOf } from "./judge";
import { OPENING } from "./opening";

describe("what opens and does not close", () => {
  for (const [name, { main, files }] of Object.entries(OPENING))
    it(name, async () => {
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(main), { device: "RTX 4090" });
      assert.deepEqual(faultsOf(analysis), []);
    });
});
