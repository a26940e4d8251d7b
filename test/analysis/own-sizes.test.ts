/** Sizes of a script's own layers that torch refuses, or that are no numbers, give no verdict and no fault of the engine's. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const TRANSPOSED = "self.head(self.encoder(ids).last_hidden_state.transpose(1, 2)).sum()";

async function runOf(head: string, loss = TRANSPOSED) {
  const script = `import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from transformers import AutoModel
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = AutoModel.from_pretrained("google-bert/bert-base-uncased")
        self.head = ${head}
    def forward(self, ids):
        return ${loss}
model = Own().cuda()
optimizer = torch.optim.SGD(model.parameters())
for ids in DataLoader(torch.randint(0, 500, (100, 128)), batch_size=4):
    loss = model(ids.cuda())
    loss.backward()
    optimizer.step()
`;
  const [run] = (await createAnalyzer(memoryRuntime({ "train.py": script })).analyse(uri("train.py"), {})).runs;
  return run;
}

describe("analysis: sizes of a script's own layers", () => {
  it("have no verdict where torch refuses them", async () => {
    for (const head of [
      "nn.Linear(128, -5)",
      "nn.Linear(2**53 + 1, 2)",
      "nn.Conv1d(768, 8, 3, stride=0)",
      "nn.Conv1d(768, 8, 3, dilation=-1)",
      "nn.Conv1d(768, 8, 3, padding=-1)",
    ])
      assert.equal((await runOf(head))?.perDevice ?? null, null, head);
    assert.notEqual((await runOf("nn.Conv1d(768, 8, 3, padding=0)"))?.perDevice ?? null, null);
  });

  it("have no verdict where a tensor that the module makes has one", async () => {
    const summed = "self.head(self.encoder(ids).last_hidden_state).sum()";
    for (const made of ["torch.zeros(2.5)", "torch.ones(4, -1)", "torch.full((8, 0.5), 1.5)"])
      assert.equal((await runOf("nn.Linear(768, 2)", `(${summed} + ${made}.sum())`))?.perDevice ?? null, null, made);
    const plain = await runOf("nn.Linear(768, 2)", `(${summed} + torch.zeros(2).sum())`);
    assert.notEqual(plain?.perDevice ?? null, null);
  });

  it("have none where they have no end", async () => {
    for (const head of ["nn.Linear(128, 1e400)", "nn.Linear(128, 1e300 * 1e300)", "nn.Linear(128, 1e400 // 2)"])
      assert.equal((await runOf(head))?.perDevice ?? null, null, head);
  });
});
