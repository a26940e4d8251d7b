/** The analyzer over files in memory: linking, hovers, fixes, what-ifs, and input that is broken. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import { LineIndex } from "../../src/analysis/documents/lines";
import type { AnalysisOptions } from "../../src/analysis/options";
import { type ReportRun, reportSchema } from "../../src/core/report/schema";
import { applyEdits } from "../../src/syntax/edit";
import { type MemoryRuntime, memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const MODEL = { "model/config.json": JSON.stringify(TINY_LLAMA) };
const TRAIN = "output_dir: out\nper_device_train_batch_size: 4\nbf16: true\n";
const PINS = 'runs:\n  - match: "train.yaml"\n    model: ./model\n    sequence_length: 128\n    dtype: float32\n';

async function analyse(
  files: Readonly<Record<string, string>>,
  options: AnalysisOptions = {},
  main = "train.yaml",
): Promise<DocumentAnalysis> {
  const analysis = await createAnalyzer(memoryRuntime({ ...MODEL, ...files })).analyse(uri(main), options);
  reportSchema.parse(analysis.report);
  return analysis;
}

function runOf(analysis: DocumentAnalysis): ReportRun {
  const run = analysis.runs[0];
  assert.ok(run);
  return run;
}

function valueIn(analysis: DocumentAnalysis, name: string): unknown {
  return runOf(analysis).settings.find((setting) => setting.name === name)?.value;
}

function codes(analysis: DocumentAnalysis): string[] {
  return runOf(analysis).findings.map((finding) => finding.code);
}

/** Text of a memory file after the edits of a fix. */
function edited(text: string, at: string, edits: ReportRun["plans"][number]["edits"]): string {
  const lines = new LineIndex(text);
  return applyEdits(
    text,
    edits
      .filter((edit) => edit.uri === uri(at))
      .map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      })),
  );
}

describe("analysis: a run", () => {
  it("is estimated, and its components add up to the allocated peak", async () => {
    const run = runOf(await analyse({ "train.yaml": TRAIN, ".vramlens.yaml": PINS }));
    assert.ok(run.perDevice);
    assert.equal(
      run.perDevice.components.reduce((sum, component) => sum + component.bytes, 0),
      run.perDevice.allocatedPeakBytes,
    );
    const activations = run.perDevice.components.find((component) => component.kind === "activations");
    assert.ok(activations?.origins.some((origin) => origin.key === "per_device_train_batch_size"));
    assert.equal(run.verdict, "unknown");
    assert.ok(run.fitsOn?.some((card) => card.fits));
  });

  it("takes the device of options before pins and directives before pins", async () => {
    const pins = `${PINS}    device: Tesla T4\n`;
    const files = { "train.yaml": TRAIN, ".vramlens.yaml": pins };
    assert.match(runOf(await analyse(files)).devices.name ?? "", /T4/);
    assert.match(runOf(await analyse(files, { device: "RTX 4090" })).devices.name ?? "", /4090/);
    const directive = { ...files, "train.yaml": `# vramlens: gpu=A100-80GB seq=64\n${TRAIN}` };
    const analysis = await analyse(directive);
    assert.match(runOf(analysis).devices.name ?? "", /A100/);
    assert.equal(valueIn(analysis, "sequence_length"), 64);
  });

  it("finds the nearest pins up the tree and matches globs", async () => {
    const files = {
      "a/b/train.yaml": TRAIN,
      "a/.vramlens.yaml": PINS.replace("./model", "../model").replace('"train.yaml"', '"**/train.yaml"'),
      ".vramlens.yaml": "runs: []",
    };
    const analysis = await analyse(files, {}, "a/b/train.yaml");
    assert.equal(valueIn(analysis, "sequence_length"), 128);
    assert.equal(runOf(analysis).model?.source, "config.json");
  });

  it("reads TrainingArguments nested under a key", async () => {
    const nested =
      "experiment: x\nmodel:\n  model_name_or_path: ./model\ntraining:\n  output_dir: out\n  per_device_train_batch_size: 2\n  gradient_checkpointing: true\n  bf16: true\n";
    const analysis = await analyse({ "train.yaml": nested });
    assert.equal(valueIn(analysis, "micro_batch_size"), 2);
    assert.equal(valueIn(analysis, "gradient_checkpointing"), true);
    assert.equal(
      runOf(analysis).settings.find((setting) => setting.name === "micro_batch_size")?.key,
      "training.per_device_train_batch_size",
    );
  });

  it("follows a DeepSpeed file and fills its autos as Hugging Face does", async () => {
    const ds = JSON.stringify({
      train_batch_size: "auto",
      bf16: { enabled: "auto" },
      zero_optimization: {
        stage: 3,
        reduce_bucket_size: "auto",
        stage3_prefetch_bucket_size: "auto",
        offload_optimizer: { device: "cpu" },
      },
    });
    const analysis = await analyse({
      "train.yaml": `${TRAIN}deepspeed: configs/ds.json\n`,
      "configs/ds.json": ds,
      ".vramlens.yaml": `${PINS}    device: { name: A100-80GB, count: 4 }\n`,
    });
    assert.equal(valueIn(analysis, "zero_stage"), 3);
    assert.equal(valueIn(analysis, "offload_optimizer"), "cpu");
    assert.equal(valueIn(analysis, "global_batch_size"), 16);
    assert.equal(valueIn(analysis, "world_size"), 4);
    assert.deepEqual(
      analysis.links().map((link) => link.target),
      [uri("configs/ds.json")],
    );
  });

  it("reads DeepSpeed settings written inline, below the trainer's own", async () => {
    const inline = `${TRAIN}deepspeed:\n  train_micro_batch_size_per_gpu: 2\n  zero_optimization:\n    stage: 2\n`;
    const analysis = await analyse({ "train.yaml": inline, ".vramlens.yaml": PINS });
    assert.equal(valueIn(analysis, "micro_batch_size"), 4);
    assert.equal(valueIn(analysis, "zero_stage"), 2);
    assert.ok(codes(analysis).includes("ds-hf-mismatch"));
  });

  it("takes the world size from the launch script and its accelerate config", async () => {
    const torchrun = await analyse({
      "train.yaml": TRAIN,
      "launch.sh": "torchrun --nnodes 2 --nproc_per_node=8 train.py train.yaml\n",
      ".vramlens.yaml": PINS,
    });
    assert.equal(valueIn(torchrun, "world_size"), 16);
    const accelerate = await analyse({
      "train.yaml": TRAIN,
      "run.sh": "accelerate launch --config_file acc.yaml train.py \\\n  train.yaml\n",
      "acc.yaml":
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n  zero_stage: 2\n  offload_optimizer_device: none\nmixed_precision: bf16\n",
      ".vramlens.yaml": PINS,
    });
    assert.equal(valueIn(accelerate, "world_size"), 4);
    assert.equal(valueIn(accelerate, "zero_stage"), 2);
  });

  it("reads library versions from requirements and uses their defaults", async () => {
    const analysis = await analyse({
      "train.yaml": "output_dir: out\nper_device_train_batch_size: 4\n",
      "requirements.txt": "transformers==4.46.0\ntorch==2.5.1\n",
      ".vramlens.yaml": PINS.replace("    dtype: float32\n", ""),
    });
    assert.equal(valueIn(analysis, "load_dtype"), "float32");
    assert.equal(valueIn(analysis, "optimizer"), "adamw_torch");
  });

  it("finds models in the catalogue and the hub cache", async () => {
    const catalogue = JSON.stringify([
      { name: "org/known", config: TINY_LLAMA, parameters: 12, source: "x", license: "MIT" },
    ]);
    const runtime = memoryRuntime(
      {
        "a.yaml": `${TRAIN}model_name_or_path: org/known\n`,
        "b.yaml": `${TRAIN}model_name_or_path: org/cached\n`,
        "hub/models--org--cached/snapshots/abc/config.json": JSON.stringify(TINY_LLAMA),
      },
      { "catalogue.json": catalogue },
    );
    const analyzer = createAnalyzer(runtime);
    const known = await analyzer.analyse(uri("a.yaml"), {});
    assert.equal(known.runs[0]?.model?.source, "catalogue");
    const cached = await analyzer.analyse(uri("b.yaml"), {});
    assert.equal(cached.runs[0]?.model?.name, "org/cached");
  });

  it("counts flash attention as SDPA's flash kernel, and says so", async () => {
    const sdpa = runOf(await analyse({ "train.yaml": TRAIN, ".vramlens.yaml": PINS }));
    const flash = runOf(
      await analyse({ "train.yaml": TRAIN, ".vramlens.yaml": `${PINS}    attention: flash_attention_2\n` }),
    );
    assert.equal(flash.perDevice?.allocatedPeakBytes, sdpa.perDevice?.allocatedPeakBytes);
    assert.ok(flash.assumptions.some((assumption) => assumption.settleWith === "attention"));
  });

  it("takes LoRA settings from an adapter_config.json", async () => {
    const analysis = await analyse({
      "train.yaml": `${TRAIN}model_name_or_path: ./adapter\n`,
      "adapter/adapter_config.json": JSON.stringify({
        peft_type: "LORA",
        r: 4,
        lora_alpha: 8,
        target_modules: ["q_proj"],
        base_model_name_or_path: "../model",
      }),
    });
    assert.equal(valueIn(analysis, "adapter"), "lora");
    assert.equal(valueIn(analysis, "lora_rank"), 4);
  });
});

describe("analysis: surfaces", () => {
  const files = { "train.yaml": TRAIN, ".vramlens.yaml": `${PINS}    device: 24GB\n` };

  it("hovers with verdict, curve, breakdown and provenance", async () => {
    const hover = await (await analyse(files)).hover(1, 3);
    assert.ok(hover);
    assert.match(hover.markdown, /^\*\*Fits\*\*/);
    assert.match(hover.markdown, /\| micro-batch \| 1 \| 2 \| \*\*4\*\* \| 8 \|/);
    assert.match(hover.markdown, /per sample/);
    assert.match(hover.markdown, /\[\.vramlens\.yaml:4\]\(file:\/\/\/w\/\.vramlens\.yaml#L4\)/);
    assert.deepEqual(hover.range.start, { line: 1, character: 0 });
  });

  it("hovers in Chinese", async () => {
    const hover = await (await analyse(files, { locale: "zh-CN" })).hover(1, 3);
    assert.match(hover?.markdown ?? "", /[\u4e00-\u9fff]/);
  });

  it("says one line on keys that cost nothing, and nothing on keys it does not know", async () => {
    const analysis = await analyse({ ...files, "train.yaml": `${TRAIN}tf32: true\nlearning_rate: 1.0e-5\n` });
    assert.doesNotMatch((await analysis.hover(3, 1))?.markdown ?? "\n", /\n/);
    assert.equal(await analysis.hover(4, 1), null);
  });

  it("answers what-ifs without touching a file", async () => {
    const analysis = await analyse(files);
    const run = runOf(analysis);
    const larger = await analysis.whatIf(run.id, { micro_batch_size: "16" });
    assert.ok((larger?.perDevice?.allocatedPeakBytes ?? 0) > (run.perDevice?.allocatedPeakBytes ?? 0));
    assert.equal(await analysis.whatIf("other", {}), null);
  });

  it("offers plans that fit, and applying one gives the promised estimate to the byte", async () => {
    const model = { "model/config.json": JSON.stringify({ ...TINY_LLAMA, vocab_size: 32000 }) };
    const text = "# keep me\noutput_dir: out   # here\nper_device_train_batch_size: 64\nbf16: true\n";
    const all = { ...model, "train.yaml": text, ".vramlens.yaml": `${PINS.replace("128", "512")}    device: 4GB\n` };
    const analysis = await analyse(all, { plans: true });
    const run = runOf(analysis);
    assert.equal(run.verdict, "does-not-fit");
    const finding = run.findings.find((one) => one.code === "does-not-fit");
    assert.equal(finding?.range?.start.line, 2);
    const [plan] = run.plans;
    assert.ok(plan);
    const after = edited(text, "train.yaml", plan.edits);
    assert.match(after, /# keep me\noutput_dir: out {3}# here\n/);
    const again = runOf(await analyse({ ...all, "train.yaml": after }));
    assert.equal(again.perDevice?.usedPeakBytes, plan.usedPeakBytes);
    assert.notEqual(again.verdict, "does-not-fit");
    const fixes = analysis.fixes({ start: { line: 2, character: 0 }, end: { line: 2, character: 0 } });
    assert.equal(fixes[0]?.preferred, true);
    assert.deepEqual(fixes[0]?.edits, plan.edits);
    assert.deepEqual(analysis.fixes({ start: { line: 0, character: 0 }, end: { line: 0, character: 1 } }), []);
  });

  const promises: readonly { name: string; files: Readonly<Record<string, string>> }[] = [
    {
      name: "a full fine-tune",
      files: {
        "train.yaml": "output_dir: out\nper_device_train_batch_size: 16\noptim: adamw_torch\n",
        ".vramlens.yaml": `${PINS.replace("128", "256")}    device: 2GB\n`,
      },
    },
    {
      name: "adapters",
      files: {
        "train.yaml":
          "model_name_or_path: ./model\ndataset_name: d\noutput_dir: out\nper_device_train_batch_size: 128\nmax_length: 256\ngradient_checkpointing: false\nuse_peft: true\nlora_r: 64\nlora_target_modules: all-linear\n",
        ".vramlens.yaml": 'runs:\n  - match: "*"\n    device: 2GB\n',
      },
    },
    {
      name: "DeepSpeed",
      files: {
        "train.yaml": "output_dir: out\nper_device_train_batch_size: 16\nbf16: true\ndeepspeed: ds.json\n",
        "ds.json": '{\n  "bf16": { "enabled": "auto" },\n  "zero_optimization": {\n    "stage": 0\n  }\n}\n',
        ".vramlens.yaml": `${PINS.replace("128", "256")}    device: { name: 2GB, count: 4 }\n`,
      },
    },
  ];
  for (const { name, files: given } of promises) {
    it(`keeps the promise of every plan: ${name}`, async () => {
      const wide = {
        ...TINY_LLAMA,
        vocab_size: 32000,
        hidden_size: 256,
        intermediate_size: 1024,
        num_attention_heads: 4,
      };
      const all: Readonly<Record<string, string>> = { "model/config.json": JSON.stringify(wide), ...given };
      const { plans } = runOf(await analyse(all, { plans: true }));
      assert.ok(plans.length > 1, `${plans.length} plans`);
      for (const plan of plans) {
        const after = Object.fromEntries(
          Object.entries(all).map(([path, text]) => [path, edited(text, path, plan.edits)]),
        );
        assert.equal(runOf(await analyse(after)).perDevice?.usedPeakBytes, plan.usedPeakBytes, plan.title);
      }
    });
  }

  it("shows the runs that use a DeepSpeed file, pins or a model's config", async () => {
    const all = {
      ...files,
      "train.yaml": `${TRAIN}deepspeed: ds.json\n`,
      "ds.json": '{"zero_optimization": {"stage": 2}}',
      "other.yaml": TRAIN,
    };
    for (const part of ["ds.json", ".vramlens.yaml", "model/config.json"]) {
      const analysis = await analyse(all, {}, part);
      assert.ok(
        analysis.runs.some((run) => run.id === "train.yaml"),
        part,
      );
    }
    const hover = await (await analyse(all, {}, ".vramlens.yaml")).hover(3, 6);
    assert.match(hover?.markdown ?? "", /tokens/);
  });

  it("reads again only what was invalidated", async () => {
    const runtime: MemoryRuntime = memoryRuntime({ ...MODEL, ...files });
    const analyzer = createAnalyzer(runtime);
    const first = await analyzer.analyse(uri("train.yaml"), {});
    runtime.reads.length = 0;
    runtime.write("train.yaml", TRAIN.replace("4", "2"));
    analyzer.invalidate(uri("train.yaml"));
    const second = await analyzer.analyse(uri("train.yaml"), {});
    assert.deepEqual(runtime.reads, [uri("train.yaml")]);
    assert.equal(valueIn(first, "micro_batch_size"), 4);
    assert.equal(valueIn(second, "micro_batch_size"), 2);
    assert.ok(second.dependencies.includes(uri(".vramlens.yaml")));
  });

  it("discovers configs below a folder and skips what is none", async () => {
    const analyzer = createAnalyzer(
      memoryRuntime({ ...MODEL, ...files, "notes.yaml": "a: 1\n", "node_modules/x/train.yaml": TRAIN }),
    );
    assert.deepEqual(await analyzer.discover(uri("").replace(/\/$/, "")), {
      configs: [uri("train.yaml")],
      skipped: [],
    });
  });

  it("suppresses and re-grades findings", async () => {
    const broken = `${TRAIN}fp16: true\n`;
    assert.ok(codes(await analyse({ ...files, "train.yaml": broken })).includes("contradictory-keys"));
    const next = broken.replace("fp16", "# vramlens-disable-next-line contradictory-keys\nfp16");
    assert.ok(!codes(await analyse({ ...files, "train.yaml": next })).includes("contradictory-keys"));
    const all = `# vramlens-disable contradictory-keys\n${broken}`;
    assert.ok(!codes(await analyse({ ...files, "train.yaml": all })).includes("contradictory-keys"));
    const graded = await analyse({ ...files, "train.yaml": broken }, { severity: { "contradictory-keys": "hint" } });
    assert.equal(runOf(graded).findings.find((finding) => finding.code === "contradictory-keys")?.severity, "hint");
    const off = await analyse({ ...files, "train.yaml": broken }, { severity: { "contradictory-keys": "off" } });
    assert.ok(!codes(off).includes("contradictory-keys"));
  });
});

describe("analysis: broken input", () => {
  const cases: readonly {
    name: string;
    files: Readonly<Record<string, string>>;
    code: string;
    estimate: boolean;
    main?: string;
  }[] = [
    {
      name: "a quoted number",
      files: { "train.yaml": 'output_dir: out\nper_device_train_batch_size: "8"\n' },
      code: "invalid-value",
      estimate: false,
    },
    {
      name: "a negative number",
      files: { "train.yaml": "output_dir: out\nper_device_train_batch_size: -8\n" },
      code: "invalid-value",
      estimate: false,
    },
    {
      name: "a value not typed yet",
      files: { "train.yaml": "output_dir: out\nper_device_train_batch_size:\nbf16: true\n" },
      code: "invalid-value",
      estimate: false,
    },
    {
      name: "not a number",
      files: { "train.yaml": "output_dir: out\nper_device_train_batch_size: .nan\n" },
      code: "invalid-value",
      estimate: false,
    },
    {
      name: "a template",
      files: { "train.yaml": "output_dir: out\nper_device_train_batch_size: {{ batch }}\n" },
      code: "unresolved-template",
      estimate: false,
    },
    {
      name: "a merge conflict",
      files: { "train.yaml": `${TRAIN}<<<<<<< ours\noptim: sgd\n=======\noptim: adafactor\n>>>>>>> theirs\n` },
      code: "merge-conflict",
      estimate: true,
    },
    {
      name: "a tab in the indentation",
      files: { "train.yaml": `${TRAIN}fsdp_config:\n\tversion: 2\n` },
      code: "syntax",
      estimate: true,
    },
    {
      name: "a misspelt key",
      files: { "train.yaml": `${TRAIN}gradient_checkpoint1ng: true\n` },
      code: "unknown-key",
      estimate: true,
    },
    {
      name: "a missing DeepSpeed file",
      files: { "train.yaml": `${TRAIN}deepspeed: nowhere.json\n` },
      code: "missing-file",
      estimate: true,
    },
    {
      name: "a file that names itself",
      files: { "train.yaml": `${TRAIN}deepspeed: train.yaml\n` },
      code: "cyclic-link",
      estimate: true,
    },
    {
      name: "a model directory without config.json",
      files: { "train.yaml": TRAIN, ".vramlens.yaml": PINS.replace("./model", "./nothing") },
      code: "unknown-model",
      estimate: false,
    },
    {
      name: "an unknown hub name",
      files: { "train.yaml": `${TRAIN}model_name_or_path: nobody/nothing\n`, ".vramlens.yaml": "runs: []\n" },
      code: "unknown-model",
      estimate: false,
    },
    {
      name: "a config without model_type",
      files: { "train.yaml": TRAIN, "model/config.json": "{}" },
      code: "unknown-model",
      estimate: false,
    },
    {
      name: "adapters that name each other",
      files: {
        "train.yaml": `${TRAIN}model_name_or_path: ./a\n`,
        ".vramlens.yaml": "runs: []\n",
        "a/adapter_config.json": '{"base_model_name_or_path": "../b"}',
        "b/adapter_config.json": '{"base_model_name_or_path": "../a"}',
      },
      code: "cyclic-link",
      estimate: false,
    },
    {
      name: "an unknown pin",
      files: { "train.yaml": TRAIN, ".vramlens.yaml": `${PINS}    sequence_lenght: 4\n` },
      code: "unknown-key",
      estimate: true,
    },
    {
      name: "a pin of the wrong type",
      files: { "train.yaml": TRAIN, ".vramlens.yaml": `${PINS}    image_size: big\n` },
      code: "invalid-value",
      estimate: true,
    },
    {
      name: "an unknown device",
      files: { "train.yaml": TRAIN, ".vramlens.yaml": `${PINS}    device: RTX 9999 Ultra\n` },
      code: "unknown-device",
      estimate: true,
    },
    {
      name: "half a DeepSpeed JSON",
      files: { "train.yaml": `${TRAIN}deepspeed: ds.json\n`, "ds.json": '{"zero_optimization": {"stage": 2,' },
      code: "syntax",
      estimate: true,
    },
    {
      name: "duplicate keys in DeepSpeed JSON",
      files: {
        "train.yaml": `${TRAIN}deepspeed: ds.json\n`,
        "ds.json": '{"zero_optimization": {"stage": 2}, "steps_per_print": 1, "steps_per_print": 2}',
      },
      code: "duplicate-key",
      estimate: true,
    },
  ];
  for (const one of cases) {
    it(one.name, async () => {
      const analysis = await analyse({ ".vramlens.yaml": PINS, ...one.files }, {}, one.main);
      const finding = runOf(analysis).findings.find((found) => found.code === one.code);
      assert.ok(finding, `no ${one.code} among ${codes(analysis).join(", ")}`);
      assert.ok(finding.range);
      assert.doesNotMatch(finding.message, /\{\w+\}|undefined/);
      assert.equal(runOf(analysis).perDevice !== null, one.estimate);
    });
  }

  it("says that a config is too long to be read, and nothing of other long files", async () => {
    const long = `${TRAIN}notes:\n${"  - a line of no interest\n".repeat(6000)}`;
    const runtime = memoryRuntime({ "train.yaml": long, "other.yaml": "- x\n".repeat(60_000) });
    const analyzer = createAnalyzer(runtime);
    assert.equal(analyzer.recognise(uri("train.yaml"), long)?.formats[0], "hf-training-arguments");
    const [error] = (await analyzer.analyse(uri("train.yaml"), { locale: "zh-cn" })).report.errors;
    assert.equal(error?.code, "too-large");
    assert.match(error?.message ?? "", /字符/);
    assert.equal(analyzer.recognise(uri("other.yaml"), "- x\n".repeat(60_000)), null);
  });

  it("finds the run of a DeepSpeed file among many of the same name", async () => {
    const projects = Object.fromEntries(
      Array.from({ length: 80 }, (_, index) => [
        [`p${index}/train.yaml`, `${TRAIN}deepspeed: ds.json\n`],
        [`p${index}/ds.json`, '{"zero_optimization": {"stage": 2}}\n'],
        [`p${index}/run.sh`, "torchrun --nproc_per_node 2 train.py train.yaml\n"],
      ]).flatMap((entries) => entries as [string, string][]),
    );
    for (const part of ["p79/ds.json", "p79/run.sh"]) {
      const analysis = await analyse(projects, {}, part);
      assert.deepEqual(
        analysis.runs.map(({ id }) => id).filter((id) => id.endsWith("train.yaml")),
        ["p79/train.yaml"],
        part,
      );
    }
  });

  it("reports what cannot be read at all", async () => {
    const analysis = await analyse({}, {}, "absent.yaml");
    assert.equal(analysis.report.errors.length, 1);
    assert.deepEqual(analysis.runs, []);
  });
});
