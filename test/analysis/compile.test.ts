/** Keys that compile the model. */
import { strict as assert } from "node:assert";
import { TINY_LLAMA } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

async function compiled(lines: string): Promise<readonly [boolean, boolean]> {
  const { run, suppositions } = await resolveFiles(
    {
      "train.yaml": `output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n${lines}`,
      ".vramlens.yaml": 'runs:\n  - match: "*.yaml"\n    model: ./model\n    sequence_length: 64\n',
      "model/config.json": JSON.stringify(TINY_LLAMA),
    },
    "train.yaml",
  );
  return [run?.compiled === true, suppositions.some(({ message }) => message.id === "assume.compile")];
}

describe("analysis: torch.compile", () => {
  it("is switched on, or implied by a backend or a mode", async () => {
    assert.deepEqual(await compiled(""), [false, false]);
    assert.deepEqual(await compiled("torch_compile: true\n"), [true, true]);
    assert.deepEqual(await compiled("torch_compile_mode: max-autotune\n"), [true, true]);
    assert.deepEqual(await compiled("torch_compile: false\n"), [false, false]);
  });

  it("leaves nothing open where layers are checkpointed", async () => {
    assert.deepEqual(await compiled("torch_compile: true\ngradient_checkpointing: true\n"), [true, false]);
  });
});
