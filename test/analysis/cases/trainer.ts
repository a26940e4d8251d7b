/** Findings about runs of the Hugging Face Trainer and TRL. */
import { type Case, pins, script, sft } from "./base";

const PEFT = ["use_peft: true", "lora_r: 16", "lora_alpha: 32", "lora_target_modules: all-linear"] as const;

export const TRAINER_CASES: Readonly<Record<string, Case>> = {
  "checkpointing-in-evaluation": {
    story: "A loop from a notebook: checkpointing is on, and memory does not go down.",
    files: {
      "train.py": [
        "import torch",
        "from transformers import AutoModelForCausalLM",
        "",
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").cuda()',
        "model.gradient_checkpointing_enable()",
        "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)",
        "for batch in torch.utils.data.DataLoader(data, batch_size=4):",
        "    loss = model(**batch).loss",
        "    loss.backward()",
        "    optimizer.step()",
        "    optimizer.zero_grad()",
        "",
      ].join("\n"),
    },
  },
  "contradictory-keys": {
    story: "fp16 from a Colab notebook, bf16 from the cluster's config.",
    files: sft("fp16: true"),
    fixed: true,
  },
  "ignored-key": {
    story: "LoRA's rank without the switch that turns LoRA on.",
    files: sft("lora_r: 16", "lora_alpha: 32"),
    fixed: true,
  },
  "fp32-load": {
    story: "No dtype: TRL loads the weights in float32, and twice the memory is gone before the first step.",
    files: sft("!dtype"),
    fixed: true,
    estimated: true,
  },
  "fp16-weights": {
    story: "Weights loaded in float16 and fp16 training: the scaler cannot unscale their gradients.",
    files: script(["!bf16", "fp16: true"], "dtype: float16"),
    estimated: true,
  },
  "half-states": {
    story: "Weights in bfloat16: the optimizer's states are, too.",
    files: script(["optim: adamw_torch"], "dtype: bfloat16"),
    estimated: true,
  },
  "removed-key": {
    story: "A script's config of 2020.",
    files: { ...script(["per_gpu_train_batch_size: 8"]), "requirements.txt": "transformers==5.17.0\ntorch==2.11.0\n" },
    fixed: true,
  },
  "removed-key-other": {
    story: "Written for transformers 4, installed is 5.",
    files: { ...script(["warmup_ratio: 0.1"]), "requirements.txt": "transformers==5.17.0\n" },
  },
  "batch-upper-bound": {
    story: "The Trainer shall find the batch itself.",
    files: script(["auto_find_batch_size: true", "per_device_train_batch_size: 32"]),
  },
  "evaluation-batch": {
    story: "Evaluation without gradients looked cheap.",
    files: script(["eval_strategy: steps", "eval_steps: 500", "per_device_eval_batch_size: 64"]),
    estimated: true,
  },
  "evaluation-keeps-predictions": {
    story: "Predictions of the whole evaluation set stay on the GPU until its end.",
    files: script(["eval_strategy: epoch"]),
  },
  "checkpoint-twice": {
    story: "FSDP's own checkpointing beside the Trainer's.",
    files: script([
      "gradient_checkpointing: true",
      "fsdp: full_shard auto_wrap",
      "fsdp_config:\n  activation_checkpointing: true\n  transformer_layer_cls_to_wrap: Qwen2DecoderLayer",
    ]),
    fixed: true,
  },
  "fsdp-offload-alone": {
    story: "Offload without a way to shard.",
    files: script(["fsdp: offload"]),
    fixed: true,
  },
  "refused-argument": {
    story: "A job that waited in the queue for a keyword with a wrong name.",
    files: {
      "train.py": [
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments",
        "",
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")',
        'args = TrainingArguments("out", per_device_train_batchsize=8, bf16=True)',
        "Trainer(model=model, args=args, train_dataset=data).train()",
        "",
      ].join("\n"),
    },
    fixed: true,
  },
  "shard-size-alone": {
    story: "A mesh of four GPUs to shard over, and nothing that shards.",
    files: {
      "train.py": [
        "from accelerate import ParallelismConfig",
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments",
        "",
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")',
        "mesh = ParallelismConfig(dp_shard_size=4)",
        'args = TrainingArguments("out", bf16=True, parallelism_config=mesh)',
        "Trainer(model=model, args=args, train_dataset=data).train()",
        "",
      ].join("\n"),
    },
  },
  "fsdp-8bit-optimizer": {
    story: "An optimizer whose blocks do not know of shards.",
    files: script(["fsdp: full_shard auto_wrap", "optim: adamw_bnb_8bit"]),
    fixed: true,
  },
  "fsdp-units": {
    story: "A model whose tower for pictures names a head and texts' embeddings that it was built without.",
    files: {
      ...script(["fsdp: full_shard auto_wrap"]),
      ...pins("model: google/gemma-3-4b-it", "task: image-text-to-text", "device: { name: 24GB, count: 8 }"),
    },
  },
  "fsdp2-embeddings": {
    story: "BERT, whose embeddings are one module that FSDP wraps.",
    files: {
      ...script(["fsdp: full_shard auto_wrap"]),
      ...pins("model: google-bert/bert-base-uncased", "task: seq-cls", "device: { name: 24GB, count: 2 }"),
    },
  },
  "fsdp-accumulation": {
    story: "Shards are small, the gradients that wait for the last micro-batch are not.",
    files: script(["fsdp: full_shard auto_wrap", "gradient_accumulation_steps: 4"], "device: { name: 24GB, count: 8 }"),
  },
  "layerwise-accumulation": {
    story: "Layer by layer there is nothing to accumulate into.",
    files: script(["optim: galore_adamw_layerwise", "optim_target_modules: all-linear"]),
    fixed: true,
  },
  "layerwise-ranks": {
    story: "Two cards for an optimizer that steps in backward.",
    files: script(
      ["optim: galore_adamw_layerwise", "optim_target_modules: all-linear", "gradient_accumulation_steps: 1"],
      "device: { name: RTX 4090, count: 2 }",
    ),
  },
  "optimizer-target-modules": {
    story: "GaLore without saying which layers it projects.",
    files: script(["optim: galore_adamw"]),
    fixed: true,
  },
  "checkpointing-use-cache": {
    story: "A config of the model's that wants its cache.",
    files: script(["gradient_checkpointing: true", "use_cache: true"]),
    fixed: true,
  },
  "split-batches": {
    story: "The batch counts all processes.",
    files: script(["accelerator_config:\n  split_batches: true"]),
  },
  "data-parallel": {
    story: "`python train.py` on a machine with four cards.",
    files: script([], "device: { name: RTX 4090, count: 4 }"),
  },
  "pin-differs": {
    story: "A pin of an earlier experiment.",
    files: { ...sft("dtype: float32"), ...pins("dtype: bfloat16") },
  },
  "torch-compile": {
    story: "Compiled for speed.",
    files: script(["torch_compile: true"]),
  },
  "logits-large": {
    story: "A vocabulary of 152,000 at four thousand tokens: the logits are larger than the model.",
    files: script(["per_device_train_batch_size: 16"], "sequence_length: 4096"),
    estimated: true,
    fixed: true,
  },
  "liger-leaves-alone": {
    story: "A switch that halved the memory of a llama, tried on a GPT-2.",
    files: { ...script(["use_liger_kernel: true"]), ...pins("model: openai-community/gpt2", "sequence_length: 512") },
    fixed: true,
  },
  "sequence-too-long": {
    story: "More tokens than the model has positions.",
    files: sft("max_length: 65536"),
  },
  "flash-attention-gpu": {
    story: "A config for Ampere on Colab's T4.",
    files: { ...sft("attn_implementation: flash_attention_2"), ...pins("device: Tesla T4") },
    fixed: true,
  },
  "flash-attention-fp32": {
    story: "Precision was raised to find a NaN.",
    files: script(["bf16: false"], "attention: flash_attention_2", "dtype: float32"),
    estimated: true,
    fixed: true,
  },
  "eager-attention": {
    story: "Eager attention left from a debugging session.",
    files: sft("attn_implementation: eager"),
    fixed: true,
  },
  "bf16-gpu": {
    story: "bf16 on a card before Ampere.",
    files: { ...script(["bf16: true"], "device: Tesla T4") },
    fixed: true,
  },
  "parallel-degrees": {
    story: "Three-way tensor parallelism on eight cards.",
    files: script(["parallelism_config:\n  tp_size: 3"], "device: { name: RTX 4090, count: 8 }"),
  },
  "remote-code": {
    story: "A model whose code is not transformers'.",
    files: sft("trust_remote_code: true"),
  },
  "label-smoothing": {
    story: "Smoothing for a translation model.",
    files: script(["label_smoothing_factor: 0.1"]),
    estimated: true,
  },
  "weights-exceed-device": {
    story: "Seven billion float32 weights on a card of 24 GB.",
    files: { ...sft("model_name_or_path: Qwen/Qwen2.5-7B", "dtype: float32"), ...pins("device: RTX 4090") },
    estimated: true,
  },
  "max-length-null": {
    story: "No truncation, as TRL's documentation suggests for pictures.",
    files: sft("max_length: null"),
  },
  "set-too-late": {
    story: "Mixed precision is switched on once the arguments are there: the run trains in float32.",
    files: {
      "train.py": [
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments",
        "",
        'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", dtype="float32")',
        'args = TrainingArguments("out", per_device_train_batch_size=4)',
        "args.bf16 = True",
        "trainer = Trainer(model=model, args=args, train_dataset=dataset)",
        "trainer.train()",
        "",
      ].join("\n"),
    },
  },
  "quantized-full": {
    story: "4-bit weights without an adapter.",
    files: sft("load_in_4bit: true"),
    fixed: true,
  },
  "modules-to-save": {
    story: "Embeddings trained whole for a few new tokens.",
    files: sft(...PEFT, "lora_modules_to_save: [embed_tokens, lm_head]"),
    estimated: true,
  },
  "target-modules-unknown": {
    story: "GPT-2's module names for a model with others.",
    files: sft("use_peft: true", "lora_r: 16", "lora_target_modules: [c_attn]"),
    estimated: true,
  },
  "rank-too-large": {
    story: "The higher the rank, the better?",
    files: sft(...PEFT, "lora_r: 1024"),
  },
  "packing-attention": {
    story: "Packing was switched on, the attention is still PyTorch's.",
    files: sft("packing: true", "attn_implementation: sdpa"),
    fixed: true,
  },
  "reference-model": {
    story: "DPO keeps a second model.",
    files: sft("beta: 0.1", "precompute_ref_log_probs: false", "!max_length", "max_length: 1024"),
  },
  "grpo-batch": {
    story: "Eight completions per prompt, seven wanted.",
    files: {
      ...sft("num_generations: 7", "per_device_train_batch_size: 8", "gradient_accumulation_steps: 1"),
      ...pins("device: { name: RTX 4090, count: 1 }"),
    },
  },
  "vllm-fsdp1-adapter": {
    story: "GRPO with LoRA on two GPUs, FSDP as an older guide had it.",
    files: {
      ...sft("num_generations: 8", "use_vllm: true", ...PEFT, "fsdp: full_shard", "fsdp_config: { version: 1 }"),
      ...pins("device: { name: 24GB, count: 2 }"),
    },
  },
  "vllm-reservation": {
    story: "vLLM on the training cards.",
    files: sft("num_generations: 8", "use_vllm: true", "vllm_mode: colocate", "vllm_gpu_memory_utilization: 0.4"),
  },
  "liger-in-trl": {
    story: "Liger's kernels with a TRL that chunks the loss itself.",
    files: { ...sft("use_liger_kernel: true"), "requirements.txt": "trl==1.16.0\n" },
  },
  "reentrant-adapters": {
    story: "The old checkpointing with frozen inputs.",
    files: sft(...PEFT, "gradient_checkpointing_kwargs:\n  use_reentrant: true"),
    fixed: true,
  },
  "prefix-checkpointing": {
    story: "Checkpointing copied from another recipe beside a trained prefix.",
    files: script(["gradient_checkpointing: true"], "adapter: { type: prefix-tuning, num_virtual_tokens: 20 }"),
    fixed: true,
  },
  "fsdp2-adafactor": {
    story: "The optimizer with the smallest states, sharded as well.",
    files: script(
      ["fsdp: full_shard auto_wrap", "fsdp_config:\n  version: 2", "optim: adafactor"],
      "device: { name: 24GB, count: 8 }",
    ),
    fixed: true,
    estimated: true,
  },
  "fsdp1-dora": {
    story: "DoRA in a script that trained LoRA over two cards.",
    files: {
      ...sft(...PEFT, "use_dora: true", "fsdp: full_shard auto_wrap", "fsdp_config:\n  version: 1"),
      ...pins("device: { name: 24GB, count: 2 }"),
    },
    estimated: true,
  },
  "padding-free-length": {
    story: "Batches without padding, cut as before.",
    files: sft("padding_free: true"),
  },
  "packing-length": {
    story: "Packed rows of no length.",
    files: sft("packing: true", "max_length: null"),
  },
  "head-adapter": {
    story: "The head among the modules that get an adapter.",
    files: sft("use_peft: true", "lora_r: 16", "lora_target_modules: [q_proj, v_proj, lm_head]"),
  },
  "initialization-quantized": {
    story: "PiSSA on a base that is loaded in 4 bits.",
    files: {
      ...sft(...PEFT, "load_in_4bit: true"),
      ...pins("adapter: { type: lora, r: 8, init_lora_weights: pissa }"),
    },
  },
  "fsdp-8bit-weights": {
    story: "8-bit weights on two cards that share them.",
    files: {
      ...sft(...PEFT, "load_in_8bit: true", "fsdp: full_shard"),
      ...pins("device: { name: RTX 4090, count: 2 }"),
    },
    fixed: true,
  },
  "empty-cache": {
    story: "Out of memory once, the cache is emptied in every step.",
    files: script(["torch_empty_cache_steps: 1"]),
  },
  "experts-float32": {
    story: "A mixture of experts loaded as the library loads it, with autocast on.",
    files: sft("model_name_or_path: Qwen/Qwen3-30B-A3B", "dtype: float32", "bf16: true"),
    fixed: true,
    estimated: true,
  },
  "adapter-8bit-optimizer": {
    story: "8-bit states for a few million weights.",
    files: sft(...PEFT, "optim: adamw_bnb_8bit"),
  },
};
