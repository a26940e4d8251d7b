/** Findings of the formats of other frameworks. */
import { accelerate, axolotl, type Case, factory, megatron, megatronOf, torchtune, verl, yolo, zero } from "./base";

export const FRAMEWORK_CASES: Readonly<Record<string, Case>> = {
  "accelerate-file-conflict": {
    story: "`accelerate config` was answered once with keys and once with a file.",
    files: {
      ...accelerate(
        "distributed_type: DEEPSPEED",
        "!fsdp_config",
        "deepspeed_config:\n  deepspeed_config_file: ds_config.json\n  zero_stage: 3\n  offload_param_device: cpu",
      ),
      ...zero(),
    },
  },
  "unquoted-no": {
    story: "The quotes that `accelerate config` writes were taken for decoration.",
    files: accelerate("mixed_precision: no"),
    fixed: true,
  },
  "qlora-needs-4bit": {
    story: "A LoRA config was turned into QLoRA by its adapter alone.",
    files: axolotl("adapter: qlora"),
    fixed: true,
  },
  "quantized-without-adapter": {
    story: "The adapter was taken out for a full fine-tune, the 8-bit weights stayed.",
    files: axolotl("load_in_8bit: true", "!adapter", "!lora_r", "!lora_alpha", "!lora_target_linear"),
    fixed: true,
  },
  "offloading-needs-checkpointing": {
    story: "Checkpointing was switched off for speed; what it offloads is gone with it.",
    files: torchtune("enable_activation_checkpointing: False", "enable_activation_offloading: True"),
    fixed: true,
  },
  "batch-keys": {
    story: "The batch was given as it is called elsewhere, beside axolotl's own keys.",
    files: axolotl("batch_size: 32"),
    fixed: true,
  },
  "checkpointing-already-on": {
    story: "A habit from the Trainer.",
    files: factory("gradient_checkpointing: true"),
    fixed: true,
  },
  "optimizer-in-backward": {
    story: "The single-device recipe's way to save gradients, copied into a recipe that accumulates.",
    files: torchtune("optimizer_in_bwd: True"),
    fixed: true,
  },
  "micro-batch-twice": {
    story: "An older script's micro-batch, with the per-GPU one added after an upgrade.",
    files: verl("actor_rollout_ref.actor.ppo_micro_batch_size=64"),
    fixed: true,
  },
  "pipeline-layers": {
    story: "A pipeline of eight for a model of twelve layers.",
    files: megatronOf("--pipeline-model-parallel-size 2", "--pipeline-model-parallel-size 8"),
  },
  "fsdp-reshard-type": {
    story: "`fsdp_version: 2` was added to a file of FSDP1.",
    files: accelerate(
      "fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_reshard_after_forward: FULL_SHARD",
    ),
    fixed: true,
  },
  "fsdp2-old-key": {
    story: "`fsdp_version: 2` was added, the sharding strategy of FSDP1 left in.",
    files: accelerate(
      "fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_sharding_strategy: FULL_SHARD",
    ),
    fixed: true,
  },
  "pure-bf16-zero3": {
    story: "Out of memory in stage 2, the next file was tried with everything else as it was.",
    files: factory("!bf16", "pure_bf16: true", "deepspeed: examples/deepspeed/ds_z3_config.json"),
    fixed: true,
  },
  "galore-deepspeed": {
    story: "GaLore on one GPU worked; now it shall run on eight.",
    files: factory(
      "use_galore: true",
      "galore_target: mlp,self_attn",
      "deepspeed: examples/deepspeed/ds_z2_config.json",
    ),
  },
  "fp8-quantized": {
    story: "Both ways to fewer bits at once.",
    files: factory("finetuning_type: lora", "quantization_bit: 4", "fp8: true"),
    fixed: true,
  },
  "recompute-method": {
    story: "Full recomputation without saying which layers.",
    files: megatron("--recompute-granularity full"),
    fixed: true,
  },
  "batch-multiple": {
    story: "The global batch was halved and halved again.",
    files: megatronOf("--global-batch-size 64", "--global-batch-size 10"),
    fixed: true,
  },
  "autobatch-gpus": {
    story: "`batch: -1` from the notebook, on the workstation with two cards.",
    files: yolo("batch: -1", "device: 0,1"),
  },
  "total-batch": {
    story: "Sixteen per GPU were meant.",
    files: yolo("device: 0,1,2,3"),
  },
  "liger-plugin": {
    story: "The switches were copied from an example, its list of plugins was not.",
    files: axolotl("liger_rope: true", "liger_rms_norm: true", "liger_glu_activation: true"),
  },
  "fsdp-offload-8bit": {
    story: "Parameters to the host and an optimizer of 8 bits: one saving too many.",
    files: axolotl(
      "optimizer: adamw_bnb_8bit",
      "fsdp:\n  - full_shard\n  - auto_wrap",
      "fsdp_config:\n  fsdp_offload_params: true\n  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer",
    ),
    fixed: true,
  },
};
