/** The step's timeline on a real run: what is alive adds up at every point, and the peak is among the points. */
import { strict as assert } from "node:assert";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { COMPONENT_KINDS } from "../../src/core/report/estimate";
import { createNodeRuntime, uriOf } from "../../src/host/node";

const root = join(__dirname, "..", "..");

describe("timeline", () => {
  it("says what is alive at every point", async () => {
    const runtime = createNodeRuntime({
      packageDirectory: join(root, "dist"),
      workspaceFolders: [join(root, "samples")],
      env: {},
    });
    const { runs } = await createAnalyzer(runtime).analyse(uriOf(join(root, "samples", "llama-1b", "train.yaml")), {});
    const device = runs[0]?.perDevice;
    assert.ok(device?.timeline && device.timeline.length > 100);
    for (const { alive, allocatedBytes } of device.timeline) {
      assert.equal(alive?.length, COMPONENT_KINDS.length);
      assert.equal(
        alive.reduce((sum, bytes) => sum + bytes, 0),
        allocatedBytes,
      );
      assert.ok(alive.every((bytes) => bytes >= 0));
    }
    const modules = device.timelineModules ?? [];
    assert.ok(modules.includes("model.layers.*.mlp") && modules.includes("lm_head"), modules.join());
    for (const point of device.timeline) {
      assert.equal(point.modules?.length, modules.length);
      const held = point.modules.reduce((sum, bytes) => sum + bytes, 0);
      assert.ok(held <= point.allocatedBytes && point.modules.every((bytes) => bytes >= 0), `${held}`);
    }
    const top = device.timeline.reduce((best, point) => (point.allocatedBytes > best.allocatedBytes ? point : best));
    if (top.allocatedBytes === device.allocatedPeakBytes) {
      const components = new Map(device.components.map(({ kind, bytes }) => [kind, bytes]));
      assert.deepEqual(
        top.alive,
        COMPONENT_KINDS.map((kind) => components.get(kind) ?? 0),
      );
    }
  });
});
