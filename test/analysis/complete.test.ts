/** Completions: what is being typed, and what is offered for it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { CompletionContent } from "../../src/analysis/analyzer";
import { pythonContext, shellContext, tomlContext } from "../../src/analysis/complete/code-context";
import { jsonContext, type TypingContext, yamlContext } from "../../src/analysis/complete/context";
import { LineIndex } from "../../src/analysis/documents/lines";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

/** Kind, path and word at `|`. */
function at(context: (text: string, offset: number) => TypingContext | undefined, marked: string): unknown {
  const offset = marked.indexOf("|");
  const text = marked.replace("|", "");
  const found = context(text, offset);
  return found === undefined
    ? undefined
    : [found.kind, found.path.join("."), text.slice(found.word.start, found.word.end)];
}

describe("analysis: typing contexts", () => {
  const yaml: readonly (readonly [string, unknown])[] = [
    ["gra|", ["key", "", "gra"]],
    ["a: 1\n|", ["key", "", ""]],
    ["a:\n  b|", ["key", "a", "b"]],
    ["a:\n  x: 1\n  y:\n    z: |", ["value", "a.y.z", ""]],
    ["optim: ada|", ["value", "optim", "ada"]],
    ["# gra|", undefined],
    ["a: [b|", undefined],
  ];
  for (const [text, expected] of yaml)
    it(`YAML ${JSON.stringify(text)}`, () => assert.deepEqual(at(yamlContext, text), expected));
  const json: readonly (readonly [string, unknown])[] = [
    ['{"a|"', ["key", "", '"a"']],
    ['{"a": {"b|', ["key", "a", '"b']],
    ['{"a": {"b": |}}', ["value", "a.b", ""]],
    ['{"a": {"b": 1}, |', ["key", "", ""]],
    ['{"a": "au|"}', ["value", "a", '"au"']],
    ['{"a": [1, |]}', undefined],
    ["{ // a|", undefined],
  ];
  for (const [text, expected] of json) it(`JSON ${text}`, () => assert.deepEqual(at(jsonContext, text), expected));
});

describe("analysis: what is being typed in code", () => {
  it("is found or not at every place of broken text, and never throws", () => {
    const texts = [
      'T(a="x\\"(", b=\'\'\', c=[1, (2]} # "\nU(v=',
      "a --b=c \\\n  --d 'e f' +g.h=i ~j # --k l\n--",
      '[a.b]\nc = "d # e\nf.g = [1,\n',
    ];
    for (const text of texts)
      for (let at = 0; at <= text.length; at++)
        for (const context of [pythonContext, shellContext, tomlContext]) {
          const found = context(text, at);
          if (found !== undefined)
            assert.ok(found.word.start <= at && at <= found.word.end && found.word.end <= text.length);
        }
  });
});

describe("analysis: completions", () => {
  async function complete(
    marked: string,
    file = "train.yaml",
    more: Readonly<Record<string, string>> = {},
  ): Promise<readonly CompletionContent[]> {
    const offset = marked.indexOf("|");
    const text = marked.replace("|", "");
    const runtime = memoryRuntime({
      "model/config.json": JSON.stringify(TINY_LLAMA),
      ".vramlens.yaml": 'runs:\n  - match: "*"\n    model: ./model\n    sequence_length: 64\n    dtype: float32\n',
      ...more,
      [file]: text,
    });
    const analysis = await createAnalyzer(runtime).analyse(uri(file), {});
    const { line, character } = new LineIndex(text).position(offset);
    return analysis.complete?.(line, character) ?? [];
  }

  it("offers the format's keys that are not there yet", async () => {
    const found = await complete("output_dir: out\nper_device_train_batch_size: 4\ngrad|\n");
    const labels = found.map((item) => item.label);
    assert.ok(labels.includes("gradient_checkpointing") && !labels.includes("per_device_train_batch_size"));
    assert.ok(!labels.includes("per_gpu_train_batch_size"), "removed keys are not offered");
    const item = found.find((one) => one.label === "gradient_checkpointing");
    assert.equal(item?.insertText, "gradient_checkpointing: ");
    assert.deepEqual(item?.range, { start: { line: 2, character: 0 }, end: { line: 2, character: 4 } });
  });

  it("offers values with the peak they give", async () => {
    const optimizers = await complete("output_dir: out\nper_device_train_batch_size: 4\noptim: |\n");
    assert.match(optimizers.find((item) => item.label === "adafactor")?.detail ?? "", /GiB/);
    const switches = await complete("output_dir: out\nper_device_train_batch_size: 4\nbf16: |\n");
    assert.deepEqual(
      switches.map((item) => item.insertText),
      ["true", "false"],
    );
  });

  it("completes command lines, in the script's own spelling", async () => {
    const command = (rest: string) =>
      complete(`torchrun train.py --output_dir out \\\n  --per_device_train_batch_size 2 ${rest}\n`, "run.sh");
    const keys = await command("--optim|");
    const optim = keys.find((item) => item.label === "--optim");
    assert.deepEqual(optim?.range, { start: { line: 1, character: 34 }, end: { line: 1, character: 41 } });
    assert.equal(optim?.insertText, "--optim ");
    assert.ok(!keys.some((item) => item.label === "--per_device_train_batch_size"));
    assert.match((await command("--optim ada|")).find((item) => item.label === "adafactor")?.detail ?? "", /GiB/);
    assert.ok((await command("--optim=|")).some((item) => item.label === "adafactor"));
    const megatron = await complete(
      "pretrain_gpt.py --num-layers 2 --hidden-size 8 --micro-batch-size 1 --seq|\n",
      "m.sh",
    );
    assert.ok(megatron.some((item) => item.label === "--seq-length"));
    const tune = await complete("tune run full_finetune_single_device --config x optimizer_in_bwd=|\n", "t.sh");
    assert.deepEqual(
      tune.map((item) => item.label),
      ["true", "false"],
    );
    const path = await complete("tune run full_finetune_single_device --config x batch_size=2 model.|\n", "t.sh");
    assert.ok(path.some((item) => item.insertText === "model.lora_rank="));
  });

  it("completes Python calls, also in notebooks", async () => {
    const call = "from transformers import TrainingArguments\nargs = TrainingArguments(output_dir='o', bf16=True, ";
    const keys = await complete(`${call}gra|)\n`, "train.py");
    assert.ok(keys.some((item) => item.insertText === "gradient_checkpointing="));
    assert.ok(!keys.some((item) => item.label === "bf16"));
    const values = await complete(`${call}optim="ada|")\n`, "train.py");
    const adafactor = values.find((item) => item.label === "adafactor");
    assert.equal(adafactor?.insertText, '"adafactor"');
    assert.deepEqual(adafactor?.range.start.character, (call.split("\n")[1] ?? "").length + 6);
    const lora = await complete(
      "from peft import LoraConfig\nfrom transformers import TrainingArguments\nTrainingArguments(output_dir='o')\nLoraConfig(r|)\n",
      "train.py",
    );
    assert.ok(lora.some((item) => item.label === "r"));
    assert.deepEqual(await complete(`${call}bf16=True)\nprint(x|)\n`, "train.py"), []);
    const cell = (last: string) =>
      JSON.stringify({ cells: [{ cell_type: "code", source: [`${call}\n`, last] }], nbformat: 4 });
    const inCell = await complete(cell('optim="|")\n'), "train.ipynb");
    assert.equal(inCell.find((item) => item.label === "adafactor")?.insertText, '\\"adafactor\\"');
  });

  it("completes TOML", async () => {
    const text =
      "[model]\nname = 'llama3'\n[training]\nseq_len = 128\nlocal_batch_size = 2\n[activation_checkpoint]\nmode = |\n";
    assert.ok((await complete(text, "train.toml")).some((item) => item.insertText === '"full"'));
    const keys = await complete(text.replace("mode = |", "mo|"), "train.toml");
    assert.ok(keys.some((item) => item.insertText === "mode = "));
  });

  it("completes DeepSpeed's file", async () => {
    const train = { "train.yaml": "output_dir: out\nper_device_train_batch_size: 4\ndeepspeed: ds.json\n" };
    const keys = await complete('{"zero_optimization": {"stage": 2, "off|"}}', "ds.json", train);
    assert.ok(keys.some((item) => item.insertText === '"offload_optimizer": '));
    const stages = await complete('{"zero_optimization": {"stage": |}}', "ds.json", train);
    assert.deepEqual(
      stages.map((item) => item.label),
      ["0", "1", "2", "3", "auto"],
    );
  });
});
