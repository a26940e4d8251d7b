/** What a Lightning module freezes as it is made, and the sizes that its data set makes. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const SCRIPT = `import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import Adafactor, T5ForConditionalGeneration


class Pairs(Dataset):
    def __init__(self, src_len=256, tgt_len=64):
        self.src_len, self.tgt_len = src_len, tgt_len

    def __len__(self):
        return 64

    def __getitem__(self, i):
        return {
            "input_ids": torch.ones(self.src_len, dtype=torch.long),
            "attention_mask": torch.ones(self.src_len, dtype=torch.long),
            "labels": torch.ones(self.tgt_len, dtype=torch.long),
        }


class Summarizer(L.LightningModule):
    def __init__(self, name="google-t5/t5-base", lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.model = T5ForConditionalGeneration.from_pretrained(name)
        for p in self.model.encoder.parameters():
            p.requires_grad = False

    def forward(self, batch):
        return self.model(**batch)

    def training_step(self, batch, idx):
        loss = self(batch).loss
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return Adafactor(filter(lambda p: p.requires_grad, self.parameters()), lr=self.hparams.lr, scale_parameter=False, relative_step=False)


if __name__ == "__main__":
    model = Summarizer()
    model.train()
    trainer = L.Trainer(max_steps=3, accelerator="gpu", devices=1, precision="bf16-mixed", accumulate_grad_batches=2, gradient_clip_val=1.0, logger=False, enable_checkpointing=False)
    trainer.fit(model, DataLoader(Pairs(), batch_size=8, shuffle=True))
`;

describe("analysis: a Lightning module that freezes a part of its model", () => {
  it("trains the rest, on batches of the data set's sizes", async () => {
    const analyzer = createAnalyzer(memoryRuntime({ "train.py": SCRIPT }));
    const [run] = (await analyzer.analyse(uri("train.py"), {})).runs;
    // Lightning and transformers on fake CUDA tensors: 2,238,821,888 bytes allocated.
    const off = (run?.perDevice?.allocatedPeakBytes ?? 0) / 2_238_821_888 - 1;
    assert.ok(Math.abs(off) < 3e-3, `${(100 * off).toFixed(3)} %`);
  });
});
