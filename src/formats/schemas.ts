/** Schema ids of the report contract: what a person calls each format, and where it is found. */
export const SCHEMAS = {
  deepspeed: { title: "DeepSpeed", foundIn: "JSON read as DeepSpeed reads it (HJSON)" },
  "hf-training-arguments": {
    title: "Hugging Face TrainingArguments",
    foundIn: "YAML, JSON, flags of scripts, Python calls (loops of one's own, too), notebooks",
  },
  trl: { title: "TRL", foundIn: "YAML, JSON, flags of scripts, Python calls, notebooks" },
  accelerate: { title: "Accelerate", foundIn: "YAML or JSON of `accelerate config`" },
  axolotl: { title: "Axolotl", foundIn: "YAML" },
  "llama-factory": { title: "LLaMA-Factory", foundIn: "YAML, JSON, flags of `llamafactory-cli`; the v1 schema too" },
  "ms-swift": { title: "ms-swift", foundIn: "YAML, JSON, flags of `swift` and `megatron`" },
  torchtune: { title: "torchtune", foundIn: "YAML, `tune run` in scripts" },
  torchtitan: { title: "torchtitan", foundIn: "TOML, the Python registry, flags of scripts" },
  megatron: { title: "Megatron-LM", foundIn: "flags of scripts (arrays and strings of flags), YAML" },
  "gpt-neox": { title: "gpt-neox", foundIn: "YAML" },
  "llm-foundry": { title: "llm-foundry", foundIn: "YAML, plain and inside MCLI jobs" },
  nanotron: { title: "nanotron", foundIn: "YAML" },
  lightning: {
    title: "Lightning and litgpt",
    foundIn: "YAML of the Lightning CLI, litgpt and Hydra templates, Python calls",
  },
  verl: { title: "verl", foundIn: "Hydra YAML, overrides in scripts" },
  openrlhf: { title: "OpenRLHF", foundIn: "flags of scripts, YAML" },
  nemo: { title: "NeMo", foundIn: "Hydra YAML, overrides in scripts" },
  diffusers: { title: "diffusers", foundIn: "flags of its training scripts" },
  nnunet: { title: "nnU-Net", foundIn: "plans, `nnUNetv2_train`" },
  ultralytics: { title: "Ultralytics", foundIn: "`args.yaml`, `yolo` in scripts, Python" },
  timm: { title: "timm", foundIn: "`args.yaml`, flags of `train.py`" },
  mmengine: { title: "OpenMMLab", foundIn: "Python configs" },
  detectron2: { title: "detectron2", foundIn: "YAML, `train_net.py` in scripts" },
} as const satisfies Readonly<Record<string, { readonly title: string; readonly foundIn: string }>>;

export type SchemaId = keyof typeof SCHEMAS;
