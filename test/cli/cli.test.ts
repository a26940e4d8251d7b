import { strict as assert } from "node:assert";
import { join } from "node:path";
import { WORDS } from "../../src/cli/words";
import { reportSchema } from "../../src/core/report/schema";
import { uriOf } from "../../src/host/node";
import { cli, fakeRun, GIB, workspace } from "./fake";

const TRAIN = "output_dir: out\nper_device_train_batch_size: 8\n";

function single(changes: Parameters<typeof fakeRun>[1] = {}) {
  const cwd = workspace({ "a/train.yaml": TRAIN });
  const uri = uriOf(join(cwd, "a/train.yaml"));
  return { cwd, uri, runs: { "a/train.yaml": [fakeRun(uri, changes)] } };
}

describe("cli check", () => {
  it("prints verdict, parts and the smallest change for a person", async () => {
    const { cwd, runs } = single();
    const { out, status } = await cli(cwd, ["check", "a/train.yaml"], runs);
    assert.equal(status, 1);
    assert.equal(
      out,
      [
        "a/train.yaml   Llama-3.2-1B, full training, bf16, 8 × 2,048 tokens   RTX 4090 24 GiB",
        "  does not fit   41.5 GiB (41.0–43.0) of 23.0 usable   peak in backward",
        "  weights 10.0  logits and loss 30.0  allocator cache 1.0  context and libraries 0.5",
        "  smallest change that fits: per_device_train_batch_size 8 → 2   21.0 GiB, +6 % time",
        "  assumes sequence length 2048 (set sequence_length)",
        "",
      ].join("\n"),
    );
  });

  it("says beside the verdict whose code stands in", async () => {
    const standsIn = "transformers' code stands in for litgpt's";
    const { statement } = fakeRun("file:///train.yaml");
    const { cwd, runs } = single({ statement: { ...statement, standsIn } });
    const { out } = await cli(cwd, ["check", "a/train.yaml"], runs);
    assert.match(
      out,
      /41\.5 GiB \(41\.0–43\.0\) of 23\.0 usable {3}peak in backward {3}transformers' code stands in for/,
    );
  });

  it("gives a card the memory that every other surface gives it, and counts what lacks a GPU alone", async () => {
    const cwd = workspace({ "a/train.yaml": TRAIN, "a/other.yaml": TRAIN });
    const [one, other] = ["a/train.yaml", "a/other.yaml"].map((path) => uriOf(join(cwd, path)));
    const plain = fakeRun(one ?? "");
    const card = { ...plain.devices, name: "NVIDIA H100 80GB HBM3", memoryBytes: Math.round(79.6 * GIB) };
    const none = { ...plain.devices, name: null, memoryBytes: null, usableBytes: null };
    const runs = {
      "a/train.yaml": [fakeRun(one ?? "", { devices: card })],
      "a/other.yaml": [fakeRun(other ?? "", { devices: none, verdict: "unknown" })],
    };
    const { out } = await cli(cwd, ["check", "a"], runs);
    assert.match(out, /NVIDIA H100 80GB HBM3 79\.6 GiB$/m);
    assert.match(out, /^2 runs: 1 does not fit, 1 without a GPU$/m);
  });

  it("speaks the language of the terminal, or the one asked for", async () => {
    const { cwd, runs } = single();
    const { out } = await cli(cwd, ["check", "a", "--locale", "zh-cn"], runs);
    assert.match(out, /全参数训练/);
    assert.equal((await cli(cwd, ["check", "a"], runs, { LANG: "zh_CN.UTF-8" })).out, out);
    assert.match((await cli(cwd, ["check", "a"], runs, { LANG: "de_DE.UTF-8" })).out, /does not fit/);
  });

  it("has every message in both languages, with the same holes", () => {
    const holes = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
    for (const id of Object.keys(WORDS.en) as (keyof typeof WORDS.en)[]) {
      assert.deepEqual(holes(WORDS["zh-cn"][id]), holes(WORDS.en[id]), id);
    }
  });

  it("prints a report that the schema accepts and nothing else", async () => {
    const { cwd, runs } = single();
    const { out, err } = await cli(cwd, ["check", "--format", "json", "a"], runs);
    const report = reportSchema.parse(JSON.parse(out));
    assert.equal(report.version, "1.2.3");
    assert.equal(report.runs.length, 1);
    assert.equal(err, "");
  });

  it("prints SARIF with places counted from one, and plans as fixes", async () => {
    const { cwd, runs } = single();
    const { out } = await cli(cwd, ["check", "--format=sarif", "a"], runs);
    const [run] = JSON.parse(out).runs;
    const [result] = run.results;
    assert.equal(result.ruleId, "does-not-fit");
    assert.equal(result.level, "error");
    assert.deepEqual(result.locations[0].physicalLocation, {
      artifactLocation: { uri: "a/train.yaml", uriBaseId: "SRCROOT" },
      region: { startLine: 2, startColumn: 30, endLine: 2, endColumn: 31 },
    });
    assert.equal(result.fixes[0].artifactChanges[0].replacements[0].insertedContent.text, "2");
    assert.equal(run.tool.driver.rules[0].helpUri, "https://example.org/does-not-fit");
  });

  for (const [failOn, severity, expected] of [
    ["error", "error", 1],
    ["error", "warning", 0],
    ["warning", "warning", 1],
    ["warning", "information", 0],
    ["never", "error", 0],
  ] as const) {
    it(`exits ${expected} for a finding of severity ${severity} with --fail-on ${failOn}`, async () => {
      const { cwd, uri, runs } = single({ findings: [] });
      const finding = { code: "x", severity, message: "m", uri, help: "" };
      const outcome = await cli(cwd, ["check", "a", "--fail-on", failOn], {
        ...runs,
        "a/train.yaml": [fakeRun(uri, { findings: [finding] })],
      });
      assert.equal(outcome.status, expected);
    });
  }

  it("exits 2 for an input that cannot be read, and still reports the others", async () => {
    const { cwd, runs } = single();
    const { out, status } = await cli(cwd, ["check", "--format", "json", "nowhere.yaml", "a/train.yaml"], runs);
    const report = reportSchema.parse(JSON.parse(out));
    assert.equal(status, 2);
    assert.equal(report.runs.length, 1);
    assert.deepEqual(report.errors, [
      { uri: uriOf(join(cwd, "nowhere.yaml")), message: "nowhere.yaml: no such file or folder" },
    ]);
  });

  it("says that a file is no training config", async () => {
    const cwd = workspace({ "notes.yaml": "a: 1\n" });
    const { out, status } = await cli(cwd, ["check", "notes.yaml"]);
    assert.equal(status, 2);
    assert.match(out, /^notes\.yaml error not recognised as a training config\n$/);
  });

  it("passes device, count and overrides on", async () => {
    const { cwd, runs } = single();
    const argv = ["check", "a", "--device=24GB", "--devices", "8", "--set", "optim=sgd", "--set=model=b=c"];
    const options = (await cli(cwd, argv, runs)).asked.get("train.yaml");
    assert.equal(options?.device, "24GB");
    assert.equal(options?.deviceCount, 8);
    assert.deepEqual(options?.set, { optim: "sgd", model: "b=c" });
  });

  it("shows one run once, and no document that is only a part of another run", async () => {
    const cwd = workspace({ "train.json": "{}", "ds.json": "{}" });
    const [train, ds] = [uriOf(join(cwd, "train.json")), uriOf(join(cwd, "ds.json"))];
    const whole = fakeRun(train, { documents: [train, ds], findings: [] });
    const part = fakeRun(ds, { perDevice: null, verdict: "unknown", findings: [] });
    const runs = { "train.json": [whole], "ds.json": [whole, part] };
    const ids = async (...paths: string[]) =>
      JSON.parse((await cli(cwd, ["check", "--format", "json", ...paths], runs)).out).runs.map(
        (run: { documents: string[] }) => run.documents.length,
      );
    assert.deepEqual(await ids("."), [2]);
    assert.deepEqual(await ids("ds.json"), [2, 1]);
  });
});

describe("cli usage", () => {
  for (const [argv, complaint] of [
    [["estimate"], 'unknown command "estimate"'],
    [["chek"], 'unknown command "chek" (did you mean check?)'],
    [["check"], "check needs at least one file or folder"],
    [["explain"], "explain needs a log, or - for the standard input"],
    [["snapshot", "a", "b"], "snapshot takes one file"],
    [["check", "a", "--devce", "24GB"], 'unknown option "--devce" for check (did you mean --device?)'],
    [["check", "a", "--format", "xml"], "--format is one of text, json, sarif"],
    [["plan", "a", "--format", "sarif"], "--format is one of text, json"],
    [["check", "a", "--fail-on", "hint"], "--fail-on is one of error, warning, never"],
    [["check", "a", "--devices", "0"], '--devices needs a whole number from 1 on, not "0"'],
    [["check", "a", "--locale", "fr"], '--locale is en or zh-cn, not "fr"'],
    [
      ["check", "--against-pytorch", "--device", "banana", "train.py"],
      'no GPU called "banana"; vram-lens devices lists them',
    ],
    [["check", "a", "--set", "batch"], '--set needs KEY=VALUE, not "batch"'],
    [["check", "a", "--frobnicate"], 'unknown option "--frobnicate" for check'],
    [["check", "a", "--gpu", "4090"], 'unknown option "--gpu" for check (did you mean --device?)'],
    [["plan", "a", "--num_gpus=8"], 'unknown option "--num_gpus" for plan (did you mean --devices?)'],
    [["check", "a", "--json"], 'unknown option "--json" for check (did you mean --format?)'],
    // What another command takes is no advice for this one.
    [["devices", "--gpu", "4090"], 'unknown option "--gpu" for devices'],
    [["check", "a", "--device"], "--device needs a value (NAME|SIZE)"],
    [["devices", "a"], "devices takes no path"],
  ] as const) {
    it(`refuses ${argv.join(" ")}`, async () => {
      const { out, err, status } = await cli(workspace({}), argv);
      assert.equal(status, 2);
      assert.equal(out, "");
      const known = ["check", "plan", "explain", "snapshot", "devices"].includes(argv[0]);
      assert.equal(err, `vram-lens: ${complaint}\nTry vram-lens ${known ? `${argv[0]} ` : ""}--help.\n`);
    });
  }

  it("complains and helps in the terminal's language, a program's output in the language asked for", async () => {
    const cwd = workspace({});
    const chinese = { LANG: "zh_CN.UTF-8" };
    const said = async (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
      const { out, err, status } = await cli(cwd, argv, {}, env);
      return { text: `${out}${err}`, status };
    };
    for (const [argv, text] of [
      [["chek"], "vram-lens: 未知命令“chek”（是否指 check？）\n用法见 vram-lens --help。\n"],
      [["check"], "vram-lens: check 至少需要一个文件或文件夹\n用法见 vram-lens check --help。\n"],
      [["trace"], "vram-lens: trace 需要一个文件\n用法见 vram-lens trace --help。\n"],
      [["explain", "none.log"], "vram-lens: none.log：无法读取\n"],
      [
        ["check", "a", "--device", "banana"],
        "vram-lens: 没有名为“banana”的 GPU；vram-lens devices 可列出\n用法见 vram-lens check --help。\n",
      ],
    ] as const)
      assert.deepEqual(await said(argv, chinese), { text, status: 2 }, argv.join(" "));
    assert.match((await said(["check", "--locale", "zh-cn"])).text, /至少需要/);
    assert.match((await said(["check", "--locale=zh-cn"])).text, /至少需要/);
    assert.match((await said(["check", "--format", "json"], chinese)).text, /at least one file/);
    assert.match((await said(["check", "--locale", "en"], chinese)).text, /at least one file/);
    assert.match((await said(["check", "--help"], chinese)).text, /^用法：vram-lens check PATH/);
  });

  it("prints help, of all and of one command, and the version", async () => {
    const cwd = workspace({});
    assert.match((await cli(cwd, ["--help"])).out, /usage: vram-lens COMMAND/);
    for (const argv of [
      ["plan", "a", "--help"],
      ["help", "plan"],
    ]) {
      const { out } = await cli(cwd, argv);
      assert.match(out, /^usage: vram-lens plan PATH\.\.\. \[options\]\n/);
      assert.match(out, /--keep-numerics/);
      assert.doesNotMatch(out, /--fail-on|--strict/);
    }
    assert.equal((await cli(cwd, ["--version"])).out, "1.2.3\n");
  });

  it("lists the catalogues", async () => {
    const cwd = workspace({});
    assert.equal((await cli(cwd, ["devices"])).out, "NVIDIA GeForce RTX 4090  24.0 GiB  consumer  RTX 4090\n");
    assert.equal((await cli(cwd, ["models"])).out, "gpt2  124 M  gpt2\n");
    assert.deepEqual(JSON.parse((await cli(cwd, ["models", "--format", "json"])).out), [
      { name: "gpt2", family: "gpt2", parameters: 124439808 },
    ]);
  });
});

describe("cli plan", () => {
  it("shows every suggestion with the lines it changes", async () => {
    const { cwd, runs } = single();
    const { out, status } = await cli(cwd, ["plan", "a"], runs);
    assert.equal(status, 0);
    assert.match(out, /1\. Micro-batch 2 × accumulation 4: 21\.0 GiB {3}−20\.5 GiB · \+6 % time · same results\n/);
    assert.match(
      out,
      /a\/train\.yaml:2\n {5}- per_device_train_batch_size: 8\n {5}\+ per_device_train_batch_size: 2\n/,
    );
  });

  it("shows the plan in stages and the limits, and passes on what plans may do", async () => {
    const folder = workspace({ "train.yaml": "batch: 8\n" });
    const stage = {
      id: "essentials" as const,
      items: [
        {
          lever: "fused-loss",
          title: "Fused cross-entropy",
          why: "",
          freesBytes: 20 * GIB,
          stepTimeFactor: 0.97,
          changes: "nothing" as const,
          needs: ["liger-kernel"],
        },
      ],
      usedPeakBytes: 20 * GIB,
      fits: true,
      stepTimeFactor: 0.97,
      set: { fused_loss: "true" },
      edits: [],
    };
    const limits = {
      reserve: 0.1,
      microBatch: { value: 4, usedPeakBytes: 20 * GIB },
      sequence: { value: 512, usedPeakBytes: 19 * GIB },
      smallestDevice: { name: "NVIDIA H200", memoryBytes: 141 * GIB, usedPeakBytes: 41 * GIB },
      devices: null,
    };
    const run = fakeRun(uriOf(join(folder, "train.yaml")), { guide: { stages: [stage], limits } });
    const argv = ["plan", "train.yaml", "--keep-numerics", "--no-adapters", "--no-packages", "--free-global-batch"];
    const { out, asked } = await cli(folder, argv, { "train.yaml": [run] });
    assert.match(out, /Essentials: 20\.0 GiB, fits, −3 % time/);
    assert.match(out, /- Fused cross-entropy {3}frees 20\.0 GiB, −3 % time {3}needs liger-kernel/);
    assert.match(out, /Everything else as it is:/);
    assert.match(out, /largest micro-batch 4 \(20\.0 GiB\)/);
    assert.match(out, /longest sequence 512 tokens/);
    assert.match(out, /smallest GPU H200 141 GiB/);
    assert.equal(asked.get("train.yaml")?.guide, true);
    assert.deepEqual(asked.get("train.yaml")?.allow, {
      keepGlobalBatch: false,
      keepNumerics: true,
      adapters: false,
      packages: false,
    });
    const check = await cli(folder, ["check", "train.yaml", "--keep-numerics"], { "train.yaml": [run] });
    assert.equal(check.status, 2);
  });
});
