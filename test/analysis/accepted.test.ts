/** No plan writes an argument that its class refuses: over many modules, each plan applied and asked. */
import { strict as assert } from "node:assert";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { LineIndex } from "../../src/analysis/documents/lines";
import { refusedArguments, takes } from "../../src/formats/hf-scripts/accepted";
import { applyEdits } from "../../src/syntax/edit";
import { parsePython } from "../../src/syntax/python";
import { rowsOf } from "../rows";
import { memoryRuntime, uri } from "./memory-runtime";

const LOADS = {
  plain: 'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype=torch.bfloat16)',
  bits: 'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16))',
};
const ADAPTERS = {
  none: "",
  peft: 'model = get_peft_model(model, LoraConfig(r=64, target_modules="all-linear"))',
};
const TRAINERS = {
  hf: ["TrainingArguments", "Trainer(model=model, args=args, train_dataset=ds)"],
  seq: ["Seq2SeqTrainingArguments", "Seq2SeqTrainer(model=model, args=args, train_dataset=ds)"],
  sft: ["SFTConfig", "SFTTrainer(model=model, args=args, train_dataset=ds)"],
  dpo: ["DPOConfig", "DPOTrainer(model=model, args=args, train_dataset=ds)"],
} as const;

function* modules(): Generator<[string, string]> {
  for (const [load, loading] of Object.entries(LOADS))
    for (const [adapter, adapting] of Object.entries(ADAPTERS))
      for (const [kind, [config, trainer]] of Object.entries(TRAINERS)) {
        // Each config class with one way to load and to adapt, and both with the plain Trainer.
        if (kind !== "hf" && (load === "bits" || adapter === "peft")) continue;
        yield [
          `${load}-${adapter}-${kind}.py`,
          `import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, ${/^SFT|^DPO/.test(config) ? "set_seed" : `${config}, ${trainer.replace(/\(.*/, "")}`}
${/^SFT|^DPO/.test(config) ? `from trl import ${config}, ${trainer.replace(/\(.*/, "")}` : ""}
from peft import LoraConfig, get_peft_model

${loading}
${adapting}
args = ${config}(
    output_dir="out",
    per_device_train_batch_size=16,
    bf16=True,
)
trainer = ${trainer}
trainer.train()
`,
        ];
      }
}

const NEWEST = { transformers: "5.17", trl: "1.16", peft: "0.21" };

describe("analysis: plans over Python", () => {
  it("write only what the called class takes", async () => {
    const files = Object.fromEntries(modules());
    let plans = 0;
    for (const [name, text] of Object.entries(files)) {
      const analyzer = createAnalyzer(memoryRuntime({ [name]: text }));
      const { runs } = await analyzer.analyse(uri(name), { device: "RTX 4090", plans: true });
      const lines = new LineIndex(text);
      assert.deepEqual(refusedArguments(parsePython(text).python!, NEWEST), [], name);
      for (const plan of runs[0]?.plans ?? []) {
        plans++;
        const edits = plan.edits.map(({ range, newText }) => ({
          start: lines.offset(range.start.line, range.start.character),
          end: lines.offset(range.end.line, range.end.character),
          newText,
        }));
        const after = parsePython(applyEdits(text, edits)).python!;
        assert.deepEqual(refusedArguments(after, NEWEST), [], `${name}: ${plan.title}`);
      }
    }
    assert.ok(plans > 12, `${plans} plans`);
  });

  it("write only what is taken, over the scripts that were run", async () => {
    const folder = join(__dirname, "scripts");
    const rows = readdirSync(folder)
      .filter((name) => name.endsWith(".jsonl"))
      .flatMap((name) => rowsOf<{ id: string; script: string }>(folder, name));
    let plans = 0;
    // Each ninth: a search for plans takes a while, and the others differ in what is trained.
    for (const { id, script } of rows.filter((_, k) => k % 9 === 0)) {
      const analyzer = createAnalyzer(memoryRuntime({ "train.py": script }));
      const { runs } = await analyzer.analyse(uri("train.py"), { device: "2GB", plans: true });
      const lines = new LineIndex(script);
      const before = refusedArguments(parsePython(script).python!, NEWEST);
      for (const plan of runs[0]?.plans ?? []) {
        plans++;
        const edits = plan.edits.map(({ range, newText }) => ({
          start: lines.offset(range.start.line, range.start.character),
          end: lines.offset(range.end.line, range.end.character),
          newText,
        }));
        const after = refusedArguments(parsePython(applyEdits(script, edits)).python!, NEWEST);
        assert.deepEqual(after, before, `${id}: ${plan.title}`);
      }
    }
    assert.ok(plans > 3, `${plans} plans`);
  });

  it("knows what classes take by version", () => {
    const at = (trl: string) => ({ transformers: "4.46", trl, peft: "0.13" });
    assert.equal(takes("SFTConfig", "max_seq_length", at("0.12.2")), true);
    assert.equal(takes("SFTConfig", "max_seq_length", at("0.25")), false);
    assert.equal(takes("SFTConfig", "max_length", at("0.12.2")), false);
    assert.equal(takes("SFTConfig", "per_device_train_batch_size", at("1.0")), true);
    assert.equal(takes("TrainingArguments", "use_peft", at("1.0")), false);
    assert.equal(takes("SFTTrainer", "peft_config", at("1.0")), true);
    assert.equal(takes("Unknown", "x", at("1.0")), undefined);
  });

  it("puts DeepSpeed's settings into the file that is linked, adapters into code of their own", async () => {
    const train = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
args = TrainingArguments(output_dir="o", per_device_train_batch_size=1, bf16=True, deepspeed="ds.json")
trainer = Trainer(model=model, args=args)
`;
    const files = {
      "train.py": train,
      "ds.json": '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}}',
      "run.sh": "deepspeed --num_gpus 4 train.py\n",
    };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.py"), {});
    const [run] = analysis.runs;
    assert.ok(run !== undefined);
    const offload = analysis.whatIfEdits(run.id, { offload_optimizer: "cpu" });
    assert.ok(offload !== null && "edits" in offload, JSON.stringify(offload));
    assert.deepEqual(new Set(offload.edits.map((edit) => edit.uri)), new Set([uri("ds.json")]));
    const lora = analysis.whatIfEdits(run.id, { adapter: "lora", lora_rank: "8" });
    assert.ok(lora !== null && "edits" in lora, JSON.stringify(lora));
    assert.match(
      lora.edits.map(({ newText }) => newText).join("|"),
      /^model = get_peft_model\(model, LoraConfig\(r=8\)\)/,
    );
    const refused = analysis.whatIfEdits(run.id, { lora_rank: "8" });
    assert.ok(refused !== null && "refused" in refused, JSON.stringify(refused));
  });

  it("asks the classes that the program's parser is given, and the program's name where it is not here", async () => {
    const command =
      "--model_name_or_path gpt2 --dataset_name d --packing True --output_dir o --per_device_train_batch_size 8 --use_peft True --lora_r 8";
    const parsed = (classes: string) =>
      `from transformers import HfArgumentParser, TrainingArguments\nfrom trl import SFTConfig\nHfArgumentParser((${classes},)).parse_args_into_dataclasses()\n`;
    const writes = async (files: Readonly<Record<string, string>>, name: string): Promise<boolean> => {
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("run.sh"), {});
      const result = analysis.whatIfEdits(analysis.runs[0]?.id ?? "", { [name]: "true" });
      return result !== null && "edits" in result;
    };
    const trains = `python train.py ${command}\n`;
    const sft = { "run.sh": trains, "train.py": parsed("SFTConfig") };
    const plain = { "run.sh": trains, "train.py": parsed("TrainingArguments") };
    assert.deepEqual(
      [await writes(sft, "offload_activations"), await writes(plain, "offload_activations")],
      [true, false],
    );
    assert.deepEqual([await writes(sft, "torch_compile"), await writes(plain, "torch_compile")], [true, true]);
    // A parser of its own, that nothing else is read from.
    const own = `import argparse\np = argparse.ArgumentParser()\np.add_argument("--output_dir")\n`;
    assert.equal(await writes({ "run.sh": trains, "train.py": own }, "torch_compile"), false);
    // No program: a library's by its name, or what the command passes, else none.
    const started = (program: string) => ({ "run.sh": `${program} ${command}\n` });
    assert.equal(await writes(started("python train.py"), "torch_compile"), false);
    assert.equal(await writes(started("trl sft"), "offload_activations"), true);
    const passes = started("python train.py --save_strategy no --save_total_limit 2");
    assert.deepEqual(
      [await writes(passes, "torch_compile"), await writes(passes, "offload_activations")],
      [true, false],
    );
  });

  it("puts options into the script only where its program takes them", async () => {
    const program = `import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--model", default="gpt2")
parser.add_argument("--gradient_checkpointing", action="store_true")
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.model)
Trainer(model=model, args=TrainingArguments(output_dir="o", per_device_train_batch_size=4,
    gradient_checkpointing=args.gradient_checkpointing)).train()
`;
    const files = {
      "t.py": program,
      "run.sh": "python t.py --model gpt2 --output_dir o --learning_rate 1 --max_steps 3\n",
    };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("run.sh"), {});
    const id = analysis.runs[0]?.id ?? "";
    const taken = analysis.whatIfEdits(id, { gradient_checkpointing: "true" });
    assert.ok(taken !== null && "edits" in taken, JSON.stringify(taken));
    assert.deepEqual(
      taken.edits.map(({ uri: at, newText }) => [at, newText.trim()]),
      [[uri("run.sh"), "--gradient_checkpointing"]],
    );
    const refused = analysis.whatIfEdits(id, { packing: "true" });
    assert.ok(refused === null || "refused" in refused, JSON.stringify(refused));
  });
});
