/**
 * Failures that people reported with what they ran: settings and figures are the thread's, retold as the shortest script or config that
 * says them; defaults of then are written out. `frames` are the innermost lines that the thread shows. What failed is known by arithmetic
 * (`size`), and by the line where one is shown.
 */
import { ALPACA, data, loop, MIB, type ReportedRun, SCRATCH, SITE, trainer, UNIT } from "./reported-scripts";
import { cached, reserved, unallocated } from "./wordings";

export const REPORTED: readonly ReportedRun[] = [
  {
    thread: "huggingface/sentence-transformers#304",
    files: {
      "train.py": trainer({ model: "roberta-base", kind: "AutoModelForMaskedLM", batch: 32, length: 256, mlm: true }),
    },
    frames: [
      [`${SITE}/torch/nn/functional.py`, "cross_entropy", "return nll_loss(log_softmax(input, 1), target)"],
      [`${SITE}/torch/nn/functional.py`, "log_softmax", "ret = input.log_softmax(dim)"],
    ],
    message: reserved({
      asked: "1.54 GiB",
      total: "11.17 GiB",
      free: "347.81 MiB",
      allocated: "10.42 GiB",
      pool: "10.46 GiB",
    }),
    part: "loss",
    size: "32 × 256 × 50265 × 4",
    bytes: [32 * 256 * 50265 * 4],
    is: /log_softmax/,
  },
  {
    thread: "huggingface/transformers#7177",
    files: {
      "train.py": trainer({ model: "gpt2", batch: 8, length: 1024, loading: ', attn_implementation="eager"' }),
    },
    frames: [],
    message: reserved({
      asked: "384.00 MiB",
      total: "15.90 GiB",
      free: "225.81 MiB",
      allocated: "14.75 GiB",
      pool: "14.81 GiB",
    }),
    size: "8 × 12 × 1024 × 1024 × 4",
    bytes: [384 * MIB],
    is: /attn/,
  },
  {
    thread: "huggingface/transformers#3360",
    files: {
      "train.py": trainer({ model: "gpt2", batch: 4, length: 1024, loading: ', attn_implementation="eager"' }),
    },
    frames: [],
    message: reserved({
      asked: "786.00 MiB",
      total: "14.73 GiB",
      free: "575.88 MiB",
      allocated: "13.33 GiB",
      pool: "13.38 GiB",
    }),
    size: "4 × 1024 × 50257 × 4",
    bytes: [4 * 1024 * 50257 * 4, 4 * 1023 * 50257 * 4],
    is: /lm_head|softmax|cross_entropy|contiguous|clone|nll/,
  },
  {
    thread: "tloen/alpaca-lora#329",
    files: {
      "train.py": trainer({
        model: "huggyllama/llama-7b",
        batch: 8,
        length: 512,
        loading:
          ', quantization_config=BitsAndBytesConfig(load_in_8bit=True), torch_dtype="float16", attn_implementation="eager"',
        after:
          'model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)\nmodel = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], lora_dropout=0.05))',
        training: ", fp16=True, gradient_checkpointing=False",
      }),
    },
    frames: [
      [
        `${SITE}/transformers/models/llama/modeling_llama.py`,
        "forward",
        "attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query_states.dtype)",
      ],
    ],
    message: reserved({
      asked: "128.00 MiB",
      total: "39.41 GiB",
      free: "64.50 MiB",
      allocated: "37.41 GiB",
      pool: "38.15 GiB",
    }),
    part: "forward",
    size: "8 × 32 × 512 × 512 × 2",
    bytes: [128 * MIB],
    is: /self_attn/,
  },
  {
    thread: "tatsu-lab/stanford_alpaca#221",
    files: {
      "train.py": trainer({
        model: "huggyllama/llama-7b",
        batch: 1,
        length: 512,
        loading: ', torch_dtype="float32"',
        training: ", fp16=True",
      }),
    },
    frames: [
      [
        "/usr/local/lib/python3.10/site-packages/transformers/trainer.py",
        "training_step",
        "self.scaler.scale(loss).backward()",
      ],
      ["/usr/local/lib/python3.10/site-packages/torch/_tensor.py", "backward", "torch.autograd.backward("],
      [
        "/usr/local/lib/python3.10/site-packages/torch/autograd/__init__.py",
        "backward",
        "Variable._execution_engine.run_backward(",
      ],
    ],
    message:
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 86.00 MiB (GPU 0; 79.35 GiB total capacity",
    part: "backward",
    size: "4096 × 11008 × 2",
    bytes: [86 * MIB],
    is: /mlp/,
  },
  {
    thread: "tatsu-lab/stanford_alpaca#223",
    files: {
      "train.py": trainer({
        model: "huggyllama/llama-7b",
        batch: 1,
        length: 512,
        loading: ', torch_dtype="float32"',
        training:
          ', fp16=True, gradient_accumulation_steps=8, fsdp="full_shard auto_wrap", fsdp_config={"transformer_layer_cls_to_wrap": "LlamaDecoderLayer"}',
      }),
    },
    ranks: 5,
    frames: [],
    message: reserved({
      asked: "388.00 MiB",
      gpu: 3,
      total: "31.75 GiB",
      free: "340.94 MiB",
      allocated: "28.42 GiB",
      pool: "30.39 GiB",
    }),
    size: "202383360 × 2",
    bytes: [202383360 * 2],
    is: UNIT,
  },
  {
    thread: "huggingface/transformers#2084",
    files: {
      "train.py": trainer({
        model: "bert-large-uncased-whole-word-masking",
        kind: "AutoModelForQuestionAnswering",
        batch: 24,
        length: 384,
        loading: ', attn_implementation="eager"',
        training: ", gradient_accumulation_steps=12",
      }),
    },
    ranks: 8,
    frames: [],
    message: "RuntimeError: CUDA out of memory. Tried to allocate 216.00 MiB",
    size: "24 × 16 × 384 × 384 × 4",
    bytes: [216 * MIB],
    is: /attention/,
  },
  {
    thread: "huggingface/transformers#15170",
    files: {
      "train.py": trainer({
        model: "sshleifer/distilbart-xsum-12-6",
        kind: "AutoModelForSeq2SeqLM",
        batch: 8,
        length: 1024,
        loading: ', attn_implementation="eager"',
      }),
    },
    frames: [],
    message: reserved({
      asked: "512.00 MiB",
      total: "14.76 GiB",
      free: "419.75 MiB",
      allocated: "13.49 GiB",
      pool: "13.54 GiB",
    }),
    size: "8 × 16 × 1024 × 1024 × 4",
    bytes: [512 * MIB],
    is: /attn/,
  },
  {
    thread: "AetherCortex/Llama-X#12",
    files: {
      "train.py": trainer({
        model: "huggyllama/llama-7b",
        batch: 64,
        length: 512,
        loading: ', torch_dtype="float32"',
        training: ', fp16=True, gradient_checkpointing=True, deepspeed="ds.json"',
      }),
      "ds.json": JSON.stringify({
        zero_optimization: {
          stage: 3,
          offload_optimizer: { device: "cpu", pin_memory: true },
          offload_param: { device: "cpu", pin_memory: true },
          overlap_comm: true,
          contiguous_gradients: true,
          sub_group_size: 0,
        },
        fp16: { enabled: true },
        train_micro_batch_size_per_gpu: "auto",
        train_batch_size: "auto",
      }),
    },
    ranks: 8,
    frames: [],
    message: reserved({
      asked: "688.00 MiB",
      gpu: 6,
      total: "31.75 GiB",
      free: "41.94 MiB",
      allocated: "29.87 GiB",
      pool: "30.29 GiB",
    }),
    size: "64 × 512 × 11008 × 2",
    bytes: [688 * MIB],
    is: /mlp/,
  },
  {
    thread: "EricFillion/happy-transformer#333",
    files: {
      "train.py": trainer({
        model: "meta-llama/Llama-2-7b-hf",
        batch: 1,
        length: 512,
        loading: ', torch_dtype="float32"',
        training: ', fp16=True, deepspeed="ds.json"',
      }),
      "ds.json": JSON.stringify({
        zero_optimization: { stage: 2 },
        fp16: { enabled: true },
        train_micro_batch_size_per_gpu: "auto",
        train_batch_size: "auto",
      }),
    },
    frames: [],
    message: reserved({
      asked: "25.10 GiB",
      total: "79.15 GiB",
      free: "15.26 GiB",
      allocated: "62.79 GiB",
      pool: "62.79 GiB",
    }),
    size: "6738415616 × 4",
    bytes: [6738415616 * 4],
    is: /zeros_like|_to_copy|cat|empty|flatten/,
  },
  {
    thread: "axolotl-ai-cloud/axolotl#1717",
    files: {
      "config.yaml":
        "base_model: meta-llama/Meta-Llama-3-70B\nload_in_4bit: true\nadapter: qlora\nlora_r: 16\nlora_alpha: 16\nlora_target_linear: true\nsequence_len: 512\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\noptimizer: adamw_torch\nbf16: true\ngradient_checkpointing: true\ndatasets:\n  - path: data.jsonl\n    type: completion\n",
    },
    frames: [
      ["/opt/axolotl/lib/python3.11/site-packages/torch/nn/modules/module.py", "convert", "return t.to("],
      [
        "/opt/axolotl/lib/python3.11/site-packages/bitsandbytes/nn/modules.py",
        "to",
        "super().to(device=device, dtype=dtype, non_blocking=non_blocking),",
      ],
    ],
    message: unallocated({
      asked: "112.00 MiB",
      total: "23.68 GiB",
      free: "60.31 MiB",
      process: "23.61 GiB",
      allocated: "23.15 GiB",
      pool: "64.54 MiB",
    }),
    part: "load",
    size: "8192 × 28672 / 2",
    bytes: [112 * MIB],
    is: /mlp/,
  },
  {
    thread: "deepspeedai/DeepSpeedExamples#522",
    files: {
      "train.py": trainer({
        model: "EleutherAI/gpt-neo-1.3B",
        batch: 1,
        length: 256,
        loading: ', torch_dtype="float32"',
        training: ', fp16=True, gradient_checkpointing=True, deepspeed="ds.json"',
      }),
      "ds.json": JSON.stringify({
        zero_optimization: { stage: 0 },
        fp16: { enabled: true },
        optimizer: { type: "AdamW", params: { lr: 1e-3 } },
        train_micro_batch_size_per_gpu: "auto",
        train_batch_size: "auto",
      }),
    },
    frames: [],
    message: reserved({
      asked: "4.90 GiB",
      total: "15.90 GiB",
      free: "2.42 GiB",
      allocated: "12.35 GiB",
      pool: "12.72 GiB",
    }),
    size: "1315575808 × 4",
    bytes: [1315575808 * 4],
    is: /zeros_like|_to_copy|cat|empty|flatten/,
  },
  {
    thread: "PrimeIntellect-ai/verifiers#106",
    files: {
      "train.py": trainer({
        model: "Qwen/Qwen2.5-72B-Instruct",
        batch: 1,
        length: 1024,
        loading: ', torch_dtype="bfloat16"',
        after: 'model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))',
        training: ", bf16=True",
      }),
    },
    frames: [
      ["/venv/main/lib/python3.12/site-packages/transformers/trainer.py", "train", "return inner_training_loop("],
      ["/venv/main/lib/python3.12/site-packages/torch/nn/modules/module.py", "convert", "return t.to("],
    ],
    message: unallocated({
      asked: "462.00 MiB",
      gpu: 1,
      total: "79.19 GiB",
      free: "405.00 MiB",
      allocated: "77.40 GiB",
      pool: "416.38 MiB",
    }),
    part: "load",
    size: "8192 × 29568 × 2",
    bytes: [462 * MIB],
    is: /mlp/,
  },
  {
    thread: "tatsu-lab/stanford_alpaca#189",
    files: ALPACA,
    ranks: 1,
    frames: [],
    message: reserved({
      asked: "774.00 MiB",
      total: "80.00 GiB",
      free: "791.50 MiB",
      allocated: "71.96 GiB",
      pool: "72.18 GiB",
    }),
    size: "202383360 × 4",
    bytes: [202383360 * 4],
    is: UNIT,
  },
  {
    thread: "tatsu-lab/stanford_alpaca#218",
    files: ALPACA,
    ranks: 1,
    frames: [],
    message: reserved({
      asked: "774.00 MiB",
      total: "11.76 GiB",
      free: "697.94 MiB",
      allocated: "10.58 GiB",
      pool: "10.61 GiB",
    }),
    size: "202383360 × 4",
    bytes: [202383360 * 4],
    is: UNIT,
  },
  {
    thread: "lm-sys/FastChat#1781",
    files: {
      "train.py": trainer({
        model: "huggyllama/llama-7b",
        batch: 2,
        length: 2048,
        loading: ', torch_dtype="float32"',
        training:
          ', bf16=True, gradient_accumulation_steps=16, gradient_checkpointing=True, fsdp="full_shard auto_wrap", fsdp_config={"transformer_layer_cls_to_wrap": "LlamaDecoderLayer"}',
      }),
    },
    ranks: 4,
    frames: [],
    message: reserved({
      asked: "98.00 MiB",
      gpu: 2,
      total: "39.59 GiB",
      free: "16.19 MiB",
      allocated: "37.33 GiB",
      pool: "37.68 GiB",
    }),
    size: "202383360 × 2 / 4",
    bytes: [202383360 / 2],
    is: UNIT,
  },
  {
    thread: "huggingface/transformers#1819",
    files: {
      "train.py": trainer({ model: "gpt2", batch: 1, length: 1024, loading: ', attn_implementation="eager"' }),
    },
    frames: [
      ["run_lm_finetuning.py", "train", "loss.backward()"],
      [`${SITE}/torch/tensor.py`, "backward", "torch.autograd.backward(self, gradient, retain_graph, create_graph)"],
      [`${SITE}/torch/autograd/__init__.py`, "backward", "allow_unreachable=True)  # allow_unreachable flag"],
    ],
    message: cached({
      asked: "198.00 MiB",
      total: "5.93 GiB",
      free: "54.94 MiB",
      allocated: "4.64 GiB",
      pool: "233.05 MiB",
    }),
    part: "backward",
    size: "1 × 1024 × 50257 × 4",
    bytes: [1024 * 50257 * 4, 1023 * 50257 * 4],
    is: /lm_head|softmax|cross_entropy|nll|pad|slice/,
  },
  {
    thread: "pytorch/pytorch#29198",
    files: {
      "train.py": `import torch
from transformers import AutoModelForSequenceClassification
${data("bert-base-multilingual-cased", 8, 128)}
model = AutoModelForSequenceClassification.from_pretrained("bert-base-multilingual-cased", attn_implementation="eager").to("cuda")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False)
for batch in loader:
    optimizer.zero_grad()
    loss = model(input_ids=batch["input_ids"].to("cuda"), labels=batch["label"].to("cuda")).loss
    loss.backward()
    optimizer.step()
`,
    },
    frames: [
      ["train.py", "train", "optimizer.step()"],
      [`${SITE}/torch/optim/adam.py`, "step", "state['exp_avg_sq'] = torch.zeros_like(p.data)"],
    ],
    message: cached({
      asked: "352.00 MiB",
      total: "7.92 GiB",
      free: "156.00 MiB",
      allocated: "1.67 GiB",
      pool: "124.28 MiB",
    }),
    part: "optimizer",
    size: "119547 × 768 × 4",
    bytes: [119547 * 768 * 4],
    is: /zeros_like/,
  },
  {
    thread: "karpathy/nanoGPT#88",
    files: { "train.py": loop(SCRATCH, 32, "float16") },
    frames: [],
    message:
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.14 GiB (GPU 0; 15.78 GiB total capacity",
    size: "32 × 1024 × 50304 × 4",
    bytes: [32 * 1024 * 50304 * 4],
    is: /to_copy|softmax|cross_entropy|nll/,
  },
  {
    thread: "karpathy/nanoGPT#208",
    files: { "train.py": loop('from_pretrained("gpt2-xl")', 1, "bfloat16") },
    frames: [],
    message: reserved({
      asked: "100.00 MiB",
      total: "23.68 GiB",
      free: "85.06 MiB",
      allocated: "21.67 GiB",
      pool: "21.92 GiB",
    }),
    size: "1 × 1024 × 50257 × 2",
    bytes: [1024 * 50257 * 2],
    is: /lm_head/,
  },
  {
    thread: "karpathy/nanoGPT#391",
    files: {
      "train.py": `import torch
from transformers import LlamaConfig, LlamaForCausalLM
${data("huggyllama/llama-7b", 8, 256)}
config = LlamaConfig(hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32, vocab_size=32000)
model = LlamaForCausalLM(config).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cuda")
for batch in loader:
    x = batch["input_ids"].to("cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(input_ids=x, labels=x).loss
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
`,
    },
    frames: [
      ["/content/llama2.c/train.py", "<module>", "scaler.scale(loss).backward()"],
      ["/usr/local/lib/python3.10/dist-packages/torch/_tensor.py", "backward", "torch.autograd.backward("],
      [
        "/usr/local/lib/python3.10/dist-packages/torch/autograd/__init__.py",
        "backward",
        "Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass",
      ],
    ],
    message: unallocated(
      {
        asked: "172.00 MiB",
        total: "39.56 GiB",
        free: "52.56 MiB",
        allocated: "37.80 GiB",
        pool: "336.39 MiB",
        others: [[263789, "39.51 GiB"]],
      },
      "CUDA",
      "capacty",
    ),
    part: "backward",
    size: "4096 × 11008 × 4",
    bytes: [172 * MIB],
    is: /mlp/,
  },
  {
    thread: "huggingface/transformers#2784",
    files: {
      "train.py": trainer({ model: "gpt2", batch: 1, length: 1024, loading: ', attn_implementation="eager"' }),
    },
    frames: [],
    message: reserved({
      asked: "12.00 MiB",
      total: "6.00 GiB",
      free: "3.06 MiB",
      allocated: "4.44 GiB",
      pool: "4.57 GiB",
    }),
    size: "1 × 1024 × 3072 × 4",
    bytes: [12 * MIB],
    is: /mlp/,
  },
  {
    thread: "tatsu-lab/stanford_alpaca#76",
    files: ALPACA,
    ranks: 4,
    frames: [],
    message: reserved({
      asked: "388.00 MiB",
      gpu: 2,
      total: "23.70 GiB",
      free: "315.69 MiB",
      allocated: "21.91 GiB",
      pool: "22.09 GiB",
    }),
    size: "202383360 × 2",
    bytes: [202383360 * 2],
    is: UNIT,
  },
  {
    thread: "huggingface/trl#1667",
    files: {
      "train.py": `import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from trl import DPOConfig, DPOTrainer

NAME = "mistralai/Mistral-7B-Instruct-v0.2"
model = AutoModelForCausalLM.from_pretrained(NAME, quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16))
args = DPOConfig(output_dir="out", per_device_train_batch_size=4, bf16=True, max_length=1024)
trainer = DPOTrainer(model, args=args, train_dataset=load_dataset("json", data_files="pairs.json", split="train"), processing_class=AutoTokenizer.from_pretrained(NAME), peft_config=LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
trainer.train()
`,
    },
    frames: [],
    message: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU ",
    size: "4096 × 14336 × 2",
    bytes: [112 * MIB],
    is: /mlp/,
  },
];
