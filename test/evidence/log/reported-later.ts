/** Failures as in `reported-runs.ts`, found later: scored before a rule was mended on any of them. */
import { ALPACA, data, loop, MIB, type ReportedRun, SCRATCH, SITE, trainer } from "./reported-scripts";
import { cached, reserved, unallocated, uncloned } from "./wordings";

/** OPT-1.3B as DeepSpeed-Chat's first step trains it where nothing is said: 16 texts of 512 tokens (main.py of that step). */
const CHAT = {
  "train.py": trainer({
    model: "facebook/opt-1.3b",
    batch: 16,
    length: 512,
    loading: ', attn_implementation="eager"',
    training: ', fp16=True, gradient_accumulation_steps=8, deepspeed="ds.json"',
  }),
  "ds.json": JSON.stringify({
    zero_optimization: { stage: 0 },
    fp16: { enabled: true },
    train_micro_batch_size_per_gpu: "auto",
    train_batch_size: "auto",
  }),
};

/** Stanford Alpaca's settings with another model or dtype. */
function sharded(
  model: string,
  layer: string,
  dtype: string,
  batch = 1,
  length = 512,
  after = "",
): Readonly<Record<string, string>> {
  const training = `, ${dtype}=True, gradient_accumulation_steps=8, fsdp="full_shard auto_wrap", fsdp_config={"transformer_layer_cls_to_wrap": "${layer}"}`;
  return { "train.py": trainer({ model, batch, length, loading: ', torch_dtype="float32"', after, training }) };
}

/** LLaMA-Factory's example of ZeRO-2. */
const ZERO_2 = JSON.stringify({
  train_batch_size: "auto",
  train_micro_batch_size_per_gpu: "auto",
  gradient_accumulation_steps: "auto",
  gradient_clipping: "auto",
  zero_allow_untested_optimizer: true,
  fp16: { enabled: "auto" },
  bf16: { enabled: "auto" },
  zero_optimization: { stage: 2, overlap_comm: false, contiguous_gradients: true },
});

/** Baichuan's layers have LLaMA's sizes. */
function baichuan(hidden: number, intermediate: number, layers: number, vocabulary: number): string {
  return JSON.stringify({
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    hidden_size: hidden,
    intermediate_size: intermediate,
    num_hidden_layers: layers,
    num_attention_heads: hidden / 128,
    vocab_size: vocabulary,
    max_position_embeddings: 4096,
    tie_word_embeddings: false,
  });
}

export const REPORTED_LATER: readonly ReportedRun[] = [
  {
    thread: "modelscope/ms-swift#411",
    files: {
      "train.py": trainer({
        model: "mistralai/Mistral-7B-v0.1",
        batch: 1,
        length: 4096,
        loading: ', torch_dtype="bfloat16"',
        training: ', optim="adamw_torch", bf16=True, gradient_checkpointing=True, gradient_accumulation_steps=16',
      }),
    },
    frames: [
      [
        "/opt/conda/lib/python3.10/site-packages/torch/optim/adamw.py",
        "_multi_tensor_adamw",
        "denom = torch._foreach_add(exp_avg_sq_sqrt, eps)",
      ],
    ],
    message: reserved({
      asked: "112.00 MiB",
      total: "79.15 GiB",
      free: "112.38 MiB",
      allocated: "76.61 GiB",
      pool: "77.55 GiB",
    }),
    part: "optimizer",
    size: "4096 × 14336 × 2",
    bytes: [112 * MIB],
    is: /foreach/,
  },
  {
    thread: "huggingface/sentence-transformers#896",
    files: {
      "train.py": `import torch
from transformers import AutoModelForSequenceClassification
${data("sentence-transformers/LaBSE", 1, 16)}
model = AutoModelForSequenceClassification.from_pretrained("sentence-transformers/LaBSE", attn_implementation="eager").to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, foreach=False)
for batch in loader:
    optimizer.zero_grad()
    loss = model(input_ids=batch["input_ids"].to("cuda"), labels=batch["label"].to("cuda")).loss
    loss.backward()
    optimizer.step()
`,
    },
    frames: [],
    message: reserved({
      asked: "1.44 GiB",
      total: "15.78 GiB",
      free: "318.00 MiB",
      allocated: "10.88 GiB",
      pool: "14.16 GiB",
    }),
    size: "501153 × 768 × 4",
    bytes: [501153 * 768 * 4],
    is: /embed|zeros_like|sqrt|add|div/,
  },
  {
    thread: "ai-forever/ru-gpts#27",
    files: {
      "train.py": trainer({
        model: "ai-forever/rugpt3large_based_on_gpt2",
        batch: 1,
        length: 256,
        loading: ', attn_implementation="eager"',
        training: ", fp16=True",
      }),
    },
    frames: [],
    message: reserved({
      asked: "26.00 MiB",
      total: "14.76 GiB",
      free: "21.44 MiB",
      allocated: "13.25 GiB",
      pool: "13.84 GiB",
    }),
    size: "1 × 256 × 50257 × 2",
    bytes: [256 * 50257 * 2, 255 * 50257 * 2],
    is: /lm_head|softmax|slice|pad|to_copy/,
  },
  {
    thread: "rubingshen/AugmentedSocialScientist#6",
    files: {
      "train.py": `import torch
from transformers import AutoModelForSequenceClassification
${data("almanach/camembert-base", 32, 512)}
model = AutoModelForSequenceClassification.from_pretrained("almanach/camembert-base", num_labels=3, attn_implementation="eager").to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
for batch in loader:
    optimizer.zero_grad()
    loss = model(input_ids=batch["input_ids"].to("cuda"), labels=batch["label"].to("cuda")).loss
    loss.backward()
    optimizer.step()
`,
    },
    frames: [],
    message: reserved({
      asked: "384.00 MiB",
      total: "14.61 GiB",
      free: "72.62 MiB",
      allocated: "13.70 GiB",
      pool: "13.78 GiB",
    }),
    size: "32 × 12 × 512 × 512 × 4",
    bytes: [384 * MIB],
    is: /attention/,
  },
  {
    thread: "deepspeedai/DeepSpeed#3208",
    files: CHAT,
    frames: [],
    message: reserved({
      asked: "256.00 MiB",
      total: "14.56 GiB",
      free: "230.50 MiB",
      allocated: "13.30 GiB",
      pool: "13.65 GiB",
    }),
    size: "16 × 32 × 512 × 512 × 2",
    bytes: [256 * MIB],
    is: /attn/,
  },
  {
    thread: "deepspeedai/DeepSpeedExamples#279",
    files: CHAT,
    frames: [],
    message: reserved({
      asked: "786.00 MiB",
      total: "39.56 GiB",
      free: "96.56 MiB",
      allocated: "38.49 GiB",
      pool: "38.78 GiB",
    }),
    size: "16 × 512 × 50272 × 2",
    bytes: [16 * 512 * 50272 * 2],
    is: /lm_head|softmax|slice|pad|to_copy/,
  },
  {
    thread: "tatsu-lab/stanford_alpaca#73",
    files: ALPACA,
    ranks: 4,
    frames: [],
    message: reserved({
      asked: "194.00 MiB",
      total: "23.70 GiB",
      free: "127.56 MiB",
      allocated: "22.21 GiB",
      pool: "22.50 GiB",
    }),
    size: "202383360 × 4 / 4",
    bytes: [202383360],
    is: /zeros_like|_to_copy|layers|chunk_cat|foreach|reduce_scatter/,
  },
  {
    thread: "tatsu-lab/stanford_alpaca#86",
    files: sharded("huggyllama/llama-13b", "LlamaDecoderLayer", "fp16"),
    ranks: 2,
    frames: [],
    message: reserved({
      asked: "606.00 MiB",
      gpu: 1,
      total: "79.18 GiB",
      free: "468.31 MiB",
      allocated: "77.07 GiB",
      pool: "77.41 GiB",
    }),
    size: "317204480 × 4 / 2",
    bytes: [317204480 * 2],
    is: /zeros_like|layers|chunk_cat|foreach|reduce_scatter|all_gather/,
  },
  {
    thread: "lm-sys/FastChat#256",
    files: sharded("huggyllama/llama-13b", "LlamaDecoderLayer", "bf16", 4, 2048),
    ranks: 4,
    frames: [],
    message: uncloned(
      "_fsdp_wrapped_module.model.layers.39.mlp.gate_proj.weight",
      reserved({
        asked: "270.00 MiB",
        gpu: 1,
        total: "79.35 GiB",
        free: "72.19 MiB",
        allocated: "76.93 GiB",
        pool: "77.38 GiB",
      }),
      1,
    ),
    part: "saving",
    size: "5120 × 13824 × 4",
    bytes: [5120 * 13824 * 4],
    is: /mlp\.gate_proj/,
  },
  {
    thread: "lm-sys/FastChat#1242",
    files: sharded("huggyllama/llama-7b", "LlamaDecoderLayer", "bf16", 2, 2048),
    ranks: 4,
    frames: [],
    message: uncloned(
      "_fsdp_wrapped_module._fpw_module.model.layers.31.mlp.up_proj.weight",
      reserved({
        asked: "172.00 MiB",
        total: "79.15 GiB",
        free: "56.38 MiB",
        allocated: "73.14 GiB",
        pool: "74.59 GiB",
      }),
    ),
    part: "saving",
    size: "4096 × 11008 × 4",
    bytes: [172 * MIB],
    is: /mlp\.up_proj/,
  },
  {
    thread: "GanjinZero/RRHF#30",
    files: sharded("facebook/opt-13b", "OPTDecoderLayer", "bf16", 1, 192),
    ranks: 4,
    frames: [],
    message: uncloned(
      "lm_head.weight",
      reserved({
        asked: "982.00 MiB",
        gpu: 2,
        total: "79.35 GiB",
        free: "272.19 MiB",
        allocated: "77.16 GiB",
        pool: "77.16 GiB",
      }),
    ),
    part: "saving",
    size: "50272 × 5120 × 4",
    bytes: [50272 * 5120 * 4],
    is: /lm_head|embed_tokens/,
  },
  {
    thread: "s-JoL/Open-Llama#40",
    files: sharded("huggyllama/llama-7b", "LlamaDecoderLayer", "bf16", 2, 2048),
    ranks: 8,
    frames: [],
    message: uncloned(
      "_fsdp_wrapped_module._fpw_module.model.layers.30.self_attn.q_proj.weight",
      reserved({
        asked: "64.00 MiB",
        gpu: 6,
        total: "39.42 GiB",
        free: "16.31 MiB",
        allocated: "36.01 GiB",
        pool: "37.66 GiB",
      }),
    ),
    part: "saving",
    size: "4096 × 4096 × 4",
    bytes: [64 * MIB],
    is: /self_attn\.q_proj/,
  },
  {
    thread: "tatsu-lab/stanford_alpaca#65",
    files: sharded("huggyllama/llama-7b", "LlamaDecoderLayer", "bf16", 4, 512, "model.resize_token_embeddings(32001)"),
    ranks: 4,
    frames: [],
    message: uncloned(
      "lm_head.weight",
      reserved({
        asked: "502.00 MiB",
        gpu: 1,
        total: "39.59 GiB",
        free: "276.19 MiB",
        allocated: "35.54 GiB",
        pool: "37.22 GiB",
      }),
    ),
    part: "saving",
    size: "32001 × 4096 × 4",
    bytes: [32001 * 4096 * 4],
    is: /lm_head/,
  },
  {
    thread: "hiyouga/LlamaFactory#1936",
    files: {
      "rm.yaml":
        "model_name_or_path: meta-llama/Llama-2-13b-hf\nstage: rm\ndo_train: true\nfinetuning_type: lora\nlora_target: q_proj,v_proj\ndataset: comparison_gpt4_en\ntemplate: default\noutput_dir: out\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 4\nlearning_rate: 1.0e-6\nnum_train_epochs: 1.0\nbf16: true\n",
    },
    ranks: 5,
    frames: [
      ["/root/LLaMA-Factory/src/train_bash.py", "main", "run_exp()"],
      ["/root/LLaMA-Factory/src/llmtuner/train/rm/workflow.py", "run_rm", "trainer = PairwiseTrainer("],
      ["/root/LLaMA-Factory/src/llmtuner/train/rm/trainer.py", "__init__", "super().__init__(*args, **kwargs)"],
    ],
    message: unallocated(
      {
        asked: "136.00 MiB",
        total: "23.65 GiB",
        free: "93.81 MiB",
        allocated: "21.51 GiB",
        pool: "2.30 MiB",
        others: [
          [62201, "398.00 MiB"],
          [62203, "398.00 MiB"],
          [62204, "398.00 MiB"],
          [62200, "21.98 GiB"],
          [62202, "398.00 MiB"],
        ],
      },
      "CUDA",
      "capacty",
    ),
    part: "load",
    size: "5120 × 13824 × 2",
    bytes: [5120 * 13824 * 2],
    is: /mlp/,
  },
  {
    thread: "Kyubyong/bert_ner#10",
    files: {
      "train.py": `import torch
from transformers import AutoModelForTokenClassification
${data("bert-base-cased", 8, 128)}
model = AutoModelForTokenClassification.from_pretrained("bert-base-cased", attn_implementation="eager").to("cuda")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False)
for batch in loader:
    optimizer.zero_grad()
    loss = model(input_ids=batch["input_ids"].to("cuda"), labels=batch["labels"].to("cuda")).loss
    loss.backward()
    optimizer.step()
`,
    },
    frames: [],
    message: cached({
      asked: "85.00 MiB",
      total: "4.00 GiB",
      free: "9.21 MiB",
      allocated: "3.04 GiB",
      pool: "15.31 MiB",
    }),
    size: "28996 × 768 × 4",
    bytes: [28996 * 768 * 4],
    is: /embed|zeros_like|sqrt|add|div/,
  },
  {
    thread: "Lightning-AI/litgpt#263",
    files: {
      "config.yaml":
        "checkpoint_dir: checkpoints/tiiuae/falcon-7b\nout_dir: out\nprecision: bf16-mixed\nlora_r: 8\nlora_query: true\nlora_value: true\ntrain:\n  micro_batch_size: 4\n  global_batch_size: 64\n",
    },
    frames: [],
    message: unallocated(
      {
        asked: "316.00 MiB",
        total: "22.20 GiB",
        free: "144.12 MiB",
        allocated: "21.23 GiB",
        pool: "57.37 MiB",
        others: [[573, "22.06 GiB"]],
      },
      "CUDA",
      "capacty",
    ),
    size: "4544 × 18176 × 4",
    bytes: [4544 * 18176 * 4],
    is: /mlp/,
  },
  {
    thread: "Lightning-AI/litgpt#459",
    files: {
      "config.yaml":
        "checkpoint_dir: checkpoints/lmsys/vicuna-7b-v1.5\nout_dir: out\nprecision: bf16-true\nquantize: bnb.nf4-dq\nlora_r: 8\nlora_query: true\nlora_value: true\ntrain:\n  micro_batch_size: 4\n  global_batch_size: 128\n  max_seq_length: 1024\n",
    },
    frames: [],
    message: unallocated(
      {
        asked: "86.00 MiB",
        total: "23.69 GiB",
        free: "83.94 MiB",
        process: "23.57 GiB",
        allocated: "22.22 GiB",
        pool: "1.04 GiB",
      },
      "CUDA",
      "capacty",
    ),
    size: "4096 × 11008 × 2",
    bytes: [86 * MIB],
    is: /mlp/,
  },
  {
    thread: "mistralai/mistral-finetune#69",
    files: {
      "train.py": trainer({
        model: "mistralai/Mistral-7B-v0.1",
        batch: 1,
        length: 32768,
        loading: ', torch_dtype="bfloat16", attn_implementation="flash_attention_2"',
        after: 'model = get_peft_model(model, LoraConfig(r=64, target_modules="all-linear"))',
        training: ", bf16=True, gradient_checkpointing=True",
      }),
    },
    frames: [],
    message: unallocated({
      asked: "896.00 MiB",
      total: "21.99 GiB",
      free: "759.38 MiB",
      process: "0 bytes",
      allocated: "20.52 GiB",
      pool: "102.08 MiB",
    }),
    size: "1 × 32768 × 14336 × 2",
    bytes: [896 * MIB],
    is: /mlp/,
  },
  {
    thread: "yangjianxin1/Firefly#33",
    files: {
      "train.py": trainer({
        model: "./baichuan",
        batch: 1,
        length: 1024,
        loading:
          ', quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype="float16"), torch_dtype="float16", attn_implementation="eager"',
        after:
          'model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)\nmodel = get_peft_model(model, LoraConfig(r=64, target_modules="all-linear", lora_dropout=0.05))',
        training: ', fp16=True, optim="paged_adamw_32bit", gradient_accumulation_steps=16',
      }),
      "baichuan/config.json": baichuan(4096, 11008, 32, 64000),
    },
    frames: [
      [
        `${SITE}/torch/nn/functional.py`,
        "cross_entropy",
        "return torch._C._nn.cross_entropy_loss(input, target, weight, _Reduction.get_enum(reduction), ignore_index, label_smoothing)",
      ],
    ],
    message: reserved({
      asked: "250.00 MiB",
      gpu: 1,
      total: "31.75 GiB",
      free: "209.75 MiB",
      allocated: "30.35 GiB",
      pool: "30.55 GiB",
    }),
    part: "loss",
    size: "1 × 1024 × 64000 × 4",
    bytes: [1024 * 64000 * 4, 1023 * 64000 * 4],
    is: /softmax|cross_entropy|nll/,
  },
  {
    thread: "karpathy/nanoGPT#88 (four ranks)",
    files: { "train.py": loop(SCRATCH, 2, "float16") },
    frames: [],
    message: reserved({
      asked: "394.00 MiB",
      total: "15.78 GiB",
      free: "8.68 GiB",
      allocated: "5.17 GiB",
      pool: "5.25 GiB",
    }),
    size: "2 × 1024 × 50304 × 4",
    bytes: [2 * 1024 * 50304 * 4],
    is: /to_copy|softmax|cross_entropy|nll/,
  },
  {
    thread: "karpathy/nanoGPT#61",
    files: { "train.py": loop(SCRATCH, 8, "bfloat16") },
    frames: [],
    message: reserved({
      asked: "786.00 MiB",
      total: "15.78 GiB",
      free: "620.69 MiB",
      allocated: "14.28 GiB",
      pool: "14.32 GiB",
    }),
    size: "8 × 1024 × 50304 × 2",
    bytes: [8 * 1024 * 50304 * 2],
    is: /lm_head|to_copy/,
  },
  {
    thread: "hiyouga/LlamaFactory#1221",
    files: {
      "full.yaml":
        "model_name_or_path: huggyllama/llama-7b\nstage: sft\ndo_train: true\nfinetuning_type: full\ndeepspeed: ds.json\ndataset: alpaca_gpt4_en\ntemplate: default\noutput_dir: out\nper_device_train_batch_size: 1\noptim: adamw_torch\nfp16: true\n",
      "ds.json": ZERO_2,
    },
    ranks: 8,
    frames: [
      [
        `${SITE}/torch/optim/adamw.py`,
        "_single_tensor_adamw",
        "denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)",
      ],
    ],
    message: reserved({
      asked: "3.14 GiB",
      gpu: 5,
      total: "31.75 GiB",
      free: "1.95 GiB",
      allocated: "28.28 GiB",
      pool: "28.28 GiB",
    }),
    part: "optimizer",
    size: "6738415616 / 8 × 4",
    bytes: [6738415616 / 2],
    is: /sqrt|div|foreach/,
  },
  {
    thread: "hiyouga/LlamaFactory#1158",
    files: {
      "full.yaml":
        "model_name_or_path: ./baichuan2\nstage: sft\ndo_train: true\nfinetuning_type: full\ndeepspeed: ds.json\ndataset: alpaca_gpt4_en\ntemplate: default\ncutoff_len: 1536\noutput_dir: out\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 1\noptim: adamw_torch\nbf16: true\n",
      "baichuan2/config.json": baichuan(5120, 13696, 40, 125696),
      "ds.json": ZERO_2,
    },
    ranks: 4,
    frames: [],
    message: reserved({
      asked: "12.94 GiB",
      gpu: 1,
      total: "79.35 GiB",
      free: "316.12 MiB",
      allocated: "77.65 GiB",
      pool: "77.66 GiB",
    }),
    size: "13896668160 / 4 × 4",
    bytes: [13896668160],
    is: /zeros_like|sqrt|div|foreach|to_copy/,
  },
  {
    thread: "artidoro/qlora#17",
    files: {
      "train.py": trainer({
        model: "huggyllama/llama-65b",
        batch: 4,
        length: 512,
        loading:
          ', quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype="float32"), torch_dtype="float32"',
        after:
          'model = prepare_model_for_kbit_training(model)\nmodel = get_peft_model(model, LoraConfig(r=64, target_modules="all-linear"))',
        training: ', optim="paged_adamw_32bit", gradient_accumulation_steps=4, gradient_checkpointing=True',
      }),
    },
    frames: [
      [
        "/home/u/.qlora/lib/python3.11/site-packages/bitsandbytes/autograd/_functions.py",
        "forward",
        "output = torch.nn.functional.linear(A, F.dequantize_fp4(B, state).to(A.dtype).t(), bias)",
      ],
    ],
    message: reserved({
      asked: "688.00 MiB",
      total: "47.54 GiB",
      free: "79.12 MiB",
      allocated: "45.09 GiB",
      pool: "46.45 GiB",
    }),
    size: "8192 × 22016 × 4",
    bytes: [688 * MIB],
    is: /dequantize|mlp/,
  },
  {
    thread: "facebookresearch/fairseq#4815",
    files: {
      "train.py": trainer({
        model: "facebook/mbart-large-50",
        kind: "AutoModelForSeq2SeqLM",
        batch: 8,
        length: 128,
        loading: ', attn_implementation="eager"',
      }),
    },
    frames: [],
    message: reserved({
      asked: "978.00 MiB",
      total: "15.74 GiB",
      free: "351.00 MiB",
      allocated: "13.76 GiB",
      pool: "14.02 GiB",
    }),
    size: "250054 × 1024 × 4",
    bytes: [250054 * 1024 * 4],
    is: /embed|shared|lm_head|zeros_like|foreach/,
  },
  {
    thread: "deepspeedai/DeepSpeed#3340",
    files: {
      "train.py": trainer({
        model: "bigscience/bloom-1b1",
        batch: 1,
        length: 512,
        loading: ', attn_implementation="eager"',
        training:
          ', per_device_eval_batch_size=16, eval_strategy="epoch", fp16=True, gradient_checkpointing=True, deepspeed="ds.json"',
      }),
      "ds.json": JSON.stringify({
        zero_optimization: { stage: 3 },
        fp16: { enabled: true },
        train_micro_batch_size_per_gpu: "auto",
        train_batch_size: "auto",
      }),
    },
    frames: [],
    message: reserved({
      asked: "3.82 GiB",
      total: "31.75 GiB",
      free: "2.43 GiB",
      allocated: "23.21 GiB",
      pool: "25.59 GiB",
    }),
    size: "16 × 511 × 250880 × 2",
    bytes: [16 * 511 * 250880 * 2],
    is: /slice|contiguous|clone|softmax|lm_head/,
  },
];
