/** Rules about keys that contradict each other, and keys that nothing reads. */

import type { Span } from "../../../syntax/tree";
import type { SettingName } from "../../../terms/settings";
import type { Message } from "../../../words/message";
import { say } from "../../../words/message";
import type { Place, Setting } from "../../frameworks/settings";
import { type Facts, type Hit, hit, type Rule, removal, replacement, rule, set } from "../rule";

/** Switches of which only one may be on; the first is the one a fix switches off. */
const PAIRS: readonly (readonly [SettingName, SettingName])[] = [
  ["fp16", "bf16"],
  ["load_in_8bit", "load_in_4bit"],
];

/** A key that is read under a condition, the condition, and what to say when it does not hold. */
interface Conditional {
  readonly names: readonly SettingName[];
  readonly reads: (facts: Facts) => boolean;
  readonly why: (facts: Facts) => Message;
  readonly severity?: Hit["severity"];
  readonly fixes?: (at: Setting) => Hit["fixes"];
}

const CONDITIONAL: readonly Conditional[] = [
  {
    names: ["gradient_checkpointing_kwargs"],
    reads: (facts) => facts.own("gradient_checkpointing")?.value !== false,
    why: () => say("ignored.checkpointing"),
    fixes: () => [set("fix.checkpointing", {}, true, [{ name: "gradient_checkpointing", value: true }])],
  },
  {
    names: ["fsdp_config"],
    reads: (facts) => {
      const on = facts.settings.find("fsdp_options")?.value;
      return facts.own("fsdp_config")?.value === "" || (on !== undefined && on !== "" && on !== false);
    },
    why: () => say("ignored.fsdp"),
    severity: "warning",
  },
  {
    names: ["lora_rank", "lora_target_modules"],
    reads: (facts) => !facts.namedTrainer || facts.isTrue("use_peft") || facts.run?.adapter !== null,
    why: () => say("ignored.peft"),
    severity: "warning",
    fixes: () => [set("fix.use-peft", {}, false, [{ name: "use_peft", value: true }])],
  },
  {
    names: ["bnb_4bit_quant_type", "double_quantization", "bnb_4bit_quant_storage"],
    reads: (facts) => !facts.namedTrainer || facts.isTrue("load_in_4bit"),
    why: () => say("ignored.four-bit"),
  },
  {
    names: ["quantization_bit"],
    reads: ({ settings }) => !settings.number("quantization_bit") || settings.find("quantization")?.value !== "none",
    why: () => say("ignored.quantizer"),
    severity: "warning",
    fixes: () => [set("fix.quantizer", {}, false, [{ name: "quantization_method", value: "bnb" }])],
  },
  {
    names: ["vllm_gpu_memory_utilization", "vllm_mode", "vllm_enable_sleep_mode"],
    reads: (facts) => !facts.namedTrainer || facts.isTrue("use_vllm"),
    why: () => say("ignored.vllm"),
  },
  {
    names: [
      "stage3_prefetch_bucket_size",
      "stage3_param_persistence_threshold",
      "stage3_model_persistence_threshold",
      "stage3_max_live_parameters",
      "stage3_max_reuse_distance",
      "stage3_gather_16bit_weights_on_model_save",
    ],
    reads: (facts) => facts.stage === undefined || facts.stage === 3,
    why: (facts) => say("ignored.stage", { stage: facts.stage ?? 0 }),
  },
];

/** Whether two statements of a Python file are arguments of the same call; others are of one config anyway. */
function inOneCall(facts: Facts, one: Setting, other: Setting): boolean {
  const calls = facts.inputs.main.config?.parsed.python?.calls;
  if (calls === undefined || one.place === null || other.place === null) return true;
  const callOf = ({ keySpan }: Place) =>
    calls
      .filter(({ start, end }) => start <= keySpan.start && keySpan.end <= end)
      .reduce(
        (inner: Span | undefined, call) => (inner === undefined || call.start >= inner.start ? call : inner),
        undefined,
      );
  return callOf(one.place)?.start === callOf(other.place)?.start;
}

export const KEY_RULES: readonly Rule[] = [
  rule("contradictory-keys", "error", (facts) =>
    PAIRS.flatMap(([first, second]) => {
      const at = facts.own(first);
      const other = facts.own(second);
      const both = at?.value === true && other?.value === true && inOneCall(facts, at, other);
      return hit(at, both && facts.framework.part !== "engine", {
        args: { one: at?.key ?? first, other: other?.key ?? second },
        related: [other],
        fixes: replacement(at, "false", false),
      });
    }),
  ),
  rule("ignored-key", "hint", (facts) =>
    CONDITIONAL.flatMap(({ names, reads, why, severity, fixes }): Hit[] => {
      if (reads(facts)) return [];
      return names.flatMap((name): readonly Hit[] => {
        const at =
          facts.framework.part === "engine" || name.startsWith("stage3") ? facts.deepspeed(name) : facts.own(name);
        if (at === undefined) return [];
        const mends = [...(fixes?.(at) ?? []), ...removal(at)];
        const key = at.key.replace(/^.*\./, "");
        return [{ at, args: { key, why: why(facts) }, fixes: mends, ...(severity === undefined ? {} : { severity }) }];
      });
    }),
  ),
];
