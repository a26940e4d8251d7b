import { strict as assert } from "node:assert";
import { modelDataBytes } from "../../bench/size";

describe("model data", () => {
  it("takes less than 1.35 MB of the package", () => {
    const bytes = modelDataBytes();
    assert.ok(bytes < 1.35e6, `${bytes} bytes compressed`);
  });
});
