/** A look through a workspace of many or large files costs what it may, and leaves an answer as it is. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const COMMAND = "deepspeed train.py --per_device_train_batch_size 2 --output_dir o --model_name_or_path gpt2\n";

/** Length of all texts that are read while a script beside other files is analysed. */
async function readBeside(others: Readonly<Record<string, string>>): Promise<number> {
  const files = { "train.sh": COMMAND, ...others };
  const runtime = memoryRuntime(files);
  const analysis = await createAnalyzer(runtime).analyse(uri("train.sh"), { plans: false });
  assert.equal(analysis.runs.length, 1);
  const lengths = new Map(Object.entries(files).map(([path, text]) => [uri(path), text.length]));
  return runtime.reads.reduce((sum, at) => sum + (lengths.get(at) ?? 0), 0);
}

const many = (count: number, name: (k: number) => string, text: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, k) => [name(k), text]));

describe("a look through a workspace", () => {
  it("passes large files over without reading them", async () => {
    assert.ok((await readBeside(many(5, (k) => `data${k}.json`, `{"text": "${"x".repeat(2 << 20)}"}`))) < 1 << 20);
  });

  it("ends where it has read enough", async () => {
    assert.ok((await readBeside(many(100, (k) => `conf${k}.yaml`, `key: "${"x".repeat(1 << 18)}"\n`))) < 10 << 20);
  });

  it("finds the run of a config that a script names, however many others there are", async () => {
    const files = {
      ...many(200, (k) => `conf${k}.yaml`, "key: value\ndefaults: none\n"),
      "run.sh": "deepspeed train.py --config train.yaml\n",
      "ds.json": '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}',
      "train.yaml": "model_name_or_path: gpt2\noutput_dir: o\ndeepspeed: ds.json\nper_device_train_batch_size: 2\n",
    };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("ds.json"), { plans: false });
    assert.ok(analysis.runs.some(({ documents }) => documents.includes(uri("train.yaml"))));
  });
});
