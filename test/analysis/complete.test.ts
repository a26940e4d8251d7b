/** Completions: what is being typed, and what is offered for it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { CompletionContent } from "../../src/analysis/analyzer";
import { jsonContext, type TypingContext, yamlContext } from "../../src/analysis/complete/context";
import { LineIndex } from "../../src/analysis/lines";
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
