/** Commands that a person's own Python carries out: what is read of their arguments, of events, and what is said of both. */
import { strict as assert } from "node:assert";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import type { AnalysisOptions } from "../../src/analysis/options";
import type { Parts } from "../../src/cli/io";
import { besideScripts, comparison } from "../../src/cli/python/command";
import { readEvents } from "../../src/cli/python/events";
import { pythonRequest } from "../../src/cli/python/request";
import { askedTrace, withKept } from "../../src/cli/python/trace";
import { words } from "../../src/cli/words";
import { fakeRun } from "./fake";

const MIB = 2 ** 20;

function events(changes: object = {}): string {
  return JSON.stringify({
    schema: "vram-lens/events/1",
    allocatedPeakBytes: 30 * MIB,
    ended: "2 optimizer steps",
    notes: ["weights of published models have no values: they are made by their config"],
    phases: { load: 10 * MIB, forward: 30 * MIB },
    versions: { torch: "2.11.0" },
    seconds: 1,
    peak: { phase: "forward", module: "blocks.0.mlp", file: "model.py", line: 7 },
    places: [
      ["load", "", "train.py", 3],
      ["forward", "blocks.0.mlp", "model.py", 7],
    ],
    events: [[0, 4 * MIB, "empty", 0], [1, 10 * MIB, "empty", 0], -1, [2, 20 * MIB, "gelu", 1], -3],
    ...changes,
  });
}

const say = words("en");

describe("command line: a person's own Python", () => {
  it("hands on what is Python's and keeps what is its own", () => {
    const trace = pythonRequest(["trace", "--python", "py", "model.py:GPT", "--inputs", "x=float[B,3]"], say);
    assert.ok(typeof trace === "object");
    assert.equal(trace.python, "py");
    assert.equal(trace.timeLimit, 900);
    assert.deepEqual(trace.rest, ["model.py:GPT", "--inputs", "x=float[B,3]"]);
    const check = pythonRequest(
      ["check", "--against-pytorch", "--device", "24GB", "train.py", "--python", "3", "--format", "x"],
      say,
    );
    assert.ok(typeof check === "object");
    assert.equal(check.device, "24GB");
    assert.deepEqual(check.rest, ["train.py", "--python", "3", "--format", "x"]);
    const ranks = pythonRequest(
      ["check", "--against-pytorch", "--ranks", "4", "--format", "json", "train.py", "--ranks", "x"],
      say,
    );
    assert.ok(typeof ranks === "object");
    assert.equal(ranks.script, "train.py");
    assert.equal(ranks.ranks, 4);
    assert.deepEqual(ranks.taken, ["--ranks"]);
    assert.deepEqual(check.taken, ["--python", "--format"]);
    assert.equal(check.ranks, 1);
    assert.equal(ranks.json, true);
    assert.deepEqual(ranks.rest, ["--ranks", "4", "train.py", "--ranks", "x"]);
    assert.equal(pythonRequest(["check", "train.yaml"], say), undefined);
    assert.equal(pythonRequest(["constructor"], say), undefined);
    assert.ok(!check.help);
    const asked = ["trace --help", "watch -h", "watch train.py --help"].map((line) =>
      pythonRequest(line.split(" "), say),
    );
    assert.deepEqual(
      asked.map((request) => typeof request === "object" && request.help),
      [true, true, false],
    );
    assert.equal(pythonRequest(["trace"], say), "trace needs a file");
    assert.match(String(pythonRequest(["watch", "--time-limit", "soon", "x.py"], say)), /number of seconds/);
  });

  it("replays events as the allocator would, without what loading let go of", () => {
    const read = readEvents(events());
    assert.equal(read?.reservedPeakBytes, 10 * MIB + 20 * MIB);
    assert.deepEqual(read?.alive[0], { module: "blocks.*.mlp", place: "model.py:7", bytes: 20 * MIB });
  });

  for (const [what, text] of [
    ["no JSON", "{"],
    ["no events", "{}"],
    ["a size that is no number", events({ events: [[0, "x", "empty", 0]] })],
    ["a block of a number beyond all", events({ events: [[2 ** 32 - 2, 1, "empty", 0]] })],
    ["negative sizes", events({ events: [[0, -1, "empty", 0]] })],
  ] as const)
    it(`reads nothing of ${what}`, () => assert.equal(readEvents(text), undefined));

  it("takes places that are not there for none", () => {
    const read = readEvents(events({ places: [], events: [[0, 30 * MIB, "x", 9]] }));
    assert.deepEqual(read?.alive, [{ module: "", place: "", bytes: 30 * MIB }]);
  });

  it("says where estimate and PyTorch part", () => {
    const read = readEvents(events());
    assert.ok(read);
    const text = comparison(
      "train.py",
      read,
      fakeRun("file:///train.py"),
      {
        kind: "made",
        measured: { bytes: 20 * MIB, phase: "forward", operator: "gelu", scope: "blocks.0.mlp", place: "model.py:7" },
        estimated: null,
        bytes: 20 * MIB,
      },
      say,
    );
    assert.match(text, /allocated {2}0\.029 GiB in forward, blocks\.0\.mlp, model\.py:7; estimate 40\.000 GiB/);
    assert.match(text, /0\.020 GiB {2}blocks\.\*\.mlp {2}model\.py:7/);
    assert.match(
      text,
      /part in forward:\n {4}PyTorch {3}0\.020 GiB {2}gelu {2}blocks\.0\.mlp {2}model\.py:7\n {4}the estimate has no/,
    );
    assert.match(comparison("train.py", read, undefined, null, say), /no estimate/);
  });

  it("estimates a script on as many GPUs as its ranks are followed of", async () => {
    const asked: unknown[] = [];
    const analyse = async (_: string, { set }: AnalysisOptions) => {
      asked.push(set);
      return { runs: [] } as unknown as DocumentAnalysis;
    };
    const parts = { createAnalyzer: () => ({ analyse }) } as unknown as Parts;
    const command = { uri: "file:///w/train.py", script: "train.py", words: ["--x"], accelerate: "", versions: {} };
    const runtime = { files: {} } as never;
    assert.equal(await besideScripts(parts, runtime, undefined).estimate(command, 4), undefined);
    await besideScripts(parts, runtime, undefined).estimate(command, 1);
    assert.deepEqual(asked, [{ world_size: "4" }, {}]);
  });

  it("traces as the time before, but for what is said", () => {
    const request = (...words: string[]) => {
      const found = pythonRequest(["trace", ...words], say);
      assert.ok(typeof found === "object");
      return found;
    };
    assert.deepEqual(askedTrace(request("./nets/model.py:GPT(Config(n=3))")), {
      file: "nets/model.py",
      entry: "GPT(Config(n=3))",
      script: false,
      arguments: "",
    });
    assert.deepEqual(askedTrace(request("train.py", "--script", "--arguments", "--layers 3")), {
      file: "train.py",
      entry: "",
      script: true,
      arguments: "--layers 3",
    });
    assert.deepEqual(askedTrace(request("nets\\model.py:GPT")).file, "nets/model.py");
    assert.deepEqual(askedTrace(request("C:\\nets\\model.py:GPT")).entry, "GPT");
    const kept = { file: "model.py", inputs: "x=float[B,8]", loss: "out.sum()" };
    assert.deepEqual(withKept(["model.py"], kept), ["model.py", "--inputs", "x=float[B,8]", "--loss", "out.sum()"]);
    assert.deepEqual(withKept(["model.py", "--inputs=x=float[B,9]", "--loss", "y"], kept), [
      "model.py",
      "--inputs=x=float[B,9]",
      "--loss",
      "y",
    ]);
  });
});
