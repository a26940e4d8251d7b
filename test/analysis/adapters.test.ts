/** Adapters from configs, pins and saved adapters to what is trained. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const MODEL = { "model/config.json": JSON.stringify(TINY_LLAMA) };

async function runOf(files: Readonly<Record<string, string>>, main: string): Promise<ReportRun> {
  const analysis = await createAnalyzer(memoryRuntime({ ...MODEL, ...files })).analyse(uri(main), {});
  const run = analysis.runs[0];
  assert.ok(run);
  return run;
}

const script = (adapter: string, name: string): string => `
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from peft import ${name}, get_peft_model

model = AutoModelForCausalLM.from_pretrained("./model", dtype="float32")
model = get_peft_model(model, ${name}(${adapter}))
args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, bf16=True)
Trainer(model=model, args=args).train()
`;

const { hidden_size: HIDDEN, intermediate_size: INNER, num_hidden_layers: LAYERS } = TINY_LLAMA;
const KEYS = (HIDDEN / TINY_LLAMA.num_attention_heads) * TINY_LLAMA.num_key_value_heads;

describe("adapters of Python configs", () => {
  const trained: readonly (readonly [string, string, number])[] = [
    ["IA3Config", 'task_type="CAUSAL_LM"', LAYERS * (2 * KEYS + INNER)],
    ["PromptTuningConfig", "num_virtual_tokens=20", 20 * HIDDEN],
    [
      "PromptEncoderConfig",
      "num_virtual_tokens=20, encoder_hidden_size=32",
      20 * HIDDEN + (HIDDEN + 1) * 32 + 33 * 32 + 33 * HIDDEN,
    ],
    ["PrefixTuningConfig", "num_virtual_tokens=10", 10 * LAYERS * 2 * KEYS],
    ["VeraConfig", 'r=16, target_modules=["q_proj"]', LAYERS * (HIDDEN + 16)],
    ["AdaLoraConfig", 'init_r=12, target_modules=["q_proj"]', LAYERS * (12 * (2 * HIDDEN + 1) + 1)],
    ["LoHaConfig", 'r=4, target_modules=["q_proj"]', LAYERS * 4 * 4 * HIDDEN],
    [
      "BOFTConfig",
      'boft_block_size=0, boft_block_num=4, target_modules=["q_proj"]',
      LAYERS * (HIDDEN * (HIDDEN / 4) + HIDDEN),
    ],
    ["TrainableTokensConfig", "token_indices=[1, 2, 3]", 3 * HIDDEN],
    ["LNTuningConfig", "", (2 * LAYERS + 1) * HIDDEN],
    ["LoraConfig", 'r=8, target_modules=["q_proj", "k_proj"], exclude_modules=["k_proj"]', LAYERS * 16 * HIDDEN],
    ["LoraConfig", 'r=8, target_modules=["q_proj"], layers_to_transform=[0]', 16 * HIDDEN],
    [
      "LoraConfig",
      'r=8, target_modules=["q_proj"], target_parameters=["self_attn.o_proj.weight"]',
      2 * LAYERS * 16 * HIDDEN,
    ],
  ];
  for (const [name, adapter, elements] of trained)
    it(`${name}(${adapter})`, async () => {
      const pins = 'runs:\n  - match: "train.py"\n    sequence_length: 64\n';
      const run = await runOf({ "train.py": script(adapter, name), ".vramlens.yaml": pins }, "train.py");
      assert.equal(run.model?.trainableParameters, elements);
    });

  it("of prompts and prefixes go with a decoder that reads what an encoder gives", async () => {
    const t5 = {
      ...{ model_type: "t5", vocab_size: 64, d_model: 32, d_kv: 8, d_ff: 64, num_layers: 2, num_heads: 4 },
      ...{ decoder_start_token_id: 0, pad_token_id: 0, architectures: ["T5ForConditionalGeneration"] },
    };
    const peak = async (name: string): Promise<number> => {
      const told = script('task_type="SEQ_2_SEQ_LM", num_virtual_tokens=10', name).replaceAll("CausalLM", "Seq2SeqLM");
      const pins = 'runs:\n  - match: "train.py"\n    sequence_length: 256\n    target_length: 16\n';
      const files = { "train.py": told, ".vramlens.yaml": pins, "model/config.json": JSON.stringify(t5) };
      return (await runOf(files, "train.py")).perDevice?.allocatedPeakBytes ?? 0;
    };
    const [prompt, prefix] = [await peak("PromptTuningConfig"), await peak("PrefixTuningConfig")];
    // A prefix is among the decoder's keys: the encoder keeps nothing for backward.
    assert.ok(prefix > 0 && prompt > prefix, `${prompt} ${prefix}`);
  });

  for (const [task, head] of [
    ["seq-cls", 2 * HIDDEN],
    ["token-cls", 2 * HIDDEN + 2],
    ["causal-lm", 0],
  ] as const)
    it(`train the head of ${task} whole beside them, as peft does`, async () => {
      const pins = `runs:\n  - match: "train.py"\n    sequence_length: 64\n    task: ${task}\n`;
      const adapter = script('r=8, target_modules=["q_proj"]', "LoraConfig");
      const run = await runOf({ "train.py": adapter, ".vramlens.yaml": pins }, "train.py");
      assert.equal(run.model?.trainableParameters, LAYERS * 16 * HIDDEN + head);
    });

  it("of a type that is not simulated count as LoRA, which is said", async () => {
    const run = await runOf(
      {
        "train.py": script('r=8, target_modules=["q_proj"]', "VBLoRAConfig"),
        ".vramlens.yaml": 'runs:\n  - match: "train.py"\n    sequence_length: 64\n',
      },
      "train.py",
    );
    assert.equal(run.model?.trainableParameters, LAYERS * 16 * HIDDEN);
    assert.ok(run.assumptions.some(({ what }) => /vblora/.test(what)));
  });
});

describe("pinned adapters", () => {
  it("name any type and its fields", async () => {
    const pins =
      'runs:\n  - match: "train.yaml"\n    model: ./model\n    sequence_length: 64\n    dtype: float32\n' +
      "    adapter:\n      type: prompt-tuning\n      num_virtual_tokens: 8\n";
    const run = await runOf(
      { "train.yaml": "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n", ".vramlens.yaml": pins },
      "train.yaml",
    );
    assert.equal(run.model?.trainableParameters, 8 * HIDDEN);
    assert.deepEqual(
      run.findings.filter(({ code }) => /unknown|invalid/.test(code)),
      [],
    );
  });
});

describe("adapters of which a script says little", () => {
  const around = (wrap: string): string =>
    `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom peft import *\nmodel = AutoModelForCausalLM.from_pretrained("./model", dtype="float32")\n${wrap}\nargs = TrainingArguments(output_dir="out", per_device_train_batch_size=2, bf16=True)\nTrainer(model=model, args=args).train()\n`;

  it("train a few weights where peft has no such class, counted as LoRA, which is said", async () => {
    const run = await runOf(
      { "a.py": around("model = get_peft_model(model, BottleneckConfig(bottleneck_size=32))") },
      "a.py",
    );
    assert.ok(Number(run.model?.trainableParameters) < 0.1 * Number(run.model?.parameters));
    assert.ok(run.assumptions.some(({ what }) => what.startsWith("bottleneck counted as LoRA")));
  });

  it("are DoRA's where its own fork names them", async () => {
    const run = await runOf(
      { "a.py": around('model = get_peft_model(model, DoraConfig(r=4, target_modules=["q_proj"]))') },
      "a.py",
    );
    assert.equal(run.settings.find(({ name }) => name === "adapter")?.value, "dora");
    assert.equal(run.model?.trainableParameters, LAYERS * (4 * 2 * HIDDEN + HIDDEN));
  });

  it("have an assumed rank where they are saved elsewhere and trained further", async () => {
    const of = async (rest: string) =>
      runOf({ "a.py": around(`model = PeftModel.from_pretrained(model, "a/b"${rest})`) }, "a.py");
    const further = await of(", is_trainable=True");
    assert.equal(further.settings.find(({ name }) => name === "lora_rank")?.value, 8);
    assert.ok(further.assumptions.some(({ what }) => what.startsWith("rank 8 of an adapter")));
    assert.equal(
      (await of("")).assumptions.some(({ what }) => what.startsWith("rank 8 of an adapter")),
      false,
    );
  });

  it("are put on the modules of a list in a command's text", async () => {
    const program = `import fire\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom peft import *\ndef train(base_model: str = "", targets=None):\n    model = AutoModelForCausalLM.from_pretrained(base_model, dtype="float32")\n    model = get_peft_model(model, LoraConfig(r=4, target_modules=targets))\n    Trainer(model=model, args=TrainingArguments(output_dir="o", per_device_train_batch_size=2)).train()\nfire.Fire(train)\n`;
    const command = `python fine.py --base_model ./model --targets '["q_proj", "o_proj"]'\n`;
    const run = await runOf({ "fine.py": program, "run.sh": command }, "run.sh");
    assert.equal(run.model?.trainableParameters, LAYERS * 2 * 4 * 2 * HIDDEN);
  });
});
