/** Every rule: its example shows it, at a place, in both languages; a plain config shows none. */
import { strict as assert } from "node:assert";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { CATALOGUE, RULES } from "../../src/analysis/findings/catalogue";
import { exampleFiles, findingPages } from "../../src/analysis/findings/pages";
import type { Example } from "../../src/analysis/findings/rule";
import type { ReportFinding } from "../../src/core/report/schema";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const DOCS = join(__dirname, "../../docs/findings");

async function findingsOf(example: Example, locale = "en"): Promise<readonly ReportFinding[]> {
  const model = { ...TINY_LLAMA, ...example.model };
  const files = exampleFiles({
    ...example,
    pins: [example.trl === undefined ? "model: ./model" : "", example.pins ?? ""]
      .filter((line) => line !== "")
      .join("\n"),
  });
  const runtime = memoryRuntime({ ...files, "model/config.json": JSON.stringify(model) });
  const main = files["train.yaml"] === undefined ? "ds.json" : "train.yaml";
  const analysis = await createAnalyzer(runtime).analyse(uri(main), { locale });
  return analysis.runs[0]?.findings ?? [];
}

describe("analysis: rules", () => {
  for (const rule of RULES) {
    it(rule.code, async () => {
      const found = (await findingsOf(rule.example)).find((finding) => finding.code === rule.code);
      assert.ok(found, "its example does not show it");
      assert.ok(found.range);
      assert.doesNotMatch(found.message, /\{\w+\}|undefined|NaN/);
      const chinese = (await findingsOf(rule.example, "zh-cn")).find((finding) => finding.code === rule.code);
      assert.match(chinese?.message ?? "", /[\u4e00-\u9fff]/);
    });
  }

  it("are silent on plain configs", async () => {
    const plain: readonly Example[] = [
      {
        train: "bf16: true\ngradient_checkpointing: true\noptim: adamw_torch_fused",
        pins: "sequence_length: 64\ndtype: float32",
      },
      { trl: "dtype: bfloat16\nmax_length: 64\nuse_peft: true\nlora_r: 8\nlora_target_modules: [q_proj]" },
      {
        train: "deepspeed: ds.json\nbf16: true",
        deepspeed: '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}}',
        pins: "sequence_length: 64",
      },
    ];
    for (const example of plain) {
      const codes = (await findingsOf(example)).filter(
        (finding) => finding.severity === "error" || finding.severity === "warning",
      );
      assert.deepEqual(
        codes.map((finding) => `${finding.code}: ${finding.message}`),
        [],
      );
    }
  });

  it("have codes that are unique", () => {
    const codes = CATALOGUE.map((entry) => entry.code);
    assert.equal(new Set(codes).size, codes.length);
  });

  it("have pages that are up to date (npx tsx scripts/findings-pages.ts)", () => {
    for (const [name, text] of findingPages()) {
      const file = join(DOCS, name);
      assert.ok(existsSync(file), `${name} is missing`);
      assert.equal(readFileSync(file, "utf8"), text, name);
    }
  });
});
