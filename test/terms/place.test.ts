import { strict as assert } from "node:assert";
import { inNode } from "../../src/terms/place";

describe("the place of a program", () => {
  afterEach(() => Reflect.deleteProperty(globalThis, "WorkerGlobalScope"));

  it("is Node, unless it is a Web Worker with a process of its own, as VS Code's host of web extensions", () => {
    assert.equal(inNode(), true);
    Object.assign(globalThis, { WorkerGlobalScope: class {} });
    assert.equal(inNode(), false);
  });
});
