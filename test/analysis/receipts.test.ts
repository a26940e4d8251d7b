/** What was measured of a run, beside its estimate; and what is learned of the card. */
import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import type { AnalysisOptions } from "../../src/analysis/options";
import type { ReportRun } from "../../src/core/report/schema";
import { exported } from "../../src/evidence/receipts/export";
import { readOthers } from "../../src/evidence/receipts/others";
import type { Receipt } from "../../src/evidence/receipts/schema";
import { memoryRuntime, uri } from "./memory-runtime";

const sample = (path: string): string => readFileSync(join(__dirname, "../../samples/gpt2-scratch", path), "utf8");
const CONFIG = sample("train.yaml");
const MIB = 2 ** 20;
const GIB = 2 ** 30;

const RECEIPT: Receipt = {
  schema: "vram-lens/receipt/1",
  when: "2026-03-02T09:14:07Z",
  run: {
    documents: [{ path: "train.yaml", sha256: createHash("sha256").update(CONFIG).digest("hex") }],
    settings: { micro_batch_size: 4 },
    model: "/home/someone/model",
    command: ["train.py", "--token", "secret"],
  },
  card: { name: "Tesla T4", totalBytes: 15 * GIB, driver: "550.54.14" },
  versions: { torch: "2.11.0" },
  world: { size: 1, rank: 0 },
  phases: [],
  peak: { allocatedBytes: 7373 * MIB, reservedBytes: 7782 * MIB, usedBytes: 8 * GIB },
  overheadBytes: 401 * MIB,
  othersBytes: 0,
  steps: 3,
  outcome: "finished",
};

async function analysed(receipts: readonly Receipt[], options: AnalysisOptions = {}, config = CONFIG) {
  const files: Record<string, string> = { "train.yaml": config, "model/config.json": sample("model/config.json") };
  files[".vramlens.yaml"] = sample(".vramlens.yaml");
  for (const [index, receipt] of receipts.entries())
    files[`.vramlens/receipts/2026030${index}-rank0.json`] = JSON.stringify(receipt);
  const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.yaml"), { device: "T4", ...options });
  const [run] = analysis.runs;
  assert.ok(run?.perDevice);
  return { analysis, run: run as ReportRun & { perDevice: NonNullable<ReportRun["perDevice"]> } };
}

const overheadOf = ({ perDevice }: { readonly perDevice: NonNullable<ReportRun["perDevice"]> }): number =>
  perDevice.usedPeakBytes - perDevice.reservedPeakBytes;

describe("receipts of a run", () => {
  it("stand beside its estimate, in the report and in the hover", async () => {
    const { run, analysis } = await analysed([RECEIPT]);
    assert.equal(run.measured?.allocatedBytes, 7373 * MIB);
    assert.equal(run.measured?.changed, false);
    assert.equal(run.measured?.differs, undefined);
    const line = CONFIG.split("\n").findIndex((text) => text.startsWith("per_device_train_batch_size"));
    assert.match(
      (await analysis.hover(line, 3))?.markdown ?? "",
      /Measured on Tesla T4, 2026-03-02: 7\.2 GiB allocated/,
    );
  });

  it("say the phase in which the two part first", async () => {
    const phases = [
      { phase: "forward" as const, allocatedBytes: 9 * GIB, reservedBytes: 9 * GIB },
      { phase: "backward" as const, allocatedBytes: 9 * GIB, reservedBytes: 9 * GIB },
    ];
    const { run } = await analysed([{ ...RECEIPT, phases }]);
    assert.equal(run.measured?.differs?.phase, "forward");
    assert.equal(run.measured?.differs?.measuredBytes, 9 * GIB);
  });

  it("of an earlier version of the file are shown as such; of other values, not at all", async () => {
    const changed = CONFIG.replace("learning_rate: 6.0e-4", "learning_rate: 5.0e-4");
    assert.equal((await analysed([RECEIPT], {}, changed)).run.measured?.changed, true);
    const other = { ...RECEIPT, run: { ...RECEIPT.run, settings: { micro_batch_size: 16 } } };
    assert.equal((await analysed([other])).run.measured, undefined);
    const elsewhere = { ...RECEIPT, run: { ...RECEIPT.run, documents: [{ path: "other.yaml" }] } };
    assert.equal((await analysed([elsewhere])).run.measured, undefined);
  });

  it("say what context and libraries take on their card, which is stated and can be switched off", async () => {
    const learned = await analysed([RECEIPT]);
    assert.equal(overheadOf(learned.run), 401 * MIB);
    assert.ok(learned.run.assumptions.some(({ id }) => id === "assume.measured-overhead"));
    const plain = await analysed([RECEIPT], { learns: false });
    assert.notEqual(overheadOf(plain.run), 401 * MIB);
    assert.ok(!plain.run.assumptions.some(({ id }) => id === "assume.measured-overhead"));
    const other = await analysed([RECEIPT], { device: "RTX 4090" });
    assert.notEqual(overheadOf(other.run), 401 * MIB);
  });

  it("that are broken are left out", async () => {
    const { run } = await analysed([{ ...RECEIPT, steps: -1 }]);
    assert.equal(run.measured, undefined);
  });

  it("are exported without paths, the command line, the time and a model's path", () => {
    const text = JSON.stringify(exported(RECEIPT));
    for (const secret of ["someone", "secret", "train.py", "train.yaml", "2026"])
      assert.ok(!text.includes(secret), secret);
    assert.ok(text.includes("Tesla T4") && text.includes("document-1.yaml"));
  });
});

describe("what other tools measured", () => {
  it("is read: the Trainer's metrics, nvidia-smi's log, wandb's export", () => {
    const trainer = readOthers(
      JSON.stringify({
        before_init_mem_gpu: 0,
        init_mem_gpu_alloc_delta: 500 * MIB,
        init_mem_gpu_peaked_delta: 0,
        train_mem_gpu_alloc_delta: 1000 * MIB,
        train_mem_gpu_peaked_delta: 3000 * MIB,
        train_loss: 2.1,
      }),
    );
    assert.equal(trainer?.allocatedBytes, 4500 * MIB);
    const nvidia = readOthers(
      "timestamp, name, memory.used [MiB], memory.total [MiB]\n2026/03/02, Tesla T4, 800 MiB, 15360 MiB\n2026/03/02, Tesla T4, 9000 MiB, 15360 MiB\n",
    );
    assert.deepEqual([nvidia?.usedBytes, nvidia?.totalBytes, nvidia?.card], [9000 * MIB, 15360 * MIB, "Tesla T4"]);
    const wandb = readOthers(
      '"Relative Time (Process)","run - system/gpu.0.memoryAllocatedBytes"\n"0","1000"\n"15","4096"\n',
    );
    assert.equal(wandb?.usedBytes, 4096);
    for (const text of ["", "{}", "[]", "a,b\n1,2", "{", "memory.used [MiB]\n\n"]) assert.equal(readOthers(text), null);
  });
});
