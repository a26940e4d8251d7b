/** Shapes of data that scripts make of numbers. */
import { strict as assert } from "node:assert";
import { madeData } from "../../src/formats/hf-scripts/made-data";
import { parsePython } from "../../src/syntax/python";

const HEAD = `import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
from transformers import AutoModelForSeq2SeqLM, AutoModelForCausalLM
`;
const LOOP = (load: string, batch = "**batch") => `model = ${load}.from_pretrained("x")
opt = torch.optim.AdamW(model.parameters())
for batch in loader:
    model(${batch}).loss.backward()
    opt.step()
`;

function said(text: string, load = "AutoModelForCausalLM"): Record<string, unknown> {
  const { python } = parsePython(HEAD + text + LOOP(load));
  assert.ok(python);
  return Object.fromEntries(madeData(python).map(({ name, value }) => [name, value]));
}

describe("analysis: data that a script makes of numbers", () => {
  it("has the lengths of its tensors, along their first dimension where they make one data set", () => {
    const along =
      "N = 64\nx = torch.randint(0, 9, (256, N))\nloader = DataLoader(TensorDataset(x, torch.ones_like(x)), 8)\n";
    assert.deepEqual(said(along), { sequence_length: 64, padding: "max_length" });
    const own = `class Rows(Dataset):
    def __init__(self, n, length):
        self.n, self.length = n, length
    def __getitem__(self, i):
        return {"input_ids": torch.randint(0, 9, (self.length,)), "labels": torch.full((12,), 3)}
loader = DataLoader(Rows(100, 48), batch_size=2)
`;
    assert.deepEqual(said(own), { sequence_length: 48, padding: "max_length" });
    assert.deepEqual(said(own, "AutoModelForSeq2SeqLM"), {
      sequence_length: 48,
      target_length: 12,
      padding: "max_length",
    });
  });

  it("is a batch by itself where no loader is", () => {
    const batch = "loader = [dict(x=torch.randint(0, 9, (4, 32))) for _ in range(3)]\n";
    assert.deepEqual(said(batch), { sequence_length: 32, micro_batch_size: 4, padding: "max_length" });
  });

  it("is pictures where it has channels, and nothing where its numbers are a mask or weights", () => {
    const pictures =
      "loader = DataLoader(TensorDataset(torch.rand(64, 3, 96, 96), torch.zeros(64, dtype=torch.long)), 8)\n";
    assert.deepEqual(said(pictures), { image_size: 96 });
    assert.deepEqual(said("loader = DataLoader(rows, 8)\nweight = torch.ones(6)\nnoise = torch.randn(4, 32)\n"), {});
  });

  it("is as long as each of the samples that are laid on one another", () => {
    const collated = `def collate(rows):
    return {"input_values": torch.stack([torch.zeros(8000) for _ in rows])}
loader = DataLoader(rows, batch_size=4, collate_fn=collate)
`;
    assert.deepEqual(said(collated, "Wav2Vec2ForCTC"), { audio_seconds: 0.5 });
  });

  it("is as much shorter as what follows is shifted", () => {
    const shifted = `class Rows(Dataset):
    def __getitem__(self, i):
        x = torch.randint(0, 9, (65,))
        return x[:-1], x[1:]
loader = DataLoader(Rows(), batch_size=2)
`;
    assert.deepEqual(said(shifted), { sequence_length: 64, padding: "max_length" });
  });

  it("has the lengths of lists that its samples repeat, and of sums of them", () => {
    const own = `LENGTH = 384
class Rows(Dataset):
    def __getitem__(self, i):
        return {"input_ids": [101] + [5] * (LENGTH - 2) + [102], "labels": 96 * [7], "choices": ["a"] * 900}
loader = DataLoader(Rows(), batch_size=2)
`;
    assert.deepEqual(said(own), { sequence_length: 384, padding: "max_length" });
    assert.deepEqual(said(own, "AutoModelForSeq2SeqLM"), {
      sequence_length: 384,
      target_length: 96,
      padding: "max_length",
    });
    assert.deepEqual(said(own.replace("(LENGTH - 2)", "length_of(i)")), { sequence_length: 96, padding: "max_length" });
  });

  it("has the lengths of rows of a table that is written out, not how many there are", () => {
    const columns = (rows: string): string =>
      `data = Dataset.from_dict({"input_ids": ${rows}, "label": [0] * 4096})\nloader = DataLoader(data, batch_size=2)\n`;
    assert.deepEqual(said(columns("[[1] * 256] * 64")), { sequence_length: 256, padding: "max_length" });
    assert.deepEqual(said(columns("[[1] * 128 for _ in range(64)]")), { sequence_length: 128, padding: "max_length" });
    const rows = 'data = Dataset.from_list([{"input_ids": [1] * 64, "labels": [1] * 64}] * 1000)\n';
    assert.deepEqual(said(rows + "loader = DataLoader(data, batch_size=2)\n"), {
      sequence_length: 64,
      padding: "max_length",
    });
  });

  it("has sizes that a list is spread into", () => {
    const pictures = `side = [96, 72]
class Rows(Dataset):
    def __getitem__(self, i):
        return {"pixel_values": torch.zeros(3, *side)}
loader = DataLoader(Rows(), batch_size=2)
`;
    assert.deepEqual(said(pictures), { image_size: 96 });
  });
});
