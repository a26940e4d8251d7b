/** What is wrong with an input is said at its place; there is no crash and no wrong number. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { main } from "../../src/cli/cli";
import { reportSchema } from "../../src/core/report/schema";
import { memoryRuntime, ROOT, uri } from "../analysis/memory-runtime";
import { workspace } from "./fake";

const root = `${__dirname}/../..`;
const HEAD = "output_dir: out\nlearning_rate: 1.0e-4\nmodel_name_or_path: gpt2\nbf16: true\n";

interface Bad {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly status: 0 | 1 | 2;
  /** Code of a finding, or what an error says. */
  readonly says: string | RegExp;
  /** Whether there may be a number all the same. */
  readonly estimated?: boolean;
}

const CASES: readonly Bad[] = [
  {
    name: "half a JSON",
    file: "train.json",
    text: '{"output_dir": "x", "per_device_train_batch_size": 4, "bf16": true, "deepspeed": {"zero_op',
    status: 1,
    says: "syntax",
  },
  {
    name: "YAML with tabs",
    file: "train.yaml",
    text: "output_dir: x\n\tper_device_train_batch_size: 4\nbf16: true\n",
    status: 1,
    says: "syntax",
  },
  {
    name: "merge-conflict markers",
    file: "train.yaml",
    text: `${HEAD}<<<<<<< a\nper_device_train_batch_size: 4\n=======\nper_device_train_batch_size: 8\n>>>>>>> b\n`,
    status: 1,
    says: "merge-conflict",
    estimated: true,
  },
  {
    name: "a template",
    file: "train.yaml",
    text: `${HEAD}per_device_train_batch_size: {{ batch }}\n`,
    status: 0,
    says: "unresolved-template",
  },
  {
    name: "NaN",
    file: "train.yaml",
    text: `${HEAD}per_device_train_batch_size: .nan\n`,
    status: 1,
    says: "invalid-value",
  },
  {
    name: "a negative",
    file: "train.yaml",
    text: `${HEAD}per_device_train_batch_size: -4\n`,
    status: 1,
    says: "invalid-value",
  },
  {
    name: "a quoted number",
    file: "train.yaml",
    text: `${HEAD}per_device_train_batch_size: "4"\n`,
    status: 1,
    says: "invalid-value",
  },
  {
    name: "an unknown model",
    file: "train.yaml",
    text: `${HEAD.replace("gpt2", "nobody/nothing-7b")}per_device_train_batch_size: 4\n`,
    status: 0,
    says: "unknown-model",
  },
  {
    name: "a model folder without config.json",
    file: "train.yaml",
    text: `${HEAD.replace("gpt2", "./model")}per_device_train_batch_size: 4\n`,
    status: 0,
    says: "unknown-model",
  },
  {
    name: "a config that links to itself",
    file: "train.json",
    text: '{"output_dir": "x", "per_device_train_batch_size": 4, "deepspeed": "train.json"}',
    status: 1,
    says: "cyclic-link",
  },
  {
    name: "a duplicate DeepSpeed key",
    file: "ds.json",
    text: '{"train_micro_batch_size_per_gpu": 4, "train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 2}}',
    status: 1,
    says: "duplicate-key",
  },
  {
    name: "a 5 MB file",
    file: "train.yaml",
    text: `${HEAD}x:\n${"  - 1234567\n".repeat(450_000)}`,
    status: 2,
    says: /characters/,
  },
  {
    name: "a binary file",
    file: "train.yaml",
    text: "output_dir: \u0000\u0001\u0000\n".repeat(50),
    status: 2,
    says: /binary/,
  },
  { name: "an empty file", file: "train.yaml", text: "", status: 2, says: /not recognised/ },
];

describe("bad input", () => {
  for (const bad of CASES) {
    it(`${bad.name} is said, with exit status ${bad.status}`, async () => {
      const cwd = workspace({ [bad.file]: bad.text, "model/weights.bin": "" });
      let out = "";
      const io = {
        cwd,
        env: { HF_HOME: cwd },
        color: false,
        packageDirectory: root,
        version: "0.0.0",
        stdout: (text: string) => {
          out += text;
        },
        stderr: () => assert.fail("nothing goes to the error output"),
      };
      const parts = { createAnalyzer, devices: [], readModels: async () => [], readConfigs: async () => ({}) };
      const status = await main(["check", "--format", "json", bad.file], io, parts);
      const report = reportSchema.parse(JSON.parse(out));
      assert.equal(status, bad.status);
      const codes = report.runs.flatMap((run) => run.findings.map((finding) => finding.code));
      const errors = report.errors.map((error) => error.message).join("\n");
      if (typeof bad.says === "string") assert.ok(codes.includes(bad.says), `${codes.join(", ")} ${errors}`);
      else assert.match(errors, bad.says);
      if (bad.estimated !== true) assert.ok(report.runs.every((run) => run.perDevice === null));
    });
  }
});

describe("a folder with a file that does not parse", () => {
  const files = {
    "good.yaml": `${HEAD}per_device_train_batch_size: 4\n`,
    "bad.yaml": "per_device_train_batch_size: 8\n  gradient_accumulation_steps: 4\nbf16: true\n",
  };

  it("knows a config of two lines by one key that nothing else has", async () => {
    const store = createAnalyzer(
      memoryRuntime({
        "short.yaml": "per_device_train_batch_size: 1\n  output_dir: [\n",
        "other.yaml": "log_level: [\n",
      }),
    );
    const { skipped } = await store.discover(ROOT);
    assert.deepEqual(
      skipped.map((one) => one.uri),
      [uri("short.yaml")],
    );
  });

  const check = (...argv: string[]) => run("check", ...(/^[^-]/.test(argv[0] ?? "") ? argv : [".", ...argv]));

  // A good line behind the mistake: it is known for what it is, and its text is what the parser made of it.
  const ds = '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 1}';
  const half = "output_dir: x\nper_device_train_batch_size: 8\n  bf16: true\nlearning_rate: 1e-4\n";

  async function run(...argv: string[]): Promise<{ status: number; out: string; err: string }> {
    let out = "";
    let err = "";
    const io = {
      cwd: workspace(argv[1] === "." ? files : { ...files, "half.yaml": half, "ds.json": ds }),
      env: {},
      color: false,
      packageDirectory: root,
      version: "0",
      stdout: (text: string) => {
        out += text;
      },
      stderr: (text: string) => {
        err += text;
      },
    };
    const parts = { createAnalyzer, devices: [], readModels: async () => [], readConfigs: async () => ({}) };
    return { status: await main(argv, io, parts), out, err };
  }

  it("names the file and counts it; --strict fails on it", async () => {
    const { status, out } = await check();
    assert.equal(status, 0);
    assert.match(out, /^bad\.yaml:\d+:\d+ skipped /m);
    assert.match(out, /^1 run: 1 without a GPU, files skipped: 1$/m);
    assert.equal((await check("--strict")).status, 2);
    const report = reportSchema.parse(JSON.parse((await check("--format", "json")).out));
    assert.equal(report.skipped?.length, 1);
  });

  it("is complained of once at a place, and a plan of it says why there is none", async () => {
    const { out } = await check("half.yaml");
    assert.equal(out.match(/ error /g)?.length, 1, out);
    const plan = await run("plan", "half.yaml");
    assert.match(plan.out, / error .*\[syntax\]/);
    assert.doesNotMatch(`${out}${plan.out}`, /assumes|no change found|nothing has to change/);
  });

  it("says why a part of a run has no estimate of its own", async () => {
    const { out } = await run("check", "ds.json");
    assert.match(out, /no estimate {3}Part of a run: /);
  });

  it("exits 2 without a report where a device or a setting is not understood", async () => {
    for (const argv of [
      ["--device", "banana"],
      ["--set", "batch=1"],
      ["--set", "bf16=ture"],
    ]) {
      const { status, out, err } = await check(...argv);
      assert.deepEqual([status, out], [2, ""], argv.join(" "));
      assert.match(err, /^vram-lens: (?:no |bf16 )/);
    }
  });
});
