/** One process that several GPUs are visible to: torch's DataParallel, whose first GPU is counted. */
import assert from "node:assert/strict";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const SCRIPT = `
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", dtype="float32")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, bf16=True)
Trainer(model=model, args=args, train_dataset=data).train()
`;
const LOOP = `
import torch
from transformers import AutoModelForCausalLM
model = torch.nn.DataParallel(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").cuda())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for batch in torch.utils.data.DataLoader(data, batch_size=8):
    model(input_ids=batch["input_ids"], labels=batch["labels"]).loss.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
`;

async function runOf(files: Readonly<Record<string, string>>, path: string) {
  const pins = `runs:\n  - match: "train.py"\n    sequence_length: 512\n${files["pins"] ?? ""}`;
  const analyzer = createAnalyzer(memoryRuntime({ ".vramlens.yaml": pins, ...files }));
  const { runs } = await analyzer.analyse(uri(path), {});
  const [run] = runs;
  assert.ok(run !== undefined);
  return {
    world: run.devices.count,
    peak: run.perDevice?.allocatedPeakBytes ?? 0,
    said: run.assumptions.map(({ id }) => id),
  };
}

const started = (line: string) => runOf({ "train.py": SCRIPT, "run.sh": `${line}\n` }, "run.sh");

describe("one process with several GPUs", () => {
  it("is the Trainer's DataParallel where a command without a launcher shows them", async () => {
    const lines = ["CUDA_VISIBLE_DEVICES=0,1 python train.py", "#SBATCH --gres=gpu:2\npython train.py"];
    const one = await started("CUDA_VISIBLE_DEVICES=0 python train.py");
    for (const line of lines) {
      const { world, peak, said } = await started(line);
      assert.equal(world, 2, line);
      assert.ok(said.includes("assume.trainer-replicas"), line);
      assert.ok(peak > one.peak, line);
    }
    assert.equal(one.world, 1);
  });

  it("is the Trainer's where the script leaves itself several", async () => {
    const script = `import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,1,2"\n${SCRIPT}`;
    assert.equal((await runOf({ "train.py": script }, "train.py")).world, 3);
  });

  it("is none with a launcher, with layers placed over the GPUs, or with packed weights", async () => {
    const launched = await started("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 train.py");
    assert.ok(!launched.said.includes("assume.trainer-replicas"));
    const packed = SCRIPT.replace('dtype="float32"', "load_in_4bit=True");
    const files = { "train.py": packed, "run.sh": "CUDA_VISIBLE_DEVICES=0,1 python train.py\n" };
    assert.equal((await runOf(files, "run.sh")).world, 1);
  });

  it("is a loop's that wraps its model so, on the GPUs that are pinned", async () => {
    const pins = `    device: { name: "A100 80GB", count: 4 }\n`;
    assert.ok((await runOf({ "train.py": LOOP, pins }, "train.py")).said.includes("assume.first-replica"));
    assert.ok((await runOf({ "train.py": LOOP }, "train.py")).said.includes("assume.replicas"));
  });
});
