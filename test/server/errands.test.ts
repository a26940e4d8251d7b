/** What the server has done where analyses are made, on the packaged data as files and as the extension has it. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { errandsOf } from "../../src/server/apart/errands";
import { memoryRuntime } from "../analysis/memory-runtime";

const CATALOGUE = readFileSync(join(__dirname, "../../models/catalogue.json"), "utf8");

describe("errands of the server", () => {
  it("name the models of the catalogue, wherever the packaged data is", async () => {
    const files = memoryRuntime({});
    const { models: known } = JSON.parse(CATALOGUE) as { models: readonly { name: string; parameters: number }[] };
    const { models } = await errandsOf(createAnalyzer(files), files).models();
    assert.deepEqual(
      models,
      known.map(({ name, parameters }) => ({ name, parameters })),
    );
    const bare = memoryRuntime({}, { "catalogue.json": undefined });
    assert.deepEqual(await errandsOf(createAnalyzer(bare), bare).models(), { models: [] });
  });
});
