/** What failures that people reported with what they ran are written of: rows, and the shortest scripts that say their settings. */
import type { Part } from "../../../src/evidence/log/phase-rules";
import type { Row } from "./shapes";

export interface ReportedRun {
  readonly thread: string;
  readonly files: Readonly<Record<string, string>>;
  readonly ranks?: number;
  readonly frames: readonly Row[];
  readonly message: string;
  /** Where the thread says it. */
  readonly part?: Part;
  /** Bytes that were asked for, as a product. */
  readonly size: string;
  readonly bytes: readonly number[];
  /** Its operator or module. */
  readonly is: RegExp;
}

interface Script {
  readonly model: string;
  readonly kind?: string;
  readonly batch: number;
  readonly length: number;
  readonly loading?: string;
  readonly after?: string;
  readonly training?: string;
  readonly mlm?: boolean;
}

/** A script of the Trainer with the settings of a thread. */
export function trainer({ model, kind = "AutoModelForCausalLM", batch, length, ...more }: Script): string {
  const { loading = "", after = "", training = "", mlm = false } = more;
  return `from datasets import load_dataset
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoTokenizer, BitsAndBytesConfig, DataCollatorForLanguageModeling, Trainer, TrainingArguments, ${kind}

tokenizer = AutoTokenizer.from_pretrained("${model}")
model = ${kind}.from_pretrained("${model}"${loading})
${after}
dataset = load_dataset("text", data_files="input.txt", split="train")
dataset = dataset.map(lambda x: tokenizer(x["text"], truncation=True, max_length=${length}, padding="max_length"), batched=True)
args = TrainingArguments(output_dir="out", per_device_train_batch_size=${batch}${training})
trainer = Trainer(model=model, args=args, train_dataset=dataset, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=${mlm ? "True" : "False"}))
trainer.train()
`;
}

/** What a loop of one's own reads: texts of a length, so many at a time. */
export function data(tokenizer: string, batch: number, length: number): string {
  return `from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("${tokenizer}")
dataset = load_dataset("text", data_files="input.txt", split="train")
dataset = dataset.map(lambda x: tokenizer(x["text"], truncation=True, max_length=${length}, padding="max_length"), batched=True)
loader = DataLoader(dataset.with_format("torch"), batch_size=${batch})
`;
}

/** nanoGPT's loop over GPT-2 of a size, with the settings of a thread: its loss is over every position, outside of the model. */
export function loop(made: string, batch: number, dtype: string): string {
  return `import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM
${data("gpt2", batch, 1024)}
model = AutoModelForCausalLM.${made}.to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for batch in loader:
    x = batch["input_ids"].to("cuda")
    y = batch["labels"].to("cuda")
    with torch.autocast("cuda", dtype=torch.${dtype}):
        logits = model(input_ids=x).logits
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
`;
}

/** GPT-2 with nanoGPT's vocabulary, from scratch. */
export const SCRATCH = 'from_config(AutoConfig.from_pretrained("gpt2", vocab_size=50304))';
export const MIB = 2 ** 20;
/** A wrapped layer's buffers of FSDP, which have no module: gathered weights, gradients, what a rank keeps of either. */
export const UNIT = /layers|chunk_cat|foreach_copy|reduce_scatter|all_gather/;
export const SITE = "/usr/local/lib/python3.6/dist-packages";

/** Stanford Alpaca as its README starts it, on the one GPU that both askers had. */
export const ALPACA = {
  "train.py": trainer({
    model: "huggyllama/llama-7b",
    batch: 1,
    length: 512,
    loading: ', torch_dtype="float32"',
    training:
      ', bf16=True, gradient_accumulation_steps=8, fsdp="full_shard auto_wrap", fsdp_config={"transformer_layer_cls_to_wrap": "LlamaDecoderLayer"}',
  }),
};
