import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import { aliveAt, lifetimesOf } from "../../src/evidence/snapshot/lifetimes";
import { tensorParts } from "../../src/evidence/snapshot/parts";
import { readRecording } from "../../src/evidence/snapshot/read";
import { columnsOf, segmentRows, tensorAt } from "../../webview-ui/evidence/drawing";
import { en } from "../../webview-ui/evidence/messages/en";
import { zhCn } from "../../webview-ui/evidence/messages/zh-cn";

const root = join(__dirname, "..", "..");

function bundle(entry: string): string {
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    target: "es2022",
    write: false,
    outdir: "out",
  });
  return outputFiles.map((file) => file.text).join("\n");
}

describe("the page of what really happened", () => {
  const scripts = ["main", "worker"].map((name) => bundle(`webview-ui/evidence/${name}.ts`));

  it("is small, and carries no schemas", () => {
    for (const script of scripts) {
      assert.ok(gzipSync(script).length < 20_000, `${gzipSync(script).length} bytes`);
      assert.doesNotMatch(script, /ZodError/);
    }
  });

  it("runs no text as code, and makes no markup of it", () => {
    for (const script of scripts)
      assert.doesNotMatch(
        script,
        /\beval\(|new Function\(|innerHTML|outerHTML|insertAdjacentHTML|setAttribute\("style"/,
      );
  });

  it("says everything in both languages, with the same places", () => {
    const places = (message: string) => [...message.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();
    assert.deepEqual(Object.keys(zhCn).sort(), Object.keys(en).sort());
    for (const [key, message] of Object.entries(en))
      assert.deepEqual(places(zhCn[key as keyof typeof en]), places(message), key);
  });
});

describe("the drawing of a recording", () => {
  const read = readRecording(new Uint8Array(readFileSync(join(root, "test/evidence/snapshot/step.pickle"))));
  assert.ok(read.ok);
  const { recording } = read;
  const [trace] = recording.traces;
  assert.ok(trace);
  const lifetimes = lifetimesOf(recording, trace);
  const drawn = { lifetimes, parts: tensorParts(recording, trace, lifetimes), found: null };
  const whole = { from: 0, to: trace.actions.length };

  it("shows the peak at every width, and in each column all that is alive", () => {
    for (const width of [7, 100, 5000]) {
      const columns = columnsOf(drawn, whole, width);
      assert.ok(columns.length <= Math.min(width, trace.actions.length));
      const tops = columns.map(({ bands }) => bands.at(-1)?.to ?? 0);
      assert.equal(Math.max(...tops), lifetimes.peakBytes);
      for (const { entry, bands } of columns) assert.equal(bands.at(-1)?.to ?? 0, lifetimes.alive[entry]);
    }
  });

  it("finds the tensor under a point", () => {
    const ids = [...aliveAt(lifetimes, lifetimes.peakAt)];
    assert.equal(tensorAt(ids, lifetimes, 0), ids[0]);
    assert.equal(tensorAt(ids, lifetimes, lifetimes.peakBytes - 1), ids.at(-1));
    assert.equal(tensorAt(ids, lifetimes, lifetimes.peakBytes + 1), -1);
  });

  it("has a row for each segment, with its blocks end to end", () => {
    const rows = segmentRows(recording.segments);
    assert.equal(rows.length, recording.segments.length);
    assert.equal(rows[0]?.length, 1);
    for (const { blocks, length } of rows) assert.ok(Math.abs((blocks.at(-1)?.to ?? 0) - length) < 1e-9);
  });
});
