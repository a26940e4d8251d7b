/** Which model a script trains, whatever else it loads. */
import { strict as assert } from "node:assert";
import { resolveFiles } from "./resolve-run";

const HEAD = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
args = TrainingArguments("out", per_device_train_batch_size=2)
`;

async function trained(body: string, head = HEAD): Promise<readonly [string | undefined, string | undefined]> {
  const { run } = await resolveFiles({ "train.py": head + body }, "train.py");
  return [run?.model.name, run?.adapter?.type];
}

const load = (name: string) => `AutoModelForCausalLM.from_pretrained("${name}")`;

describe("analysis: the model that is trained", () => {
  it("is the one that reaches the trainer, not one that is loaded later, elsewhere or never", async () => {
    const body = `model = ${load("Qwen/Qwen3-0.6B")}
Trainer(model=model, args=args).train()
`;
    assert.deepEqual(await trained(body), ["Qwen/Qwen3-0.6B", undefined]);
    assert.deepEqual(await trained(`${body}model = ${load("facebook/opt-125m")}\nmodel.generate()\n`), [
      "Qwen/Qwen3-0.6B",
      undefined,
    ]);
    assert.deepEqual(await trained(`judge = ${load("facebook/opt-1.3b")}\n${body}`), ["Qwen/Qwen3-0.6B", undefined]);
    assert.deepEqual(await trained(`${body}if False:\n    model = ${load("facebook/opt-125m")}\n`), [
      "Qwen/Qwen3-0.6B",
      undefined,
    ]);
    const named = `name = "Qwen/Qwen3-0.6B"\nmodel = AutoModelForCausalLM.from_pretrained(name)\nTrainer(model, args).train()\nname = "me/trained"\n`;
    assert.deepEqual(await trained(named), ["Qwen/Qwen3-0.6B", undefined]);
  });

  it("is found through functions and wrappers", async () => {
    const body = `def make(name):
    base = AutoModelForCausalLM.from_pretrained(name)
    return get_peft_model(base, LoraConfig(r=4, target_modules="all-linear"))
other = ${load("facebook/opt-125m")}
def main():
    model = make("Qwen/Qwen3-0.6B").to("cuda")
    trainer = Trainer(model=model, args=args)
    trainer.train()
main()
`;
    assert.deepEqual(await trained(body), ["Qwen/Qwen3-0.6B", "lora"]);
  });

  it("has others beside it that are said", async () => {
    const body = `teacher = ${load("facebook/opt-1.3b")}
class Distils(Trainer):
    pass
model = ${load("Qwen/Qwen3-0.6B")}
Distils(model=model, args=args, teacher=teacher).train()
`;
    const { run, suppositions } = await resolveFiles({ "train.py": HEAD + body }, "train.py");
    assert.equal(run?.model.name, "Qwen/Qwen3-0.6B");
    assert.match(JSON.stringify(suppositions), /other-weights.*opt-1\.3b/);
    assert.deepEqual(run?.beside, { elements: 1_315_758_080, dtype: "float16" });
    const student = body
      .replace("Distils(model=model", "Distils(student_model=model")
      .replace("teacher=teacher", "teacher_model=teacher");
    const later = student.replace(/(teacher = .*\n)([\s\S]*)(Distils\()/, "$2$1$3");
    assert.equal((await resolveFiles({ "train.py": HEAD + later }, "train.py")).run?.model.name, "Qwen/Qwen3-0.6B");
    const global = body
      .replace("    pass", "    def compute_loss(self, model, inputs):\n        return teacher(**inputs).loss")
      .replace(", teacher=teacher", "");
    const { runs, ...weights } = (await resolveFiles({ "train.py": HEAD + global }, "train.py")).run?.beside ?? {};
    assert.deepEqual([weights, runs?.model.name], [run?.beside, "facebook/opt-1.3b"]);
    const named = body.replace('opt-1.3b")', 'opt-1.3b", dtype=torch.float32)');
    assert.equal((await resolveFiles({ "train.py": HEAD + named }, "train.py")).run?.beside?.dtype, "float32");
  });

  it("has the adapter that it is given, by a condition that is known", async () => {
    const body = (flag: string) => `use_lora = ${flag}
model = ${load("Qwen/Qwen3-0.6B")}
if use_lora:
    model = get_peft_model(model, LoraConfig(r=4, target_modules="all-linear"))
Trainer(model=model, args=args).train()
`;
    assert.deepEqual(await trained(body("True")), ["Qwen/Qwen3-0.6B", "lora"]);
    assert.deepEqual(await trained(body("False")), ["Qwen/Qwen3-0.6B", undefined]);
    const { run, suppositions } = await resolveFiles({ "train.py": HEAD + body("ask()") }, "train.py");
    const said = suppositions.find(({ message }) => JSON.stringify(message).includes("adapter-condition"));
    assert.deepEqual([run?.adapter?.type, said?.alternative], ["lora", { adapter: "none" }]);
    const unused = `config = LoraConfig(r=4)\nmodel = ${load("Qwen/Qwen3-0.6B")}\nTrainer(model=model, args=args).train()\n`;
    assert.deepEqual(await trained(unused), ["Qwen/Qwen3-0.6B", undefined]);
  });

  it("is the one that a loop's optimizer steps, alone or with a head, not one that is loaded behind the loop", async () => {
    const body = (stepped: string) => `model = ${load("Qwen/Qwen3-0.6B")}
head = torch.nn.Linear(1024, 2)
optimizer = torch.optim.AdamW(${stepped}, lr=1e-4)
for batch in loader:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
model = ${load("facebook/opt-125m")}
model.generate()
`;
    for (const stepped of ["model.parameters()", "list(model.parameters()) + list(head.parameters())", "make()"]) {
      const { run, suppositions } = await resolveFiles({ "train.py": HEAD + body(stepped) }, "train.py");
      assert.equal(run?.model.name, "Qwen/Qwen3-0.6B", stepped);
      assert.doesNotMatch(JSON.stringify(suppositions), /other-(?:model|weights)/);
    }
  });

  it("reads tokens that are cut where they are made tensors", async () => {
    const body = `max_length = 64
def prepare(examples):
    inputs = tokenizer(examples["text"])
    for i in range(len(inputs["input_ids"])):
        inputs["input_ids"][i] = torch.tensor(inputs["input_ids"][i][:max_length])
    return inputs
model = ${load("Qwen/Qwen3-0.6B")}
Trainer(model=model, args=args, train_dataset=data.map(prepare, batched=True)).train()
`;
    const { run } = await resolveFiles({ "train.py": HEAD + body }, "train.py");
    assert.equal(run?.sequenceLength, 64);
  });
});
