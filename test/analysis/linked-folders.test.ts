/** A workspace is walked where it is: a link back into it, or out of it, is not followed without an end. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { FileAccess } from "../../src/analysis/runtime";
import { memoryRuntime, ROOT, uri } from "./memory-runtime";

describe("analysis: folders that links lead to", () => {
  it("are not walked", async () => {
    const runtime = memoryRuntime({ "a/train.yaml": "output_dir: o\nper_device_train_batch_size: 2\n" });
    const listed: string[] = [];
    const files: FileAccess = {
      ...runtime.files,
      readText: (at) => runtime.files.readText(at),
      stat: (at) => runtime.files.stat(at),
      list: async (at) => {
        listed.push(at);
        return [...(await runtime.files.list(at)), { name: "here", type: "directory", linked: true }];
      },
    };
    const { configs } = await createAnalyzer({ ...runtime, files }).discover(ROOT);
    assert.deepEqual(configs, [uri("a/train.yaml")]);
    assert.ok(listed.every((at) => !at.includes("here")));
  });
});
