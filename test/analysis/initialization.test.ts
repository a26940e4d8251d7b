/** How LoRA's factors get their first values, as each format says it. */
import { strict as assert } from "node:assert";
import type { AdapterSpec } from "../../src/core/training/run";
import { TINY_LLAMA } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const FILES = {
  "model/config.json": JSON.stringify(TINY_LLAMA),
  ".vramlens.yaml": 'runs:\n  - match: "*"\n    model: ./model\n    sequence_length: 64\n',
};

async function adapterOf(text: string, main: string): Promise<AdapterSpec> {
  const { run } = await resolveFiles({ ...FILES, [main]: text }, main);
  assert.ok(run?.adapter);
  return run.adapter;
}

const script = (lora: string, load: string): string => `
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from peft import LoftQConfig, LoraConfig, get_peft_model

model = AutoModelForCausalLM.from_pretrained("./model"${load})
model = get_peft_model(model, LoraConfig(r=4, ${lora}))
Trainer(model=model, args=TrainingArguments(output_dir="out", per_device_train_batch_size=2)).train()
`;
const FACTORY =
  "model_name_or_path: ./model\nstage: sft\nfinetuning_type: lora\ndataset: d\ntemplate: default\ncutoff_len: 64\n";
const AXOLOTL = "base_model: ./model\nmicro_batch_size: 1\nsequence_len: 64\ndatasets: []\nadapter: lora\nlora_r: 8\n";
const SWIFT = "model: ./model\ntuner_type: lora\ndataset: d\nper_device_train_batch_size: 1\nmax_length: 64\n";

describe("analysis: first values of LoRA's factors", () => {
  const cases: readonly (readonly [string, string, string, AdapterSpec["initialization"]])[] = [
    [
      "a Python call",
      script('init_lora_weights="pissa_niter_4"', ', device_map="auto"'),
      "train.py",
      { kind: "pissa", iterations: 4, onDevice: true },
    ],
    ["a model in host memory", script('init_lora_weights="olora"', ""), "train.py", { kind: "olora", onDevice: false }],
    [
      "LoftQ's own class",
      script('init_lora_weights="loftq", loftq_config=LoftQConfig(loftq_bits=8, loftq_iter=3)', ', device_map="cuda"'),
      "train.py",
      { kind: "loftq", bits: 8, iterations: 3, onDevice: true },
    ],
    ["values that are drawn", script('init_lora_weights="gaussian"', ""), "train.py", undefined],
    ["LLaMA-Factory", `${FACTORY}pissa_init: true\n`, "lf.yaml", { kind: "pissa", iterations: 16, onDevice: true }],
    [
      "LLaMA-Factory's whole decomposition",
      `${FACTORY}pissa_init: true\npissa_iter: -1\n`,
      "lf.yaml",
      { kind: "pissa", onDevice: true },
    ],
    ["axolotl", `${AXOLOTL}peft_init_lora_weights: pissa\n`, "ax.yaml", { kind: "pissa", onDevice: true }],
    [
      "axolotl's LoftQ",
      `${AXOLOTL}peft:\n  loftq_config:\n    loftq_bits: 4\n`,
      "ax.yaml",
      { kind: "loftq", bits: 4, onDevice: true },
    ],
    ["ms-swift", `${SWIFT}init_weights: olora\n`, "swift.yaml", { kind: "olora", onDevice: true }],
  ];
  for (const [name, text, main, expected] of cases)
    it(`reads ${name}`, async () => {
      assert.deepEqual((await adapterOf(text, main)).initialization, expected);
    });

  it("says what is not counted", async () => {
    const said = async (lora: string) =>
      (await resolveFiles({ ...FILES, "train.py": script(lora, "") }, "train.py")).suppositions.map(
        ({ message }) => message.id,
      );
    assert.ok((await said('init_lora_weights="pissa"')).includes("assume.initialized-on-host"));
    assert.ok((await said('init_lora_weights="corda"')).includes("assume.initialization-data"));
  });

  it("reads the parameters that TRL and ms-swift target", async () => {
    const trl =
      "model_name_or_path: ./model\ndataset_name: d\nper_device_train_batch_size: 1\nmax_length: 64\nuse_peft: true\n";
    const wanted = ["self_attn.o_proj.weight"];
    const list = `[${wanted.join(", ")}]`;
    assert.deepEqual((await adapterOf(`${trl}lora_target_parameters: ${list}\n`, "sft.yaml")).targetParameters, wanted);
    assert.deepEqual((await adapterOf(`${SWIFT}target_parameters: ${list}\n`, "swift.yaml")).targetParameters, wanted);
  });

  it("casts what TRL trains beside weights in 4 bits", async () => {
    const trl =
      "model_name_or_path: ./model\ndataset_name: d\nper_device_train_batch_size: 1\nmax_length: 64\nuse_peft: true\n";
    assert.equal((await adapterOf(`${trl}load_in_4bit: true\n`, "sft.yaml")).castTo, "bfloat16");
    assert.equal((await adapterOf(`${trl}load_in_8bit: true\n`, "sft.yaml")).castTo, "bfloat16");
    assert.equal((await adapterOf(trl, "sft.yaml")).castTo, undefined);
  });
});
