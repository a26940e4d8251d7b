/** What a script's own code keeps or runs beside the Trainer's step, and which of it is not counted. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const LOAD = `import copy, torch
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
model = AutoModelForSequenceClassification.from_pretrained("prajjwal1/bert-small")
`;
const TRAINS = `args = TrainingArguments("out", per_device_train_batch_size=8)
T(model=model, args=args, train_dataset=data).train()
`;
const TRAINS_ALONE = TRAINS.replace("T(model", "Trainer(model");
const own = (body: string): string => `class T(Trainer):\n${body}`;
const LOSS = own(
  "    def compute_loss(self, model, inputs, return_outputs=False, **k):\n        return model(**inputs).loss\n",
);

async function runOf(script: string) {
  const [run] = (await createAnalyzer(memoryRuntime({ "train.py": script })).analyse(uri("train.py"), {})).runs;
  return run!;
}

async function notCounted(script: string): Promise<string> {
  const { assumptions } = await runOf(script);
  return assumptions
    .filter(({ id }) => id === "assume.uncounted")
    .map(({ what }) => what)
    .join();
}

describe("analysis: what a script does beside the step", () => {
  it("is said where weights are copied: an average, clones by name", async () => {
    assert.equal(await notCounted(LOAD + LOSS + TRAINS), "");
    assert.match(await notCounted(`${LOAD}ema = EMA(model)\n${LOSS}${TRAINS}`), /EMA/);
    const clones = "shadow = {n: p.detach().clone() for n, p in model.named_parameters()}\n";
    assert.match(await notCounted(LOAD + clones + LOSS + TRAINS), /shadow/);
  });

  it("is counted where copies by name lie on the device", async () => {
    const shadow = "shadow = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}\n";
    const [alone, beside] = await Promise.all([
      runOf(LOAD + TRAINS_ALONE),
      runOf(`${LOAD}model.cuda()\n${shadow}${TRAINS_ALONE}`),
    ]);
    const more = beside.perDevice!.allocatedPeakBytes - alone.perDevice!.allocatedPeakBytes;
    assert.ok(Math.abs(more / (28_763_648 * 4) - 1) < 0.02, String(more));
  });

  it("is said where a loss that is not read has two forwards, or a step two backwards", async () => {
    const twice = (before: string) =>
      own(
        `    def compute_loss(self, model, inputs, **k):\n${before}        a = model(**inputs)\n        b = model(**inputs)\n        return a.loss + b.loss\n`,
      );
    assert.match(await notCounted(LOAD + twice("        while ready():\n            pass\n") + TRAINS), /model/);
    assert.equal(await notCounted(LOAD + twice("") + TRAINS), "");
    const step = own(
      "    def training_step(self, model, inputs, n=None):\n        loss = self.compute_loss(model, inputs)\n        loss.backward(retain_graph=True)\n        (loss * 2).backward()\n",
    );
    assert.match(await notCounted(LOAD + step + TRAINS), /backward/);
  });

  it("leaves the trained model as it is where a copy is frozen", async () => {
    const frozen = "teacher = copy.deepcopy(model)\nfor p in teacher.parameters():\n    p.requires_grad = False\n";
    const used = own(
      "    def compute_loss(self, model, inputs, **k):\n        with torch.no_grad():\n            t = teacher(**inputs)\n        return model(**inputs).loss + t.logits.mean()\n",
    );
    const [alone, beside] = await Promise.all([runOf(LOAD + LOSS + TRAINS), runOf(LOAD + frozen + used + TRAINS)]);
    const weights = 28_763_648 * 4;
    const more = beside.perDevice!.allocatedPeakBytes - alone.perDevice!.allocatedPeakBytes;
    assert.ok(Math.abs(more / weights - 1) < 0.02, String(more));
  });
});
