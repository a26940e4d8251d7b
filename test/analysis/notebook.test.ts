/** Notebooks and scripts: hovers, findings and fixes where the value is written, in the words of the language. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { LineIndex } from "../../src/analysis/documents/lines";
import type { Range } from "../../src/core/report/schema";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, uri } from "./memory-runtime";

const WHOLE: Range = { start: { line: 0, character: 0 }, end: { line: 9999, character: 0 } };

const NOTEBOOK = JSON.stringify(
  {
    cells: [
      { cell_type: "markdown", source: ["# bf16=True, fp16=True\n"] },
      { cell_type: "code", source: ["%pip install trl\n", "from trl import SFTConfig\n", "size = 4\n"] },
      {
        cell_type: "code",
        source: [
          "!nvidia-smi\n",
          'args = SFTConfig(output_dir="out",\n',
          '    per_device_train_batch_size=size, optim="adamw_8bit",\n    bf16=True, fp16=True)\n',
        ],
      },
    ],
    nbformat: 4,
  },
  null,
  1,
);

/** The text and its analysis, with places as text. */
async function open(name: string, text: string) {
  const analysis = await createAnalyzer(memoryRuntime({ [name]: text })).analyse(uri(name), {});
  const lines = new LineIndex(text);
  const slice = (range: Range | undefined): string | undefined =>
    range === undefined
      ? undefined
      : text.slice(
          lines.offset(range.start.line, range.start.character),
          lines.offset(range.end.line, range.end.character),
        );
  const fixed = (code: string): string => {
    const [fix] = analysis.fixes(WHOLE).filter((candidate) => candidate.code === code);
    assert.ok(fix, code);
    return applyEdits(
      text,
      fix.edits.map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      })),
    );
  };
  return { analysis, lines, slice, fixed };
}

describe("analysis: notebooks and scripts", () => {
  it("finds, hovers and edits inside the cells of a notebook", async () => {
    const { analysis, lines, slice, fixed } = await open("train.ipynb", NOTEBOOK);
    const run = analysis.runs[0];
    const both = run?.findings.find(({ code }) => code === "contradictory-keys");
    assert.equal(slice(both?.range), "fp16");
    assert.ok(lines.offset(both?.range?.start.line ?? 0, 0) > NOTEBOOK.indexOf("nvidia-smi"));
    const { start } = lines.range({ start: NOTEBOOK.indexOf("optim=") + 1, end: NOTEBOOK.indexOf("optim=") + 1 });
    assert.equal(slice((await analysis.hover(start.line, start.character))?.range), "optim");
    const size = run?.settings.find(({ name }) => name === "micro_batch_size");
    assert.equal(size?.value, 4);
    assert.equal(slice(size?.range), "size");
    const after = fixed("contradictory-keys");
    assert.equal(after, NOTEBOOK.replace("fp16=True)", "fp16=False)"));
    assert.doesNotThrow(() => JSON.parse(after));
  });

  it("takes two calls of one class for two configs", async () => {
    const two =
      "from transformers import AutoModel, BitsAndBytesConfig, TrainingArguments\nTrainingArguments(output_dir='o')\nif a:\n    q = BitsAndBytesConfig(load_in_8bit=True)\nelse:\n    q = BitsAndBytesConfig(load_in_4bit=True)\n";
    const codes = async (text: string) =>
      (await open("train.py", text)).analysis.runs[0]?.findings.map(({ code }) => code) ?? [];
    assert.ok(!(await codes(two)).includes("contradictory-keys"));
    const one = two.replace("load_in_8bit=True", "load_in_8bit=True, load_in_4bit=True");
    assert.ok((await codes(one.split("else")[0] ?? "")).includes("contradictory-keys"));
  });

  it("spells fixes as the language does", async () => {
    const python =
      'from transformers import TrainingArguments\nargs = TrainingArguments(output_dir="out", per_device_train_batch_size=2, bf16=True, fp16=True)\n';
    assert.equal(
      (await open("train.py", python)).fixed("contradictory-keys"),
      python.replace("fp16=True", "fp16=False"),
    );
    const shell = "python train.py --output_dir out --per_device_train_batch_size 2 --bf16 --fp16\n";
    assert.equal((await open("run.sh", shell)).fixed("contradictory-keys"), shell.replace("--fp16", "--fp16 False"));
    const yaml = "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\nfp16: yes\n";
    assert.equal((await open("train.yaml", yaml)).fixed("contradictory-keys"), yaml.replace("yes", "no"));
  });
});
