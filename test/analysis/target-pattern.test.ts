import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

async function codesOf(targets: string): Promise<readonly (string | undefined)[]> {
  const text = `model_name_or_path: gpt2\noutput_dir: o\nper_device_train_batch_size: 2\nmax_length: 64\nuse_peft: true\nlora_target_modules: ${targets}\n`;
  const { report } = await createAnalyzer(memoryRuntime({ "train.yaml": text })).analyse(uri("train.yaml"), {});
  return (report.runs[0]?.findings ?? []).map(({ code }) => code).filter((code) => code === "target-modules-unknown");
}

describe("analysis: a pattern of modules", () => {
  it("that no module matches stops peft, as a name does that no module has", async () => {
    assert.deepEqual(await codesOf("'.*\\.q_proj'"), ["target-modules-unknown"]);
    assert.deepEqual(await codesOf("'(a+)+$'"), ["target-modules-unknown"]);
    assert.deepEqual(await codesOf("'.*\\.c_attn'"), []);
    assert.deepEqual(await codesOf("all-linear"), []);
    // What is not matched here says so elsewhere.
    assert.deepEqual(await codesOf("'(.)\\1.*'"), []);
  });
});
