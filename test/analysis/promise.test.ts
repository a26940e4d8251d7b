/** What a plan or a stage promises is what the engine says of the files with its edits, to the byte. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { describeCorpus } from "../corpus";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";
import { edited, type Files, promisesOf } from "./promises";

const SAMPLES = join(__dirname, "../../samples");
const RESERVE = 0.1;

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

/** The same, larger and sharded over two cards. */
const SHARDED: Files = {
  ...TINY,
  "train.yaml": `${TINY["train.yaml"]}fsdp: full_shard auto_wrap\nfsdp_config:\n  transformer_layer_cls_to_wrap: LlamaDecoderLayer\n`,
  "model/config.json": JSON.stringify({ ...TINY_LLAMA, hidden_size: 512, intermediate_size: 1024, vocab_size: 32000 }),
};

/** Two processes from a launch script, which has the counts and the allocator. */
const LAUNCHED: Files = {
  ...SHARDED,
  "train.yaml": `${SHARDED["train.yaml"]}gradient_checkpointing: true\noptim: adamw_torch_fused\nbf16: true\n`,
  "run.sh": "set -e\ntorchrun --nproc_per_node 2 train.py train.yaml\n",
};

const CASES: readonly (readonly [string, Files, string, readonly string[]])[] = [
  ["tiny", TINY, "train.yaml", ["620MiB", "700MiB"]],
  ["tiny, FSDP", SHARDED, "train.yaml", ["2x2GB", "2x1400MiB"]],
  ["tiny, launched", LAUNCHED, "train.yaml", ["1700MiB"]],
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
        for (const { what, edits, usedPeakBytes, fits } of promisesOf(run)) {
          const after = await analyse(edited(files, edits), main, device, false);
          const label = `${name} on ${device}: ${what}`;
          assert.equal(after.perDevice?.usedPeakBytes, usedPeakBytes, label);
          if (!fits) continue;
          assert.notEqual(after.verdict, "does-not-fit", label);
          assert.ok(usedPeakBytes <= (1 - RESERVE) * (after.devices.usableBytes ?? 0), label);
          kept++;
        }
      }
    });
  }

  it("of an override: a name that is canonical and another key is canonical", async () => {
    const files = {
      ...TINY,
      "train.yaml":
        "stage: sft\ndo_train: true\nfinetuning_type: full\ncutoff_len: 256\nmodel_name_or_path: ./model\n" +
        "output_dir: out\nper_device_train_batch_size: 8\ndisable_gradient_checkpointing: true\n",
    };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.yaml"), { device: "8GB" });
    const [run] = analysis.runs;
    assert.ok(run);
    const tried = (await analysis.whatIf(run.id, { gradient_checkpointing: "true" }))?.perDevice?.usedPeakBytes;
    const switched = {
      ...files,
      "train.yaml": files["train.yaml"].replace("checkpointing: true", "checkpointing: false"),
    };
    assert.equal((await analyse(switched, "train.yaml", "8GB", false)).perDevice?.usedPeakBytes, tried);
    assert.notEqual(tried, run.perDevice?.usedPeakBytes);
  });

  it("write what only a launch script can hold: the count of processes", async () => {
    const { plans } = await analyse(LAUNCHED, "train.yaml", "2GiB", true);
    const more = plans.find(({ levers }) => levers.includes("more-gpus"));
    assert.match(edited(LAUNCHED, more?.edits ?? [])["run.sh"] ?? "", /--nproc_per_node (?:4|8|16) /);
  });

  it("write the allocator's setting before the command that trains", async () => {
    const options = { device: "1700MiB" };
    const analysis = await createAnalyzer(memoryRuntime(LAUNCHED)).analyse(uri("train.yaml"), options);
    const [run] = analysis.runs;
    assert.ok(run);
    const result = analysis.whatIfEdits(run.id, { expandable_segments: "true" });
    assert.ok(result !== null && "edits" in result);
    const files = edited(LAUNCHED, result.edits);
    assert.match(files["run.sh"] ?? "", /^set -e\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torchrun /);
    const tried = (await analysis.whatIf(run.id, { expandable_segments: "true" }))?.perDevice?.usedPeakBytes;
    const after = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.yaml"), options)).runs[0];
    assert.equal(after?.perDevice?.usedPeakBytes, tried);
  });

  it("were made", () => {
    assert.ok(kept >= 15, `${kept} promises`);
  });
});

/** What-ifs that formats spell in ways of their own. */
const TRIED: readonly Readonly<Record<string, string>>[] = [
  { compute_dtype: "fp16" },
  { quantization: "none" },
  { gradient_checkpointing: "true", micro_batch_size: "2" },
];

/** Files of one folder, at most: alike configs have alike edits, and `npm run attack` applies plans to all of them. */
const MOST_OF_A_FOLDER = 12;

/** Some of a list, as far apart as they can be. */
function spread<T>(all: readonly T[], most: number): readonly T[] {
  const step = Math.max(1, all.length / most);
  return all.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

/** Real files, their model replaced by one that is quick to simulate: the edits are what is tried. */
describeCorpus("analysis: what plans and what-ifs promise in the corpus", (entries) => {
  // One analyzer for all of them: it reads and keeps the graphs.
  const runtime = memoryRuntime({ "tiny/config.json": JSON.stringify({ ...TINY_LLAMA, num_hidden_layers: 1 }) });
  const analyzer = createAnalyzer(runtime);
  let kept = 0;
  const keeps = (folder: string) => async () => {
    const broken: string[] = [];
    const write = (file: string, text: string | undefined): void => {
      runtime.write(file, text);
      analyzer.invalidate(uri(file));
    };
    const inFolder = entries.filter((entry) => entry.file.startsWith(`${folder}/`));
    for (const { file, text } of spread(inFolder, MOST_OF_A_FOLDER)) {
      write(file, text);
      const set = { model: `${"../".repeat(file.split("/").length - 1)}tiny` };
      const { runs } = await analyzer.analyse(uri(file), { set });
      const largest = Math.max(...runs.map(({ perDevice }) => perDevice?.usedPeakBytes ?? 0));
      const options = { set, device: `${Math.round(largest / 2 ** 20)}MiB`, reserve: RESERVE };
      const advised =
        largest === 0 ? [] : (await analyzer.analyse(uri(file), { ...options, plans: true, guide: true })).runs;
      for (const [place, run] of advised.entries()) {
        for (const tried of TRIED) {
          const now = await analyzer.analyse(uri(file), options);
          const said = (await now.whatIf(run.id, tried))?.perDevice?.usedPeakBytes;
          const result = now.whatIfEdits(run.id, tried);
          if (result === null || "refused" in result) continue;
          write(file, edited({ [file]: text }, result.edits)[file]);
          const again = await analyzer.analyse(uri(file), options);
          if (again.runs[place]?.perDevice?.usedPeakBytes === said) kept++;
          else broken.push(`${file}: ${JSON.stringify(tried)}`);
          write(file, text);
        }
        for (const { what, edits, usedPeakBytes } of promisesOf(run)) {
          write(file, edited({ [file]: text }, edits)[file]);
          const again = await analyzer.analyse(uri(file), options);
          if (again.runs[place]?.perDevice?.usedPeakBytes === usedPeakBytes) kept++;
          else broken.push(`${file}: ${what}`);
        }
      }
      write(file, undefined);
    }
    assert.deepEqual(broken, []);
  };
  for (const folder of new Set(entries.map(({ file }) => file.slice(0, file.indexOf("/")))))
    it(`is kept in ${folder}`, keeps(folder));
  it("were made", () => {
    assert.ok(kept > 200, `${kept} promises`);
  });
});
