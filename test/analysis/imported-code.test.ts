/** What a script's helpers in other files do to its model; estimates of whole runs are in `scripts/helpers.jsonl`. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const TRAIN = `
trainer = Trainer(model=model, args=TrainingArguments("out", per_device_train_batch_size=4), train_dataset=data)
trainer.train()
`;
const LOADS = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("openai-community/gpt2")
`;
const LORA = `from peft import LoraConfig, get_peft_model
RANK = 32
def add_lora(model, r=RANK):
    return get_peft_model(model, LoraConfig(r=r, target_modules=["c_attn"]))
`;

async function run(files: Readonly<Record<string, string>>) {
  const { report } = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.py"), {});
  const [first] = report.runs;
  const setting = (name: string) => first?.settings.find((one) => one.name === name)?.value;
  return { first, setting };
}

describe("analysis: code that a script imports", () => {
  const ways: readonly (readonly [string, string])[] = [
    ["a name", "from utils import add_lora\nmodel = add_lora(model)\n"],
    ["a name of its own", "from utils import add_lora as adapted\nmodel = adapted(model)\n"],
    ["a module", "import utils\nmodel = utils.add_lora(model)\n"],
    ["a module by another name", "import utils as U\nmodel = U.add_lora(model)\n"],
    ["everything", "from utils import *\nmodel = add_lora(model)\n"],
  ];
  for (const [what, code] of ways)
    it(`follows ${what}`, async () => {
      const { setting } = await run({ "train.py": LOADS + code + TRAIN, "utils.py": LORA });
      assert.equal(setting("adapter"), "lora");
      assert.equal(setting("lora_rank"), 32);
    });

  it("tells names of two modules apart", async () => {
    const code = "from utils import add_lora\nRANK = 4\ndef helper(): return RANK\nmodel = add_lora(model)\n";
    const { setting } = await run({ "train.py": LOADS + code + TRAIN, "utils.py": LORA });
    assert.equal(setting("lora_rank"), 32);
  });

  it("leaves files that import each other and what stands above the workspace", async () => {
    const code = "from utils import add_lora\nfrom ....outside import thing\nmodel = add_lora(model)\n";
    const { setting } = await run({ "train.py": LOADS + code + TRAIN, "utils.py": `import train\n${LORA}` });
    assert.equal(setting("lora_rank"), 32);
  });

  it("says where a helper's code is not there", async () => {
    const code = "from company_tools import prepare\nmodel = prepare(model)\n";
    const { first } = await run({ "train.py": LOADS + code + TRAIN });
    assert.deepEqual(first?.notCounted, ["prepare"]);
    const there = await run({
      "train.py": LOADS + code + TRAIN,
      "company_tools.py": "def prepare(model): return model\n",
    });
    assert.equal(there.first?.notCounted, undefined);
  });

  it("follows what a notebook imports, and tells places in both", async () => {
    const cells = ["%load_ext autoreload\n", `${LOADS}import utils\n`, "model = utils.add_lora(model)\n", TRAIN];
    const notebook = {
      nbformat: 4,
      nbformat_minor: 5,
      metadata: {},
      cells: cells.map((source) => ({ cell_type: "code", metadata: {}, outputs: [], source: source.split(/(?<=\n)/) })),
    };
    const text = JSON.stringify(notebook, null, 1);
    const runtime = memoryRuntime({ "train.ipynb": text, "utils.py": LORA });
    const [first] = (await createAnalyzer(runtime).analyse(uri("train.ipynb"), {})).report.runs;
    const setting = (name: string) => first?.settings.find((one) => one.name === name);
    assert.equal(setting("lora_rank")?.uri, uri("utils.py"));
    const at = setting("micro_batch_size")?.range?.start;
    assert.equal(setting("micro_batch_size")?.uri, uri("train.ipynb"));
    const line = text.split("\n")[at?.line ?? 0] ?? "";
    assert.match(line.slice(at?.character), /^4\)/);
  });

  it("places what another file says there", async () => {
    const { first } = await run({
      "train.py": `${LOADS}from utils import add_lora\nmodel = add_lora(model)\n${TRAIN}`,
      "utils.py": LORA,
    });
    const place = first?.settings.find((one) => one.name === "lora_rank");
    assert.equal(place?.uri, uri("utils.py"));
  });
});
