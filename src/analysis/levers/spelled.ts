/** Changes in the settings that a trainer's config has keys for, where it spells what is asked for otherwise. */

import { dataParallelSize } from "../../core/training/parallel/degrees";
import type { SettingChange } from "../../formats/types";
import { quantizerOf } from "../../terms/quantizers";
import type { SettingName } from "../../terms/settings";
import { defaultOf, keyFor } from "../frameworks/defaults";
import { frameworkOf } from "../frameworks/frameworks";
import { holds } from "../frameworks/versions";
import type { RunInputs } from "../linking/inputs";
import type { Resolution } from "../resolve";

/** What a spelling asks: the run, all that is to change, and whether its format has a key for a setting. */
interface Asking {
  readonly inputs: RunInputs;
  readonly resolution: Resolution;
  readonly asked: readonly SettingChange[];
  readonly has: (name: SettingName) => boolean;
}

type Spelling = (change: SettingChange, asking: Asking) => readonly SettingChange[];

const LIGER_PLUGIN = "axolotl.integrations.liger.LigerPlugin";

/** Spellings by the setting that is asked for; one without a row is written as it is. */
const SPELLINGS: Readonly<Partial<Record<SettingName, Spelling>>> = {
  compute_dtype(change, { has, resolution }) {
    if (!has("bf16") && has("compute_dtype")) return [change];
    if (change.value === "fp8")
      return has("fp8")
        ? [{ name: "fp8", value: true }]
        : has("fp8_format")
          ? [{ name: "fp8_format", value: "hybrid" }]
          : [change];
    const wanted = change.value === "fp16" ? "fp16" : "bf16";
    const other = wanted === "bf16" ? "fp16" : "bf16";
    const otherOn = resolution.settings.on(other);
    return [
      { name: wanted, value: change.value !== "fp32" },
      ...(otherOn ? [{ name: other, value: false } as const] : []),
    ];
  },
  micro_batch_size(change, { has, resolution }) {
    // Where only the batch of all GPUs has a key (nnU-Net's plans), that is what changes.
    const micro = resolution.resolved.get(change.name);
    const total = resolution.settings.find("global_batch_size");
    return !has(change.name) && total !== undefined && micro?.key === total.key
      ? [{ name: "global_batch_size", value: Number(change.value) * (resolution.run?.parallel.worldSize ?? 1) }]
      : [change];
  },
  optimizer(change, { has }) {
    if (change.value === "muon" && has("use_muon")) return [{ name: "use_muon", value: true }];
    // Where a switch of its own fuses AdamW's step, the two names are one class with it off and on.
    return has("optimizer_fused") && (change.value === "adamw_torch" || change.value === "adamw_torch_fused")
      ? [
          { name: change.name, value: "adamw_torch" },
          { name: "optimizer_fused", value: change.value === "adamw_torch_fused" },
        ]
      : [change];
  },
  adapter: (change, { has }) => (has("use_peft") ? [{ name: "use_peft", value: change.value !== "none" }] : [change]),
  gradient_checkpointing(change, { inputs, resolution }) {
    const own = resolution.settings.layers.find(({ id }) => id === "document")?.settings ?? [];
    const on = own.some(({ name, value }) => name === change.name && value === true);
    // Megatron stops at full recomputation that does not say which layers.
    const which = (["recompute_method", "recompute_num_layers"] as const).filter(
      (name) => resolution.settings.find(name) === undefined,
    );
    if (frameworkOf(inputs.format).recomputesByMethod === true && change.value === true && which.length > 0)
      return [change, ...which.map((name) => ({ name, value: name === "recompute_method" ? "uniform" : 1 }))];
    const byFsdp = resolution.settings.on("fsdp_activation_checkpointing");
    return byFsdp && !on && change.value === false
      ? [{ name: "fsdp_activation_checkpointing", value: false }]
      : [change];
  },
  gradient_accumulation_steps(change, { has, resolution, asked }) {
    // Where only the global batch is stated, smaller micro-batches and fewer replicas take more steps by themselves.
    if (followsFromTotal(resolution, has(change.name))) {
      const total = asked.some(({ name }) => SPLITS.has(name)) ? undefined : globalBatch(resolution, asked);
      const stated = resolution.settings.find("global_batch_size")?.value;
      return total === undefined || total === stated ? [] : [{ name: "global_batch_size", value: total }];
    }
    const total = has(change.name) || !has("global_batch_size") ? undefined : globalBatch(resolution, []);
    return [total === undefined ? change : { name: "global_batch_size", value: total }];
  },
  fused_loss(change, { has, resolution }) {
    // Axolotl's switches of Liger act where its plugin is listed.
    if (has(change.name) || !has("liger_fused_loss")) return [change];
    if (change.value !== true) return [{ name: "liger_fused_loss", value: change.value }];
    return [
      ...(["liger_fused_loss", "liger_norms", "liger_gates"] as const).map((name) => ({ name, value: true })),
      { name: "plugins", value: [...new Set([...(resolution.settings.list("plugins") ?? []), LIGER_PLUGIN])] },
    ];
  },
  quantization(change, { has, resolution }) {
    if (!has("load_in_4bit")) return has("quantization_bit") ? inBits(change, resolution, has) : [change];
    if (change.value === "none") {
      const on = (["load_in_4bit", "load_in_8bit"] as const).filter((name) => resolution.settings.on(name));
      const named =
        resolution.settings.string("adapter") === "qlora" ? [{ name: "adapter" as const, value: "lora" }] : [];
      return [...on.map((name) => ({ name, value: false })), ...named];
    }
    return [{ name: quantizerOf(String(change.value))?.switch ?? "load_in_4bit", value: true }];
  },
  double_quantization(change, { inputs, resolution }) {
    // What a library does anyway is not written.
    const spec = keyFor(inputs.format, change.name, resolution.libraries);
    const unsaid = spec !== undefined && resolution.settings.find(change.name)?.place == null;
    return unsaid && defaultOf(spec, resolution.libraries) === change.value ? [] : [change];
  },
  // Where nobody counts the ranks of a copy, the library does.
  dp_shard_size: (change, { resolution }) => (resolution.settings.find(change.name) === undefined ? [] : [change]),
  lora_target_modules(change, { inputs }) {
    const names = String(change.value)
      .split(",")
      .map((name) => name.trim());
    return names.length > 1 && frameworkOf(inputs.format).splitsNames !== true
      ? [{ name: change.name, value: names }]
      : [change];
  },
  fsdp(change, { has, resolution }) {
    const value = holds("transformers<5", resolution.libraries) ? `${change.value} auto_wrap` : change.value;
    return has("fsdp_options") ? [{ name: "fsdp_options", value }] : [change];
  },
};

/** Canonical changes as the run's own format has keys for them. */
export function spelledOut(
  inputs: RunInputs,
  resolution: Resolution,
  asked: readonly SettingChange[],
): readonly SettingChange[] {
  const has = (name: SettingName): boolean => inputs.format.keys.some((spec) => spec.name === name);
  const asking: Asking = { inputs, resolution, asked, has };
  return asked.flatMap((change) => SPELLINGS[change.name]?.(change, asking) ?? [change]);
}

/** A way to pack weights where bits are asked for, and the package that packs them (LLaMA-Factory, ms-swift). */
function inBits(
  { value }: SettingChange,
  { settings }: Resolution,
  has: (name: SettingName) => boolean,
): SettingChange[] {
  const by = has("quantization_method");
  const bits = quantizerOf(String(value))?.bits;
  if (bits !== undefined)
    return [
      { name: "quantization_bit", value: bits },
      ...(by ? [{ name: "quantization_method" as const, value: "bnb" }] : []),
    ];
  const stated = (["quantization_bit", "quantization_method"] as const).filter(
    (name) => settings.find(name) !== undefined,
  );
  return stated.map((name) => ({ name, value: null }));
}

/** Whether a trainer counts its micro-batches itself, from the global batch that the files state (Megatron, litgpt). */
function followsFromTotal({ settings, resolved }: Resolution, hasKey: boolean): boolean {
  const total = settings.find("global_batch_size");
  const steps = settings.find("gradient_accumulation_steps");
  if (total?.place == null || typeof total.value !== "number") return false;
  if (steps?.place == null) return !hasKey || resolved.get("gradient_accumulation_steps")?.key === total.key;
  return steps.place.uri === total.place.uri && steps.place.keySpan.start === total.place.keySpan.start;
}

/** Degrees that leave fewer copies of the model, so that the stated batch takes more steps. */
const SPLITS: ReadonlySet<SettingName> = new Set<SettingName>([
  "tensor_parallel",
  "pipeline_parallel",
  "context_parallel",
  "sequence_parallel",
]);

/** Samples per step with some changes, for a trainer that takes the accumulation from them (torchtitan). */
function globalBatch({ run }: Resolution, changes: readonly SettingChange[]): number | undefined {
  if (run === null) return undefined;
  const changed = (name: SettingName, now: number): number =>
    Number(changes.find((change) => change.name === name)?.value ?? now);
  const { worldSize } = run.parallel;
  const replicas = (dataParallelSize(run.parallel) * changed("world_size", worldSize)) / worldSize;
  const micro = changed("micro_batch_size", run.microBatchSize);
  const total = micro * changed("gradient_accumulation_steps", run.gradientAccumulationSteps) * replicas;
  return Number.isInteger(total) ? total : undefined;
}
