/** What a script sets `requires_grad` to, as rules over the weights' names. */
import { strict as assert } from "node:assert";
import type { WeightRule } from "../../src/terms/weights";
import { resolveFiles } from "./resolve-run";

async function resolved(body: string) {
  const script = `from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
model = AutoModelForSequenceClassification.from_pretrained("google-bert/bert-base-uncased")
other = AutoModelForSequenceClassification.from_pretrained("google-bert/bert-base-cased")
${body}
trainer = Trainer(model, TrainingArguments("out"))
trainer.train()
model.requires_grad_(False)
`;
  return resolveFiles({ "train.py": script }, "train.py");
}

const trained = async (body: string) => (await resolved(body)).run?.trained;

async function rules(body: string): Promise<{ rules: readonly WeightRule[]; said: string }> {
  const { run, suppositions } = await resolved(body);
  return { rules: run?.trained?.rules ?? [], said: JSON.stringify(suppositions) };
}

describe("analysis: weights that a script freezes", () => {
  it("are those of the trained model's parts, in the order of the script", async () => {
    assert.deepEqual((await rules("for p in other.parameters():\n    p.requires_grad = False")).rules, []);
    const body =
      "for p in model.bert.parameters():\n    p.requires_grad = False\nmodel.bert.encoder.layer[-2:].requires_grad_()";
    assert.deepEqual((await rules(body)).rules, [
      { pattern: "", trained: false, part: ["bert"] },
      { pattern: "", trained: true, part: ["bert", "encoder", "layer", { from: -2, to: null }] },
    ]);
    const counted = "for i in range(2, 6):\n    model.bert.encoder.layer[i].attention.requires_grad_(False)";
    assert.deepEqual((await rules(counted)).rules, [
      { pattern: "", trained: false, part: ["bert", "encoder", "layer", { from: 2, to: 6 }, "attention"] },
    ]);
    const half =
      "n = model.config.num_hidden_layers // 2\nfor i in range(n):\n    model.bert.encoder.layer[i].requires_grad_(False)";
    assert.deepEqual((await rules(half)).rules[0]?.part?.at(-1), { from: 0, to: { divided: 2 } });
    const loop = (test: string) =>
      `layers = model.bert.encoder.layer\ncut = len(layers) - 4\nfor i, layer in enumerate(layers):\n    if ${test}:\n        for p in layer.parameters():\n            p.requires_grad = False`;
    for (const [test, items] of [
      ["i < cut", { from: 0, to: -4 }],
      ["i >= cut", { from: -4, to: null }],
      ["not i < cut", { from: -4, to: null }],
    ] as const)
      assert.deepEqual((await rules(loop(test))).rules[0]?.part?.at(-1), items, test);
    const indexed =
      "layers = model.bert.encoder.layer\nfor i in range(len(layers)):\n    if i < len(layers) - 3:\n        for p in layers[i].parameters():\n            p.requires_grad_(False)";
    assert.deepEqual((await rules(indexed)).rules[0]?.part?.at(-1), { from: 0, to: -3 });
    const method = "model.get_input_embeddings().weight.requires_grad = False";
    assert.deepEqual((await rules(method)).rules, [
      { pattern: "^weight$", trained: false, part: [{ method: "input-embeddings" }] },
    ]);
  });

  it("are not those of a module that is made anew behind it", async () => {
    const all = "for p in model.parameters():\n    p.requires_grad = False\n";
    assert.deepEqual((await rules(`${all}model.classifier = torch.nn.Linear(768, 3)`)).rules, [
      { pattern: "", trained: false },
      { pattern: "", trained: true, part: ["classifier"] },
    ]);
    assert.deepEqual((await rules("model.classifier = torch.nn.Linear(768, 3)")).rules, []);
    assert.deepEqual((await rules(`${all}model.classifier[6] = torch.nn.Linear(768, 3)`)).rules, [
      { pattern: "", trained: false },
      { pattern: "", trained: true, part: ["classifier", { from: 6, to: 7 }] },
    ]);
  });

  it("are told by tests of their names", async () => {
    const loop = (line: string) => `for name, p in model.named_parameters():\n${line}`;
    const patterns = async (line: string) =>
      (await rules(loop(line))).rules.map(({ pattern, trained }) => [pattern, trained]);
    assert.deepEqual(await patterns('    p.requires_grad = "norm" in name'), [
      ["", false],
      ["^(?=.*norm)", true],
    ]);
    assert.deepEqual(
      await patterns(
        '    if not name.startswith("classifier") and "pooler" not in name:\n        p.requires_grad_(False)',
      ),
      [["^(?!(?=classifier))(?!(?=.*pooler))", false]],
    );
    assert.deepEqual(await patterns('    p.requires_grad = re.search(r"q_|v_", name) is not None'), [
      ["", false],
      ["^(?=.*(?:q_|v_))", true],
    ]);
    assert.deepEqual(
      await patterns('    if not re.compile(r"lm_head").match(name):\n        p.requires_grad = False'),
      [["^(?!(?=(?:lm_head)))", false]],
    );
    assert.deepEqual(await patterns('    if re.match(r"(a)\\1", name):\n        p.requires_grad = False'), []);
    assert.deepEqual(await patterns('    if any(k in name for k in ["a.b", "c"]):\n        p.requires_grad = False'), [
      ["^(?:(?=.*a\\.b)|(?=.*c))", false],
    ]);
  });

  it("are meant by peft's names once the adapter is there; what was set before is lost", async () => {
    const adapted = "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig(r=8))\n";
    const before = await trained(`model.bert.requires_grad_(False)\n${adapted}`);
    assert.equal(before, undefined);
    const after = `for n, p in model.named_parameters():
    if any(f"layer.{i}." in n for i in range(2)):
        p.requires_grad = False
model.base_model.model.classifier.requires_grad_()`;
    assert.deepEqual((await trained(adapted + after))?.besideAdapter, [
      { pattern: "^(?:(?=.*layer\\.0\\.)|(?=.*layer\\.1\\.))", trained: false, adapted: true },
      { pattern: "", trained: true, part: ["base_model", "model", "classifier"], adapted: true },
    ]);
  });

  it("are those of a model that a module of the script's own loads inside", async () => {
    const own = (inside: string, after = "") => `import torch.nn as nn
from transformers import AutoModel, Trainer, TrainingArguments
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = AutoModel.from_pretrained("google-bert/bert-base-uncased")
${inside}
        self.head = nn.Linear(768, 2)
model = Own()
${after}
Trainer(model, TrainingArguments("out")).train()
`;
    const of = async (script: string) => (await resolveFiles({ "train.py": script }, "train.py")).run?.trained?.rules;
    const frozen = [{ pattern: "", trained: false, part: [{ method: "base" }] }];
    const loop = (name: string, indent: string) =>
      `${indent}for p in ${name}.encoder.parameters():\n${indent}    p.requires_grad = False`;
    assert.deepEqual(await of(own(loop("self", "        "))), frozen);
    assert.deepEqual(await of(own("", loop("model", ""))), frozen);
    const layers = own("        self.encoder.encoder.layer[:4].requires_grad_(False)");
    assert.deepEqual((await of(layers))?.[0]?.part, [{ method: "base" }, "encoder", "layer", { from: 0, to: 4 }]);
  });

  it("are said where they cannot be followed", async () => {
    const { rules: found, said } = await rules(
      "for p in model.parameters():\n    if p.numel() > 9:\n        p.requires_grad = False",
    );
    assert.deepEqual(found, []);
    assert.match(said, /weights-unfollowed/);
  });
});
