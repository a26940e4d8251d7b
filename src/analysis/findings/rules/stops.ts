/** Rules about what libraries refuse, or run otherwise than it reads, where two settings meet. */
import { holds } from "../../frameworks/versions";
import { type Facts, hit, type Rule, removal, replacement, rule, set } from "../rule";

/** TRL's trainers whose loss multiplies by the head's weight itself and refuses an adapter there. */
const OWN_HEAD: ReadonlySet<string> = new Set(["sft", "dpo", "kto", "grpo", "rloo", "gkd"]);

/** Whether the model's experts are multiplied by groups (transformers/integrations/moe.py). */
function groupsExperts({ inputs }: Facts): boolean {
  const graph = inputs.graphs?.graphs[0];
  return graph?.blocks.some(({ body }) => body.some((one) => "op" in one && one.op.includes("grouped_mm"))) === true;
}

export const STOP_RULES: readonly Rule[] = [
  // peft/peft_model.py (_setup_prompt_encoder), transformers/modeling_layers.py (GradientCheckpointingLayer)
  rule("prefix-checkpointing", "error", (facts) => {
    const at = facts.own("gradient_checkpointing") ?? facts.stated("adapter");
    const meets = facts.run?.adapter?.type === "prefix-tuning" && facts.run.checkpointing !== null;
    // Before, prefixes were tuples, no caches.
    return hit(at, meets && holds("peft>=0.14", facts.resolution.libraries), {
      related: [facts.stated("adapter")],
      fixes: at?.name === "gradient_checkpointing" ? replacement(at, "false", false) : [],
    });
  }),
  // trl/trainer/sft_trainer.py
  rule("padding-free-length", "error", (facts) => {
    const at = facts.own("padding_free");
    const length = facts.own("sequence_length");
    const cut = length === undefined || length.value !== null;
    const sft =
      facts.namedTrainer && facts.resolution.trainer === "sft" && holds("trl>=1.16", facts.resolution.libraries);
    return hit(at, sft && at?.value === true && cut && !facts.isTrue("packing"), { related: [length] });
  }),
  // trl/trainer/sft_trainer.py (_prepare_dataset)
  rule("packing-length", "error", (facts) => {
    const at = facts.own("sequence_length");
    const none = at?.value === null && !at.auto && !at.unknown;
    return hit(at, facts.namedTrainer && none && facts.isTrue("packing") && facts.resolution.trainer === "sft", {
      related: [facts.own("packing")],
    });
  }),
  // trl/trainer/{sft,dpo,kto,grpo,rloo}_trainer.py
  rule("head-adapter", "error", (facts) => {
    const at = facts.stated("lora_target_modules");
    const targets = facts.run?.adapter?.targetModules;
    const reached = Array.isArray(targets) && targets.includes("lm_head");
    const version = facts.resolution.libraries.trl;
    const refuses =
      facts.namedTrainer && OWN_HEAD.has(facts.resolution.trainer) && holds("trl>=1.16", facts.resolution.libraries);
    return hit(at, refuses && reached, { args: { version } });
  }),
  // peft/tuners/lora/layer.py (pissa_init, corda_init, mica_init, loftq_init)
  rule("initialization-quantized", "error", (facts) => {
    const at = facts.stated("adapter_initialization");
    const way = String(at?.value ?? "");
    const packed = facts.run?.quantization != null && facts.run.adapter !== null;
    return hit(at, packed && /^(?:pissa|corda|mica|loftq)/.test(way), { args: { way } });
  }),
  // torch/distributed/fsdp/_flat_param.py (_validate_tensors_to_flatten)
  rule("fsdp-8bit-weights", "error", (facts) => {
    const at = facts.own("load_in_8bit");
    return hit(at, at?.value === true && facts.run?.parallel.fsdp != null, { fixes: removal(at) });
  }),
  // transformers/trainer.py (training_step), transformers/training_args.py
  rule("empty-cache", "hint", (facts) => {
    const at = facts.own("empty_cache_steps");
    return hit(at, typeof at?.value === "number" && at.value > 0, { args: { key: at?.key ?? "" } });
  }),
  // transformers/integrations/moe.py (_grouped_mm: "not autocast-enabled")
  rule("experts-float32", "information", (facts) => {
    const at = facts.own("bf16")?.value === true ? facts.own("bf16") : facts.own("fp16");
    const { run } = facts;
    const casts = run !== null && run.autocast !== null && run.loadDtype === "float32" && run.quantization === null;
    const own = casts && facts.inputs.deepspeed === undefined && holds("transformers>=5", facts.resolution.libraries);
    return hit(at, own && groupsExperts(facts), {
      fixes: [set("fix.load-bf16", {}, false, [{ name: "load_dtype", value: "bfloat16" }])],
    });
  }),
  // deepspeed/runtime/zero/stage_1_and_2.py, stage3.py (initialize_optimizer_states, _optimizer_step)
  rule("ds-adagrad-groups", "error", (facts) => {
    const at = facts.own("optimizer");
    const { run } = facts;
    const splits = (run?.parallel.deepspeed?.zeroStage ?? 0) > 0 && facts.stated("deepspeed_optimizer") === undefined;
    return hit(at, facts.trainer && splits && run?.optimizer.name === "adagrad" && run.adapter === null, {
      fixes: replacement(at, "adamw_torch", false),
    });
  }),
  // transformers/optimization.py (Adafactor.step)
  rule("fsdp2-adafactor", "error", (facts) => {
    const at = facts.own("optimizer") ?? facts.own("fsdp_options");
    const { run } = facts;
    return hit(at, facts.trainer && run?.parallel.fsdp?.version === 2 && run.optimizer.name === "adafactor", {
      fixes: at?.name === "optimizer" ? replacement(at, "adamw_torch", false) : [],
    });
  }),
  // peft/tuners/lora/dora.py (get_lora_weight)
  rule("fsdp1-dora", "error", (facts) => {
    const at = facts.own("fsdp_use_orig_params") ?? facts.own("use_dora") ?? facts.stated("adapter");
    const fsdp = facts.run?.parallel.fsdp;
    return hit(at, fsdp?.version === 1 && fsdp.flatOptimizer !== true && facts.run?.adapter?.type === "dora", {
      fixes: at?.name === "fsdp_use_orig_params" ? replacement(at, "false", false) : [],
    });
  }),
];
