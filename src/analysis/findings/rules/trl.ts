/** Rules about TRL, adapters and quantization. */
import { hasReference } from "../../../core/training/trainers";
import { optimizerRow } from "../../../terms/optimizers";
import { compilePattern } from "../../../terms/pattern";
import { holds } from "../../frameworks/versions";
import { size } from "../../messages/units";
import { handsOnVllmShare } from "../../resolve/generating";
import { type Facts, hit, type Rule, replacement, rule, set } from "../rule";

/** Whether packed samples do not see each other anyway, whatever the attention kernel: Megatron's and verl's always take their lengths. */
const keepsSamplesApart = ({ framework, settings }: Facts): boolean => framework.packs?.(settings) !== "by-kernel";

export const TRL_RULES: readonly Rule[] = [
  rule("max-length-null", "warning", (facts) => {
    const at = facts.own("sequence_length");
    return hit(at, facts.namedTrainer && at?.value === null && !at.auto && !at.unknown, {
      args: { length: facts.run?.sequenceLength ?? "?" },
    });
  }),
  rule("quantized-full", "error", (facts) => {
    const at =
      [facts.own("load_in_4bit"), facts.own("load_in_8bit")].find((setting) => setting?.value === true) ??
      facts.pin("quantization");
    return hit(at, facts.run !== null && facts.run.quantization !== null && facts.run.adapter === null, {
      fixes: facts.namedTrainer ? [set("fix.use-peft", {}, false, [{ name: "use_peft", value: true }])] : [],
    });
  }),
  rule("modules-to-save", "information", (facts) => {
    const at = facts.stated("lora_modules_to_save");
    const modules = facts.settings.list("lora_modules_to_save") ?? [];
    return hit(at, facts.run?.adapter != null && modules.some((name) => /embed|head|wte/.test(name)), {
      args: { modules: modules.join(", ") },
    });
  }),
  rule("target-modules-unknown", "error", (facts) => {
    const at = facts.stated("lora_target_modules");
    const targets = facts.run?.adapter?.targetModules;
    const graph = facts.inputs.graphs?.graphs[0];
    if (targets === undefined || targets.length === 0 || graph === undefined) return [];
    const modules = graph.parameters
      .filter((tensor) => /^(?:Linear|Conv1D|Embedding|Conv2d)$/.test(tensor.module))
      .map((tensor) => tensor.name.replace(/\.(?:weight|bias)$/, ""));
    // What a pattern reaches is known once the model is loaded: without anything that trains, nothing.
    const matches =
      typeof targets === "string"
        ? !compilePattern(targets).ok || facts.estimate?.trainableParameters !== 0
        : targets.some((target) => modules.some((name) => name === target || name.endsWith(`.${target}`)));
    const known = [
      ...new Set(modules.filter((name) => name.includes("{i}")).map((name) => name.split(".").at(-1) ?? "")),
    ];
    return hit(at, !matches, {
      args: { family: facts.run?.model.family ?? "", modules: [targets].flat().join(", "), known: known.join(", ") },
    });
  }),
  rule("rank-too-large", "warning", (facts) => {
    const at = facts.stated("lora_rank");
    const hidden = Number(facts.run?.model.config["hidden_size"] ?? facts.run?.model.config["n_embd"]);
    const rank = facts.run?.adapter?.rank ?? 0;
    return hit(at, rank > 0 && Number.isFinite(hidden) && rank >= hidden, { args: { rank, hidden } });
  }),
  rule("packing-attention", "warning", (facts) => {
    const at = keepsSamplesApart(facts) ? undefined : (facts.own("packing") ?? facts.own("padding_free"));
    const attention = String(facts.resolution.resolved.get("attention")?.value ?? "sdpa");
    return hit(at, at?.value === true && !/flash|flex/.test(attention), {
      args: { attention },
      fixes: [set("fix.flash", {}, false, [{ name: "attention", value: "flash_attention_2" }])],
    });
  }),
  rule("reference-model", "information", (facts) => {
    const at = facts.own("precompute_ref_log_probs") ?? facts.own("beta");
    // Told by the run, as adapters may come from a script's `peft_config` or from another file's keys.
    const trainer = facts.run?.trainer;
    const copied = hasReference(trainer) && trainer?.companion === undefined;
    const parameters = facts.inputs.model?.kind === "found" ? (facts.inputs.model.parameters ?? 0) : 0;
    const dtype = facts.resolution.resolved.get("load_dtype")?.value === "float32" ? 4 : 2;
    const isSharded = facts.stage === 3 || facts.run?.parallel.fsdp != null;
    const share = dtype / (isSharded ? (facts.world ?? 1) : 1);
    return hit(at, copied && (trainer?.kind === "dpo" || trainer?.kind === "kto"), {
      args: { bytes: parameters === 0 ? `${dtype} B × parameters` : size(parameters * share) },
    });
  }),
  rule("grpo-batch", "error", (facts) => {
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
  }),
  rule("vllm-reservation", "information", (facts) => {
    const told = handsOnVllmShare(facts.inputs, facts.settings);
    const at = (told ? facts.own("vllm_gpu_memory_utilization") : undefined) ?? facts.own("use_vllm");
    const stated = (told ? facts.settings.number("vllm_gpu_memory_utilization") : undefined) ?? 0.3;
    const mode =
      facts.settings.string("vllm_mode") ?? (holds("trl>=1", facts.resolution.libraries) ? "colocate" : "server");
    const memory = facts.resolution.device.spec?.memoryBytes;
    // What a loader takes by the card's size stands in the run alone.
    const taken = facts.run?.trainer?.rollout?.generatingBytes;
    const share = memory !== undefined && taken !== undefined && taken > 0 ? taken / memory : stated;
    return hit(at, facts.isTrue("use_vllm") && mode === "colocate" && share <= 1, {
      args: { share: Math.round(share * 100), bytes: memory === undefined ? "" : ` (${size(memory * share)})` },
    });
  }),
  // trl/generation/vllm_generation.py (_iter_named_params, _iter_fsdp1_params), peft/tuners/lora/layer.py (get_delta_weight)
  rule("vllm-fsdp1-adapter", "error", (facts) => {
    const { run } = facts;
    const flat = run?.parallel.fsdp?.version === 1 && run.adapter !== null;
    return hit(facts.own("use_vllm"), facts.isTrue("use_vllm") && facts.namedTrainer && flat, {
      related: [facts.own("use_peft"), facts.own("fsdp_options")],
    });
  }),
  rule("quantized-sharding", "warning", (facts) => {
    const at = facts.own("load_in_4bit");
    const storage = facts.settings.string("bnb_4bit_quant_storage") ?? "uint8";
    const sharded = facts.stage === 3 || facts.run?.parallel.fsdp != null;
    return hit(at, at?.value === true && storage === "uint8" && sharded, {
      ...(facts.run?.parallel.fsdp != null ? { severity: "error" as const } : {}),
      fixes: [set("fix.quant-storage", {}, true, [{ name: "bnb_4bit_quant_storage", value: "bfloat16" }])],
    });
  }),
  rule("liger-in-trl", "hint", (facts) => {
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
  }),
  rule("reentrant-adapters", "hint", (facts) => {
    const at = facts.own("use_reentrant");
    return hit(at, at?.value === true && facts.run?.adapter != null && facts.run.checkpointing !== null, {
      fixes: replacement(at, "false", true),
    });
  }),
  rule("adapter-8bit-optimizer", "hint", (facts) => {
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
  }),
];
