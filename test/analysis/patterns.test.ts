/** Patterns of configs: none makes an answer late, and what is not matched is said. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { matchesGlob } from "../../src/formats/pins/glob";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const SLOW = "^(([a-z._0-9])+.?)+X$";

async function said(lines: string, file = "train.yaml") {
  const runtime = memoryRuntime({ [file]: lines, "model/config.json": JSON.stringify(TINY_LLAMA) });
  const { report } = await createAnalyzer(runtime).analyse(uri(file), {});
  return report.runs[0];
}

const LORA = (target: string) =>
  `model_name_or_path: ./model\nuse_peft: true\nlora_target_modules: '${target}'\noutput_dir: x\nper_device_train_batch_size: 1\nbf16: true\nmax_length: 64\n`;

describe("patterns of configs", () => {
  it("that take RegExp exponential time are matched at once", async () => {
    assert.ok(await said(LORA(SLOW)));
    assert.ok(
      await said(
        `base_model: ./model\nmicro_batch_size: 1\nsequence_len: 64\ndatasets: []\nunfrozen_parameters: ['${SLOW}', '(.*)*(.*)*(.*)*(.*)*$x']\noutput_dir: o\n`,
        "axolotl.yaml",
      ),
    );
    assert.ok(
      await said(
        `model_name_or_path: ./model\noutput_dir: x\nper_device_train_batch_size: 1\noptim: galore_adamw\noptim_target_modules: '${SLOW}'\n`,
      ),
    );
    assert.equal(matchesGlob(`${"**a".repeat(30)}b`, "a".repeat(3000)), false);
    assert.equal(matchesGlob("{a,b}/**/*.yaml", "b/c/d/e.yaml"), true);
  });

  it("with look-around name what they name in Python", async () => {
    const plain = await said(LORA("^(?!.*mlp).*(q_proj|down_proj)$"));
    const same = await said(LORA(".*q_proj"));
    assert.ok((plain?.model?.trainableParameters ?? 0) > 0);
    assert.equal(plain?.model?.trainableParameters, same?.model?.trainableParameters);
  });

  it("that are not matched are assumptions", async () => {
    for (const [pattern, words] of [
      ["(q)_proj\\1", "not matched here"],
      ["q_proj(", "refuses"],
    ] as const) {
      const run = await said(LORA(pattern));
      assert.ok(
        run?.assumptions.some(({ what }) => what.includes(words) && what.includes(pattern)),
        JSON.stringify(run?.assumptions),
      );
    }
  });
});
