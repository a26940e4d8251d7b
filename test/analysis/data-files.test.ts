/** Scripts that read their settings from files of data by themselves. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const MODEL = { "model/config.json": JSON.stringify(TINY_LLAMA) };
const script = (read: string, used: string) => `import json, toml, yaml
from pathlib import Path
from omegaconf import OmegaConf
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
${read}
model = AutoModelForCausalLM.from_pretrained("./model")
args = TrainingArguments("out", ${used})
Trainer(model=model, args=args, train_dataset=data).train()
`;

async function run(files: Readonly<Record<string, string>>, device = "RTX 4090") {
  const runtime = memoryRuntime({ ...MODEL, ...files });
  const { report } = await createAnalyzer(runtime).analyse(uri("train.py"), { device, plans: true });
  const [first] = report.runs;
  assert.ok(first);
  return first;
}

const batchOf = async (files: Readonly<Record<string, string>>) =>
  (await run(files)).settings.find(({ name }) => name === "micro_batch_size");

describe("files of data that a script reads", () => {
  it("say what it trains with, where they stand below it", async () => {
    const yaml = "batch: 3\ntrainer:\n  per_device_train_batch_size: 5\n";
    const cases: readonly (readonly [string, string, number])[] = [
      ['with open("cfg.yaml") as f:\n    cfg = yaml.safe_load(f)', 'per_device_train_batch_size=cfg["batch"]', 3],
      ['cfg = yaml.load(open("./cfg.yaml"), Loader=yaml.FullLoader)', '**cfg["trainer"]', 5],
      ['cfg = yaml.safe_load(Path("cfg.yaml").read_text())', 'per_device_train_batch_size=cfg.get("batch", 9)', 3],
      ['cfg = OmegaConf.load("cfg.yaml")', "per_device_train_batch_size=cfg.batch", 3],
      ['cfg = yaml.safe_load(Path(__file__).with_name("cfg.yaml").read_text())', "**cfg['trainer']", 5],
      [
        'HERE = Path(__file__).resolve().parent\ncfg = yaml.safe_load((HERE / "cfg.yaml").read_text())',
        "**cfg['trainer']",
        5,
      ],
      [
        'with open(os.path.join(os.path.dirname(__file__), "cfg.yaml")) as f:\n    cfg = yaml.safe_load(f)',
        "**cfg['trainer']",
        5,
      ],
      ['FILE = "cfg.yaml"\nf = open(FILE, "r")\ncfg = yaml.safe_load(f.read())', "**cfg['trainer']", 5],
    ];
    for (const [read, used, batch] of cases) {
      const found = await batchOf({ "train.py": script(read, used), "cfg.yaml": yaml });
      assert.equal(found?.value, batch, read);
      assert.equal(found?.uri, uri("cfg.yaml"), read);
    }
    const json = { "conf/train.json": '{"batch": 7}' };
    const read = 'cfg = json.load(open("conf/train.json"))';
    assert.equal(
      (await batchOf({ "train.py": script(read, "per_device_train_batch_size=cfg['batch']"), ...json }))?.value,
      7,
    );
  });

  it("are documents of the run, are nothing to complain of, and are what a plan changes", async () => {
    const read = 'cfg = yaml.safe_load(open("cfg.yaml"))';
    const files = { "train.py": script(read, "per_device_train_batch_size=cfg['batch']"), "cfg.yaml": "batch: 64\n" };
    const { documents, findings, plans } = await run(files, "1GB");
    assert.deepEqual(documents.slice(0, 2), [uri("train.py"), uri("cfg.yaml")]);
    assert.ok(findings.every(({ code }) => code !== "unresolved-template"));
    const edited = plans.flatMap(({ edits }) => edits).filter((edit) => edit.uri === uri("cfg.yaml"));
    assert.ok(edited.length > 0);
    for (const { range } of edited) assert.deepEqual(range.start, { line: 0, character: 7 });
  });

  it("are not asked for by paths that lead elsewhere", async () => {
    for (const path of [
      "../cfg.yaml",
      "/w/cfg.yaml",
      "file:///w/cfg.yaml",
      "a/../cfg.yaml",
      ".hidden.yaml",
      "cfg.txt",
    ]) {
      const used = "per_device_train_batch_size=cfg['batch']";
      const read = `cfg = yaml.safe_load(open(${JSON.stringify(path)}))`;
      const { documents, settings } = await run({ "train.py": script(read, used), "cfg.yaml": "batch: 3\n" });
      assert.deepEqual(
        documents.filter((one) => !one.endsWith(".json")),
        [uri("train.py")],
        path,
      );
      assert.notEqual(settings.find(({ name }) => name === "micro_batch_size")?.value, 3, path);
    }
  });
});
