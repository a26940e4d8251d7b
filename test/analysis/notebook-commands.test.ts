/** Commands in the cells of a notebook are runs like those of scripts. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { LineIndex } from "../../src/analysis/documents/lines";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, uri } from "./memory-runtime";

function notebook(...cells: (string | string[])[]): string {
  return JSON.stringify({ cells: cells.map((source) => ({ cell_type: "code", source })), nbformat: 4 }, null, 1);
}

async function open(text: string) {
  const analysis = await createAnalyzer(memoryRuntime({ "n.ipynb": text })).analyse(uri("n.ipynb"), {});
  const [run] = analysis.runs;
  assert.ok(run !== undefined);
  return { analysis, run, value: (name: string) => run.settings.find((setting) => setting.name === name)?.value };
}

const COMMAND = [
  'MODEL = "gpt2"\n',
  "!torchrun --nproc_per_node 2 train.py \\\n",
  "  --model_name_or_path {MODEL} --bf16 True --output_dir o \\\n",
  "  --per_device_train_batch_size 4 --save_strategy epoch --eval_strategy epoch\n",
];

describe("analysis: commands of notebooks", () => {
  it("are read with the values of Python's names", async () => {
    const { run, value } = await open(notebook("!pip install trl", COMMAND));
    assert.deepEqual(run.formats, ["hf-training-arguments", "notebook"]);
    assert.deepEqual(["model", "world_size", "micro_batch_size", "compute_dtype"].map(value), ["gpt2", 2, 4, "bf16"]);
  });

  it("train the config that they hand to a program", async () => {
    const files = {
      "n.ipynb": notebook(
        "import torch\nprint(torch.cuda.is_available())",
        "!python scripts/run.py --config recipes/a.yaml",
      ),
      "recipes/a.yaml": "model_name_or_path: gpt2\noutput_dir: o\nper_device_train_batch_size: 3\nbf16: true\n",
      "scripts/run.py":
        "from transformers import HfArgumentParser, TrainingArguments, Trainer\na = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]\nTrainer(args=a).train()\n",
    };
    const [run, more] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("n.ipynb"), {})).runs;
    assert.deepEqual([run?.id, more], ["recipes/a.yaml", undefined]);
    assert.equal(run?.settings.find(({ name }) => name === "micro_batch_size")?.value, 3);
  });

  it("stand in cells that a shell runs whole", async () => {
    const cell =
      "%%bash\nexport N=2\naccelerate launch --num_processes $N train.py --model_name_or_path gpt2 \\\n --output_dir o --per_device_train_batch_size 8 --bf16 True\n";
    const { value } = await open(notebook(cell));
    assert.deepEqual(["world_size", "micro_batch_size"].map(value), [2, 8]);
  });

  it("are edited in place, and the notebook stays one", async () => {
    const text = notebook(COMMAND);
    const { analysis, run } = await open(text);
    const result = analysis.whatIfEdits(run.id, { micro_batch_size: "1", gradient_checkpointing: "true" });
    assert.ok(result !== null && "edits" in result, JSON.stringify(result));
    const lines = new LineIndex(text);
    const edited = applyEdits(
      text,
      result.edits.map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      })),
    );
    const source = (JSON.parse(edited) as { cells: { source: string[] }[] }).cells[0]?.source.join("") ?? "";
    assert.match(source, /--per_device_train_batch_size 1 /);
    assert.match(source, /--gradient_checkpointing(?: |=)?(?:True|true)?/);
  });

  it("leave Python's own training alone", async () => {
    const python = 'from trl import SFTConfig\nargs = SFTConfig(output_dir="o", per_device_train_batch_size=2)\n';
    const { run, value } = await open(notebook("!pip install -q trl==0.21 --upgrade\n!nvidia-smi", python));
    assert.deepEqual(run.formats, ["trl", "notebook"]);
    assert.equal(value("micro_batch_size"), 2);
  });
});
