/** FSDP2 with parameters on the host, as frameworks with keys of their own ask for it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const TORCHTUNE = (offload: boolean) => `model:
  _component_: torchtune.models.llama3_2.llama3_2_3b
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: 512
dataset:
  _component_: torchtune.datasets.alpaca_dataset
  packed: true
batch_size: 1
gradient_accumulation_steps: 1
optimizer:
  _component_: torch.optim.AdamW
  fused: true
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
enable_activation_checkpointing: true
fsdp_cpu_offload: ${offload}
dtype: bf16
`;

const TORCHTITAN = (offload: boolean) => `[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 1
seq_len = 512
enable_cpu_offload = ${offload}

[parallelism]
data_parallel_shard_degree = -1

[activation_checkpoint]
mode = "full"
`;

async function kinds(name: string, text: string): Promise<ReadonlySet<string>> {
  const files = { [name]: `# vramlens: gpu=H100 gpus=8\n${text}` };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(name), {})).runs;
  assert.ok(run?.perDevice, run?.verdict);
  return new Set(run.perDevice.components.filter(({ bytes }) => bytes > 2 ** 28).map(({ kind }) => kind));
}

describe("analysis: FSDP with parameters on the host", () => {
  for (const [framework, name, config] of [
    ["torchtune", "recipe.yaml", TORCHTUNE],
    ["torchtitan", "job.toml", TORCHTITAN],
  ] as const)
    it(`${framework}'s key takes the optimizer's states with them`, async () => {
      const [here, there] = [await kinds(name, config(false)), await kinds(name, config(true))];
      assert.ok(here.has("optimizer") && here.has("weights"), [...here].join(" "));
      assert.ok(!there.has("optimizer") && !there.has("weights"), [...there].join(" "));
    });
});
