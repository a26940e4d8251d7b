import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { aliveAt, lifetimesOf } from "../../../src/evidence/snapshot/lifetimes";
import { readRecording } from "../../../src/evidence/snapshot/read";
import { summarise } from "../../../src/evidence/snapshot/summary";
import type { Recording } from "../../../src/evidence/snapshot/types";

const bytes = new Uint8Array(readFileSync(join(__dirname, "step.pickle")));
const text = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

function recordingOf(file: Uint8Array): Recording {
  const read = readRecording(file);
  assert.ok(read.ok, JSON.stringify(read));
  return read.recording;
}

describe("a memory snapshot", () => {
  const recording = recordingOf(bytes);
  const [device] = summarise(recording);
  assert.ok(device);

  it("has what was alive at the peak, by part of the run and by line of source, and both add up", () => {
    const parts = Object.fromEntries(device.parts.map(({ part, bytes: size }) => [part, size]));
    // 14 parameters, float32: the loaded weights, and two moments of AdamW of the first step.
    const twice = (parts["optimizer"] ?? 0) / (parts["load"] ?? 1);
    assert.ok(twice > 1.9 && twice < 2.1, String(twice));
    const sum = (list: readonly { readonly bytes: number }[]): number =>
      list.reduce((total, { bytes: size }) => total + size, 0);
    assert.equal(sum(device.parts), device.peakBytes);
    assert.equal(sum(device.lines), device.peakBytes);
    assert.equal(device.peakPart, "backward");
    assert.ok(device.lines.some(({ place }) => place?.file === "/w/train.py" && place.name === "forward"));
  });

  it("says what is backward's though its threads have no stack", () => {
    assert.ok(device.parts.some(({ part, bytes: size }) => part === "backward" && size > 2 ** 20));
    assert.ok(!device.parts.some(({ part }) => part === null));
  });

  it("has the pool's gaps and what nothing uses, which with the tensors are all of it", () => {
    const { pool } = device;
    assert.ok(pool);
    assert.equal(pool.allocatedBytes + pool.gapBytes + pool.cachedBytes, pool.reservedBytes);
    assert.ok(pool.largestGapBytes <= pool.gapBytes);
    assert.ok(device.peakReservedBytes >= device.peakBytes);
  });

  it("has the request that failed", () => {
    assert.equal(device.failures.length, 1);
    assert.equal(device.failures[0]?.requestedBytes, 512 * 2 ** 20);
    assert.equal(device.failures[0]?.freeBytes, 100 * 2 ** 20);
  });

  it("counts what was there before the history began", () => {
    const [trace] = recording.traces;
    assert.ok(trace);
    const late = 300;
    const cut = {
      ...trace,
      actions: trace.actions.slice(late),
      addresses: trace.addresses.slice(late),
      sizes: trace.sizes.slice(late),
      stacks: trace.stacks.slice(late),
      times: trace.times.slice(late),
    };
    const [whole, part] = [lifetimesOf(recording, trace), lifetimesOf(recording, cut)];
    assert.equal(part.alive.at(-1), whole.alive.at(-1));
    assert.equal(part.alive[100], whole.alive[100 + late]);
    assert.equal(aliveAt(part, 100).length, aliveAt(whole, 100 + late).length);
  });
});

describe("a profiler's trace", () => {
  const memory = (ts: number, addr: number, size: number, device = 0) => ({
    ph: "i",
    s: "t",
    name: "[memory]",
    pid: 1,
    tid: 2,
    ts,
    args: { "Device Type": 1, "Device Id": device, Addr: addr, Bytes: size, "Total Allocated": 0, "Total Reserved": 0 },
  });
  const span = (name: string, ts: number, dur: number, cat = "cpu_op") => ({
    ph: "X",
    cat,
    name,
    pid: 1,
    tid: 2,
    ts,
    dur,
  });

  it("has tensors by the operators that were running", () => {
    const events = [
      span("model.py(12): forward", 0, 50, "python_function"),
      span("aten::linear", 10, 20),
      memory(15, 4096, 1024),
      span("autograd::engine::evaluate_function: AddmmBackward0", 60, 20),
      memory(65, 8192, 2048),
      memory(70, 4096, -1024),
      span("Optimizer.step#AdamW.step", 90, 20, "user_annotation"),
      memory(95, 4096, 4096),
      { ...memory(96, 1, 4096), args: { "Device Type": 0, Bytes: 4096 } },
    ];
    const [device] = summarise(recordingOf(text({ traceEvents: events })));
    assert.equal(device?.peakBytes, 2048 + 4096);
    assert.deepEqual(
      device?.parts.map(({ part }) => part),
      ["optimizer", "backward"],
    );
    assert.deepEqual(device?.lines.map(({ name }) => name).length, 2);
  });

  it("without memory is said to be none", () => {
    const read = readRecording(text({ traceEvents: [span("aten::mm", 0, 1)] }));
    assert.equal(!read.ok && read.why, "other");
  });
});

describe("what is no recording", () => {
  it("is said to be none, and never throws", () => {
    for (const file of [
      new Uint8Array(0),
      text([]),
      text({}),
      text("x"),
      Uint8Array.from([0x80, 4, 0x4e, 0x2e]),
      bytes.subarray(0, 5000),
    ])
      assert.equal(readRecording(file).ok, false);
  });

  it("of odd structure has what can be read of it", () => {
    // {"segments": [{"blocks": [1]}], "device_traces": [[{}], 3]} with protocol 0.
    const odd = new TextEncoder().encode("(dVsegments\n((dVblocks\n(I1\nlslsVdevice_traces\n(((dlI3\nls.");
    const read = readRecording(odd);
    assert.ok(read.ok, JSON.stringify(read));
    assert.doesNotThrow(() => summarise(read.recording));
  });

  it("that is a pickle of something else is said to be none", () => {
    // A list of a list, of a number, and of a dictionary without blocks (protocol 2).
    for (const items of [
      [0x5d, 0x61],
      [0x4b, 1, 0x61],
      [0x7d, 0x61],
    ]) {
      const read = readRecording(new Uint8Array([0x80, 2, 0x5d, ...items, 0x2e]));
      assert.equal(!read.ok && read.why, "other");
    }
  });
});
