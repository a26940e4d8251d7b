/** What a run beyond its card would migrate each step in memory that moves by itself. */
import { strict as assert } from "node:assert";
import { migrationOf } from "../../../src/core/cost/managed";
import { stepTime } from "../../../src/core/cost/step-time";
import { deviceSpec, findDevice, usableBytes } from "../../../src/core/hardware/devices";
import { llama, measured } from "./runs";

const on = (name: string) => {
  const found = findDevice(name);
  assert.ok(found);
  const run = llama({ device: deviceSpec(found) });
  return { run, counts: measured(run), card: found.device };
};

describe("migrationOf", () => {
  it("sends what lies beyond the card there and back, at most what every sweep takes and kernels move", () => {
    const { run, counts, card } = on("RTX 4090");
    const found = migrationOf(run, counts);
    assert.ok(found);
    assert.equal(found.overBytes, counts.usedPeakBytes - usableBytes(card));
    assert.equal(found.bytes[0], 2 * found.overBytes);
    assert.ok(found.bytes[1] >= found.bytes[0] && found.bytes[1] <= 2 * 3 * counts.usedPeakBytes);
    const time = stepTime(run, counts);
    // The wire alone takes so long at least.
    assert.ok(time && (found.slower[0] - 1) * time.high >= found.overBytes / card.hostBandwidth);
    assert.ok(found.slower[1] > found.slower[0]);
  });

  it("has nothing to say of a run that fits, or of memory that is shared", () => {
    for (const name of ["B200", "DGX Spark", "Apple M4 Pro 24GB", "MI300X"]) {
      const { run, counts } = on(name);
      assert.equal(migrationOf(run, counts), null, name);
    }
  });

  it("costs less over a coherent link", () => {
    const [plain, coherent] = ["NVIDIA A100-SXM4-40GB", "GH200"].map((name) => {
      const { run, counts } = on(name);
      // Beyond either card by as much.
      const { device } = run;
      assert.ok(device !== null);
      const card = findDevice(name)!.device;
      return migrationOf(run, { ...counts, usedPeakBytes: usableBytes(card) + 2 ** 34 })!;
    });
    assert.ok(plain!.slower[0] > coherent!.slower[0]);
  });
});
