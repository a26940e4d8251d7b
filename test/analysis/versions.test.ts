/** Versions that requirements, lock files and environments pin. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import { NEWEST, pinnedVersions } from "../../src/analysis/frameworks/versions";
import { memoryRuntime, uri } from "./memory-runtime";

describe("analysis: pinned versions", () => {
  const cases: readonly [string, string, Readonly<Record<string, string>>][] = [
    [
      "exact",
      "torch==2.7.0+cu126\ntransformers[torch]==4.57.1 ; python_version > '3.9'\n",
      { torch: "2.7.0", transformers: "4.57.1" },
    ],
    ["compatible", 'dependencies = ["trl~=0.21.0", "peft (==0.17.1)"]\n', { trl: "0.21.0", peft: "0.17.1" }],
    [
      "upper bounds",
      "transformers>=4.40,<5.0.0\ntrl<=0.19.1\naccelerate<1.3\n",
      { transformers: "4.57.6", trl: "0.19.1", accelerate: "1.2" },
    ],
    [
      "open ranges",
      `torch>=2.1\ntransformers\npeft!=0.3\ntransformers<${Number.parseInt(NEWEST.transformers, 10) + 1}\n`,
      {},
    ],
    ["comments", "# transformers==4.30\ntorch  # torch==1.0\n", {}],
    ["other packages", "torchvision==0.20\ntransformers-stream-generator==0.0.5\nmy-torch==1.0\n", {}],
    [
      "lock files",
      '[[package]]\nname = "torch"\nversion = "2.7.1"\nsource = {}\n\n[[package]]\nname = "torchvision"\nversion = "0.22"\n',
      { torch: "2.7.1" },
    ],
    [
      "conda",
      "dependencies:\n  - pytorch=2.5.1=py3.11_cuda\n  - conda-forge::transformers=4.44\n  - pip:\n    - trl==0.9.6\n",
      { torch: "2.5.1", transformers: "4.44", trl: "0.9.6" },
    ],
    [
      "poetry",
      '[tool.poetry.dependencies]\ntransformers = "^4.44"\npeft = { version = "0.12.0", extras = ["x"] }\ntorch = "^2.4"\n',
      { transformers: "4.57.6", peft: "0.12.0" },
    ],
    [
      "Pipfile and pixi",
      '[packages]\ntransformers = "==4.48.3"\npeft = {version = ">=0.14,<0.15", extras = ["x"]}\ntrl = "*"\n',
      { transformers: "4.48.3", peft: "0.14" },
    ],
    [
      "tags of repositories",
      "git+https://github.com/huggingface/transformers.git@v4.51.3\npeft @ git+https://github.com/huggingface/peft@main\n",
      { transformers: "4.51.3" },
    ],
    [
      "images",
      "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN pip install -q transformers==4.48.3 \\\n    'trl>=0.12,<0.13'\n",
      { torch: "2.5.1", transformers: "4.48.3", trl: "0.12" },
    ],
  ];
  for (const [name, text, expected] of cases) {
    it(name, () => {
      const found = pinnedVersions(text);
      assert.deepEqual(Object.fromEntries(found.map(({ library, version }) => [library, version])), expected);
      for (const { library, start } of found) {
        assert.ok(text.startsWith(library, start) || text.startsWith("pytorch", start));
      }
    });
  }

  it("come from the nearest folder, a lock file before what it locks", async () => {
    const files = {
      "run/train.yaml":
        "output_dir: out\nper_device_train_batch_size: 4\nbf16: true\nmodel_name_or_path: openai-community/gpt2\n",
      "run/pyproject.toml": '[project]\ndependencies = ["transformers<5"]\n',
      "run/uv.lock": '[[package]]\nname = "transformers"\nversion = "4.51.3"\n',
      "requirements.txt": "transformers==4.30.0\ntorch==2.6.0\n",
    };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("run/train.yaml"), {});
    assert.ok(analysis.dependencies.includes(uri("run/uv.lock")));
    const markdown = (await analysis.hover(2, 1))?.markdown ?? "";
    assert.match(markdown, /transformers 4\.51\.3/);
  });

  const TRAINED = [
    "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments",
    'model = AutoModelForCausalLM.from_pretrained("openai-community/gpt2")',
    'trainer = Trainer(model=model, args=TrainingArguments(output_dir="out", per_device_train_batch_size=4))',
    "trainer.train()",
    "",
  ].join("\n");
  const cell = (source: string) => ({ cell_type: "code", metadata: {}, outputs: [], execution_count: null, source });
  const notebook = (install: string) =>
    JSON.stringify({ cells: [cell(install), cell(TRAINED)], metadata: {}, nbformat: 4, nbformat_minor: 5 }, null, 1);
  const placed: readonly [string, Readonly<Record<string, string>>, string][] = [
    ["a notebook's cell", { "train.ipynb": notebook("!pip install -q transformers==4.48.3") }, "4.48.3"],
    ["a notebook's magic", { "train.ipynb": notebook('%pip install -U "transformers>=4.40,<4.50"') }, "4.49"],
    [
      "the cell rather than the repository's requirements, the last install of several",
      {
        "train.ipynb": notebook("!pip install transformers==4.44.0\n!uv pip install transformers==4.51.3"),
        "requirements.txt": "transformers==4.30.0\n",
      },
      "4.51.3",
    ],
    [
      "a script's own metadata",
      {
        "train.py": `# /// script\n# requires-python = ">=3.10"\n# dependencies = [\n#   "transformers==4.48.3",\n# ]\n# ///\n${TRAINED}`,
      },
      "4.48.3",
    ],
    [
      "the launcher",
      { "train.py": TRAINED, "run.sh": "pip install transformers==4.48.3\npython train.py\n" },
      "4.48.3",
    ],
    ["a Dockerfile", { "train.py": TRAINED, Dockerfile: "FROM x\nRUN pip install transformers==4.48.3\n" }, "4.48.3"],
    [
      "pyproject.toml",
      { "train.py": TRAINED, "pyproject.toml": '[project]\ndependencies = ["transformers~=4.48.3"]\n' },
      "4.48.3",
    ],
    [
      "environment.yml",
      { "train.py": TRAINED, "environment.yml": "dependencies:\n- pip:\n  - transformers==4.48.3\n" },
      "4.48.3",
    ],
    [
      "uv.lock",
      { "train.py": TRAINED, "uv.lock": '[[package]]\nname = "transformers"\nversion = "4.48.3"\n' },
      "4.48.3",
    ],
  ];
  for (const [name, files, version] of placed)
    it(`are those of ${name}`, async () => {
      const main = "train.ipynb" in files ? "train.ipynb" : "train.py";
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(main), {});
      const [run] = analysis.runs;
      const found = run?.releases?.find(({ library }) => library === "transformers");
      assert.deepEqual([found?.version, found?.stated], [version, true]);
    });

  it("reads a framework's config by its release, and the libraries that release requires", async () => {
    const analyse = async (name: string, text: string, requirements: string) => {
      const runtime = memoryRuntime({ [name]: text, "requirements.txt": requirements });
      return createAnalyzer(runtime).analyse(uri(name), {});
    };
    const axolotl =
      "base_model: Qwen/Qwen2.5-0.5B\ndatasets: []\nsequence_len: 64\nmicro_batch_size: 1\nunsloth_rope: true\nbf16: true\n";
    const old = await analyse("a.yml", axolotl, "axolotl==0.12.2\n");
    const removed = (analysis: DocumentAnalysis) =>
      analysis.runs[0]?.findings.filter(({ code }) => code === "removed-key").map(({ severity }) => severity);
    assert.deepEqual(removed(old), []);
    assert.match((await old.hover(3, 2))?.markdown ?? "", /axolotl 0\.12\.2, transformers 4\.55\.2/);
    assert.deepEqual(removed(await analyse("a.yml", axolotl, "axolotl[flash-attn]>=0.17,<0.19\n")), ["warning"]);
    assert.deepEqual(removed(await analyse("a.yml", axolotl, "")), ["information"]);
    const factory =
      "model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\ntemplate: qwen\nfinetuning_type: full\ndataset: x\nbf16: true\n";
    const length = (analysis: DocumentAnalysis) =>
      analysis.runs[0]?.settings.find(({ name }) => name === "sequence_length")?.value;
    assert.equal(length(await analyse("b.yaml", factory, "llamafactory==0.9.0\n")), 1024);
    assert.equal(length(await analyse("b.yaml", factory, "")), 2048);
    const swift = "model_id_or_path: Qwen/Qwen2.5-0.5B\nsft_type: lora\ndataset: x\nmax_length: 64\n";
    const renamed = await analyse("c.yaml", swift, "ms-swift==3.12.6\n");
    assert.deepEqual(removed(renamed), ["error", "error"]);
    const [fix] = renamed.fixes({ start: { line: 1, character: 0 }, end: { line: 1, character: 3 } });
    assert.deepEqual(
      fix?.edits.map(({ newText }) => newText),
      ["tuner_type"],
    );
    assert.deepEqual(removed(await analyse("c.yaml", swift, "ms-swift<3\n")), []);
  });

  it("are those that the newest release of the framework allows where nothing pins them", async () => {
    // LLaMA-Factory takes no DeepSpeed beyond 0.18 (requirements/deepspeed.txt), whose recomputed frozen weights go with their module.
    const factory =
      "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndataset: x\nbf16: true\n" +
      "deepspeed: ds.json\nper_device_train_batch_size: 1\ncutoff_len: 256\n";
    const found = async (pinned: string) => {
      const runtime = memoryRuntime({
        "a.yaml": factory,
        "ds.json": '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}',
        "requirements.txt": pinned,
      });
      const { runs } = await createAnalyzer(runtime).analyse(uri("a.yaml"), { device: "8x80GB" });
      const gathered = runs[0]?.perDevice?.components.find(({ kind }) => kind === "communication")?.bytes ?? 0;
      return { gathered, warned: runs[0]?.findings.some(({ code }) => code === "zero3-frozen-reentrant") };
    };
    const [allowed, newest] = [await found(""), await found("deepspeed==0.19.8\n")];
    assert.deepEqual([allowed.warned, newest.warned], [false, true]);
    assert.ok(allowed.gathered < newest.gathered / 2, `${allowed.gathered}, ${newest.gathered}`);
  });

  it("rename a removed key inside its own block only, in the file's own words", async () => {
    const fixes = async (name: string, text: string) => {
      const analysis = await createAnalyzer(memoryRuntime({ [name]: text })).analyse(uri(name), {});
      const whole = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
      const found = analysis.runs[0]?.findings.find(({ code }) => code === "removed-key");
      return [
        found?.message ?? "",
        ...analysis.fixes(whole).flatMap(({ edits }) => edits.map(({ newText }) => newText)),
      ];
    };
    const yaml = "seed_everything: 1\ntrainer:\n  gpus: 2\n  max_epochs: 1\nmodel:\n  class_path: a.B\n";
    const [said = "", ...written] = await fixes("c.yaml", yaml);
    assert.equal(said, "`gpus`: removed in Lightning 2.0; use `devices`.");
    assert.ok(written.includes("devices") && !written.includes("trainer.devices"), written.join());
    const flat = "output_dir: out\nper_device_train_batch_size: 1\nfsdp: full_shard\nfsdp_min_num_params: 5\n";
    assert.ok(!(await fixes("t.yaml", flat)).includes("fsdp_config.min_num_params"));
  });

  it("call an argument removed from the release on that removed it", async () => {
    const text =
      "output_dir: out\nper_device_train_batch_size: 1\nwarmup_ratio: 0.1\ngroup_by_length: true\nno_cuda: false\n";
    const removed = async (transformers: string) => {
      const runtime = memoryRuntime({ "t.yaml": text, "requirements.txt": `transformers==${transformers}\n` });
      const [run] = (await createAnalyzer(runtime).analyse(uri("t.yaml"), {})).runs;
      const found = run?.findings.filter(({ code }) => code.startsWith("removed-key")) ?? [];
      return found.map(({ message }) => message.replace(/;.*/, ""));
    };
    assert.deepEqual(await removed("4.57.1"), []);
    assert.deepEqual(await removed("5.1.0"), ["`no_cuda`: removed in Transformers 5"]);
    assert.deepEqual(await removed("5.17.0"), [
      "`group_by_length`: removed in Transformers 5.2",
      "`no_cuda`: removed in Transformers 5",
      "`warmup_ratio`: removed in Transformers 5.15",
    ]);
  });
});
