/** A script as it is run: its arguments, its launcher and the installed releases are part of its estimate. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { type CommandRun, commandDocument } from "../../src/analysis/linking/command-run";
import { memoryRuntime } from "./memory-runtime";

const SCRIPT = `from dataclasses import dataclass
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments


@dataclass
class ModelArguments:
    model_name_or_path: str = "facebook/opt-125m"


parser = HfArgumentParser((ModelArguments, TrainingArguments))
model_args, args = parser.parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)
Trainer(model=model, args=args).train()
`;

describe("a script as it is run", () => {
  const uri = "file:///w/train.py";
  const plain: CommandRun = { uri, script: "train.py", words: [], accelerate: "", versions: {} };

  const runOf = async (changes: Partial<CommandRun>) => {
    const runtime = memoryRuntime({ "train.py": SCRIPT });
    const document = await commandDocument({ ...plain, ...changes }, runtime);
    const analysis = await createAnalyzer(document.runtime).analyse(document.uri, {});
    return analysis.runs[0];
  };

  it("takes the model that the command names, not the one that the script would", async () => {
    const words = ["--model_name_or_path", "gpt2", "--per_device_train_batch_size", "3"];
    assert.equal((await runOf({}))?.model?.name, "facebook/opt-125m");
    const run = await runOf({ words });
    assert.equal(run?.model?.name, "openai-community/gpt2");
    assert.equal(run?.settings.find(({ name }) => name === "micro_batch_size")?.value, 3);
  });

  it("follows the release that is installed: before transformers 5 weights are loaded in float32", async () => {
    const words = ["--model_name_or_path", "Qwen/Qwen2.5-0.5B"];
    const peaks = await Promise.all(
      ["4.51.3", "5.17.0"].map((transformers) => runOf({ words, versions: { transformers, nobody: "1" } })),
    );
    const [older = 0, newer = 0] = peaks.map((run) => run?.perDevice?.allocatedPeakBytes);
    assert.ok(older > newer && newer > 0, `${older} ${newer}`);
  });

  it("leaves other files and a script that is not there as they are", async () => {
    const runtime = memoryRuntime({});
    const document = await commandDocument(plain, runtime);
    assert.equal(document.runtime, runtime);
    const named = await commandDocument({ ...plain, words: ["--x"], accelerate: "fsdp.yaml" }, runtime);
    assert.match(
      (await named.runtime.files.readText(named.uri)) ?? "",
      /^accelerate launch --config_file fsdp.yaml train.py --x$/m,
    );
    assert.equal(await named.runtime.files.readText(uri), undefined);
    assert.deepEqual(await named.runtime.files.list("file:///w/"), []);
    assert.equal((await named.runtime.files.stat(named.uri))?.type, "file");
  });
});
