/** Rules about what libraries refuse, or run otherwise than it reads, where two settings meet. */
import { holds } from "../../versions";
import { type Facts, hit, type Rule, removal, replacement, set } from "../rule";

/** TRL's trainers whose loss multiplies by the head's weight itself and refuses an adapter there. */
const OWN_HEAD: ReadonlySet<string> = new Set(["sft", "dpo", "kto", "grpo", "rloo", "gkd"]);

/** Whether the model's experts are multiplied by groups (transformers/integrations/moe.py). */
function groupsExperts({ inputs }: Facts): boolean {
  const graph = inputs.graphs?.graphs[0];
  return graph?.blocks.some(({ body }) => body.some((one) => "op" in one && one.op.includes("grouped_mm"))) === true;
}

export const STOP_RULES: readonly Rule[] = [
  {
    // peft/peft_model.py (_setup_prompt_encoder), transformers/modeling_layers.py (GradientCheckpointingLayer)
    code: "prefix-checkpointing",
    severity: "error",
    title: "Prefix tuning with checkpointing",
    why: 'A trained prefix reaches every layer through the key-value cache, and transformers takes the cache away from checkpointed layers. From 0.14 on peft raises "PREFIX_TUNING does not work with gradient checkpointing" where checkpointing is on before the adapter; where the Trainer switches it on afterwards, decoders fail in attention ("The size of tensor a must match the size of tensor b": the mask counts the prefix, the keys do not), and encoders run without their prefix, which then gets no gradient.',
    mend: "Set `gradient_checkpointing: false`, or train prompts (`prompt-tuning`, `p-tuning`) or LoRA, which checkpointing leaves alone.",
    en: "Prefix tuning fails under gradient checkpointing: recomputed layers get no cache, where the prefix is.",
    zh: "前缀微调无法与梯度检查点同时使用：重新计算的层拿不到缓存，而前缀就在缓存里。",
    example: {
      train: "gradient_checkpointing: true",
      pins: "adapter: { type: prefix-tuning, num_virtual_tokens: 20 }",
    },
    check: (facts) => {
      const at = facts.own("gradient_checkpointing") ?? facts.stated("adapter");
      const meets = facts.run?.adapter?.type === "prefix-tuning" && facts.run.checkpointing !== null;
      // Before, prefixes were tuples, no caches.
      return hit(at, meets && holds("peft>=0.14", facts.resolution.libraries), {
        related: [facts.stated("adapter")],
        fixes: at?.name === "gradient_checkpointing" ? replacement(at, "false", false) : [],
      });
    },
  },
  {
    // trl/trainer/sft_trainer.py
    code: "padding-free-length",
    severity: "error",
    title: "Padding-free batches with a maximum length",
    why: 'Without packing nothing cuts samples of a padding-free batch. TRL raises "When `padding_free=True` without packing, `max_length` is not enforced" unless `max_length` is null, which it is not by default.',
    mend: "Set `packing: true`, or `max_length: null` with samples that are cut already.",
    en: "`padding_free` without packing stops TRL unless `max_length` is null: set `packing: true`, or `max_length: null`.",
    zh: "未启用 packing 的 `padding_free` 会使 TRL 报错，除非 `max_length` 为 null：请设置 `packing: true` 或 `max_length: null`。",
    example: { trl: "padding_free: true\nmax_length: 1024" },
    check: (facts) => {
      const at = facts.own("padding_free");
      const length = facts.own("sequence_length");
      const cut = length === undefined || length.value !== null;
      const sft =
        facts.namedTrainer && facts.resolution.trainer === "sft" && holds("trl>=1.16", facts.resolution.libraries);
      return hit(at, sft && at?.value === true && cut && !facts.isTrue("packing"), { related: [length] });
    },
  },
  {
    // trl/trainer/sft_trainer.py (_prepare_dataset)
    code: "packing-length",
    severity: "error",
    title: "Packing without a length",
    why: 'Packing fills rows of `max_length` tokens. TRL raises "When packing is enabled, `max_length` can\'t be `None`".',
    mend: "Set `max_length` to the length of a packed row.",
    en: "Packing needs `max_length`, the length of a packed row: with null TRL stops.",
    zh: "打包需要 `max_length`（打包后每行的长度）：设为 null 时 TRL 会报错。",
    example: { trl: "packing: true\nmax_length: null" },
    check: (facts) => {
      const at = facts.own("sequence_length");
      const none = at?.value === null && !at.auto && !at.unknown;
      return hit(at, facts.namedTrainer && none && facts.isTrue("packing") && facts.resolution.trainer === "sft", {
        related: [facts.own("packing")],
      });
    },
  },
  {
    // trl/trainer/{sft,dpo,kto,grpo,rloo}_trainer.py
    code: "head-adapter",
    severity: "error",
    title: "An adapter on the head that the loss passes by",
    why: 'TRL computes log-probabilities from `lm_head.weight` itself, tile by tile: an adapter there would never be trained, and TRL raises "Applying a PEFT adapter to `lm_head` is not supported".',
    mend: "Leave `lm_head` out of the target modules, or train it in full (`lora_modules_to_save: [lm_head]`).",
    en: "TRL {version} refuses an adapter on `lm_head`: its loss multiplies by the head's own weight. Leave it out.",
    zh: "TRL {version} 拒绝在 `lm_head` 上放置适配器：其损失直接使用该层的权重。请将其移除。",
    example: { trl: "use_peft: true\nlora_target_modules: [q_proj, v_proj, lm_head]" },
    check: (facts) => {
      const at = facts.stated("lora_target_modules");
      const targets = facts.run?.adapter?.targetModules;
      const reached = Array.isArray(targets) && targets.includes("lm_head");
      const version = facts.resolution.libraries.trl;
      const refuses =
        facts.namedTrainer && OWN_HEAD.has(facts.resolution.trainer) && holds("trl>=1.16", facts.resolution.libraries);
      return hit(at, refuses && reached, { args: { version } });
    },
  },
  {
    // peft/tuners/lora/layer.py (pissa_init, corda_init, mica_init, loftq_init)
    code: "initialization-quantized",
    severity: "error",
    title: "Factors made from weights that are packed",
    why: 'PiSSA, CorDA and MiCA take a weight apart as it is stored and raise "Please initialize PiSSA under float32, float16, or bfloat16" for packed ones; LoftQ packs the weights itself and takes the packed ones for matrices. Of all the ways only OLoRA unpacks them first.',
    mend: "Make the factors on the base in full precision, save the residual model and quantize that; or use `olora`, which packs what is left anew.",
    en: "`{way}` cannot decompose quantized weights: load the base in full precision, or use `olora`.",
    zh: "`{way}` 不能分解已量化的权重：请以全精度加载基座，或改用 `olora`。",
    example: { trl: "load_in_4bit: true\n", pins: "adapter: { type: lora, r: 8, init_lora_weights: pissa }" },
    check: (facts) => {
      const at = facts.stated("adapter_initialization");
      const way = String(at?.value ?? "");
      const packed = facts.run?.quantization != null && facts.run.adapter !== null;
      return hit(at, packed && /^(?:pissa|corda|mica|loftq)/.test(way), { args: { way } });
    },
  },
  {
    // torch/distributed/fsdp/_flat_param.py (_validate_tensors_to_flatten)
    code: "fsdp-8bit-weights",
    severity: "error",
    title: "8-bit weights with FSDP",
    why: 'FSDP flattens the parameters of a unit into one floating-point tensor and raises "Cannot flatten integer dtype tensors" for the int8 weights of LLM.int8; they have no storage dtype to choose, as 4-bit weights have.',
    mend: "Load in 4 bits with `bnb_4bit_quant_storage: bfloat16`, or use DDP, where every GPU holds the 8-bit weights whole.",
    en: "FSDP cannot flatten int8 weights: load in 4 bits with `bnb_4bit_quant_storage: bfloat16`, or use DDP.",
    zh: "FSDP 无法展平 int8 权重：请改用 4 位加载并设置 `bnb_4bit_quant_storage: bfloat16`，或使用 DDP。",
    example: { trl: "use_peft: true\nload_in_8bit: true\nfsdp: full_shard" },
    check: (facts) => {
      const at = facts.own("load_in_8bit");
      return hit(at, at?.value === true && facts.run?.parallel.fsdp != null, { fixes: removal(at) });
    },
  },
  {
    // transformers/trainer.py (training_step), transformers/training_args.py
    code: "empty-cache",
    severity: "hint",
    title: "Emptying the allocator's cache in the step",
    why: "Between forward and backward of every n-th step the allocator gives the segments that nothing is in back to the driver. What is reserved may be lower then, what is allocated is not; segments have to be taken from the driver again, which costs about 10 % of the time by the library's own word. The estimate follows it: its reserve is the highest of the steps.",
    mend: "Keep it where fragments are what is missing. `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` avoids them without the cost.",
    en: "`{key}` lowers reserved, not allocated memory, and costs time; `expandable_segments:True` does not.",
    zh: "`{key}` 只降低预留量而非已分配量，且会变慢；`expandable_segments:True` 没有此代价。",
    example: { train: "torch_empty_cache_steps: 1" },
    check: (facts) => {
      const at = facts.own("empty_cache_steps");
      return hit(at, typeof at?.value === "number" && at.value > 0, { args: { key: at?.key ?? "" } });
    },
  },
  {
    // transformers/integrations/moe.py (_grouped_mm: "not autocast-enabled")
    code: "experts-float32",
    severity: "information",
    title: "Experts run in float32 under autocast",
    why: "Products by groups are not among the operators that autocast casts: transformers casts what goes into the experts to the dtype of their weights. With float32 weights the experts compute in float32, and keep it for backward, whatever `bf16: true` says.",
    mend: "Load in bfloat16 (`dtype: bfloat16`), or pass `experts_implementation: batched_mm` or `eager` with the model's arguments: their products are cast.",
    en: "Experts run in float32: autocast does not reach grouped products. Load in bfloat16, or change `experts_implementation`.",
    zh: "专家层以 float32 运行：autocast 不作用于分组矩阵乘。请以 bfloat16 加载，或更换 `experts_implementation`。",
    example: {
      trl: "bf16: true\ndtype: float32",
      model: { model_type: "qwen3_moe", num_experts: 8, num_experts_per_tok: 2, moe_intermediate_size: 64 },
    },
    check: (facts) => {
      const at = facts.own("bf16")?.value === true ? facts.own("bf16") : facts.own("fp16");
      const { run } = facts;
      const casts = run !== null && run.autocast !== null && run.loadDtype === "float32" && run.quantization === null;
      const own = casts && facts.inputs.deepspeed === undefined && holds("transformers>=5", facts.resolution.libraries);
      return hit(at, own && groupsExperts(facts), {
        fixes: [set("fix.load-bf16", {}, false, [{ name: "load_dtype", value: "bfloat16" }])],
      });
    },
  },
];
