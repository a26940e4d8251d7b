/** A list that is tried is what the files say once it is written, whatever spells it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { LineIndex } from "../../src/analysis/documents/lines";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

type Files = Readonly<Record<string, string>>;

const MODEL: Files = { "model/config.json": JSON.stringify(TINY_LLAMA) };
const TRL =
  "model_name_or_path: ./model\ndataset_name: d\noutput_dir: out\nmax_length: 64\nuse_peft: true\nlora_r: 8\n";
const AXOLOTL =
  "base_model: ./model\ndatasets:\n  - path: d\nsequence_len: 64\nadapter: lora\nlora_r: 8\nmicro_batch_size: 1\n";
const FACTORY =
  "stage: sft\ndo_train: true\nmodel_name_or_path: ./model\ncutoff_len: 64\nfinetuning_type: lora\nlora_rank: 8\noutput_dir: out\n";
const PYTHON = (targets: string): string =>
  `from trl import SFTConfig, SFTTrainer\nfrom peft import LoraConfig\nargs = SFTConfig(output_dir="out", max_length=64)\npeft_config = LoraConfig(r=8, target_modules=${targets})\ntrainer = SFTTrainer(model="./model", args=args, peft_config=peft_config)\n`;

const CASES: readonly (readonly [name: string, file: string, before: string, after: string])[] = [
  [
    "TRL, a list with comments",
    "train.yaml",
    `${TRL}lora_target_modules:\n  - q_proj # queries\n  # values\n  - v_proj\n  - o_proj\n`,
    `${TRL}lora_target_modules:\n  - q_proj # queries\n  # values\n  - k_proj\n`,
  ],
  [
    "TRL, a value",
    "train.yaml",
    `${TRL}lora_target_modules: all-linear\n`,
    `${TRL}lora_target_modules: [q_proj, k_proj]\n`,
  ],
  [
    "axolotl, a list on one line",
    "train.yaml",
    `${AXOLOTL}lora_target_modules: [q_proj]\n`,
    `${AXOLOTL}lora_target_modules: [q_proj, k_proj]\n`,
  ],
  [
    "LLaMA-Factory, a text with commas",
    "train.yaml",
    `${FACTORY}lora_target: all\n`,
    `${FACTORY}lora_target: "q_proj,k_proj"\n`,
  ],
  ["a call in Python", "train.py", PYTHON('"all-linear"'), PYTHON('["q_proj", "k_proj"]')],
  [
    "a command",
    "run.sh",
    "trl sft --model_name_or_path ./model --dataset_name d --output_dir out --max_length 64 --use_peft --lora_target_modules q_proj o_proj --lora_r 8\n",
    "trl sft --model_name_or_path ./model --dataset_name d --output_dir out --max_length 64 --use_peft --lora_target_modules q_proj k_proj --lora_r 8\n",
  ],
];

describe("analysis: writing lists", () => {
  for (const [name, file, before, after] of CASES)
    it(name, async () => {
      const files = { ...MODEL, [file]: before };
      const set = { lora_target_modules: "q_proj,k_proj" };
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(file), { device: "24GB" });
      const [run] = analysis.runs;
      assert.ok(run);
      const tried = await analysis.whatIf(run.id, set);
      const result = analysis.whatIfEdits(run.id, set);
      assert.ok(result !== null && "edits" in result, JSON.stringify(result));
      const lines = new LineIndex(before);
      const text = applyEdits(
        before,
        result.edits.map(({ range, newText }) => ({
          start: lines.offset(range.start.line, range.start.character),
          end: lines.offset(range.end.line, range.end.character),
          newText,
        })),
      );
      assert.equal(text, after);
      const [written] = (
        await createAnalyzer(memoryRuntime({ ...MODEL, [file]: text })).analyse(uri(file), { device: "24GB" })
      ).runs;
      assert.equal(written?.perDevice?.usedPeakBytes, tried?.perDevice?.usedPeakBytes);
      assert.notEqual(written?.perDevice, null);
    });
});
