/** What a plan or a stage promises is what the engine says of the files with its edits, to the byte. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { LineIndex } from "../../src/analysis/lines";
import type { ReportEdit, ReportRun } from "../../src/core/report/schema";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, ROOT, TINY_LLAMA, uri } from "./memory-runtime";

const SAMPLES = join(__dirname, "../../samples");
const RESERVE = 0.1;

type Files = Readonly<Record<string, string>>;

function sample(name: string): Files {
  const folder = join(SAMPLES, name);
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
    statSync(join(folder, path)).isFile(),
  );
  return Object.fromEntries(
    paths.map((path) => [path.replaceAll("\\", "/"), readFileSync(join(folder, path), "utf8")]),
  );
}

/** A run without adapters, sharding or quantization on a model that is quick to simulate. */
const TINY: Files = {
  "model/config.json": JSON.stringify(TINY_LLAMA),
  "train.yaml":
    "output_dir: out\nmodel_name_or_path: ./model\nper_device_train_batch_size: 24\ngradient_accumulation_steps: 2\n",
  ".vramlens.yaml": "defaults:\n  sequence_length: 256\n",
};

async function analyse(files: Files, main: string, device: string, search: boolean): Promise<ReportRun> {
  const options = { device, reserve: RESERVE, plans: search, guide: search };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(main), options)).runs;
  assert.ok(run);
  return run;
}

function edited(files: Files, edits: readonly ReportEdit[]): Files {
  const changed: Record<string, string> = { ...files };
  for (const at of new Set(edits.map((edit) => edit.uri))) {
    const path = decodeURIComponent(at.slice(ROOT.length + 1));
    const text = changed[path] ?? "";
    const lines = new LineIndex(text);
    const spans = edits
      .filter((edit) => edit.uri === at)
      .map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      }));
    changed[path] = applyEdits(text, spans);
  }
  return changed;
}

/** The same, larger and sharded over two cards. */
const SHARDED: Files = {
  ...TINY,
  "train.yaml": `${TINY["train.yaml"]}fsdp: full_shard auto_wrap\nfsdp_config:\n  transformer_layer_cls_to_wrap: LlamaDecoderLayer\n`,
  "model/config.json": JSON.stringify({ ...TINY_LLAMA, hidden_size: 512, intermediate_size: 1024, vocab_size: 32000 }),
};

const CASES: readonly (readonly [string, Files, string, readonly string[]])[] = [
  ["tiny", TINY, "train.yaml", ["620MiB", "700MiB"]],
  ["tiny, FSDP", SHARDED, "train.yaml", ["2x2GB", "2x1400MiB"]],
  ["gpt2-scratch", sample("gpt2-scratch"), "train.yaml", ["8GB", "6GB"]],
  ["llama-1b", sample("llama-1b"), "train.yaml", ["RTX 4090", "RTX 4080", "V100"]],
  ["qwen2.5-7b-lora", sample("qwen2.5-7b-lora"), "train.yaml", ["16GB", "RTX 3090"]],
  ["llama-8b-zero3", sample("llama-8b-zero3"), "train.json", ["8xRTX 4090", "8xV100"]],
];

describe("analysis: what plans promise", () => {
  let kept = 0;
  for (const [name, files, main, devices] of CASES) {
    it(name, async () => {
      for (const device of devices) {
        const run = await analyse(files, main, device, true);
        const promises = [
          ...run.plans.map((plan) => ({ ...plan, what: `plan ${plan.title}`, limit: plan.fits === true })),
          ...(run.guide?.stages ?? []).map((stage) => ({ ...stage, what: `stage ${stage.id}`, limit: stage.fits })),
        ];
        for (const { what, edits, usedPeakBytes, limit } of promises) {
          const after = await analyse(edited(files, edits), main, device, false);
          const label = `${name} on ${device}: ${what}`;
          assert.equal(after.perDevice?.usedPeakBytes, usedPeakBytes, label);
          if (!limit) continue;
          assert.notEqual(after.verdict, "does-not-fit", label);
          assert.ok(usedPeakBytes <= (1 - RESERVE) * (after.devices.usableBytes ?? 0), label);
          kept++;
        }
      }
    });
  }

  it("were made", () => {
    assert.ok(kept >= 15, `${kept} promises`);
  });
});
