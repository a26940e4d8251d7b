/** Nothing is dropped in silence: what a config asks for is read, costs no memory by its name, or is said not to be counted. */
import { strict as assert } from "node:assert";
import { recogniseFormat } from "../../src/formats";
import { costsNothing } from "../../src/formats/costless";
import { parseDocument } from "../../src/formats/parse";
import { flatten } from "../../src/formats/reader";
import { tableOf } from "../../src/formats/table";
import type { ConfigDocument, Format, LocatedSetting } from "../../src/formats/types";
import type { LocatedNode } from "../../src/syntax/tree";
import { describeCorpus } from "../corpus";

/** Keys outside of what the format reads, or read by code of its own, each with where. */
const BESIDE: Readonly<Record<string, RegExp>> = {
  nnunet: /./, // src/analysis/models/nnunet.ts reads the plan whole
  nanotron: /\.is_\w+_config$/, // names the family
  "gpt-neox": /^(?:activation|mlp_multiple_of)$/, // derive.ts
  "llm-foundry": /^(?:image|parameters\.callbacks|callbacks)/, // the job's container, what is logged
  megatron: /^TEST_TYPE$/, // Megatron's own test runner
};

/** Values that leave an effect out; a template that names another key has that key's value. */
function isIdle(node: LocatedNode): boolean {
  if (node.kind === "list") return node.items.length === 0;
  if (node.kind !== "scalar") return true;
  return /^(?:-?1|0|false|none|no|off|null|)$|^\$\{/i.test(String(node.value ?? ""));
}

/** Whether a block around the key is one whole to the format. */
function inBlock(path: string, { keys }: Format): boolean {
  const { byPath, children } = tableOf(keys);
  const blocks = path.split(".").map((_, index, parts) => parts.slice(0, index).join("."));
  return blocks.some((block) => byPath.has(block) && (byPath.get(block)?.memory === false || !children.has(block)));
}

/** Keys of a data file that nothing says anything of. */
function dropped(document: ConfigDocument, format: Format): string[] {
  const { root, python, shell } = document.parsed;
  if (root?.kind !== "map" || python !== undefined || shell !== undefined) return [];
  const { settings, problems } = format.read(document);
  const said = new Set([...settings.map(({ keySpan }) => keySpan.start), ...problems.map(({ start }) => start)]);
  return [...flatten(root)].flatMap(({ path, entry }) =>
    entry.value.kind === "map" ||
    said.has(entry.keySpan.start) ||
    isIdle(entry.value) ||
    costsNothing(path) ||
    BESIDE[format.id]?.test(path) === true ||
    inBlock(path, format)
      ? []
      : [path],
  );
}

function read(name: string, text: string): readonly LocatedSetting[] {
  const document = parseDocument(`file:///w/${name}`, text);
  const format = document === undefined ? undefined : recogniseFormat(document)?.format;
  assert.ok(document !== undefined && format !== undefined, name);
  return format.read(document).settings;
}

describeCorpus("formats: nothing is dropped in silence", (entries) => {
  it("in any real config", () => {
    const found = entries.flatMap(({ file, text }) => {
      const document = parseDocument(`file:///corpus/${file}`, text);
      const format = document === undefined ? undefined : recogniseFormat(document)?.format;
      return document === undefined || format === undefined
        ? []
        : dropped(document, format).map((key) => `${file}: ${key}`);
    });
    assert.deepEqual(found, []);
  });
});

describe("formats: a key that nobody knows", () => {
  const FILES: Readonly<Record<string, string>> = {
    "axolotl.yml": "base_model: m\ndatasets: []\nmicro_batch_size: 2\n",
    "llama-factory.yaml":
      "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: llama3\ncutoff_len: 512\n",
    "train.yaml": "output_dir: o\nper_device_train_batch_size: 2\nnum_train_epochs: 1\n",
    "tune.yaml":
      "model:\n  _component_: torchtune.models.llama3.llama3_8b\ntokenizer:\n  _component_: t\nbatch_size: 2\n",
    "neox.yml": "pipe_parallel_size: 1\nnum_layers: 2\nhidden_size: 8\ntrain_iters: 3\n",
  };
  for (const [file, text] of Object.entries(FILES)) {
    it(`is said not to be counted in ${file}`, () => {
      const uncounted = (line: string) =>
        read(file, text + line).flatMap((setting) => (setting.uncounted === true ? [setting.key] : []));
      assert.deepEqual(uncounted("keeps_everything_twice: 7\n"), ["keeps_everything_twice"]);
      assert.deepEqual(uncounted("keeps_everything_twice: false\n"), []);
      assert.deepEqual(uncounted("keeps_everything_dir: here\n"), []);
    });
  }

  it("is said not to be counted as an option of a command and as an argument of a call", () => {
    const command = "torchrun train.py --model_name_or_path gpt2 --per_device_train_batch_size 2 --output_dir o";
    const shell = read("train.sh", `${command} --keeps_everything_twice 7 --wandb_run_name x\n`);
    assert.deepEqual(
      shell.flatMap(({ uncounted, key }) => (uncounted === true ? [key] : [])),
      ["keeps_everything_twice"],
    );
    const python = read(
      "train.py",
      "from transformers import TrainingArguments, Trainer\nargs = TrainingArguments('o', keeps_everything_twice=7, seed=3)\nTrainer(model, args)\n",
    );
    assert.deepEqual(
      python.flatMap(({ uncounted, key }) => (uncounted === true ? [key] : [])),
      ["keeps_everything_twice"],
    );
  });
});
