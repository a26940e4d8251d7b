/** Keys that compile the model. */
import { strict as assert } from "node:assert";
import { TINY_LLAMA } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

async function compiled(lines: string): Promise<readonly [string | null, boolean]> {
  const { run, suppositions } = await resolveFiles(
    {
      "train.yaml": `output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n${lines}`,
      ".vramlens.yaml": 'runs:\n  - match: "*.yaml"\n    model: ./model\n    sequence_length: 64\n',
      "model/config.json": JSON.stringify(TINY_LLAMA),
    },
    "train.yaml",
  );
  return [run?.compiled ?? null, suppositions.some(({ message }) => message.id === "assume.compile")];
}

describe("analysis: torch.compile", () => {
  it("is switched on, or implied by a backend or a mode", async () => {
    assert.deepEqual(await compiled(""), [null, false]);
    assert.deepEqual(await compiled("torch_compile: true\n"), ["model", true]);
    assert.deepEqual(await compiled("torch_compile_mode: max-autotune\n"), ["model", true]);
    assert.deepEqual(await compiled("torch_compile: false\n"), [null, false]);
    assert.deepEqual(await compiled("torch_compile_backend: eager\n"), [null, false]);
  });

  it("is what Accelerate's file says, of the whole model or of its layers", async () => {
    const of = async (dynamo: string): Promise<string | null> =>
      (
        await resolveFiles(
          {
            "run.sh": "accelerate launch --config_file acc.yaml train.py train.yaml\n",
            "train.yaml": "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n",
            "acc.yaml": `distributed_type: "NO"\nmixed_precision: bf16\ndynamo_config:\n${dynamo}`,
            ".vramlens.yaml": 'runs:\n  - match: "*.yaml"\n    model: ./model\n    sequence_length: 64\n',
            "model/config.json": JSON.stringify(TINY_LLAMA),
          },
          "train.yaml",
        )
      ).run?.compiled ?? null;
    assert.equal(await of("  dynamo_backend: INDUCTOR\n"), "model");
    assert.equal(await of("  dynamo_backend: INDUCTOR\n  dynamo_use_regional_compilation: true\n"), "layers");
    assert.equal(await of('  dynamo_backend: "NO"\n'), null);
  });
});
