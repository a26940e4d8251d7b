/** The least that shows each rule, by code: bodies that are added to a minimal config. */

/** Files of an example, by name. `train` and `trl` are bodies added to a minimal config of that kind. */
export interface Example {
  readonly train?: string;
  readonly trl?: string;
  /** A Python script in the config's place. */
  readonly script?: string;
  readonly deepspeed?: string;
  readonly pins?: string;
  readonly requirements?: string;
  /** A shell script next to the config. */
  readonly launch?: string;
  readonly model?: Readonly<Record<string, unknown>>;
}

export const EXAMPLES: Readonly<Record<string, Example>> = {
  "ds-batch-triple": {
    deepspeed:
      '{"train_batch_size": 30, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 1}}',
    pins: "device: { name: 24GB, count: 4 }",
  },
  "ds-hf-mismatch": {
    train: "deepspeed: ds.json",
    deepspeed: '{"train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 2}}',
  },
  "ds-elastic-batch": {
    deepspeed: '{"train_batch_size": 32, "zero_optimization": {"stage": 1}, "elasticity": {"enabled": true}}',
  },
  "unresolved-auto": { deepspeed: '{"train_batch_size": "auto", "zero_optimization": {"stage": 2}}' },
  "ds-activation-checkpointing-ignored": {
    train: "deepspeed: ds.json",
    deepspeed: '{"zero_optimization": {"stage": 2}, "activation_checkpointing": {"partition_activations": true}}',
  },
  "ds-legacy-stage1": { deepspeed: '{"zero_optimization": {"stage": 1, "legacy_stage1": true}}' },
  "ds-not-modelled": { deepspeed: '{"zero_optimization": {"stage": 3}, "compile": {"deepcompile": true}}' },
  "ds-removed-feature": {
    deepspeed: '{"zero_optimization": {"stage": 3, "mics_shard_size": 8}}',
    pins: "libraries: { deepspeed: 0.19.8 }",
  },
  "ds-old-name": { deepspeed: '{"zero_optimization": {"stage": 1}, "bfloat16": {"enabled": true}}' },
  "ds-offload-param-stage": { deepspeed: '{"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}' },
  "ds-offload-optimizer-stage": {
    deepspeed: '{"zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu"}}}',
  },
  "ds-nvme-path": {
    deepspeed: '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme"}}, "aio": {}}',
  },
  "ds-nvme-aio": {
    deepspeed: '{"zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/nvme"}}}',
  },
  "ds-nvme-stage": {
    deepspeed:
      '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme"}}, "aio": {}}',
  },
  "ds-deprecated-offload": { deepspeed: '{"zero_optimization": {"stage": 2, "cpu_offload": true}}' },
  "ds-torch-adam-offload": {
    deepspeed:
      '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}, "optimizer": {"type": "Adam", "params": {"torch_adam": true}}}',
  },
  "ds-offload-ratio-stage": {
    deepspeed: '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}}',
  },
  "ds-host-memory": {
    train: "deepspeed: ds.json\nbf16: true",
    deepspeed:
      '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}',
    pins: "sequence_length: 128\ndevice: { name: 24GB, count: 2 }",
  },
  "ds-host-memory-full": {
    train: "deepspeed: ds.json\nbf16: true",
    deepspeed:
      '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}',
    pins: "sequence_length: 128\nhost_memory: 4GiB\ndevice: { name: 24GB, count: 2 }",
    model: { hidden_size: 2048, intermediate_size: 5504, num_hidden_layers: 16, vocab_size: 32000 },
  },
  "ds-nvme-full": {
    train: "deepspeed: ds.json\nbf16: true",
    deepspeed:
      '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme"}}}',
    pins: "sequence_length: 128\nnvme_space: 1GiB\ndevice: { name: 24GB, count: 2 }",
    model: { hidden_size: 2048, intermediate_size: 5504, num_hidden_layers: 16, vocab_size: 32000 },
  },
  "link-slow": {
    train: "bf16: true\nfsdp: full_shard auto_wrap",
    pins: "sequence_length: 128\nmachine_link: 10Gbit/s\ndevice: { name: A100-80GB, count: 16 }",
    model: { hidden_size: 2048, intermediate_size: 5504, num_hidden_layers: 16, vocab_size: 32000 },
  },
  "host-memory-full": {
    train: "bf16: true",
    pins: "sequence_length: 128\nhost_memory: 1GiB\ndtype: float32\ndevice: { name: 24GB, count: 2 }",
    model: {
      torch_dtype: "bfloat16",
      hidden_size: 2048,
      intermediate_size: 5504,
      num_hidden_layers: 16,
      vocab_size: 32000,
    },
  },
  "ds-optimizer-max-grad-norm": {
    deepspeed: '{"zero_optimization": {"stage": 1}, "optimizer": {"type": "Adam", "params": {"max_grad_norm": 1.0}}}',
  },
  "ds-onebit-zero": {
    deepspeed: '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-4}}}',
  },
  "ds-untested-optimizer": {
    deepspeed: '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "SGD", "params": {"lr": 1e-4}}}',
  },
  "ds-fp16-and-bf16": {
    deepspeed: '{"zero_optimization": {"stage": 1}, "fp16": {"enabled": true}, "bf16": {"enabled": true}}',
  },
  "ds-amp-zero": { deepspeed: '{"zero_optimization": {"stage": 1}, "amp": {"enabled": true}}' },
  "ds-bf16-optimizer-states": {
    deepspeed: '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true, "bf16_optimizer_states": true}}',
  },
  "ds-bf16-master-weights": {
    deepspeed: '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true, "bf16_master_weights_and_grads": true}}',
  },
  "ds-fp16-master-weights": {
    deepspeed: '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": true, "fp16_master_weights_and_grads": true}}',
  },
  "ds-grad-accum-fp32": {
    deepspeed:
      '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 1}, "data_types": {"grad_accum_dtype": "fp32"}}',
  },
  "ds-communication-fp32": {
    deepspeed: '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}, "communication_data_type": "fp32"}',
  },
  "zero3-experts": {
    train: "deepspeed: ds.json",
    deepspeed: '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
    requirements: "transformers==4.57.1",
    model: { model_type: "mixtral", num_local_experts: 8 },
  },
  "zero3-frozen-reentrant": {
    trl: "use_peft: true\ngradient_checkpointing: true\ngradient_checkpointing_kwargs: { use_reentrant: true }\ndeepspeed: ds.json",
    deepspeed: '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
  },
  "ds-bucket-cost": {
    deepspeed:
      '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2, "overlap_comm": true, "reduce_bucket_size": 5e8}}',
  },
  "ds-no-gather-on-save": { deepspeed: '{"zero_optimization": {"stage": 3}}' },
  "ds-persistence-large": {
    deepspeed: '{"zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 1e7}}',
  },
  "ds-hpz": { deepspeed: '{"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}}' },
  "ds-one-gpu": { deepspeed: '{"zero_optimization": {"stage": 2}}', pins: "device: { name: 24GB, count: 1 }" },
  "ds-stage-zero": {
    deepspeed: '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 0}}',
    pins: "device: { name: 24GB, count: 4 }",
  },
  "ds-prefetch-above-live": {
    deepspeed:
      '{"zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 1e9, "stage3_max_live_parameters": 1e8}}',
  },
  "ds-pipeline-zero": { deepspeed: '{"zero_optimization": {"stage": 2}, "pipeline": {"stages": 4}}' },
  "contradictory-keys": { train: "bf16: true\nfp16: true" },
  "ignored-key": { trl: "lora_r: 16" },
  "checkpointing-in-evaluation": {
    script:
      'import torch\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained("./model").cuda()\nmodel.gradient_checkpointing_enable()\noptimizer = torch.optim.AdamW(model.parameters())\nfor batch in torch.utils.data.DataLoader(data, batch_size=2):\n    loss = model(**batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n',
  },
  "prefix-checkpointing": {
    train: "gradient_checkpointing: true",
    pins: "adapter: { type: prefix-tuning, num_virtual_tokens: 20 }",
  },
  "padding-free-length": { trl: "padding_free: true\nmax_length: 1024" },
  "packing-length": { trl: "packing: true\nmax_length: null" },
  "head-adapter": { trl: "use_peft: true\nlora_target_modules: [q_proj, v_proj, lm_head]" },
  "initialization-quantized": {
    trl: "load_in_4bit: true\n",
    pins: "adapter: { type: lora, r: 8, init_lora_weights: pissa }",
  },
  "fsdp-8bit-weights": { trl: "use_peft: true\nload_in_8bit: true\nfsdp: full_shard" },
  "empty-cache": { train: "torch_empty_cache_steps: 1" },
  "ds-adagrad-groups": {
    train: "deepspeed: ds.json\noptim: adagrad",
    deepspeed: '{"zero_optimization": {"stage": 2}}',
    pins: "device: { name: 24GB, count: 4 }",
  },
  "fsdp2-adafactor": {
    train: "fsdp: full_shard auto_wrap\nfsdp_config: { version: 2 }\noptim: adafactor",
    pins: "device: { name: 24GB, count: 8 }",
  },
  "fsdp1-dora": {
    trl: "fsdp: full_shard auto_wrap\nfsdp_config: { version: 1 }\nuse_peft: true\nuse_dora: true",
    pins: "device: { name: 24GB, count: 8 }",
  },
  "experts-float32": {
    trl: "bf16: true\ndtype: float32",
    model: { model_type: "qwen3_moe", num_experts: 8, num_experts_per_tok: 2, moe_intermediate_size: 64 },
  },
  "flash-attention-gpu": { trl: "attn_implementation: flash_attention_2", pins: "device: Tesla T4" },
  "flash-attention-fp32": { train: "bf16: false", pins: "attention: flash_attention_2\ndtype: float32" },
  "eager-attention": { trl: "attn_implementation: eager" },
  "batch-upper-bound": { train: "auto_find_batch_size: true" },
  "split-batches": { train: "accelerator_config: { split_batches: true }" },
  "logits-large": {
    train: "bf16: true\nper_device_train_batch_size: 16",
    pins: "sequence_length: 4096",
    model: { vocab_size: 128256 },
  },
  "liger-leaves-alone": {
    train: "use_liger_kernel: true",
    model: { model_type: "gpt2", n_embd: 64, n_layer: 2, n_head: 4, n_positions: 1024 },
  },
  "sequence-too-long": { trl: "max_length: 8192" },
  "label-smoothing": { train: "label_smoothing_factor: 0.1" },
  "evaluation-batch": { train: "eval_strategy: steps\nper_device_eval_batch_size: 32" },
  "evaluation-keeps-predictions": { train: "eval_strategy: epoch" },
  "removed-key": {
    train: "per_gpu_train_batch_size: 4\nwarmup_ratio: 0.1",
    pins: 'libraries: { transformers: "5.17" }',
  },
  "removed-key-other": { train: "warmup_ratio: 0.1", pins: 'libraries: { transformers: "5.17" }' },
  "checkpointing-use-cache": { train: "gradient_checkpointing: true\nuse_cache: true" },
  "pin-differs": { trl: "max_length: 512\ndtype: float32", pins: "dtype: bfloat16" },
  "torch-compile": { train: "torch_compile: true" },
  "remote-code": { trl: "trust_remote_code: true" },
  "weights-exceed-device": {
    train: "",
    pins: "device: 1GB\nsequence_length: 16\ndtype: float32",
    model: { hidden_size: 2048, vocab_size: 128256, num_attention_heads: 16, num_key_value_heads: 16 },
  },
  "layerwise-accumulation": {
    train: "optim: galore_adamw_layerwise\noptim_target_modules: all-linear\ngradient_accumulation_steps: 4",
  },
  "layerwise-ranks": {
    train: "optim: galore_adamw_layerwise\noptim_target_modules: all-linear",
    pins: "device: { name: 24GB, count: 2 }",
  },
  "optimizer-target-modules": { train: "optim: galore_adamw" },
  "fp32-load": { trl: "bf16: true\noptim: adamw_torch" },
  "fp16-weights": { train: "fp16: true", pins: "dtype: float16" },
  "half-states": { train: "optim: adamw_torch\nbf16: true", pins: "dtype: bfloat16" },
  "bf16-gpu": { train: "bf16: true", pins: "device: Tesla T4" },
  "checkpoint-twice": {
    train: "gradient_checkpointing: true\nfsdp: full_shard\nfsdp_config: { activation_checkpointing: true }",
  },
  "fsdp-offload-alone": { train: "fsdp: offload" },
  "refused-argument": {
    script:
      "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B')\nargs = TrainingArguments('out', gradient_checkpoint=True)\nTrainer(model=model, args=args, train_dataset=data).train()\n",
  },
  "shard-size-alone": {
    script:
      "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B')\nargs = TrainingArguments('out', parallelism_config=ParallelismConfig(dp_shard_size=4))\nTrainer(model=model, args=args, train_dataset=data).train()\n",
  },
  "deepspeed-and-fsdp": {
    train: "deepspeed: ds.json\nfsdp: full_shard",
    deepspeed: '{"zero_optimization": {"stage": 2}}',
  },
  "fsdp-8bit-optimizer": { train: "fsdp: full_shard\noptim: adamw_bnb_8bit" },
  "fsdp-units": {
    train: "fsdp: full_shard",
    pins: "model: google/gemma-3-4b-it\ntask: image-text-to-text\ndevice: { name: 24GB, count: 4 }",
  },
  "fsdp2-embeddings": {
    train: "fsdp: full_shard",
    pins: "model: google-bert/bert-base-uncased\ntask: seq-cls\ndevice: { name: 24GB, count: 4 }",
  },
  "fsdp-accumulation": {
    train: "fsdp: full_shard\ngradient_accumulation_steps: 4",
    pins: "device: { name: 24GB, count: 8 }",
  },
  "data-parallel": { train: "", pins: "device: { name: 24GB, count: 4 }" },
  "gpu-count-differs": {
    train: "deepspeed: ds.json",
    deepspeed: '{"zero_optimization": {"stage": 2}}',
    pins: "device: { name: 24GB, count: 4 }",
    launch: "torchrun --nproc_per_node 8 train.py train.yaml\n",
  },
  "parallel-degrees": { train: "parallelism_config: { tp_size: 3 }", pins: "device: { name: 24GB, count: 8 }" },
  "max-length-null": { trl: "max_length: null" },
  "quantized-full": { trl: "load_in_4bit: true" },
  "modules-to-save": { trl: "use_peft: true\nlora_modules_to_save: [embed_tokens, lm_head]" },
  "target-modules-unknown": { trl: "use_peft: true\nlora_target_modules: [c_attn]" },
  "rank-too-large": { trl: "use_peft: true\nlora_r: 128" },
  "packing-attention": { trl: "packing: true\nattn_implementation: sdpa" },
  "reference-model": { trl: "beta: 0.1\nprecompute_ref_log_probs: false" },
  "grpo-batch": { trl: "num_generations: 7\nper_device_train_batch_size: 8", pins: "device: { name: 24GB, count: 1 }" },
  "vllm-reservation": { trl: "use_vllm: true\nvllm_mode: colocate\nvllm_gpu_memory_utilization: 0.4" },
  "vllm-fsdp1-adapter": {
    trl: "use_vllm: true\nnum_generations: 8\nuse_peft: true\nfsdp: full_shard\nfsdp_config: { version: 1 }",
    pins: "device: { name: 24GB, count: 2 }",
  },
  "quantized-sharding": {
    trl: "use_peft: true\nload_in_4bit: true\ndeepspeed: ds.json",
    deepspeed: '{"zero_optimization": {"stage": 3}}',
  },
  "liger-in-trl": { trl: "use_liger_kernel: true", pins: 'libraries: { trl: "1.16" }' },
  "reentrant-adapters": {
    trl: "use_peft: true\ngradient_checkpointing: true\ngradient_checkpointing_kwargs: { use_reentrant: true }",
  },
  "adapter-8bit-optimizer": { trl: "use_peft: true\noptim: adamw_bnb_8bit" },
};
