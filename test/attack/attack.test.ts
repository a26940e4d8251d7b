/** A part of the attacks (`npm run attack` runs them all): whatever a file says, an answer is an answer. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { faultsOf } from "./judge";
import { NAMES, replaced, scalarsOf } from "./mutations";
import { SEEDS, type Seed } from "./seeds";

/** Every text of a seed's documents with one value in its place; a value in quotes stays in quotes. */
function* withTexts({ files }: Seed, values: readonly string[]): Generator<readonly [string, Seed["files"]]> {
  for (const [path, text] of Object.entries(files)) {
    for (const scalar of scalarsOf(uri(path), text).filter(({ kind }) => kind === "text")) {
      const quoted = /["']/.test(text.charAt(scalar.start));
      for (const value of values) {
        const written = quoted ? JSON.stringify(value) : value;
        yield [`${path}${scalar.path} = ${value}`, { ...files, [path]: replaced(text, scalar, written) }];
      }
    }
  }
}

describe("attacks", () => {
  for (const [name, seed] of Object.entries(SEEDS)) {
    it(`${name}: names that every object has`, async () => {
      for (const [what, files] of withTexts(seed, NAMES.slice(0, 2))) {
        const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(seed.main), { device: "RTX 4090" });
        assert.deepEqual(faultsOf(analysis), [], what);
      }
    });
  }
});
