/** Losses that scripts write themselves: what is not followed is said, and the model's own is counted. Exact peaks: scripts/losses.jsonl. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

async function runOf(loss: string, klass = "Own(Trainer)") {
  const script = `import torch
import torch.nn.functional as F
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
model = AutoModelForSequenceClassification.from_pretrained("google-bert/bert-base-uncased")
class ${klass}:
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
${loss
  .split("\n")
  .map((line) => `        ${line}`)
  .join("\n")}
trainer = Own(model, TrainingArguments("out", per_device_train_batch_size=8, bf16=True))
trainer.train()
`;
  const [run] = (await createAnalyzer(memoryRuntime({ "train.py": script })).analyse(uri("train.py"), {})).runs;
  const said = run?.assumptions.some(({ id }) => id === "engine.own-loss") === true;
  return { peak: run?.perDevice?.allocatedPeakBytes ?? 0, said };
}

const OWN = "return model(**inputs).loss";
const TWICE = "return model(**inputs).loss + model(**inputs).loss";

describe("analysis: a loss of a script's own", () => {
  it("is run, forward by forward", async () => {
    const [once, twice] = [await runOf(OWN), await runOf(TWICE)];
    assert.equal(once.said || twice.said, false);
    assert.ok(twice.peak > 1.2 * once.peak, `${twice.peak} after ${once.peak}`);
  });

  it("keeps what its names hold until it returns", async () => {
    const held = await runOf("a = torch.zeros_like(model(**inputs).logits)\nreturn a.sum() + model(**inputs).loss");
    assert.equal(held.said, false);
    assert.ok(held.peak > 0);
  });

  it("goes over lists, round by round", async () => {
    const written = await runOf("a = model(**inputs).loss\nb = model(**inputs).loss\nreturn a + b");
    for (const loss of [
      "found = []\nfor k in range(2):\n    found.append(model(**inputs).loss)\nreturn found[0] + found[1]",
      "found = [model(**inputs).loss for k in range(2)]\nreturn found[0] + found[-1]",
      "found = []\nfor k, one in enumerate((5, 6)):\n    found.append(model(**inputs).loss)\nreturn found[len(found) - 2] + found[1]",
      "found = []\nfor one, other in zip((5, 6), (7, 8)):\n    found.append(model(**inputs).loss)\nreturn found[0] + found[1]",
    ]) {
      const run = await runOf(loss);
      assert.equal(run.said, false, loss);
      assert.equal(run.peak, written.peak, loss);
    }
  });

  it("is one that functions are given, over batches that are put on the card part by part", async () => {
    const script = (head: string, moved: string, given: string) => `import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModel
class CFG:
    model = "google-bert/bert-base-uncased"
    targets = 6
class Pool(nn.Module):
    def forward(self, states, mask):
        mask = mask.unsqueeze(-1).expand(states.size()).float()
        return torch.sum(states * mask, 1) / torch.clamp(mask.sum(1), min=1e-9)
class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        ${head}
        self.body = AutoModel.from_pretrained(cfg.model)
        self.pool = Pool()
        self.fc = nn.Linear(768, cfg.targets)
    def forward(self, inputs):
        return self.fc(self.pool(self.body(**inputs).last_hidden_state, inputs["attention_mask"]))
def train(loader, model, criterion, optimizer):
    for inputs, labels in loader:
        ${moved}
        loss = criterion(model(inputs), labels.to("cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
model = Net(CFG).to("cuda")
optimizer = torch.optim.AdamW(model.parameters())
train(DataLoader(data, batch_size=8), model, ${given}, optimizer)
`;
    const runs: number[] = [];
    for (const [head, moved, given] of [
      [
        "self.config = AutoConfig.from_pretrained(cfg.model)",
        "for k, v in inputs.items():\n            inputs[k] = v.to('cuda')",
      ],
      ["pass", "for k in inputs:\n            inputs[k] = inputs[k].to('cuda')", 'nn.HuberLoss(reduction="mean")'],
      ["pass", "inputs = inputs.to('cuda')"],
    ] as const) {
      const text = script(head, moved, given ?? "nn.SmoothL1Loss()");
      const [run] = (await createAnalyzer(memoryRuntime({ "train.py": text })).analyse(uri("train.py"), {})).runs;
      assert.deepEqual(
        (run?.assumptions ?? []).filter(({ id }) => /own-loss|uncounted/.test(id)),
        [],
      );
      runs.push(run?.perDevice?.allocatedPeakBytes ?? 0);
    }
    assert.ok(runs[0]! > 0);
    assert.equal(new Set(runs).size, 1);
  });

  it("is what names mean where it is used, not what other functions call so", async () => {
    const peaks = async (given: string, other: string): Promise<readonly [number | undefined, boolean]> => {
      const text = `import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import AutoModel
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = AutoModel.from_pretrained("google-bert/bert-base-uncased")
        self.fc = nn.Linear(768, 30000)
    def forward(self, ids):
        return self.fc(self.body(ids).last_hidden_state)
def train(model, criterion, optimizer):
    for ids in DataLoader(data, batch_size=8):
        logits = model(ids)
        criterion(logits, torch.zeros_like(logits)).backward()
        optimizer.step()
def validate(model, criterion):
    return criterion(model(ids), 0)
model = Net().cuda()
train(model, ${given}, torch.optim.SGD(model.parameters()))
${other}
`;
      const [run] = (await createAnalyzer(memoryRuntime({ "train.py": text })).analyse(uri("train.py"), {})).runs;
      return [run?.perDevice?.allocatedPeakBytes, run?.assumptions.some(({ id }) => id === "engine.own-loss") === true];
    };
    const squares = await peaks("nn.MSELoss()", "");
    assert.equal(squares[1], false);
    assert.notDeepEqual(await peaks("nn.L1Loss()", ""), squares);
    for (const other of [
      "validate(model, nn.L1Loss())",
      "criterion = nn.L1Loss()",
      "def test():\n    criterion = nn.L1Loss()",
    ])
      assert.deepEqual(await peaks("nn.MSELoss()", other), squares, other);
    assert.deepEqual(await peaks("made", "made = nn.MSELoss()"), squares);
    assert.equal((await peaks("somehow()", "validate(model, nn.L1Loss())"))[1], true);
  });

  it("has tensors that it makes of sizes", async () => {
    for (const made of [
      "torch.full((6,), 2.0, device=model.device)",
      "torch.ones(6)",
      "torch.zeros([6], dtype=torch.float32)",
    ]) {
      const weighed = `F.binary_cross_entropy_with_logits(logits, torch.zeros_like(logits), pos_weight=${made})`;
      assert.equal((await runOf(`logits = model(**inputs).logits\nreturn ${weighed}`)).said, false, made);
    }
    // Of which dtype they are is not known.
    const { said } = await runOf("a = torch.zeros(6, dtype=mine)\nreturn model(**inputs).loss + a.sum()");
    assert.equal(said, true);
  });

  it("is said not to be followed where it does something else", async () => {
    const { peak } = await runOf(OWN);
    for (const loss of [
      "for k in range(3):\n    return model(**inputs).loss",
      "while True:\n    out = model(**inputs)\nreturn out.loss",
      `out = 0\n${[0, 1, 2].map((k) => `${"    ".repeat(k)}for k${k} in range(60):\n`).join("")}            out = out + 1\nreturn model(**inputs).loss + out`,
      "return mine(model(**inputs))",
      "out = model(**inputs)\nif self.unheard_of:\n    return out.loss\nreturn out.loss",
      "return torch.unheard_of(model(**inputs).logits)",
      "out = model(**inputs)\nreturn (out.logits @ torch.arange(7)).sum()",
      "return inputs.__proto__",
      "return __proto__.constructor(model)",
      `a = model(**inputs).logits\n${"a = torch.cat([a, a], dim=0)\n".repeat(100)}return a.sum()`,
      `b = (1, 1)\n${"b = (b, b)\n".repeat(60)}return model(**inputs).loss`,
      "a = torch.arange(1e18)\nreturn model(**inputs).loss + a.sum()",
      "return model(**inputs).logits.chunk(100000000, dim=-1)[0].sum()",
      "return model(**inputs).logits.repeat(1e15, 1).sum()",
      `return ${"(".repeat(300)}model(**inputs).loss${")".repeat(300)}`,
      `return model(**inputs).loss${" + 1".repeat(3000)}`,
    ]) {
      const run = await runOf(loss);
      assert.ok(run.said, loss.slice(0, 80));
      assert.equal(run.peak, peak, loss.slice(0, 80));
    }
  });

  it("counts a head beside a model that nothing is trained of", async () => {
    const script = `import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import RobertaConfig, RobertaModel
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(768, 20)
    def forward(self, x):
        return self.net(x)
encoder = RobertaModel(RobertaConfig()).cuda().eval()
head = Head().cuda()
opt = torch.optim.Adam(head.parameters(), lr=1e-3)
batch_size = 8
for ids, y in DataLoader(data, batch_size=batch_size):
    with torch.no_grad():
        feats = encoder(ids.cuda()).last_hidden_state[:, 0]
    loss = nn.functional.cross_entropy(head(feats), y.cuda())
    opt.zero_grad()
    loss.backward()
    opt.step()
`;
    const [run] = (await createAnalyzer(memoryRuntime({ "train.py": script })).analyse(uri("train.py"), {})).runs;
    const apart = run?.perDevice;
    assert.equal(
      run?.assumptions.some(({ id }) => id === "engine.own-loss"),
      false,
    );
    assert.deepEqual(run?.notCounted ?? [], []);
    // Two weights of 768 by 20 and two of 20 have states: nothing else has gradients.
    const states = apart?.components.find(({ kind }) => kind === "optimizer")?.bytes ?? 0;
    assert.ok(states > 2 * 4 * 768 * 20 && states < 4 * 4 * 768 * 20, `${states}`);
    assert.ok((apart?.allocatedPeakBytes ?? 0) < 700 * 2 ** 20, `${apart?.allocatedPeakBytes}`);
  });
});
