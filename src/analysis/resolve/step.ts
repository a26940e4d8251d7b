/** What happens in a step besides the model: attention, checkpointing, optimizer, loss. */
import type { Attention, ModelConfig, TrainingRun } from "../../core/training/run";
import type { SettingValue } from "../settings";
import { holds } from "../versions";
import type { ResolveContext } from "./context";

export function attentionOf(c: ResolveContext, config: ModelConfig): Attention {
  const stated = c.settings.find("attention");
  if (stated !== undefined) {
    const value = String(stated.value) as Attention;
    c.keep("attention", stated, value);
    return value;
  }
  const own = config["_attn_implementation"] ?? config["attn_implementation"];
  if (typeof own === "string") {
    c.put("attention", own, "linked", "attn_implementation", null);
    return own as Attention;
  }
  if (c.trains) c.put("attention", "sdpa", "default", "attn_implementation", null);
  return "sdpa";
}

export function checkpointingOf(c: ResolveContext): TrainingRun["checkpointing"] {
  const stated = c.value("gradient_checkpointing", false);
  if (stated === false || stated === "none" || stated === "no") return checkpointedByFsdp(c);
  // On command lines the options are JSON text.
  const text = c.settings.string("gradient_checkpointing_kwargs") ?? "";
  const written = (option: string): string | undefined =>
    new RegExp(`["']${option}["']\\s*:\\s*(true|false|\\d+)`, "i").exec(text)?.[1]?.toLowerCase();
  const reentrant = written("use_reentrant");
  const useReentrant =
    c.settings.boolean("use_reentrant") ??
    (reentrant === undefined ? holds("transformers<5", c.libraries) : reentrant === "true");
  const every = Math.trunc(c.settings.number("checkpoint_every_n_layers") ?? Number(written("every_n_layers") ?? 1));
  const offloads =
    (c.settings.boolean("offload_activations") === true && !OFFLOADS_ALL.has(c.inputs.format.id)) ||
    c.settings.string("offload_activations") === "legacy" ||
    written("offload") === "true";
  return {
    useReentrant,
    ...(every > 1 ? { everyNLayers: every } : {}),
    // torchtune and torchtitan count layers from 1 (apply_selective_activation_checkpointing).
    ...(every > 1 && COUNTS_FROM_ONE.has(c.inputs.format.id) ? { firstLayer: every - 1 } : {}),
    ...(offloads ? { offloads } : {}),
  };
}

const COUNTS_FROM_ONE = new Set(["torchtune", "torchtitan"]);

/** Formats whose switch sends every saved activation to the host (OffloadActivations), not only layer inputs. */
const OFFLOADS_ALL: ReadonlyMap<string, "each" | "once"> = new Map([
  ["trl", "once"],
  ["axolotl", "once"],
  ["torchtune", "each"],
]);

export function offloadsActivations(c: ResolveContext): "each" | "once" | null {
  return c.settings.boolean("offload_activations") === true ? (OFFLOADS_ALL.get(c.inputs.format.id) ?? null) : null;
}

/** FSDP's own checkpointing wraps each of its units, never reentrant (accelerate's `fsdp2_apply_ac`, `prepare_model`). */
function checkpointedByFsdp(c: ResolveContext): TrainingRun["checkpointing"] {
  const setting = c.settings.find("fsdp_activation_checkpointing");
  const fsdp = c.settings.find("fsdp") ?? c.settings.find("fsdp_options");
  const off = fsdp === undefined || fsdp.value === "" || fsdp.value === false || fsdp.value === "none";
  if (setting?.value !== true || off || c.inputs.deepspeed !== undefined) return null;
  // Off by a pin or a what-if means off by whatever key.
  if (c.settings.find("gradient_checkpointing")?.from === "pin") return null;
  c.keep("gradient_checkpointing", setting);
  return { useReentrant: false };
}

export function optimizerOf(c: ResolveContext): TrainingRun["optimizer"] {
  const block = c.settings.find("deepspeed_optimizer");
  if (block !== undefined) {
    const type = String(block.value).toLowerCase();
    c.keep("optimizer", block);
    return { name: DEEPSPEED_OPTIMIZERS[type] ?? String(block.value), args: {} };
  }
  if (c.settings.boolean("adafactor") === true && holds("transformers<5", c.libraries)) {
    const setting = c.settings.find("adafactor");
    if (setting !== undefined) c.keep("optimizer", setting, "adafactor");
    return { name: "adafactor", args: {} };
  }
  if (!c.trains && c.settings.find("optimizer") === undefined) {
    return { name: "adamw_torch_fused", args: {} };
  }
  const name = String(c.value("optimizer", "adamw_torch_fused"));
  const args = optimizerArguments(c.settings.find("optim_args")?.value);
  // Lists of temporaries are the default since 2.0 (torch/optim/optimizer.py, _default_to_fused_or_foreach).
  return { name, args: holds("torch<2", c.libraries) ? { foreach: "False", ...args } : args };
}

/** Liger, or TRL's own chunked loss (the default of SFT since 1.7). */
export function fusedLossOf(c: ResolveContext, trainer: string): boolean {
  if (c.settings.boolean("fused_loss") === true) return true;
  const loss = c.settings.string("loss_type");
  if (loss === "chunked_nll") return true;
  if (trainer !== "sft") return false;
  return loss === "nll" ? holds("trl>=1.15", c.libraries) : holds("trl>=1.7", c.libraries);
}

/** DeepSpeed's optimizers by the HF name with the same memory. */
const DEEPSPEED_OPTIMIZERS: Readonly<Record<string, string>> = {
  adam: "adamw_torch_fused",
  adamw: "adamw_torch_fused",
  fusedadam: "adamw_torch_fused",
  deepspeedcpuadam: "adamw_torch_fused",
  lion: "lion_32bit",
  adagrad: "adagrad",
  sgd: "sgd",
};

/** `momentum=0.9, rank=64` as HF's `optim_args` reads it. */
function optimizerArguments(value: SettingValue | undefined): Record<string, string> {
  if (typeof value !== "string") return {};
  const pairs = value
    .replaceAll(" ", "")
    .split(",")
    .map((part) => part.split("="));
  return Object.fromEntries(pairs.flatMap(([key, text]) => (key && text !== undefined ? [[key, text]] : [])));
}
