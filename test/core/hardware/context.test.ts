import { strict as assert } from "node:assert";
import { blasWorkspaceBytes, contextBand, overheadBand } from "../../../src/core/hardware/context";
import { DEVICES } from "../../../src/core/hardware/devices";

describe("context", () => {
  it("has an ordered band for every architecture of the catalogue and for unknown ones", () => {
    for (const architecture of [...DEVICES.map((device) => device.architecture), "unknown", "never-seen"]) {
      const { low, likely, high } = contextBand(architecture);
      assert.ok(low > 0 && low < likely && likely < high, architecture);
    }
    assert.ok(
      DEVICES.every(
        (device) => device.architecture === "gcn5" || contextBand(device.architecture) !== contextBand("unknown"),
      ),
    );
  });

  it("is larger before PyTorch 1.13, which loaded every kernel with it", () => {
    for (const architecture of ["volta", "turing", "ampere"]) {
      assert.ok(contextBand(architecture, "1.12.1").likely > 1.5 * contextBand(architecture).likely, architecture);
      for (const torch of ["1.13.1", "2.0", "2.11"])
        assert.equal(contextBand(architecture, torch), contextBand(architecture));
    }
    assert.equal(contextBand("hopper", "1.12"), contextBand("hopper"));
    assert.equal(overheadBand("volta", 1, "1.10").low, 1343 * 2 ** 20);
  });

  it("adds a communicator only when there is someone to talk to", () => {
    const alone = overheadBand("ampere", 1);
    assert.equal(alone.low, contextBand("ampere").low);
    assert.equal(alone.likely, contextBand("ampere").likely + 2 * blasWorkspaceBytes("ampere"));
    assert.ok(overheadBand("ampere", 8).likely > alone.likely);
  });

  it("has PyTorch's workspace sizes", () => {
    assert.equal(blasWorkspaceBytes("ampere"), 8_519_680);
    assert.equal(blasWorkspaceBytes("hopper"), 33_554_432);
    assert.equal(blasWorkspaceBytes("cdna3"), 134_217_728);
  });
});
