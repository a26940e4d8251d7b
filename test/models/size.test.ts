import { strict as assert } from "node:assert";
import { modelDataBytes } from "../../bench/size";

describe("model data", () => {
  // Frameworks that people train with have code of their own beside the families (models/graphs/torchtune.*, litgpt.*).
  it("takes less than 1.4 MB of the package", () => {
    const bytes = modelDataBytes();
    assert.ok(bytes < 1.4e6, `${bytes} bytes compressed`);
  });
});
