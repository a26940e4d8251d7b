/** Rules about TRL, adapters and quantization. */
import { optimizerRow } from "../../../terms/optimizers";
import { size } from "../../messages/units";
import { handsOnVllmShare } from "../../resolve/trainer";
import { holds } from "../../versions";
import { type Facts, hit, type Rule, replacement, set } from "../rule";

/** Whether packed samples do not see each other anyway, whatever the attention kernel: Megatron's and verl's always take their lengths. */
const keepsSamplesApart = ({ framework, settings }: Facts): boolean => framework.packs?.(settings) !== "by-kernel";

export const TRL_RULES: readonly Rule[] = [
  {
    code: "max-length-null",
    severity: "warning",
    title: "No truncation",
    why: "`max_length: null` keeps every sample whole: one long sample decides the peak.",
    mend: "Set a number, or pin `sequence_length` to the longest sample.",
    en: "No truncation: one long sample decides the peak; {length|,} tokens are assumed.",
    zh: "未截断：最长的样本决定峰值；此处假设为 {length|,} 个 token。",
    example: { trl: "max_length: null" },
    check: (facts) => {
      const at = facts.own("sequence_length");
      return hit(at, facts.namedTrainer && at?.value === null && !at.auto && !at.unknown, {
        args: { length: facts.run?.sequenceLength ?? "?" },
      });
    },
  },
  {
    code: "quantized-full",
    severity: "error",
    title: "Full training of a quantized model",
    why: 'Quantized weights cannot be updated: the Trainer raises "You cannot perform fine-tuning on purely quantized models".',
    mend: "Train adapters (`use_peft: true`), or load without quantization.",
    en: "A quantized base cannot be trained in full: switch `use_peft` on, or load without quantization.",
    zh: "量化后的基座无法全量训练：请开启 `use_peft`，或不使用量化加载。",
    example: { trl: "load_in_4bit: true" },
    check: (facts) => {
      const at =
        [facts.own("load_in_4bit"), facts.own("load_in_8bit")].find((setting) => setting?.value === true) ??
        facts.pin("quantization");
      return hit(at, facts.run !== null && facts.run.quantization !== null && facts.run.adapter === null, {
        fixes: facts.namedTrainer ? [set("fix.use-peft", {}, false, [{ name: "use_peft", value: true }])] : [],
      });
    },
  },
  {
    code: "modules-to-save",
    severity: "information",
    title: "Modules trained in full beside the adapters",
    why: "peft copies every module of `modules_to_save`: the frozen original stays, and the copy has gradients and optimizer states. Embeddings and heads of large vocabularies weigh most.",
    mend: "Leave it out, or use `trainable_token_indices` for a few new tokens.",
    en: "{modules} become full trainable copies, with gradients and optimizer states, beside the frozen originals.",
    zh: "{modules} 会成为可训练的完整副本（含梯度与优化器状态），原始冻结权重仍保留。",
    example: { trl: "use_peft: true\nlora_modules_to_save: [embed_tokens, lm_head]" },
    check: (facts) => {
      const at = facts.stated("lora_modules_to_save");
      const modules = facts.settings.list("lora_modules_to_save") ?? [];
      return hit(at, facts.run?.adapter != null && modules.some((name) => /embed|head|wte/.test(name)), {
        args: { modules: modules.join(", ") },
      });
    },
  },
  {
    code: "target-modules-unknown",
    severity: "error",
    title: "No module has that name",
    why: 'peft raises "Target modules … not found in the base model" when no module\'s name ends with one of `target_modules`.',
    mend: "Use names of this architecture, or `all-linear`.",
    en: "No module of this {family} model is called {modules}: peft stops. Known: {known}.",
    zh: "该 {family} 模型没有名为 {modules} 的模块：peft 会报错。可用：{known}。",
    example: { trl: "use_peft: true\nlora_target_modules: [c_attn]" },
    check: (facts) => {
      const at = facts.stated("lora_target_modules");
      const targets = facts.run?.adapter?.targetModules;
      const graph = facts.inputs.graphs?.graphs[0];
      if (!Array.isArray(targets) || targets.length === 0 || graph === undefined) return [];
      const modules = graph.parameters
        .filter((tensor) => /^(?:Linear|Conv1D|Embedding|Conv2d)$/.test(tensor.module))
        .map((tensor) => tensor.name.replace(/\.(?:weight|bias)$/, ""));
      const matches = targets.some((target) => modules.some((name) => name === target || name.endsWith(`.${target}`)));
      const known = [
        ...new Set(modules.filter((name) => name.includes("{i}")).map((name) => name.split(".").at(-1) ?? "")),
      ];
      return hit(at, !matches, {
        args: { family: facts.run?.model.family ?? "", modules: targets.join(", "), known: known.join(", ") },
      });
    },
  },
  {
    code: "rank-too-large",
    severity: "warning",
    title: "The rank is larger than the matrices",
    why: "A rank above the hidden size makes the adapter larger than the matrix it approximates.",
    mend: "Use a rank between 8 and 64, or train the weights in full.",
    en: "Rank {rank} is not below the hidden size {hidden}: the adapter is larger than what it adapts.",
    zh: "秩 {rank} 不小于隐藏维度 {hidden}：适配器比被适配的矩阵还大。",
    example: { trl: "use_peft: true\nlora_r: 128" },
    check: (facts) => {
      const at = facts.stated("lora_rank");
      const hidden = Number(facts.run?.model.config["hidden_size"] ?? facts.run?.model.config["n_embd"]);
      const rank = facts.run?.adapter?.rank ?? 0;
      return hit(at, rank > 0 && Number.isFinite(hidden) && rank >= hidden, { args: { rank, hidden } });
    },
  },
  {
    code: "packing-attention",
    severity: "warning",
    title: "Packing without flash attention",
    why: "TRL's default packing concatenates samples without a mask between them; only the flash kernels keep them apart. With other kernels samples attend to each other.",
    mend: "Set `attn_implementation: flash_attention_2`, or `packing: false`.",
    en: "Packed samples attend to each other with {attention}: use `flash_attention_2`, or switch packing off.",
    zh: "使用 {attention} 时打包样本会互相注意：请使用 `flash_attention_2`，或关闭 packing。",
    example: { trl: "packing: true\nattn_implementation: sdpa" },
    check: (facts) => {
      const at = keepsSamplesApart(facts) ? undefined : (facts.own("packing") ?? facts.own("padding_free"));
      const attention = String(facts.resolution.resolved.get("attention")?.value ?? "sdpa");
      return hit(at, at?.value === true && !/flash|flex/.test(attention), {
        args: { attention },
        fixes: [set("fix.flash", {}, false, [{ name: "attention", value: "flash_attention_2" }])],
      });
    },
  },
  {
    code: "reference-model",
    severity: "information",
    title: "A second copy of the model",
    why: "DPO and KTO keep a frozen reference model next to the trained one, unless adapters are trained (the base is the reference) or its log-probabilities are computed beforehand.",
    mend: "Set `precompute_ref_log_probs: true`, or train adapters.",
    en: "A frozen reference model stays on the GPU: {bytes} more for its weights. `precompute_ref_log_probs` avoids it.",
    zh: "GPU 上会保留一份冻结的参考模型：权重额外占用 {bytes}。`precompute_ref_log_probs` 可避免。",
    example: { trl: "beta: 0.1\nprecompute_ref_log_probs: false" },
    check: (facts) => {
      const at = facts.own("precompute_ref_log_probs") ?? facts.own("beta");
      // Told by the run, as adapters may come from a script's `peft_config` or from another file's keys.
      const trainer = facts.run?.trainer;
      const copied = trainer?.variant["reference"] === "model" && trainer.companion === undefined;
      const parameters = facts.inputs.model?.kind === "found" ? (facts.inputs.model.parameters ?? 0) : 0;
      const dtype = facts.resolution.resolved.get("load_dtype")?.value === "float32" ? 4 : 2;
      const isSharded = facts.stage === 3 || facts.run?.parallel.fsdp != null;
      const share = dtype / (isSharded ? (facts.world ?? 1) : 1);
      return hit(at, copied && (trainer?.kind === "dpo" || trainer?.kind === "kto"), {
        args: { bytes: parameters === 0 ? `${dtype} B × parameters` : size(parameters * share) },
      });
    },
  },
  {
    code: "grpo-batch",
    severity: "error",
    title: "The generation batch does not divide",
    why: "GRPO groups completions by prompt: the global batch of completions must be a multiple of `num_generations`.",
    mend: "Change the batch, the accumulation or `num_generations`.",
    en: "{completions} completions per generation: not a multiple of `num_generations` {generations}.",
    zh: "每次生成 {completions} 个补全，不是 `num_generations` {generations} 的整数倍。",
    example: { trl: "num_generations: 7\nper_device_train_batch_size: 8", pins: "device: { name: 24GB, count: 1 }" },
    check: (facts) => {
      if (!facts.namedTrainer) return [];
      const at = facts.own("num_generations");
      const generations = facts.settings.number("num_generations");
      const micro = facts.settings.number("micro_batch_size") ?? 8;
      const steps =
        facts.settings.number("steps_per_generation") ?? facts.settings.number("gradient_accumulation_steps") ?? 1;
      const completions =
        facts.settings.number("generation_batch_size") ??
        (facts.world === undefined ? undefined : micro * steps * facts.world);
      const isCounted = generations !== undefined && Number.isSafeInteger(completions);
      return hit(at, isCounted && (completions ?? 0) % generations !== 0, {
        args: { completions: completions ?? 0, generations: generations ?? 0 },
      });
    },
  },
  {
    code: "vllm-reservation",
    severity: "information",
    title: "vLLM takes its share first",
    why: "With `vllm_mode: colocate` vLLM reserves `vllm_gpu_memory_utilization` of every training GPU before training starts.",
    mend: "Lower the share, set `vllm_enable_sleep_mode: true`, or run vLLM as a server.",
    en: "vLLM reserves {share} % of each GPU{bytes} before training starts.",
    zh: "训练开始前 vLLM 会预留每张 GPU 的 {share}%{bytes}。",
    example: { trl: "use_vllm: true\nvllm_mode: colocate\nvllm_gpu_memory_utilization: 0.4" },
    check: (facts) => {
      const told = handsOnVllmShare(facts.inputs, facts.settings);
      const at = (told ? facts.own("vllm_gpu_memory_utilization") : undefined) ?? facts.own("use_vllm");
      const share = (told ? facts.settings.number("vllm_gpu_memory_utilization") : undefined) ?? 0.3;
      const mode =
        facts.settings.string("vllm_mode") ?? (holds("trl>=1", facts.resolution.libraries) ? "colocate" : "server");
      const memory = facts.resolution.device.spec?.memoryBytes;
      return hit(at, facts.isTrue("use_vllm") && mode === "colocate", {
        args: { share: Math.round(share * 100), bytes: memory === undefined ? "" : ` (${size(memory * share)})` },
      });
    },
  },
  {
    // trl/generation/vllm_generation.py (_iter_named_params, _iter_fsdp1_params), peft/tuners/lora/layer.py (get_delta_weight)
    code: "vllm-fsdp1-adapter",
    severity: "error",
    title: "Adapters handed to vLLM under FSDP 1",
    why: "TRL merges adapters before it gathers anything. Under FSDP 1 each GPU has flat pieces of the two factors then: pieces of different lengths cannot be multiplied and the run stops, pieces of one length give a single number that is added to every weight. What is sent has peft's names, which vLLM does not know.",
    mend: "Set `fsdp_version: 2` (`fsdp_config: { version: 2 }`), use ZeRO-3, or train without an adapter.",
    en: "TRL merges the adapter while FSDP 1 holds flat pieces of it: the run stops, or vLLM gets wrong weights.",
    zh: "TRL 合并适配器时 FSDP 1 只持有其扁平分片：训练会中断，或 vLLM 得到错误的权重。",
    example: {
      trl: "use_vllm: true\nnum_generations: 8\nuse_peft: true\nfsdp: full_shard\nfsdp_config: { version: 1 }",
      pins: "device: { name: 24GB, count: 2 }",
    },
    check: (facts) => {
      const { run } = facts;
      const flat = run?.parallel.fsdp?.version === 1 && run.adapter !== null;
      return hit(facts.own("use_vllm"), facts.isTrue("use_vllm") && facts.namedTrainer && flat, {
        related: [facts.own("use_peft"), facts.own("fsdp_options")],
      });
    },
  },
  {
    code: "quantized-sharding",
    severity: "warning",
    title: "4-bit weights cannot be sharded as uint8",
    why: 'ZeRO-3 and FSDP shard floating-point tensors. 4-bit weights stored as uint8 stay whole on every GPU, or fail with "Cannot flatten integer dtype tensors".',
    mend: "Set `bnb_4bit_quant_storage: bfloat16`.",
    en: "4-bit weights stored as uint8 cannot be sharded: set `bnb_4bit_quant_storage: bfloat16`.",
    zh: "以 uint8 存储的 4 位权重无法分片：请设置 `bnb_4bit_quant_storage: bfloat16`。",
    example: {
      trl: "use_peft: true\nload_in_4bit: true\ndeepspeed: ds.json",
      deepspeed: '{"zero_optimization": {"stage": 3}}',
    },
    check: (facts) => {
      const at = facts.own("load_in_4bit");
      const storage = facts.settings.string("bnb_4bit_quant_storage") ?? "uint8";
      const sharded = facts.stage === 3 || facts.run?.parallel.fsdp != null;
      return hit(at, at?.value === true && storage === "uint8" && sharded, {
        ...(facts.run?.parallel.fsdp != null ? { severity: "error" as const } : {}),
        fixes: [set("fix.quant-storage", {}, true, [{ name: "bnb_4bit_quant_storage", value: "bfloat16" }])],
      });
    },
  },
  {
    code: "liger-in-trl",
    severity: "hint",
    title: "Liger beside TRL's own chunked loss",
    why: "From 1.15 on TRL computes the loss tile by tile and switches Liger's fused loss off; only Liger's other kernels remain.",
    mend: "Remove `use_liger_kernel`, or keep it for its norms and MLPs.",
    en: "TRL {version} already computes the loss in tiles: Liger's fused loss is switched off.",
    zh: "TRL {version} 已经分块计算损失：Liger 的融合损失会被关闭。",
    example: { trl: "use_liger_kernel: true", pins: 'libraries: { trl: "1.16" }' },
    check: (facts) => {
      const at = facts.own("fused_loss");
      return hit(
        at,
        facts.namedTrainer &&
          at?.value === true &&
          facts.pinned("trl") !== undefined &&
          holds("trl>=1.15", facts.resolution.libraries),
        {
          args: { version: facts.resolution.libraries.trl },
        },
      );
    },
  },
  {
    code: "reentrant-adapters",
    severity: "hint",
    title: "Reentrant checkpointing with frozen weights",
    why: "The reentrant kind of checkpointing needs an input that requires a gradient. peft makes the embeddings' output require one; a script that loads the model by hand may not, and then trains nothing.",
    mend: "Set `use_reentrant: false`.",
    en: "Reentrant checkpointing of a frozen base needs inputs that require gradients: `use_reentrant: false` does not.",
    zh: "冻结基座的可重入检查点要求输入需要梯度：`use_reentrant: false` 没有此限制。",
    example: {
      trl: "use_peft: true\ngradient_checkpointing: true\ngradient_checkpointing_kwargs: { use_reentrant: true }",
    },
    check: (facts) => {
      const at = facts.own("use_reentrant");
      return hit(at, at?.value === true && facts.run?.adapter != null && facts.run.checkpointing !== null, {
        fixes: replacement(at, "false", true),
      });
    },
  },
  {
    code: "adapter-8bit-optimizer",
    severity: "hint",
    title: "An 8-bit optimizer saves little with adapters",
    why: "Optimizer states exist only for the trainable adapters, which are small; tensors below 4096 elements keep 32-bit states anyway.",
    mend: "`adamw_torch_fused` is faster and needs no extra library.",
    en: "Only the adapters have optimizer states: {optimizer} saves little here.",
    zh: "只有适配器拥有优化器状态：此处 {optimizer} 节省有限。",
    example: { trl: "use_peft: true\noptim: adamw_bnb_8bit" },
    check: (facts) => {
      const at = facts.own("optimizer");
      return hit(
        at,
        optimizerRow(String(at?.value))?.bits === 8 &&
          facts.run?.adapter != null &&
          facts.run.adapter.modulesToSave.length === 0,
        {
          args: { optimizer: String(at?.value) },
        },
      );
    },
  },
];
