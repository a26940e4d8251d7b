/** What a model is trained for, when its config does not say it: the catalogue's word. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const { architectures: _, ...CONFIG } = TINY_LLAMA;

async function runOf(task?: string): Promise<ReportRun> {
  const entry = { name: "org/tiny", parameters: 1, config: CONFIG, ...(task === undefined ? {} : { task }) };
  const catalogue = JSON.stringify({ schema: "vram-lens/catalogue/1", mirrors: [], models: [entry] });
  const files = {
    "train.yaml": "output_dir: out\nmodel_name_or_path: org/tiny\nper_device_train_batch_size: 2\n",
    ".vramlens.yaml": 'runs:\n  - match: "*.yaml"\n    sequence_length: 128\n',
  };
  const runtime = memoryRuntime(files, { "catalogue.json": catalogue });
  const [run] = (await createAnalyzer(runtime).analyse(uri("train.yaml"), {})).runs;
  assert.ok(run);
  return run;
}

const assumed = (run: ReportRun) => run.assumptions.some(({ settleWith }) => settleWith === "task");
const head = (run: ReportRun) => run.perDevice?.components.find(({ kind }) => kind === "logits-and-loss")?.bytes ?? 0;

describe("analysis: task of a catalogued model", () => {
  it("is taken from the catalogue, absent meaning causal language modelling", async () => {
    const language = await runOf();
    assert.equal(assumed(language), false);
    const classifier = await runOf("seq-cls");
    assert.equal(assumed(classifier), false);
    assert.ok(head(classifier) < head(language));
  });

  it("is assumed where the catalogue names a task that is not modelled", async () => {
    assert.equal(assumed(await runOf("none")), true);
  });
});
