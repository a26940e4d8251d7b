/** The whole command line on samples/, with the real analysis and the packaged models. */
import { strict as assert } from "node:assert";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { main } from "../../src/cli/cli";
import { withEdits } from "../../src/core/report/apply";
import { type ReportRun, reportSchema } from "../../src/core/report/schema";
import { pathOf } from "../../src/host/node";
import { temporaryFolder } from "./fake";

const root = join(__dirname, "..", "..");

async function run(
  cwd: string,
  argv: readonly string[],
  terminal: { readonly columns?: number } = {},
): Promise<{ readonly status: number; readonly out: string }> {
  let out = "";
  const io = {
    cwd,
    env: {},
    color: false,
    ...terminal,
    packageDirectory: root,
    version: "0.0.0",
    stdout: (text: string) => {
      out += text;
    },
    stderr: (text: string) => {
      out += text;
    },
  };
  const status = await main(argv, io, {
    createAnalyzer,
    devices: [],
    readModels: async () => [],
    readConfigs: async () => ({}),
  });
  return { status, out };
}

async function check(cwd: string, ...paths: string[]) {
  const { status, out } = await run(cwd, ["check", "--format", "json", ...paths]);
  return { status, report: reportSchema.parse(JSON.parse(out)) };
}

function samples(): string {
  const copy = join(temporaryFolder(), "samples");
  cpSync(join(root, "samples"), copy, { recursive: true });
  return copy;
}

function only(runs: readonly ReportRun[]): ReportRun {
  assert.equal(runs.length, 1);
  return runs[0]!;
}

describe("samples", () => {
  it("estimates every run, and the parts of the peak add up to it", async () => {
    const { status, report } = await check(root, "samples");
    assert.equal(status, 1, "one sample does not fit");
    assert.deepEqual(report.errors, []);
    assert.deepEqual(
      report.runs.filter((one) => one.verdict === "does-not-fit").map((one) => one.id),
      ["samples/llama-1b/train.yaml"],
    );
    assert.equal(report.runs.length, 4);
    for (const one of report.runs) {
      assert.ok(one.perDevice, `${one.id} has an estimate`);
      const sum = one.perDevice.components.reduce((total, part) => total + part.bytes, 0);
      assert.equal(sum, one.perDevice.allocatedPeakBytes, one.id);
    }
  });

  it("knows the models by their published parameter counts", async () => {
    const { report } = await check(root, "samples");
    assert.deepEqual(
      report.runs.map((one) => one.model?.parameters),
      [124_439_808, 1_235_814_400, 8_030_261_248, 7_615_616_512 + 40_370_176],
    );
  });

  it("offers a smallest change for the full fine-tune that makes it fit", async () => {
    const cwd = samples();
    const before = only((await check(cwd, "llama-1b/train.yaml")).report.runs);
    const plan = before.plans.find((one) => one.fits !== false);
    assert.ok(plan, "there is a plan that fits");
    for (const uri of new Set(plan.edits.map((edit) => edit.uri))) {
      const path = pathOf(uri) ?? "";
      const edits = plan.edits.filter((edit) => edit.uri === uri);
      writeFileSync(path, withEdits(readFileSync(path, "utf8"), edits));
    }
    const { status, report } = await check(cwd, "llama-1b/train.yaml");
    const after = only(report.runs);
    assert.equal(after.verdict, "fits");
    assert.equal(status, 0);
    assert.equal(after.perDevice?.usedPeakBytes, plan.usedPeakBytes, "what the plan promised is what it takes");
  });

  it("takes the device and overrides from the command line", async () => {
    const cwd = samples();
    const argv = ["check", "--format", "json", "--fail-on", "never", "llama-1b", "--device", "H100"];
    const big = reportSchema.parse(JSON.parse((await run(cwd, argv)).out));
    assert.match(only(big.runs).devices.name ?? "", /H100/);
    assert.equal(only(big.runs).verdict, "fits");
    const small = await run(cwd, [...argv.slice(0, -1), "24GB", "--set", "per_device_train_batch_size=1"]);
    const smaller = only(reportSchema.parse(JSON.parse(small.out)).runs);
    assert.equal(smaller.settings.find((one) => one.name === "micro_batch_size")?.value, 1);
    assert.ok((smaller.perDevice?.usedPeakBytes ?? 0) < (only(big.runs).perDevice?.usedPeakBytes ?? 0));
  });

  for (const [file, locale] of [
    ["README.md", "en"],
    ["README.zh-CN.md", "zh-cn"],
  ] as const)
    it(`prints what ${file} shows, in 80 columns`, async () => {
      const { out } = await run(root, ["check", "samples/llama-1b", "--locale", locale], { columns: 80 });
      const readme = readFileSync(join(root, file), "utf8");
      const shown = /^\$ vram-lens check samples\/llama-1b.*\n([\s\S]*?)```$/m.exec(readme)?.[1] ?? "";
      assert.ok(shown.split("\n").length > 5);
      assert.ok(out.startsWith(shown), `${shown}is not what is printed:\n${out}`);
    });

  it("says the change in words", async () => {
    const { out } = await run(samples(), ["check", "llama-1b/train.yaml"]);
    assert.match(
      out,
      /^llama-1b\/train\.yaml {3}.*, full training, bf16, 8 × 1,024 tokens {3}NVIDIA GeForce RTX 4090 24 GiB\n/,
    );
    assert.match(
      out,
      /does not fit {3}\d+\.\d GiB \(\d+\.\d–\d+\.\d\) of 23\.5 usable {3}peak in backward {3}step .+ s, bound by \w+\n/,
    );
    assert.match(out, /smallest change that fits: .+ {3}\d+\.\d GiB/);
  });
});
