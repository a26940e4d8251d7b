/** What a machine's own memory holds of a run, and on which tier. */
import { strict as assert } from "node:assert";
import { machineMemory } from "../../../src/core/cost/host-memory";
import { llama, measured } from "./runs";

const GIB = 2 ** 30;
const machine = { memoryBytes: 64 * GIB, numaNodes: 2, cxlBytes: 16 * GIB, skipped: false, batchesAhead: 0 };
const parallel = { ...llama({}).parallel, worldSize: 8 };
const stored = (loadDtype: "bfloat16" | "float32") => {
  const base = llama({ loadDtype, parallel });
  return { ...base, model: { ...base.model, config: { ...base.model.config, torch_dtype: "bfloat16" } } };
};

describe("machineMemory", () => {
  const plain = stored("bfloat16");
  const { parameters, operators } = measured(plain);

  it("maps a checkpoint once, and has every rank copy one of another dtype", () => {
    const host = { pinnedBytes: 0, pageableBytes: 0, nvmeBytes: 0 };
    const same = machineMemory(plain, { host, parameters, operators }, machine);
    assert.deepEqual([same.loadingBytes, same.mappedBytes], [0, 2 * parameters]);
    const raised = machineMemory(stored("float32"), { host, parameters, operators }, machine);
    assert.equal(raised.loadingBytes, 8 * 4 * parameters);
    assert.equal(
      machineMemory(stored("float32"), { host, parameters, operators }, { ...machine, skipped: true }).loadingBytes,
      null,
    );
  });

  it("has the batches that every rank's loader makes ahead", () => {
    const host = { pinnedBytes: 0, pageableBytes: 0, nvmeBytes: 0 };
    const batch = operators!.inputBytes;
    const kept = (run: typeof plain) =>
      machineMemory(run, { host, parameters, operators }, { ...machine, batchesAhead: 4 * 2 });
    assert.equal(kept(plain).loaderBytes, 8 * 4 * 2 * batch);
    assert.equal(kept(plain).trainingBytes, kept(plain).loaderBytes);
    // One process of all GPUs has one loader.
    const copies = { ...plain, parallel: { ...parallel, inOneProcess: { keepsAutocast: false } } };
    assert.equal(kept(copies).ranks, 1);
  });

  it("fills near memory, then far, then CXL", () => {
    const kept = (gib: number, ranks: number) =>
      machineMemory(
        { ...plain, parallel: { ...parallel, worldSize: ranks } },
        { host: { pinnedBytes: (gib * GIB) / ranks, pageableBytes: 0, nvmeBytes: 0 }, parameters, operators },
        machine,
      ).tiers.map(({ tier, bytes }) => [tier, bytes / GIB]);
    assert.deepEqual(kept(40, 8), [["near", 40]]);
    // One rank has one node near.
    assert.deepEqual(kept(40, 1), [
      ["near", 32],
      ["far", 8],
    ]);
    assert.deepEqual(kept(90, 8), [
      ["near", 64],
      ["cxl", 16],
      ["beyond", 10],
    ]);
  });
});
