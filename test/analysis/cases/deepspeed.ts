/** Findings about DeepSpeed's settings. */
import { type Case, pins, plain, script, sft, zero } from "./base";

const RUN = sft("deepspeed: ds_config.json");
const ON_FOUR = pins("device: { name: RTX 4090, count: 4 }");
const ds = (files: Readonly<Record<string, string>>): Case["files"] => ({ ...RUN, ...files });
/** The finding is in the run's DeepSpeed file. */
const IN_FILE = { main: "ds_config.json" } as const;

export const DEEPSPEED_CASES: Readonly<Record<string, Case>> = {
  "zero3-experts": {
    story: "Mixtral over eight cards with stage 3: a rank whose tokens take no expert waits for ever.",
    files: {
      ...sft("model_name_or_path: mistralai/Mixtral-8x7B-v0.1", "deepspeed: ds_config.json"),
      ...zero({ zero_optimization: { stage: 3 } }),
      "requirements.txt": "transformers==4.57.1\ndeepspeed==0.18.2\n",
    },
  },
  "ds-adagrad-groups": {
    story: "Adagrad from a run on one card, now with ZeRO.",
    files: {
      ...script(["deepspeed: ds_config.json", "optim: adagrad"], "device: { name: 24GB, count: 4 }"),
      ...zero({ zero_optimization: { stage: 2 } }),
    },
    fixed: true,
    estimated: true,
  },
  "zero3-frozen-reentrant": {
    story: "LoRA with the old checkpointing, over eight cards with stage 3.",
    files: {
      ...sft(
        "use_peft: true",
        "gradient_checkpointing: true",
        "gradient_checkpointing_kwargs:\n  use_reentrant: true",
        "deepspeed: ds_config.json",
      ),
      ...zero({ zero_optimization: { stage: 3 } }),
    },
  },
  "ds-fp16-and-bf16": {
    story: "bf16 was added for the new cards, fp16 stayed from the old ones.",
    files: plain({ fp16: { enabled: true, loss_scale: 0, initial_scale_power: 16 } }),
    fixed: true,
  },
  "ds-batch-triple": {
    story: "The accumulation was changed and the total forgotten.",
    files: { ...plain({ train_batch_size: 64, gradient_accumulation_steps: 8 }), ...ON_FOUR },
    fixed: true,
  },
  "ds-hf-mismatch": {
    story: "A file with numbers of another run, named by a config with its own.",
    files: ds(zero({ train_micro_batch_size_per_gpu: 8 })),
    fixed: true,
  },
  "ds-offload-param-stage": {
    story: "Parameters shall go to the host; the stage is still 2.",
    files: plain({ zero_optimization: { stage: 2, offload_param: { device: "cpu", pin_memory: true } } }),
    fixed: true,
  },
  "ds-offload-optimizer-stage": {
    story: "Stage 0 was tried to find an error and never taken back.",
    files: plain({ zero_optimization: { stage: 0, offload_optimizer: { device: "cpu", pin_memory: true } } }),
    fixed: true,
  },
  "ds-nvme-path": {
    story: "NVMe without saying where it is mounted.",
    files: plain({
      zero_optimization: { stage: 3, offload_optimizer: { device: "nvme", pin_memory: true } },
      aio: { block_size: 262144, queue_depth: 32 },
    }),
  },
  "ds-nvme-aio": {
    story: "NVMe with the settings of asynchronous reading left out.",
    files: plain({
      zero_optimization: { stage: 3, offload_param: { device: "nvme", nvme_path: "/local_nvme", pin_memory: true } },
    }),
  },
  "ds-nvme-stage": {
    story: "The NVMe block of a stage-3 file in a stage-2 one.",
    files: plain({
      zero_optimization: { stage: 2, offload_optimizer: { device: "nvme", nvme_path: "/local_nvme" } },
      aio: { block_size: 262144 },
    }),
    fixed: true,
  },
  "ds-bucket-cost": {
    story: "Buckets of 500 million elements, as the tutorials have them.",
    files: plain({
      zero_optimization: { stage: 2, overlap_comm: true, reduce_bucket_size: 5e8, allgather_bucket_size: 5e8 },
    }),
    fixed: true,
  },
  "ds-no-gather-on-save": {
    story: "Stage 3, and the first checkpoint holds empty weights.",
    files: plain({ zero_optimization: { stage: 3 } }),
    fixed: true,
  },
  "ds-activation-checkpointing-ignored": {
    story: "The block of Megatron's example in a file for the Trainer.",
    files: {
      ...sft("deepspeed: ds_config.json", "gradient_checkpointing: false"),
      ...zero({ activation_checkpointing: { partition_activations: true, cpu_checkpointing: true } }),
    },
    fixed: true,
    ...IN_FILE,
  },
  "ds-persistence-large": {
    story: "A threshold that keeps every parameter of a small model whole on each GPU.",
    files: plain({ zero_optimization: { stage: 3, stage3_param_persistence_threshold: 1e7 } }),
  },
  "ds-hpz": {
    story: "ZeRO++ on one node, for a cluster's example.",
    files: plain({ zero_optimization: { stage: 3, zero_hpz_partition_size: 8 } }),
  },
  "ds-deprecated-offload": {
    story: "A file from the days of DeepSpeed 0.3.",
    files: plain({ zero_optimization: { stage: 2, cpu_offload: true } }),
    fixed: true,
  },
  "ds-legacy-stage1": {
    story: "A workaround of 2021 that outlived its reason.",
    files: plain({ zero_optimization: { stage: 1, legacy_stage1: true } }),
    fixed: true,
  },
  "ds-removed-feature": {
    story: "MiCS from a recipe of 2023, after DeepSpeed was brought up to date.",
    files: {
      ...plain({ zero_optimization: { stage: 3, mics_shard_size: 8 } }),
      "requirements.txt": "deepspeed==0.19.8\n",
    },
    fixed: true,
  },
  "ds-optimizer-max-grad-norm": {
    story: "The clipping norm among the optimizer's parameters, as NVIDIA's LAMB took it.",
    files: ds(
      zero({ optimizer: { type: "AdamW", params: { lr: "auto", max_grad_norm: 1 } }, gradient_clipping: null }),
    ),
    ...IN_FILE,
    fixed: true,
  },
  "ds-onebit-zero": {
    story: "1-bit Adam from its tutorial, with ZeRO from another.",
    files: plain({
      optimizer: { type: "OneBitAdam", params: { lr: 1e-4, freeze_step: 400 } },
      zero_optimization: { stage: 2 },
    }),
  },
  "ds-untested-optimizer": {
    story: "Plain SGD under ZeRO.",
    files: plain({ optimizer: { type: "SGD", params: { lr: 1e-3 } }, zero_optimization: { stage: 2 } }),
    fixed: true,
  },
  "ds-amp-zero": {
    story: "Apex's mixed precision with ZeRO.",
    files: plain({ bf16: null, amp: { enabled: true, opt_level: "O1" } }),
    fixed: true,
  },
  "ds-torch-adam-offload": {
    story: "PyTorch's Adam was asked for before the states went to the host.",
    files: plain({
      optimizer: { type: "Adam", params: { torch_adam: true } },
      zero_optimization: { stage: 2, offload_optimizer: { device: "cpu", pin_memory: true } },
    }),
    fixed: true,
  },
  "ds-bf16-optimizer-states": {
    story: "States of 16 bits without the host that may hold them.",
    files: plain({ bf16: { enabled: true, bf16_optimizer_states: true }, zero_optimization: { stage: 2 } }),
  },
  "ds-bf16-master-weights": {
    story: "Half of what `bf16_optimizer_states` is for, with the states still in float32 on the GPU.",
    files: plain({ bf16: { enabled: true, bf16_master_weights_and_grads: true }, zero_optimization: { stage: 2 } }),
    fixed: true,
  },
  "ds-fp16-master-weights": {
    story: "Half-precision master weights without offload.",
    files: plain({
      bf16: null,
      fp16: { enabled: true, fp16_master_weights_and_grads: true },
      zero_optimization: { stage: 2 },
    }),
    fixed: true,
  },
  "ds-elastic-batch": {
    story: "Elastic training with the batch fixed as well.",
    files: plain({
      train_batch_size: 64,
      elasticity: { enabled: true, max_train_batch_size: 2000, micro_batch_sizes: null },
    }),
  },
  "ds-one-gpu": {
    story: "A file of the cluster on the workstation.",
    files: { ...plain({ zero_optimization: { stage: 2 } }), ...pins("device: { name: RTX 4090, count: 1 }") },
  },
  "ds-stage-zero": {
    story: "Four cards that share nothing.",
    files: { ...plain({ zero_optimization: { stage: 0 } }), ...ON_FOUR },
    fixed: true,
  },
  "ds-offload-ratio-stage": {
    story: "Twin-Flow's ratio below stage 3.",
    files: plain({ zero_optimization: { stage: 2, offload_optimizer: { device: "cpu", ratio: 0.5 } } }),
    fixed: true,
  },
  "ds-prefetch-above-live": {
    story: "Prefetching more than may be alive.",
    files: plain({
      zero_optimization: { stage: 3, stage3_prefetch_bucket_size: 1e9, stage3_max_live_parameters: 1e8 },
    }),
  },
  "ds-pipeline-zero": {
    story: "Pipeline stages with gradients that ZeRO shards.",
    files: plain({ zero_optimization: { stage: 2 }, pipeline: { stages: 4, partition: "best" } }),
  },
  "ds-not-modelled": {
    story: "DeepCompile, tried on a run that was slow.",
    files: plain({ zero_optimization: { stage: 3 }, compile: { deepcompile: true } }),
  },
  "ds-grad-accum-fp32": {
    story: "Gradients accumulate in float32 for safety.",
    files: plain({ data_types: { grad_accum_dtype: "fp32" } }),
  },
  "ds-communication-fp32": {
    story: "Reductions in float32, after a loss that did not converge.",
    files: plain({ communication_data_type: "fp32", zero_optimization: { stage: 2 } }),
  },
  "ds-old-name": {
    story: "The first spelling of the block.",
    files: plain({ bf16: null, bfloat16: { enabled: true } }),
    fixed: true,
  },
  "unresolved-auto": {
    story: "The Trainer's file, started by a script without it.",
    files: zero(),
  },
  "ds-host-memory": {
    story: "States on the host of a machine with little of it.",
    files: {
      ...ds(zero({ zero_optimization: { offload_optimizer: { device: "cpu", pin_memory: true } } })),
      ...pins("device: { name: RTX 4090, count: 2 }"),
    },
    estimated: true,
    ...IN_FILE,
  },
  "ds-host-memory-full": {
    story: "States on the host of a machine with too little of it.",
    files: {
      ...ds(zero({ zero_optimization: { offload_optimizer: { device: "cpu", pin_memory: true } } })),
      ...pins("host_memory: 1GiB\n    device: { name: RTX 4090, count: 2 }"),
    },
    estimated: true,
    ...IN_FILE,
  },
  "ds-nvme-full": {
    story: "States on a drive that has room for less.",
    files: {
      ...ds(zero({ zero_optimization: { stage: 3, offload_optimizer: { device: "nvme", nvme_path: "/local_nvme" } } })),
      ...pins("nvme_space: 2GiB\n    device: { name: RTX 4090, count: 2 }"),
    },
    estimated: true,
    ...IN_FILE,
  },
  "deepspeed-and-fsdp": {
    story: "FSDP was tried next, DeepSpeed's file still named.",
    files: {
      ...script(["deepspeed: ds_config.json", "fsdp: full_shard auto_wrap"]),
      ...zero(),
    },
    fixed: true,
  },
  "gpu-count-differs": {
    story: "Pinned for the workstation, launched on the node.",
    files: {
      ...ds(zero()),
      ...ON_FOUR,
      "launch.sh": "torchrun --nproc_per_node 8 -m trl.scripts.sft --config train.yaml\n",
    },
  },
  "gpu-count-open": {
    story: "Stage 3 for a card that one rank's share does not fit, and no launcher beside it.",
    files: {
      ...sft("deepspeed: ds_config.json", "per_device_train_batch_size: 1"),
      ...zero({ zero_optimization: { stage: 3 } }),
      ...pins("device: 8GB"),
    },
    estimated: true,
    fixed: true,
  },
  "quantized-sharding": {
    story: "QLoRA with stage 3, whose blocks of 4 bits do not shard as stored.",
    files: {
      ...sft("deepspeed: ds_config.json", "use_peft: true", "lora_r: 16", "load_in_4bit: true"),
      ...zero({ zero_optimization: { stage: 3 } }),
    },
    fixed: true,
  },
};
