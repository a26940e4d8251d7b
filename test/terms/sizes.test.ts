import { strict as assert } from "node:assert";
import { speedIn } from "../../src/terms/sizes";

describe("speeds", () => {
  it("are bytes per second; a small b is a bit", () => {
    assert.equal(speedIn("50GB/s"), 50e9);
    assert.equal(speedIn("1.6 TB/s"), 1.6e12);
    assert.equal(speedIn("400Gbit/s"), 50e9);
    assert.equal(speedIn("100 Gbps"), 12.5e9);
    assert.equal(speedIn("100 GBps"), 100e9);
    assert.equal(speedIn(`${"9".repeat(400)}GB/s`), 0);
    assert.equal(speedIn("100Gb/s"), 12.5e9);
    assert.equal(speedIn("PCIe"), 0);
    assert.equal(speedIn(undefined), 0);
  });
});
