/** Findings that reading, linking and estimating make. */
import { axolotl, type Case, pins, script, sft, verl, zero } from "./base";

export const GENERAL_CASES: Readonly<Record<string, Case>> = {
  "does-not-fit": {
    story: "A batch that was fine on an A100 meets the card at home.",
    files: { ...sft("per_device_train_batch_size: 64", "gradient_checkpointing: false"), ...pins("device: RTX 3060") },
    estimated: true,
    fixed: true,
  },
  "host-memory-full": {
    story: "Eight processes load a checkpoint in float32, each a copy of its own, on a machine for one.",
    files: {
      ...sft("dtype: float32"),
      ...pins("host_memory: 8GiB\n    device: { name: RTX 4090, count: 8 }"),
    },
    estimated: true,
  },
  "link-slow": {
    story: "Two machines on a slow network shard what one of them would hold.",
    files: {
      ...sft("fsdp: full_shard auto_wrap", "gradient_checkpointing: false"),
      ...pins("machine_link: 10Gbit/s\n    device: { name: A100-80GB, count: 16 }"),
    },
    estimated: true,
  },
  tight: {
    story: "The batch was raised until the first steps went through; the band of the estimate reaches beyond the card.",
    files: { ...sft("per_device_train_batch_size: 16", "gradient_checkpointing: false"), ...pins("device: 27.8GB") },
    estimated: true,
  },
  "unknown-model": {
    story: "The name of the repository has a letter too few.",
    files: sft("model_name_or_path: Qwen/Qwen2.5-0.B"),
    fixed: true,
    estimated: true,
  },
  "unknown-device": {
    story: "A card whose name does not exist, as it was meant in a hurry.",
    files: { ...sft(), ...pins("device: RTX 4900") },
    main: ".vramlens.yaml",
    fixed: true,
  },
  "not-modelled": {
    story: "GRPO by verl on an engine that is not followed.",
    files: verl("actor_rollout_ref.actor.strategy=veomni"),
  },
  "invalid-value": {
    story: "The batch size is quoted, because everything else in the file was.",
    files: script(['per_device_train_batch_size: "4"']),
    fixed: true,
  },
  "unknown-key": {
    story: "A letter of the key is missing: axolotl reads on without it.",
    files: axolotl("!gradient_accumulation_steps", "gradient_acumulation_steps: 2"),
    fixed: true,
  },
  "duplicate-key": {
    story: "A setting was tried at the end of the file while the old one still stands above.",
    files: { "train.yaml": `${sft()["train.yaml"]}per_device_train_batch_size: 2\n` },
    fixed: true,
  },
  "strict-json": {
    story: "The last entry was deleted and its comma stayed; the Trainer reads the file with `json.load`.",
    files: {
      ...sft("deepspeed: ds_config.json"),
      "ds_config.json": (zero()["ds_config.json"] ?? "").replace('"steps_per_print": 2000', '"steps_per_print": 2000,'),
    },
    main: "ds_config.json",
    fixed: true,
  },
  syntax: {
    story: "A blank too many in front of a key.",
    files: { "train.yaml": (sft()["train.yaml"] ?? "").replace("num_train_epochs", "  num_train_epochs") },
  },
  "merge-conflict": {
    story: "A branch was merged and one conflict overlooked.",
    files: {
      "train.yaml": (sft()["train.yaml"] ?? "").replace(
        "max_length: 1024\n",
        "<<<<<<< HEAD\nmax_length: 1024\n=======\nmax_length: 4096\n>>>>>>> long\n",
      ),
    },
  },
  "unresolved-template": {
    story: "A template that a sweep fills in.",
    files: sft("per_device_train_batch_size: {{ batch }}"),
  },
  "missing-file": {
    story: "The path starts at a launch directory that is not part of the workspace.",
    files: sft("deepspeed: configs/zero2.json"),
  },
  "cyclic-link": {
    story: "The config names itself where DeepSpeed's file belongs.",
    files: sft("deepspeed: train.yaml"),
  },
};
