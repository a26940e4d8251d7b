/** Whose code is counted, where it is not the code that runs: the first line of a hover says it, and the band has room for it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

interface Case {
  readonly file: string;
  readonly text: string;
  /** A word of the text that is hovered. */
  readonly key: string;
  readonly said: RegExp;
}

const LITGPT = `checkpoint_dir: checkpoints/mistralai/Mixtral-8x7B-v0.1
precision: bf16-true
quantize: bnb.nf4
lora_r: 16
lora_query: true
lora_value: true
train:
  micro_batch_size: 1
  max_seq_length: 512
`;

const CASES: readonly Case[] = [
  {
    file: "run.sh",
    text: "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --bf16 --vocab-size 50257\n",
    key: "--micro-batch-size",
    said: /transformers' code stands in for Megatron-LM's/,
  },
  {
    file: "run.sh",
    text: "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-7B-Instruct --tensor_model_parallel_size 4 --micro_batch_size 2 --max_length 4096 --dataset a\n",
    key: "--micro_batch_size",
    said: /transformers' code stands in for Megatron-core's/,
  },
  { file: "finetune.yaml", text: LITGPT, key: "micro_batch_size", said: /transformers' code stands in for litgpt's/ },
  {
    file: "config.toml",
    text: 'pretrained_model_name_or_path = "stabilityai/stable-diffusion-xl-base-1.0"\ntrain_data_dir = "data"\noutput_dir = "out"\nnetwork_module = "networks.lora"\nnetwork_dim = 32\ntrain_batch_size = 2\nresolution = "1024,1024"\nmixed_precision = "bf16"\noptimizer_type = "AdamW8bit"\nmax_train_steps = 2000\ngradient_checkpointing = true\ncache_latents = true\n',
    key: "train_batch_size",
    said: /diffusers' code stands in for sd-scripts's$/,
  },
  {
    file: "train.py",
    text: `from unsloth import FastLanguageModel
from trl import SFTTrainer, SFTConfig
model, tokenizer = FastLanguageModel.from_pretrained(model_name="unsloth/Meta-Llama-3.1-8B-bnb-4bit", max_seq_length=2048, load_in_4bit=True)
model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj", "v_proj"])
trainer = SFTTrainer(model=model, train_dataset=dataset, args=SFTConfig(per_device_train_batch_size=2, bf16=True, output_dir="o"))
trainer.train()
`,
    key: "per_device_train_batch_size",
    said: /Unsloth's kernels counted as plain ones/,
  },
];

async function shown({ file, text, key }: Omit<Case, "said">) {
  const found = await createAnalyzer(memoryRuntime({ [file]: text })).analyse(uri(file), { device: "80GB" });
  const before = text.slice(0, text.indexOf(key) + 2).split("\n");
  const hover = await found.hover(before.length - 1, before.at(-1)!.length);
  return { first: hover?.markdown.split("\n")[0] ?? "", run: found.report.runs[0] };
}

describe("analysis: code that stands in", () => {
  for (const { said, ...one } of CASES)
    it(`is in the first line: ${said.source}`, async () => {
      const { first, run } = await shown(one);
      assert.match(first, said);
      const { lowBytes = 0, highBytes = 0 } = run?.perDevice?.band ?? {};
      const used = run?.perDevice?.usedPeakBytes ?? 0;
      assert.ok(lowBytes < 0.9 * used && highBytes > 1.1 * used, first);
    });

  for (const { said, ...one } of CASES)
    it(`is in the report's statement, with a band of which nothing is claimed: ${said.source}`, async () => {
      const { statement } = (await shown(one)).run ?? {};
      assert.match(statement?.standsIn ?? "", said);
      assert.match(statement?.claim ?? "", /no measured run had this stand-in/);
    });

  it("packs experts that are linear layers in the code that runs", async () => {
    const { run } = await shown({ file: "finetune.yaml", text: LITGPT, key: "micro_batch_size" });
    const weights = run?.perDevice?.components.find(({ kind }) => kind === "weights")?.bytes ?? 0;
    // 45.1 of 46.7 billion parameters are experts: half a byte each with its scales, two bytes for embeddings and head.
    assert.ok(weights < 26 * 2 ** 30, `${weights / 2 ** 30} GiB`);
    assert.notEqual(run?.verdict, "does-not-fit");
  });
});
