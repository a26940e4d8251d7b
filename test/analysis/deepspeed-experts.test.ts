/** A model that DeepSpeed's experts are put into is another one: no number that leaves them out. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const script = (experts: string): string => `import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
from deepspeed.moe.layer import MoE

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16).cuda()
${experts}
optimizer = torch.optim.AdamW(model.parameters())
for batch in DataLoader(data, batch_size=4):
    out = model(**batch, labels=batch["input_ids"])
    out.loss.backward()
    optimizer.step()
`;
const command = (more: string): string =>
  `torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 --micro-batch-size 4 --global-batch-size 32 --bf16 ${more}\n`;

async function estimated(name: string, text: string): Promise<boolean> {
  const files = { [name]: text, ".vramlens.yaml": "runs:\n  - sequence_length: 512\n    device: { name: H100 }\n" };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(name), {})).runs;
  assert.ok(run, name);
  return run.perDevice !== null;
}

describe("DeepSpeed's experts", () => {
  it("in a script leave it without an estimate", async () => {
    const put = "for layer in model.model.layers:\n    layer.mlp = MoE(896, layer.mlp, num_experts=8, ep_size=4)";
    assert.ok(await estimated("train.py", script("")));
    assert.ok(!(await estimated("train.py", script(put))));
  });

  it("in Megatron-DeepSpeed leave a command without one", async () => {
    assert.ok(await estimated("train.sh", command("--num-experts 8 --moe-router-topk 2")));
    assert.ok(!(await estimated("train.sh", command("--num-experts 8 --moe-expert-parallel-size 4"))));
    assert.ok(await estimated("train.sh", command("--num-experts 1 --moe-expert-parallel-size 1")));
  });
});
