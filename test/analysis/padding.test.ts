/** Batches padded to their longest sample: when they differ in length, and what that does to the allocator's pool. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const FILES = {
  "model/config.json": JSON.stringify({
    ...TINY_LLAMA,
    num_hidden_layers: 12,
    vocab_size: 1000,
    intermediate_size: 176,
  }),
  ".vramlens.yaml": 'runs:\n  - match: "*"\n    model: ./model\n    sequence_length: 1024\n    dtype: bfloat16\n',
};
const LARGER = { ...TINY_LLAMA, num_hidden_layers: 12, vocab_size: 16000, hidden_size: 512, intermediate_size: 1376 };
const TRAIN = "output_dir: out\nper_device_train_batch_size: 8\n";

async function runOf(text: string, plans = true): Promise<ReportRun> {
  const runtime = memoryRuntime({ ...FILES, "train.yaml": text });
  const [run] = (await createAnalyzer(runtime).analyse(uri("train.yaml"), { plans, guide: plans, device: "80GB" }))
    .runs;
  assert.ok(run?.perDevice);
  return run;
}

describe("analysis: padding", () => {
  it("replays other lengths where it is asked for advice", async () => {
    const run = await runOf(TRAIN);
    const { padded, reservedPeakBytes, allocatedPeakBytes = 0 } = run.perDevice ?? {};
    assert.ok(padded && reservedPeakBytes);
    assert.ok(padded.reservedBytes >= allocatedPeakBytes);
    assert.ok(padded.expandableBytes >= allocatedPeakBytes);
    const assumed = run.assumptions.find(({ settleWith }) => settleWith === "expandable_segments");
    assert.equal(assumed?.effectBytes, Math.max(0, padded.reservedBytes - reservedPeakBytes));
    assert.equal((await runOf(TRAIN, false)).perDevice?.padded, undefined);
  });

  it("does not where every step has the same length", async () => {
    const run = await runOf(`${TRAIN}pad_to_max_length: true\n`);
    assert.equal(run.perDevice?.padded, undefined);
    assert.ok(!run.assumptions.some(({ settleWith }) => settleWith === "expandable_segments"));
  });

  const pinned = async (lengths: string, text = TRAIN): Promise<ReportRun> => {
    const pins = FILES[".vramlens.yaml"].replace("sequence_length: 1024", `lengths: ${lengths}`);
    const runtime = memoryRuntime({ ...FILES, ".vramlens.yaml": pins, "train.yaml": text });
    const [run] = (
      await createAnalyzer(runtime).analyse(uri("train.yaml"), { plans: true, guide: true, device: "80GB" })
    ).runs;
    assert.ok(run?.perDevice);
    return run;
  };
  const trl = `${TRAIN}dataset_name: data\nuse_peft: true\nmax_length: 2048\n`;

  /** A run whose length its own file bounds, on a device of so many GB. */
  const bounded = async (device: string, more = "", pins = ""): Promise<ReportRun> => {
    const runtime = memoryRuntime({
      ...FILES,
      ".vramlens.yaml": FILES[".vramlens.yaml"].replace("    sequence_length: 1024\n", pins),
      "model/config.json": JSON.stringify({ ...LARGER, max_position_embeddings: 1024 }),
      "train.yaml": `output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n${more}`,
    });
    const [run] = (await createAnalyzer(runtime).analyse(uri("train.yaml"), { plans: true, device })).runs;
    assert.ok(run?.perDevice);
    return run;
  };

  it("widens the band by what the pool grows to, and says what expandable segments would save", async () => {
    const even = await bounded("80GB", "pad_to_max_length: true\n");
    const varied = await bounded("80GB");
    const { padded, band, reservedPeakBytes } = varied.perDevice!;
    assert.ok(padded !== undefined && padded.reservedBytes > reservedPeakBytes);
    assert.equal(padded.pressed, undefined);
    const plain = even.perDevice!.band.highBytes - even.perDevice!.reservedPeakBytes;
    assert.ok(Math.abs(band.highBytes - padded.reservedBytes - plain) < 2 ** 20);
    const assumed = varied.assumptions.find(({ settleWith }) => settleWith === "expandable_segments");
    assert.equal(assumed?.effectBytes, padded.reservedBytes - reservedPeakBytes);
    assert.match(assumed?.what ?? "", /replayed: pool .*, with it /);
    // A pin of the length says what every step has: nothing varies.
    const stated = await bounded("80GB", "", "    sequence_length: 1024\n");
    assert.equal(stated.perDevice!.band.highBytes, even.perDevice!.band.highBytes);
    // Unless lengths are pinned beside it.
    const both = await bounded("80GB", "", "    sequence_length: 1024\n    lengths: { mean: 300 }\n");
    assert.ok(both.perDevice!.band.highBytes > stated.perDevice!.band.highBytes);
  });

  it("takes the data set's lengths from the pins: the longest bounds the step, the others fill the pool", async () => {
    const [whole, bounded] = [await pinned("{ mean: 300 }", trl), await pinned("{ mean: 300, max: 600 }", trl)];
    const length = (run: ReportRun) => run.settings.find(({ name }) => name === "sequence_length")?.value;
    assert.deepEqual([length(whole), length(bounded)], [2048, 600]);
    assert.ok(bounded.perDevice!.allocatedPeakBytes < whole.perDevice!.allocatedPeakBytes);
    assert.ok(whole.assumptions.some(({ what }) => what.includes("as pinned")));
    // Packed sequences are full, whatever the samples are.
    assert.equal(length(await pinned("{ max: 600 }", `${trl}packing: true\n`)), 2048);
    assert.equal(length(await pinned("[40, 500, 120]", trl)), 500);
  });
});
