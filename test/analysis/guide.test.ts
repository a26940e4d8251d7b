/** The plan in stages, the limits and the comparison of cards, over files in memory. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import type { AnalysisOptions } from "../../src/analysis/options";
import { comparedSchema, guideSchema, reportSchema } from "../../src/core/report/schema";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const PINS = 'runs:\n  - match: "train.yaml"\n    model: ./model\n    sequence_length: 512\n    dtype: float32\n';
const FILES = {
  "model/config.json": JSON.stringify(TINY_LLAMA),
  "train.yaml": "output_dir: out\nper_device_train_batch_size: 64\nlearning_rate: 0.1\n",
  ".vramlens.yaml": PINS,
};

async function analyse(options: AnalysisOptions): Promise<DocumentAnalysis> {
  return createAnalyzer(memoryRuntime(FILES)).analyse(uri("train.yaml"), options);
}

/** A card so small that the run does not fit, but could. */
async function tooSmall(options: AnalysisOptions = {}): Promise<{ analysis: DocumentAnalysis; id: string }> {
  const free = (await analyse({})).runs[0]?.perDevice?.usedPeakBytes ?? 0;
  const analysis = await analyse({ ...options, device: `${Math.round((0.8 * free) / 2 ** 20)}MiB` });
  assert.equal(analysis.runs[0]?.verdict, "does-not-fit");
  return { analysis, id: analysis.runs[0].id };
}

/** ZeRO-3 over two cards that puts the optimizer into a host's memory of a size, in groups that a drive's buffers are smaller for. */
function offloading(
  room: string,
  offload = ', "offload_optimizer": {"device": "cpu"}',
): Readonly<Record<string, string>> {
  const sizes = { ...TINY_LLAMA, hidden_size: 512, intermediate_size: 1024, vocab_size: 32000 };
  return {
    "model/config.json": JSON.stringify(sizes),
    "train.yaml":
      "output_dir: out\nmodel_name_or_path: ./model\nper_device_train_batch_size: 2\nbf16: true\ndeepspeed: ds.json\n",
    "ds.json": `{"zero_optimization": {"stage": 3, "sub_group_size": 1000000${offload}}, "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}}`,
    ".vramlens.yaml": `runs:\n  - match: "train.yaml"\n    sequence_length: 128\n    host_memory: ${room}\n`,
  };
}

describe("analysis: host memory", () => {
  const of = async (files: Readonly<Record<string, string>>) => {
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.yaml"), {
      device: "2x24GB",
      plans: true,
    });
    const [run] = analysis.runs;
    assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
    return { run, guide: guideSchema.parse(await analysis.guide?.(run.id)) };
  };

  it("that does not do moves what is offloaded to a drive, and is part of the report", async () => {
    const { run, guide } = await of(offloading("128MiB"));
    assert.equal(run.verdict, "fits");
    const limit = run.host.limitBytes ?? 0;
    assert.equal(limit, 64 * 2 ** 20);
    assert.ok(run.host.pinnedBytes + run.host.pageableBytes > limit);
    const [stage] = guide.stages;
    assert.deepEqual(
      [stage?.id, stage?.fits, stage?.items.map(({ lever }) => lever)],
      ["advanced", true, ["offload-nvme"]],
    );
    assert.deepEqual(
      run.plans.map(({ levers }) => levers),
      [["offload-nvme"]],
    );
  });

  it("that does leaves everything as it is", async () => {
    const { run, guide } = await of(offloading("64GiB"));
    assert.deepEqual([run.plans, guide.stages], [[], []]);
  });
});

describe("analysis: guide", () => {
  it("promises what the files will say after every stage, to the byte", async () => {
    const { analysis, id } = await tooSmall();
    const guide = guideSchema.parse(await analysis.guide?.(id));
    assert.ok(guide.stages.length > 0);
    for (const stage of guide.stages) {
      assert.ok(stage.items.length > 0 && stage.edits.length > 0);
      const edits = analysis.whatIfEdits(id, stage.set);
      assert.ok(edits !== null && "edits" in edits && edits.edits.length === stage.edits.length);
      assert.equal((await analysis.whatIf(id, stage.set))?.perDevice?.usedPeakBytes, stage.usedPeakBytes);
    }
    assert.equal(guide.stages.at(-1)?.fits, true);
  });

  it("tells the largest batch and the longest sequence that fit, whatever plans keep free", async () => {
    const { analysis, id } = await tooSmall({ reserve: 0.2 });
    const { limits } = guideSchema.parse(await analysis.guide?.(id));
    assert.equal(limits.reserve, 0);
    const usable = analysis.runs[0]?.devices.usableBytes ?? 0;
    const peak = async (set: Record<string, string>) => (await analysis.whatIf(id, set))?.perDevice?.usedPeakBytes ?? 0;
    const batch = limits.microBatch?.value ?? 0;
    assert.ok(batch >= 1 && batch < 64);
    assert.ok((await peak({ micro_batch_size: String(batch) })) <= usable);
    assert.ok((await peak({ micro_batch_size: String(batch + 1) })) > usable);
    const length = limits.sequence?.value ?? 0;
    assert.ok((await peak({ sequence_length: String(length) })) <= usable);
    assert.ok(limits.smallestDevice !== null);
    assert.equal(limits.devices, null);
  });

  it("stays within what is allowed", async () => {
    const allow = { keepNumerics: true, packages: false };
    const { analysis, id } = await tooSmall({ allow, plans: true });
    const guide = guideSchema.parse(await analysis.guide?.(id));
    for (const stage of guide.stages)
      for (const item of stage.items) assert.ok(item.changes === "nothing" && item.needs.length === 0, item.lever);
    const plans = analysis.runs[0]?.plans ?? [];
    assert.ok(plans.length > 0);
    for (const plan of plans) assert.equal(plan.changes, "nothing");
  });

  it("lets the global batch go when it need not be kept", async () => {
    const { analysis } = await tooSmall({ allow: { keepGlobalBatch: false }, plans: true });
    const plan = analysis.runs[0]?.plans.find(({ levers }) => levers.join() === "micro-batch");
    assert.ok(plan !== undefined);
    assert.equal(plan.edits.length, 1);
    assert.equal(plan.changes, "method");
  });

  it("is part of the report when it is asked for", async () => {
    const with_ = await analyse({ device: "T4", guide: true });
    reportSchema.parse(with_.report);
    assert.ok(with_.runs[0]?.guide !== undefined);
    assert.ok(!("guide" in ((await analyse({ device: "T4" })).runs[0] ?? {})));
  });

  it("compares cards", async () => {
    const analysis = await analyse({ device: "RTX 4090" });
    const id = analysis.runs[0]?.id ?? "";
    const lines = (analysis.compare?.(id) ?? []).map((line) => comparedSchema.parse(line));
    assert.equal(lines.find(({ name }) => /4090/.test(name))?.relativeSpeed, 1);
    assert.ok(lines.some(({ kind }) => kind === "several"));
    assert.equal(analysis.compare?.("nothing"), null);
    assert.equal(await analysis.guide?.("nothing"), null);
  });
});
