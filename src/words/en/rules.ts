/** What the rules over a whole run find (`src/analysis/findings/rules`), by code. */
export const RULES = {
  "ds-batch-triple":
    "`train_batch_size` {total} ≠ {product} = micro {micro} × accumulation {steps} × GPUs {world}: DeepSpeed stops.",
  "ds-hf-mismatch": "`{key}` is {theirs} here but {ours} in TrainingArguments: the Hugging Face Trainer stops.",
  "ds-elastic-batch": "`{key}` is rejected while elasticity is on (unless `ignore_non_elastic_batch_info`).",
  "unresolved-auto":
    "`{key}` is `auto`: the Hugging Face Trainer or Accelerate fills it; a plain DeepSpeed script fails here.",
  "ds-activation-checkpointing-ignored":
    "This block acts only on models that call deepspeed.checkpointing; with Hugging Face models use `gradient_checkpointing`.",
  "ds-legacy-stage1": "`legacy_stage1` was removed in DeepSpeed 0.5.9 and stops it.",
  "ds-not-modelled": "`{key}` is not part of the estimate.",
  "ds-removed-feature": "DeepSpeed 0.19.8 and later stop at `{key}`: the feature was removed.",
  "ds-old-name": "`{key}` is the old name of `{next}`.",
  "ds-offload-param-stage": "`offload_param` is read only in stage 3; in stage {stage} it saves nothing.",
  "ds-offload-optimizer-stage": "`offload_optimizer` needs ZeRO stage 1 or higher; in stage 0 it saves nothing.",
  "ds-nvme-path": "NVMe offload needs `nvme_path`, a directory on a local drive.",
  "ds-nvme-aio": "NVMe offload without an `aio` block runs with default queue depth and block size.",
  "ds-nvme-stage": "NVMe offload works only in stage 3; stage {stage} can offload to `cpu`.",
  "ds-deprecated-offload": "`{key}` is deprecated: use `{next}`.",
  "ds-torch-adam-offload":
    "`torch_adam` with optimizer offload runs PyTorch's Adam on the CPU: remove it to get DeepSpeedCPUAdam.",
  "ds-offload-ratio-stage": "`ratio` is read only in stage 3.",
  "ds-host-memory":
    "Offload keeps {bytes} in the memory of a machine, {ranks} ranks together, {pinned} of it page-locked.",
  "host-memory-full": "{ranks} ranks need {bytes} of a machine's memory, which has {ram}.",
  "link-slow": "Most of a step waits for other GPUs, about {percent} %: each sends {bytes} in it.",
  "ds-nvme-full": "Offload needs {bytes} of NVMe on a machine with {room}: {ranks} ranks do not fit.",
  "ds-host-memory-full": "Offload needs {bytes} on a machine with {ram}: {ranks} ranks do not fit.",
  "ds-optimizer-max-grad-norm": "`max_grad_norm` is no optimizer parameter: DeepSpeed stops. Use `gradient_clipping`.",
  "ds-onebit-zero": "{optimizer} does not work with ZeRO: use AdamW, or stage 0.",
  "ds-untested-optimizer":
    "ZeRO does not list {optimizer}: DeepSpeed stops without `zero_allow_untested_optimizer: true`.",
  "ds-fp16-and-bf16": "`fp16` and `bf16` are both on: DeepSpeed stops with an assertion. Keep one.",
  "ds-amp-zero": "`amp` does not work with ZeRO: use `bf16` or `fp16`.",
  "ds-bf16-optimizer-states": "`bf16_optimizer_states` needs `bf16_master_weights_and_grads: true` and ZeRO.",
  "ds-bf16-master-weights": "`bf16_master_weights_and_grads` needs `bf16_optimizer_states` or `offload_optimizer`.",
  "ds-fp16-master-weights": "`fp16_master_weights_and_grads` needs ZeRO with `offload_optimizer`.",
  "ds-grad-accum-fp32": "Gradients accumulate in float32: 4 bytes per parameter instead of 2.",
  "ds-communication-fp32": "Reductions in float32 cast each bucket: up to {bytes} more for a moment.",
  "zero3-experts":
    "{experts} experts under ZeRO-3: ranks that route differently deadlock. Make the expert layer a leaf module.",
  "zero3-frozen-reentrant":
    "Reentrant checkpointing under ZeRO-3: the frozen weights of every layer stay gathered until backward ends.",
  "ds-bucket-cost": "Gradient buckets take {bytes} on each GPU ({elements|,} elements{twice}).",
  "ds-no-gather-on-save": "Only sharded checkpoints will be saved: `stage3_gather_16bit_weights_on_model_save` is off.",
  "ds-persistence-large": "Parameters up to {elements|,} elements stay whole on every GPU.",
  "ds-hpz": "A secondary partition keeps another copy of the weights, sharded over {ranks} GPUs.",
  "ds-one-gpu": "On one GPU ZeRO stage {stage} has nothing to share: only offload saves memory.",
  "ds-stage-zero": "Stage 0 shards nothing: stage 1 or 2 would divide optimizer states over {world} GPUs.",
  "ds-prefetch-above-live": "`stage3_prefetch_bucket_size` is above `stage3_max_live_parameters` and never filled.",
  "ds-pipeline-zero": "The pipeline engine works with ZeRO stage 0 and 1 only; this is stage {stage}.",
  "contradictory-keys": "`{one}` and `{other}` are both on: the library stops. Keep one.",
  "ignored-key": "`{key}` is ignored: {why}.",
  "refused-argument": "`{called}` takes no `{argument}` {release}: Python stops at the call with a TypeError.",
  "checkpointing-in-evaluation":
    "Checkpointing has no effect: `model.train()` is never called, so the model stays in evaluation mode.",
  "prefix-checkpointing":
    "Prefix tuning fails under gradient checkpointing: recomputed layers get no cache, where the prefix is.",
  "padding-free-length":
    "`padding_free` without packing stops TRL unless `max_length` is null: set `packing: true`, or `max_length: null`.",
  "packing-length": "Packing needs `max_length`, the length of a packed row: with null TRL stops.",
  "head-adapter":
    "TRL {version} refuses an adapter on `lm_head`: its loss multiplies by the head's own weight. Leave it out.",
  "initialization-quantized":
    "`{way}` cannot decompose quantized weights: load the base in full precision, or use `olora`.",
  "fsdp-8bit-weights":
    "FSDP cannot flatten int8 weights: load in 4 bits with `bnb_4bit_quant_storage: bfloat16`, or use DDP.",
  "empty-cache": "`{key}` lowers reserved, not allocated memory, and costs time; `expandable_segments:True` does not.",
  "experts-float32":
    "Experts run in float32: autocast does not reach grouped products. Load in bfloat16, or change `experts_implementation`.",
  "ds-adagrad-groups":
    "Adagrad stops at the first step under ZeRO: DeepSpeed builds it anew with one group, and the Trainer has two.",
  "fsdp2-adafactor":
    "transformers' Adafactor stops at the first step under FSDP2: it mixes plain and distributed tensors.",
  "fsdp1-dora": "DoRA under FSDP1 needs `use_orig_params: false`: forward asks pieces of factors for their columns.",
  "flash-attention-gpu": "{attention} does not run on {device}: use sdpa.",
  "flash-attention-fp32": "{attention} needs 16-bit inputs: set `bf16: true`, or use sdpa.",
  "eager-attention":
    "Eager attention keeps scores of tokens × tokens for every head: `sdpa` computes the same without them.",
  "batch-upper-bound":
    "`auto_find_batch_size` lowers the batch after running out of memory: {batch} is only where it starts.",
  "split-batches": "With `split_batches` the per-device batch is shared by all GPUs: each takes a part of {batch}.",
  "logits-large":
    "Logits and loss take {bytes}: {tokens|,} tokens × {vocabulary|,} words. `use_liger_kernel` removes most of it.",
  "liger-leaves-alone": "Liger has no kernels for `{family}`: the switch changes nothing.",
  "sequence-too-long": "{length|,} tokens per sequence, but the model has {limit|,} positions.",
  "label-smoothing": "Label smoothing keeps a second buffer as large as the logits.",
  "evaluation-batch":
    "Evaluation runs with batch {batch}, training with {train}: its logits may need more than the training step.",
  "evaluation-keeps-predictions":
    "With metrics, predictions stay on the GPU until evaluation ends: set `eval_accumulation_steps`, `prediction_loss_only`.",
  "removed-key": "`{key}`: removed in {library}{next}.",
  "removed-key-other": "`{key}`: removed in {library}{next}.",
  "checkpointing-use-cache": "`use_cache` is switched off while checkpointing: set it to false.",
  "pin-differs": "The pin says {pinned}, the config {stated}: the estimate follows the pin, the training does not.",
  "torch-compile":
    "`torch_compile` is counted as one graph; graph breaks keep more, up to what the uncompiled step does.",
  "remote-code":
    "`trust_remote_code` lets the checkpoint replace the architecture: the estimate is for the library's own.",
  "weights-exceed-device":
    "The weights alone take {bytes}, {usable} are usable: no batch size helps. Shard or quantize them, or use a larger card.",
  "layerwise-accumulation":
    "{optimizer} updates inside backward and cannot accumulate: `gradient_accumulation_steps` must be 1, it is {steps}.",
  "layerwise-ranks": "{optimizer} does not support several GPUs ({world} here).",
  "optimizer-target-modules": "{optimizer} needs `optim_target_modules` and stops without it.",
  "fp32-load": "{bytes} per parameter with {optimizer}: weights load in float32. `{precision}` only turns on autocast.",
  "fp16-weights":
    'float16 weights under `{key}` fail with "Attempting to unscale FP16 gradients": load float32, or use bf16.',
  "half-states":
    "Adam's states follow the bfloat16 weights: 8 bytes per parameter in all, not 16; there is no float32 master copy.",
  "bf16-gpu": "{device} has no bfloat16 units: `bf16` is emulated there, or refused. Use `fp16`.",
  "checkpoint-twice":
    "`gradient_checkpointing` and FSDP's `activation_checkpointing` are both on: TrainingArguments stops. Keep one.",
  "fsdp-units": "FSDP stops: {family} names modules to wrap that it has not got. Set `transformer_layer_cls_to_wrap`.",
  "fsdp2-embeddings": "FSDP2 of accelerate 1.14 and later stops at the input embeddings of {family}: use `version: 1`.",
  "fsdp-offload-alone": "`offload` needs a sharding word such as `full_shard`.",
  "shard-size-alone":
    "`dp_shard_size` {size} shards nothing without FSDP: every rank of the mesh holds the whole of its part of the model.",
  "deepspeed-and-fsdp": "`deepspeed` and `fsdp` are both set: only one of them can shard the model.",
  "fsdp-8bit-optimizer": "{optimizer} keeps block-wise states that FSDP cannot shard or save: use `adamw_torch_fused`.",
  "fsdp-accumulation": "With {steps} steps of accumulation FSDP keeps the whole model's gradients on every GPU.",
  "data-parallel": "{world} GPUs and no launcher: plain `python` uses DataParallel, which needs more on GPU 0.",
  "gpu-count-differs": "{pinned} {pinned|GPU is|GPUs are} pinned, but {key} in the launch script starts {launched}.",
  "parallel-degrees": "Parallel degrees multiply to {product}, which does not divide {world} {world|GPU|GPUs}.",
  "max-length-null": "No truncation: one long sample decides the peak; {length|,} tokens are assumed.",
  "quantized-full": "A quantized base cannot be trained in full: switch `use_peft` on, or load without quantization.",
  "modules-to-save":
    "{modules} become full trainable copies, with gradients and optimizer states, beside the frozen originals.",
  "target-modules-unknown": "No module of this {family} model is called {modules}: peft stops. Known: {known}.",
  "rank-too-large": "Rank {rank} is not below the hidden size {hidden}: the adapter is larger than what it adapts.",
  "packing-attention":
    "Packed samples attend to each other with {attention}: use `flash_attention_2`, or switch packing off.",
  "reference-model":
    "A frozen reference model stays on the GPU: {bytes} more for its weights. `precompute_ref_log_probs` avoids it.",
  "grpo-batch": "{completions} completions per generation: not a multiple of `num_generations` {generations}.",
  "vllm-reservation": "vLLM reserves {share} % of each GPU{bytes} before training starts.",
  "vllm-fsdp1-adapter":
    "TRL merges the adapter while FSDP 1 holds flat pieces of it: the run stops, or vLLM gets wrong weights.",
  "quantized-sharding": "4-bit weights stored as uint8 cannot be sharded: set `bnb_4bit_quant_storage: bfloat16`.",
  "liger-in-trl": "TRL {version} already computes the loss in tiles: Liger's fused loss is switched off.",
  "reentrant-adapters":
    "Reentrant checkpointing of a frozen base needs inputs that require gradients: `use_reentrant: false` does not.",
  "adapter-8bit-optimizer": "Only the adapters have optimizer states: {optimizer} saves little here.",
} as const;
