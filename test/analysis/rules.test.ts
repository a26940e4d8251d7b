/** Every rule: its example shows it, at a place, in both languages; a plain config shows none. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FOLDER, findingPages, readFindingPages } from "../../scripts/finding-pages";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import { LineIndex } from "../../src/analysis/documents/lines";
import { RULES } from "../../src/analysis/findings/rules";
import type { ReportEdit, ReportFinding } from "../../src/core/report/schema";
import { applyEdits } from "../../src/syntax/edit";
import { CASES } from "./cases";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";
import { EXAMPLES, type Example } from "./rule-examples";

/** The files of an example, as a workspace holds them. */
function exampleFiles(example: Example): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  if (example.train !== undefined) {
    const batch = /^per_device_train_batch_size/m.test(example.train) ? "" : "per_device_train_batch_size: 4\n";
    files["train.yaml"] = `output_dir: out\n${batch}${example.train}\n`;
  }
  if (example.trl !== undefined) {
    const batch = /^per_device_train_batch_size/m.test(example.trl) ? "" : "per_device_train_batch_size: 4\n";
    files["train.yaml"] = `model_name_or_path: ./model\ndataset_name: data\noutput_dir: out\n${batch}${example.trl}\n`;
  }
  if (example.script !== undefined) files["train.py"] = example.script;
  if (example.deepspeed !== undefined) {
    files["ds.json"] = `${JSON.stringify(JSON.parse(example.deepspeed), null, 2)}\n`;
  }
  if (example.pins !== undefined) {
    const lines = example.pins
      .split("\n")
      .map((line) => `    ${line}\n`)
      .join("");
    files[".vramlens.yaml"] = `runs:\n  - match: "*"\n${lines}`;
  }
  if (example.requirements !== undefined) files["requirements.txt"] = example.requirements;
  if (example.launch !== undefined) files["launch.sh"] = example.launch;
  return files;
}

interface Analysed {
  readonly files: Readonly<Record<string, string>>;
  readonly main: string;
  readonly analysis: DocumentAnalysis;
}

/** Hides the graph: fixes do not depend on an estimate, and the test is quick without. */
const UNESTIMATED = { "graphs/llama.json": undefined };

async function analyseExample(
  example: Example,
  locale = "en",
  modelData: Readonly<Record<string, string | undefined>> = {},
): Promise<Analysed> {
  const model = { ...TINY_LLAMA, ...example.model };
  const files = exampleFiles({
    ...example,
    pins: [example.trl === undefined ? "model: ./model" : "", example.pins ?? ""]
      .filter((line) => line !== "")
      .join("\n"),
  });
  const main = ["train.yaml", "train.py"].find((name) => files[name] !== undefined) ?? "ds.json";
  const all = { ...files, "model/config.json": JSON.stringify(model) };
  return {
    files: all,
    main,
    analysis: await createAnalyzer(memoryRuntime(all, modelData)).analyse(uri(main), { locale }),
  };
}

async function findingsOf(example: Example, locale = "en"): Promise<readonly ReportFinding[]> {
  return (await analyseExample(example, locale)).analysis.runs[0]?.findings ?? [];
}

/** Files after the edits of a fix. */
function applied(files: Readonly<Record<string, string>>, edits: readonly ReportEdit[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => {
      const lines = new LineIndex(text);
      const own = edits.filter((edit) => edit.uri === uri(path));
      const spans = own.map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      }));
      return [path, applyEdits(text, spans)];
    }),
  );
}

describe("analysis: rules", () => {
  for (const rule of RULES) {
    it(rule.code, async () => {
      const example = EXAMPLES[rule.code]!;
      const found = (await findingsOf(example)).find((finding) => finding.code === rule.code);
      assert.ok(found, "its example does not show it");
      assert.ok(found.range);
      assert.doesNotMatch(found.message, /\{\w+\}|undefined|NaN/);
      const chinese = (await findingsOf(example, "zh-cn")).find((finding) => finding.code === rule.code);
      assert.match(chinese?.message ?? "", /[\u4e00-\u9fff]/);
    });
  }

  it("mend what their fixes say they mend", async () => {
    const everywhere = { start: { line: 0, character: 0 }, end: { line: 10_000, character: 0 } };
    let fixed = 0;
    for (const rule of RULES) {
      const { files, main, analysis } = await analyseExample(EXAMPLES[rule.code]!, "en", UNESTIMATED);
      const parts = await Promise.all(
        ["ds.json", main]
          .filter((path, index, all) => files[path] !== undefined && all.indexOf(path) === index)
          .map((path) => createAnalyzer(memoryRuntime(files, UNESTIMATED)).analyse(uri(path), {})),
      );
      const fixes = parts.flatMap((part) => part.fixes(everywhere)).filter((fix) => fix.code === rule.code);
      for (const fix of fixes) {
        fixed++;
        const after = createAnalyzer(memoryRuntime(applied(files, fix.edits), UNESTIMATED));
        const count = (of: DocumentAnalysis): number =>
          of.runs[0]?.findings.filter((finding) => finding.code === rule.code).length ?? 0;
        const left = count(await after.analyse(uri(main), {}));
        assert.ok(left < count(analysis), `${rule.code}: ${fix.title}`);
      }
    }
    assert.ok(fixed >= 25, `${fixed} fixes`);
  });

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
    const codes = RULES.map((rule) => rule.code);
    assert.equal(new Set(codes).size, codes.length);
    assert.deepEqual([...codes].sort(), Object.keys(EXAMPLES).sort());
  });

  it("have pages that name their severity", () => {
    const pages = new Map(readFindingPages().map(({ code, severity }) => [code, severity]));
    for (const { code, severity } of RULES) assert.equal(pages.get(code), severity, code);
  });

  it("have pages that are up to date (npm run generate)", () => {
    for (const [name, text] of findingPages(CASES)) {
      assert.equal(readFileSync(join(FOLDER, name), "utf8"), text, name);
    }
  });

  it("asks for no other attention where a model caps its scores, which eager attention alone does", async () => {
    const found = async (model: Readonly<Record<string, unknown>>) => {
      const { analysis } = await analyseExample({ trl: "attn_implementation: eager", model }, "en", UNESTIMATED);
      return (analysis.runs[0]?.findings ?? []).some(({ code }) => code === "eager-attention");
    };
    assert.equal(await found({}), true);
    assert.equal(await found({ attn_logit_softcapping: 50 }), false);
  });

  it("says that a loop's own scaler stops at float16 weights, where it is on and steps, and all that is trained is float16", async () => {
    const found = async (scaler: string, step = "scaler.step(optimizer)", load = "dtype=torch.float16") => {
      const script = `import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("./model", ${load}).cuda()
optimizer = torch.optim.AdamW(model.parameters())
scaler = ${scaler}
for batch in torch.utils.data.DataLoader(data, batch_size=2):
    loss = model(**batch).loss
    scaler.scale(loss).backward()
    ${step}
    optimizer.zero_grad()
`;
      const { analysis } = await analyseExample({ script }, "en", UNESTIMATED);
      return (analysis.runs[0]?.findings ?? []).some(({ code }) => code === "fp16-weights");
    };
    assert.equal(await found('torch.amp.GradScaler("cuda")'), true);
    assert.equal(await found("torch.cuda.amp.GradScaler(enabled=True)", "scaler.unscale_(optimizer)"), true);
    assert.equal(await found("torch.cuda.amp.GradScaler(enabled=args.half)"), false);
    assert.equal(await found("torch.cuda.amp.GradScaler()", "optimizer.step()"), false);
    assert.equal(await found("torch.cuda.amp.GradScaler()", "scaler.step(optimizer)", "dtype=torch.float32"), false);
    assert.equal(await found("ShardedGradScaler()"), false);
  });
});
