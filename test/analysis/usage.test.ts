/** Programs that are started as their head says, where nothing else names a model. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const MODEL = { "model/config.json": JSON.stringify(TINY_LLAMA) };
const PROGRAM = `from transformers import AutoModelForCausalLM, HfArgumentParser
from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, get_peft_config
script_args, training_args, model_args = HfArgumentParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_into_dataclasses()
trainer = SFTTrainer(model=model_args.model_name_or_path, args=training_args, train_dataset=data, peft_config=get_peft_config(model_args))
trainer.train()
`;
const COMMAND = `python train.py \\
    --model_name_or_path ./model \\
    --max_length 96 \\
    --per_device_train_batch_size 3 \\
    --output_dir o`;
const SECOND = "accelerate launch train.py --model_name_or_path ./model --per_device_train_batch_size 7 --output_dir o";

async function checked(program: string, more: Readonly<Record<string, string>> = {}) {
  const files = { ...MODEL, "train.py": program, ...more };
  const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.py"), {});
  const [run] = analysis.report.runs;
  const value = (name: string) => run?.settings.find((one) => one.name === name)?.value;
  const usage = run?.assumptions.some(({ id }) => id === "assume.usage");
  return { run, analysis, usage, batch: value("micro_batch_size"), length: value("sequence_length") };
}

describe("analysis: the command at the head of a program", () => {
  it("starts it, from a docstring, a text behind the imports, or comments; the first counts", async () => {
    const fenced = `"""\nDoesn't need much.\n\n\`\`\`\n${COMMAND}\n\`\`\`\n\n${SECOND}\n"""\n`;
    const comments = `#!/usr/bin/env python\n# Usage:\n${COMMAND.replace(/^/gm, "# ")}\n`;
    for (const program of [`${fenced}${PROGRAM}`, `import os\n${fenced}${PROGRAM}`, `${comments}\n${PROGRAM}`]) {
      const { batch, length, usage, run } = await checked(program);
      assert.deepEqual([batch, length, usage], [3, 96, true]);
      assert.notEqual(run?.perDevice, null);
    }
  });

  it("is left aside where another command starts the program, or the program names its model", async () => {
    const head = `"""\n${COMMAND}\n"""\n`;
    const script = { "run.sh": `${SECOND}\n` };
    assert.deepEqual((await checked(head + PROGRAM, script)).batch, 7);
    const named = PROGRAM.replace("model_args.model_name_or_path", '"./model"');
    const own = await checked(head + named);
    assert.deepEqual([own.batch, own.usage], [8, false]);
  });

  it("is no command where the program is only spoken of, and nothing is written into it", async () => {
    assert.equal((await checked(`"""\nLike train.py, but smaller.\n"""\n${PROGRAM}`)).run?.perDevice, null);
    const { run, analysis } = await checked(`"""\n${COMMAND}\n"""\n${PROGRAM}`);
    const tried = analysis.whatIfEdits(run?.id ?? "", { micro_batch_size: "2" });
    assert.ok(tried !== null && (!("edits" in tried) || tried.edits.every(({ range }) => range.start.line > 6)));
  });
});
