/** Files outside of the workspace: read where it is trusted, never quoted, and nobody learns which of them exist. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { withinReach } from "../../src/analysis/documents/reach";
import { memoryRuntime, ROOT, TINY_LLAMA } from "./memory-runtime";

const SECRET = "hunter2-hunter2";
const config = (deepspeed: string, model = "model") =>
  `output_dir: out\nmodel_name_or_path: ${model}\nbf16: true\nper_device_train_batch_size: 1\ndeepspeed: ${deepspeed}\n`;

/** What is said of a document in the workspace `project` of a machine with these files. */
async function said(
  files: Readonly<Record<string, string>>,
  trusted = true,
  locale = "en",
  main = "project/train.yaml",
) {
  const memory = memoryRuntime({ "project/model/config.json": JSON.stringify(TINY_LLAMA), ...files });
  const workspaceFolders = [`${ROOT}/project`];
  const reach = { folders: [...workspaceFolders, ...memory.hubCaches], named: [], trusted };
  const runtime = { ...memory, workspaceFolders, trusted, files: withinReach(memory.files, () => reach) };
  const analysis = await createAnalyzer(runtime).analyse(`${ROOT}/${main}`, { locale, plans: true });
  const [run] = analysis.report.runs;
  assert.ok(run);
  const lines = (files[main] ?? "").split("\n");
  const hovers: string[] = [];
  for (const [index, line] of lines.entries())
    hovers.push((await analysis.hover(index, Math.min(3, line.length)))?.markdown ?? "");
  return { run, words: JSON.stringify([run.findings, run.assumptions, hovers]), reads: memory.reads };
}

describe("outside of the workspace", () => {
  const invalid = JSON.stringify({
    zero_optimization: { stage: 2 },
    train_micro_batch_size_per_gpu: SECRET,
    optimizer: { type: SECRET, params: { lr: SECRET } },
    [SECRET]: 1,
  });

  for (const locale of ["en", "zh-cn"]) {
    it(`counts, and is not quoted (${locale})`, async () => {
      const { run, words } = await said({ "project/train.yaml": config("../s.json"), "s.json": invalid }, true, locale);
      assert.equal(run.settings.find(({ name }) => name === "zero_stage")?.value, 2);
      assert.ok(!words.includes(SECRET), words);
      const inside = await said({ "project/train.yaml": config("s.json"), "project/s.json": invalid }, true, locale);
      assert.ok(inside.words.includes(SECRET));
    });
  }

  it("is quoted neither by its numbers nor by keys that no library has", async () => {
    const numbers = JSON.stringify({
      zero_optimization: { stage: 7, keysecret: 1 },
      train_micro_batch_size_per_gpu: 31337,
    });
    const outside = await said({ "project/train.yaml": config("../s.json"), "s.json": numbers });
    const messages = outside.run.findings.map(({ message }) => message).join("\n");
    assert.match(messages, /must be at most 3; it is …/);
    assert.ok(!/31337|keysecret/.test(outside.words), outside.words);
    const inside = await said({ "project/train.yaml": config("s.json"), "project/s.json": numbers });
    assert.match(inside.words, /it is 7.*keysecret.*31337/s);
  });

  it("quotes no model's config either", async () => {
    const { words } = await said({
      "project/train.yaml": config("null", "../models/x"),
      "models/x/config.json": JSON.stringify({ model_type: SECRET, hidden_size: 8 }),
    });
    assert.ok(!words.includes(SECRET), words);
  });

  it("is no script that another reads or runs", async () => {
    const train = (batch: string) =>
      `torchrun train.py --model_name_or_path model --output_dir out --per_device_train_batch_size ${batch}\n`;
    const batchOf = async (files: Readonly<Record<string, string>>) => {
      const { run } = await said(files, true, "en", "project/run.sh");
      return run.settings.find(({ name }) => name === "micro_batch_size")?.value;
    };
    const reads = (path: string) => `source ${path}\n${train("$BATCH")}`;
    assert.equal(await batchOf({ "project/s.sh": "export BATCH=24\n", "project/run.sh": reads("s.sh") }), 24);
    assert.notEqual(await batchOf({ "s.sh": "export BATCH=24\n", "project/run.sh": reads("../s.sh") }), 24);
    const inside = await said(
      { "project/t.sh": train(SECRET), "project/run.sh": "bash t.sh\n" },
      true,
      "en",
      "project/run.sh",
    );
    assert.ok(inside.words.includes(SECRET));
    const outside = { "t.sh": train(SECRET), "project/run.sh": "bash ../t.sh\n" };
    await assert.rejects(said(outside, true, "en", "project/run.sh"), "there is no run");
  });

  it("tells no file from none", async () => {
    const messages = async (files: Readonly<Record<string, string>>) =>
      (await said(files)).run.findings.map(({ message }) => message);
    for (const text of ["root:x:0:0", "[1]", "{"]) {
      const [there, absent] = [{ "etc/s.json": text, "etc/m/config.json": text }, {}];
      const main = { "project/train.yaml": config("../etc/s.json", "../etc/m") };
      assert.deepEqual(await messages({ ...main, ...there }), await messages({ ...main, ...absent }), text);
    }
  });

  it("is not read in a workspace that is not trusted, and that is said", async () => {
    const { run, reads } = await said(
      {
        "project/train.yaml": config("../s.json", "../models/x"),
        "s.json": "{}",
        "models/x/config.json": JSON.stringify(TINY_LLAMA),
      },
      false,
    );
    assert.deepEqual(
      reads.filter((uri) => !uri.startsWith(`${ROOT}/project/`) && !uri.startsWith(`${ROOT}/hub/`)),
      [],
    );
    const codes = run.findings.filter(({ message }) => message.includes("not trusted")).map(({ code }) => code);
    assert.deepEqual(codes.sort(), ["missing-file", "unknown-model"]);
    const examples = await said(
      {
        "project/train.yaml":
          "stage: sft\ndo_train: true\nfinetuning_type: full\nmodel_name_or_path: Qwen/Qwen2.5-0.5B\ntemplate: qwen\ndeepspeed: ../examples/deepspeed/ds_z3_config.json\n",
      },
      false,
    );
    assert.ok(
      examples.run.findings.some(({ code, message }) => code === "missing-file" && /not trusted/.test(message)),
    );
  });
});
