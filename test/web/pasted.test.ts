/** The page of its own: what was pasted is analysed, and what is applied is written, whatever the file is called. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { settleEdits } from "../../src/server/pins";
import { edited, FOLDER, filesOf, type Pasted, uriOf } from "../../src/web/pasted";

const models = join(__dirname, "..", "..", "models");

const YAML = [
  "model_name_or_path: Qwen/Qwen2.5-0.5B",
  "output_dir: out",
  "bf16: true",
  "per_device_train_batch_size: 8",
  "learning_rate: 1.0e-5",
  "max_length: 2048",
  "",
].join("\n");
const JSON_TEXT = JSON.stringify(
  { model_name_or_path: "Qwen/Qwen2.5-0.5B", output_dir: "out", bf16: true, per_device_train_batch_size: 8 },
  null,
  2,
);

/** Analyses what is pasted, as the page does. */
async function analysed(pasted: Pasted, plans = false, defaultDevice = "12GB") {
  const analyzer = createAnalyzer({
    files: filesOf(() => pasted),
    readModelData: async (path) => readFileSync(join(models, path), "utf8"),
    hubCaches: [],
    workspaceFolders: [FOLDER],
  });
  return analyzer.analyse(uriOf(pasted), { defaultDevice, plans, locale: "en" });
}

describe("web page", () => {
  it("opens with a config that does not fit and can be made to: its length is read, and a plan fits", async () => {
    const page = readFileSync(join(__dirname, "..", "..", "src", "web", "index.html"), "utf8");
    const text = /<textarea id="config"[^>]*>([^<]*)/.exec(page)?.[1] ?? "";
    const device = /<input id="device"[^>]*value="([^"]*)"/.exec(page)?.[1] ?? "";
    const [run] = (await analysed({ name: "train.yaml", text, pins: "" }, true, device)).runs;
    const length = run?.settings.find(({ name }) => name === "sequence_length");
    assert.deepEqual([length?.value, length?.from], [1024, "document"]);
    assert.equal(run?.verdict, "does-not-fit");
    assert.ok(run.plans.some(({ fits }) => fits === true));
  });

  for (const name of ["", "runs/it's (1).yaml", "配置.yaml"]) {
    it(`writes a plan into ${name === "" ? "a file without a name" : name}`, async () => {
      const pasted = { name, text: YAML, pins: "" };
      const [run] = (await analysed(pasted, true)).runs;
      assert.equal(run?.verdict, "does-not-fit");
      const plan = run.plans.find(({ fits }) => fits === true);
      assert.ok(plan);
      const after = edited(pasted, plan.edits);
      assert.ok(after !== undefined && after.text !== YAML);
      const [fixed] = (await analysed(after)).runs;
      assert.equal(fixed?.perDevice?.usedPeakBytes, plan.usedPeakBytes);
    });
  }

  it("keeps an answer beside a file that may hold no comment", async () => {
    const pasted = { name: "train.json", text: JSON_TEXT, pins: "" };
    const result = await settleEdits(
      { uri: uriOf(pasted), key: "sequence_length", value: "512" },
      { files: filesOf(() => pasted), workspaceFolders: [FOLDER], locale: "en" },
    );
    assert.ok(result.ok);
    const after = edited(pasted, result.edits);
    assert.ok(after !== undefined && after.text === JSON_TEXT && after.pins.includes("sequence_length: 512"));
    const [run] = (await analysed(after)).runs;
    const length = run?.settings.find((setting) => setting.name === "sequence_length");
    assert.deepEqual([length?.value, length?.from], [512, "pin"]);
  });

  it("refuses edits of other files", () => {
    const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
    const pasted = { name: "train.yaml", text: YAML, pins: "" };
    assert.equal(edited(pasted, [{ uri: "file:///elsewhere.yaml", range, newText: "a: 1\n" }]), undefined);
    assert.equal(edited(pasted, []), undefined);
  });
});
