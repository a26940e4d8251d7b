/** What happens in a step besides the model: attention, checkpointing, optimizer, loss. */

import { ligerPatches } from "../../core/graph/liger";
import { isTraced } from "../../core/graph/own";
import { stateSpaceProducts } from "../../core/graph/state-space";
import { findOptimizer } from "../../core/training/optimizers";
import { staysWhole } from "../../core/training/quantization/skipped";
import type {
  Attention,
  CheckpointingSpec,
  ChunkedLossSpec,
  ModelConfig,
  QuantizationSpec,
  TrainingRun,
} from "../../core/training/run";
import { optimizerNamed, optimizerRow } from "../../terms/optimizers";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import { runsOwnCode } from "../frameworks/frameworks";
import type { SettingValue } from "../frameworks/settings";
import { holds } from "../frameworks/versions";
import { fusedSinceOf } from "../models/families";
import type { ResolveContext } from "./context";

function hasOnlyEager(c: ResolveContext, config: ModelConfig): boolean {
  const since = fusedSinceOf(config);
  return since !== undefined && holds(`transformers<${since}`, c.libraries);
}

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
  // transformers/modeling_utils.py (_check_and_enable_sdpa) and utils/import_utils.py (is_torch_sdpa_available); code of
  // frameworks of their own calls the fused operator itself.
  const fused =
    runsOwnCode(c.framework, c.settings) ||
    !(holds("transformers<4.36", c.libraries) || holds("torch<2.1", c.libraries) || hasOnlyEager(c, config));
  const attention = fused ? "sdpa" : "eager";
  if (c.trains) c.put("attention", attention, "default", "attn_implementation", null);
  return attention;
}

export function checkpointingOf(c: ResolveContext): TrainingRun["checkpointing"] {
  const stated = c.value("gradient_checkpointing", false);
  if (stated === false || stated === "none" || stated === "no") return checkpointedByFsdp(c);
  const granularity = c.settings.string("recompute_granularity");
  if (granularity === "selective" || granularity === "full") return granularity === "full" ? recomputedOf(c) : null;
  // On command lines the options are JSON text.
  const text = c.settings.string("gradient_checkpointing_kwargs") ?? "";
  const written = (option: string): string | undefined =>
    new RegExp(`["']${option}["']\\s*:\\s*(true|false|\\d+)`, "i").exec(text)?.[1]?.toLowerCase();
  const reentrant = written("use_reentrant");
  const useReentrant =
    c.settings.boolean("use_reentrant") ??
    (reentrant === undefined
      ? ((c.formatDefault("use_reentrant") as boolean | undefined) ?? holds("transformers<5", c.libraries))
      : reentrant === "true");
  if (isSelective(c)) return { useReentrant: false, ...selectedOf(c) };
  const every = Math.trunc(c.settings.number("checkpoint_every_n_layers") ?? Number(written("every_n_layers") ?? 1));
  // gpt-neox hands it to DeepSpeed's pipeline (activation_checkpoint_interval).
  const together = Math.trunc(c.settings.number("checkpoint_num_layers") ?? 1);
  const offloads =
    (c.settings.on("offload_activations") && c.framework.offloadsAll === undefined) ||
    c.settings.string("offload_activations") === "legacy" ||
    written("offload") === "true";
  return {
    useReentrant,
    ...(every > 1 ? { everyNLayers: every } : {}),
    // torchtune and torchtitan count layers from 1 (apply_selective_activation_checkpointing).
    ...(every > 1 && c.framework.countsLayersFromOne === true ? { firstLayer: every - 1 } : {}),
    ...(together > 1 ? { layersTogether: together } : {}),
    ...(offloads ? { offloads } : {}),
    // unsloth_zoo/compiler.py, patch_gradient_checkpointing and strip_kw_from_module_calls.
    ...(c.settings.on("use_unsloth") ? { rewritten: true } : {}),
  };
}

/**
 * Megatron's full recomputation: `uniform` makes segments of so many layers, `block` recomputes the first so many of every
 * stage (megatron/core/transformer/transformer_block.py; its CheckpointFunction is reentrant).
 */
function recomputedOf(c: ResolveContext): CheckpointingSpec {
  const layers = Math.max(0, Math.trunc(c.settings.number("recompute_num_layers") ?? 1));
  if (c.settings.string("recompute_method") === "block") return { useReentrant: true, firstLayers: layers };
  return { useReentrant: true, ...(layers > 1 ? { layersTogether: layers } : {}) };
}

/** Attention that makes no scores keeps next to nothing that its own recomputation would spare. */
const FUSED: ReadonlySet<Attention> = new Set(["sdpa", "flash_attention_2", "flash_attention_3"]);

/** Whether selective recomputation covers anything that is not spared already (`recompute_modules`; core attention alone). */
export function recomputesModules(c: ResolveContext, attention: Attention): boolean {
  const stated = c.settings.find("recompute_granularity");
  if (stated?.value !== "selective") return false;
  const modules = c.settings.list("recompute_modules") ?? [];
  const more = modules.some((name) => name !== "core_attn") || !FUSED.has(attention);
  if (more) c.suppose(say("assume.recompute-modules"), stated.key);
  return more;
}

/** torchtitan checkpoints selectively unless told otherwise (config/job_config.py). */
function isSelective(c: ResolveContext): boolean {
  if (c.framework.checkpointsSelectively === undefined) return false;
  const stated = c.settings.find("gradient_checkpointing");
  return stated === undefined || (stated.from !== "pin" && c.settings.string("checkpoint_kind") === "selective");
}

/** Chosen operators of every layer, or every nth layer (torchtitan/distributed/activation_checkpoint.py). */
function selectedOf(c: ResolveContext): Pick<CheckpointingSpec, "selective" | "everyNLayers" | "firstLayer"> {
  const every = Math.trunc(Number(c.settings.string("checkpoint_mode") ?? Number.NaN));
  if (every >= 1) return { everyNLayers: every, firstLayer: every - 1 };
  const { model } = c.inputs;
  const code = model?.kind === "found" ? model.code : undefined;
  return { selective: { recomputes: c.framework.checkpointsSelectively?.(code) ?? [] } };
}

export function offloadsActivations(c: ResolveContext): "each" | "once" | null {
  return c.settings.on("offload_activations") ? (c.framework.offloadsAll ?? null) : null;
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
  return { useReentrant: false, wrapped: true };
}

/** torchtitan's own section of compilation compiles the loss, too, unless told otherwise (`compile.components`). */
const COMPILES_LOSS = "compile.enable";
/** Backends that run operators as they are. */
const RUNS_EAGERLY: ReadonlySet<string> = new Set(["no", "eager"]);

/** `torch.compile` of the model: switched on, or implied by a backend or a mode (transformers/training_args.py). */
export function compiledOf(c: ResolveContext): NonNullable<TrainingRun["compiled"]> | null {
  const backend = c.settings.find("torch_compile_backend");
  const stated = c.settings.find("torch_compile");
  const on =
    stated?.value === true || stated?.value === "auto"
      ? stated
      : stated === undefined
        ? (backend ?? c.settings.find("torch_compile_mode"))
        : undefined;
  if (on === undefined || on.value === null || on.value === false) return null;
  if (backend !== undefined && RUNS_EAGERLY.has(String(backend.value).toLowerCase())) return null;
  c.suppose(say(c.settings.string("loop_holds") !== undefined ? "assume.compile-eager" : "assume.compile"), on.key);
  const whole = c.settings.boolean("regional_compilation") !== true && c.framework.compilesLayers !== true;
  if (offloadsActivations(c) !== null)
    c.suppose(say(whole ? "assume.compile-offload" : "assume.compile-offload-layers"), on.key);
  if (whole) return "model";
  return on.key === COMPILES_LOSS ? "layers-and-loss" : "layers";
}

export function optimizerOf(c: ResolveContext, config: ModelConfig): TrainingRun["optimizer"] {
  const block = c.settings.find("deepspeed_optimizer");
  if (block !== undefined) {
    const type = String(block.value).toLowerCase();
    c.keep("optimizer", block);
    const name = DEEPSPEED_OPTIMIZERS[type];
    // It is given all parameters as one group (transformers/integrations/deepspeed.py, deepspeed_optim_sched).
    const own = name === undefined ? asAdam(c, String(block.value), block.key) : { name, args: {} };
    // What twin-flow leaves on the card is stepped by PyTorch's (deepspeed/runtime/zero/stage3.py, `backup_optimizer`).
    const stays = (c.settings.number("offload_optimizer_ratio") ?? 1) < 1;
    return { ...own, ...(stays ? { name: "adamw_torch" } : {}), oneGroup: true };
  }
  if (c.settings.on("adafactor") && holds("transformers<5", c.libraries)) {
    const setting = c.settings.find("adafactor");
    if (setting !== undefined) c.keep("optimizer", setting, "adafactor");
    return { name: "adafactor", args: {} };
  }
  if (!c.trains && c.settings.find("optimizer") === undefined) {
    return { name: "adamw_torch_fused", args: {} };
  }
  // A loop's own optimizer is its class's default form; the Trainer's is the fused one.
  const unsaid = c.ownLoop && c.settings.find("optimizer") === undefined;
  const written = unsaid ? "adamw_torch" : String(c.value("optimizer", "adamw_torch_fused"));
  const args = optimizerArguments(c.settings.find("optim_args")?.value);
  const projected = projectedOptimizer(c, written);
  if (projected !== undefined) return projected;
  const name = optimizerNamed(written) ?? optimizerNamed(written.toLowerCase()) ?? written;
  if (findOptimizer(name) === undefined) return asAdam(c, written, c.settings.find("optimizer")?.key ?? "optim");
  if (optimizerRow(name)?.remembers)
    c.suppose(say("assume.history-full"), c.settings.find("optimizer")?.key ?? "optim");
  // The decay of the groups overrules that of `optim_args`.
  const { weight_decay: _, ...own } = args;
  return {
    name,
    args: { ...own, ...givenByTrainer(c, name), ...headsOf(name, config), ...embeddingStates(c, written) },
    ...(c.settings.on("one_group") ? { oneGroup: true } : {}),
  };
}

/**
 * Only the Trainer tells bitsandbytes to keep embeddings' states in 32 bits, and before 4.52 it told a class called `Adam8bit` alone,
 * where it makes `AdamW` and `Lion` with `optim_bits` (transformers/trainer.py, create_optimizer).
 */
function embeddingStates(c: ResolveContext, written: string): TrainingRun["optimizer"]["args"] {
  const untold = c.settings.on("own_optimizer") || (c.trains && holds("transformers<4.52", c.libraries));
  return untold && /8bit/i.test(written) ? { embeddings_in_32_bits: "False" } : {};
}

/** Adam-mini is told the sizes of the heads (llamafactory/train/trainer_utils.py, _create_adam_mini_optimizer). */
function headsOf(name: string, config: ModelConfig): Record<string, string> {
  const { hidden_size: dim, num_attention_heads: heads } = config;
  return name === "adam_mini" && typeof dim === "number" && typeof heads === "number"
    ? { dim: String(dim), n_heads: String(heads) }
    : {};
}

/**
 * When and over what the optimizer steps: in backward (torchtune, torchtitan), over one block of layers (BAdam). Its turns go
 * round all layers unless the mode is `fixed`; the first layer's takes most, as gradients have the furthest way to it.
 */
export function steppedOf(
  c: ResolveContext,
  optimizer: TrainingRun["optimizer"],
  { fsdp, deepspeed }: TrainingRun["parallel"],
): TrainingRun["optimizer"] {
  const badam = c.settings.find("use_badam");
  if (badam?.value === true) {
    const fixed = c.settings.string("badam_switch_mode") === "fixed";
    if (!fixed) c.suppose(say("assume.badam-first"), "badam_start_block");
    return { ...optimizer, block: fixed ? Math.trunc(c.settings.number("badam_start_block") ?? 0) : 0 };
  }
  const setting = c.settings.find("optimizer_in_backward");
  if (setting?.value !== true) return optimizer;
  if (fsdp === null && deepspeed === null) return { ...optimizer, stepsInBackward: true };
  c.suppose(say("assume.in-backward-sharded"), setting.key);
  return optimizer;
}

/**
 * What optimizers that send one bit a number keep beside AdamW's two states, in copies of the trained weights: the errors of what was
 * sent, an accumulated momentum, a second variance (deepspeed/runtime/fp16/onebit/{adam,zoadam,lamb}.py).
 */
const MORE_COPIES: Readonly<Record<string, number>> = table({ onebitadam: 1, zerooneadam: 2, onebitlamb: 2 });

/** An optimizer nobody followed, as the one most are made after. */
function asAdam(c: ResolveContext, optimizer: string, key: string): TrainingRun["optimizer"] {
  const copies = MORE_COPIES[optimizer.toLowerCase()];
  if (copies !== undefined) c.suppose(say("assume.optimizer-errors", { optimizer, copies }), key);
  else c.suppose(say("assume.optimizer-as-adamw", { optimizer }), key, { optimizer: "sgd" });
  return { name: "adamw_torch", args: {} };
}

/**
 * What the trainer gives the optimizer whatever `optim_args` says: the decay of its parameter groups, the modules that
 * are projected, and before torch 2.0 the for-loop form (`_default_to_fused_or_foreach` came with it), one list more in
 * torch 2.0 itself.
 */
function givenByTrainer(c: ResolveContext, name: string): Record<string, string> {
  const targets = c.settings.list("optim_target_modules");
  const decay = c.settings.number("weight_decay") ?? 0;
  return {
    ...(optimizerRow(name)?.decaysGradient === true && decay !== 0 ? { weight_decay: String(decay) } : {}),
    ...(targets === undefined ? {} : { optim_target_modules: targets.join(",") }),
    ...(holds("torch<2.0", c.libraries) ? { foreach: "False" } : {}),
    ...(holds("torch>=2.0", c.libraries) && holds("torch<2.1", c.libraries) ? { denominator_apart: "True" } : {}),
  };
}

/** Settings of the projections. */
const PROJECTED = {
  galore: { rank: "galore_rank", target: "galore_target" },
  apollo: { rank: "apollo_rank", target: "apollo_target" },
} as const;

/** LLaMA-Factory's switches that project gradients (`_create_galore_optimizer`, `_create_apollo_optimizer`) or run Muon. */
function projectedOptimizer(c: ResolveContext, written: string): TrainingRun["optimizer"] | undefined {
  if (c.settings.on("use_muon")) return { name: "muon", args: {} };
  const method = (["galore", "apollo"] as const).find((name) => c.settings.on(`use_${name}`));
  if (method === undefined) return undefined;
  const setting = (name: "rank" | "target"): string | undefined => {
    const value = c.settings.find(PROJECTED[method][name])?.value;
    return value === undefined || value === null ? undefined : String(value);
  };
  const inner =
    method === "apollo"
      ? "adamw"
      : /8bit/i.test(written)
        ? "adamw_8bit"
        : /adafactor/.test(written)
          ? "adafactor"
          : "adamw";
  const layerwise = c.settings.on(`${method}_layerwise`) ? "_layerwise" : "";
  const target = setting("target");
  return {
    name: `${method}_${inner}${layerwise}`,
    args: {
      rank: setting("rank") ?? String(c.formatDefault(PROJECTED[method].rank) ?? 16),
      proj_type: (method === "galore" ? c.settings.string("galore_proj_type") : undefined) ?? "std",
      ...(target === undefined || target === "all" ? {} : { optim_target_modules: target }),
    },
  };
}

/**
 * torchtune's losses over eight pieces of every sequence (`num_output_chunks`), compiled with the model; axolotl's over
 * pieces of whole logits, always compiled (axolotl/monkeypatch/loss/chunked.py).
 */
export function chunkedLossOf(c: ResolveContext): ChunkedLossSpec | null {
  if (c.settings.on("chunked_loss")) {
    const chunks = Math.max(1, Math.trunc(c.settings.number("loss_chunks") ?? 8));
    return { chunks, compiled: true, keepsLogits: true, whole: true };
  }
  // litgpt/finetune/lora.py (`lm_head_chunk_size`), through Fabric's wrapper, which gives float32
  const rows = c.settings.number("loss_rows");
  if (rows !== undefined) return { chunks: 1, rows, compiled: false, keepsLogits: true, raisedFirst: true };
  const component = c.settings.string("loss_component") ?? "";
  const keepsLogits = /ChunkedOutput/.test(component);
  if (!keepsLogits && !/Linear\w{0,80}Loss$/.test(component)) return null;
  const chunks = Math.max(1, Math.trunc(c.settings.number("loss_chunks") ?? 8));
  const compiled = c.settings.on("torch_compile");
  // torchtune 0.6.1 cuts with `chunk` (torchtune/modules/transformer.py, chunked_output).
  return { chunks, compiled, keepsLogits, ...(keepsLogits ? { rounds: true } : {}) };
}

/** Liger's loss where it knows the model, a framework's own fused head, or TRL's chunked loss (the default of SFT since 1.7). */
export function fusedLossOf(c: ResolveContext, trainer: string, family: string | undefined): boolean {
  if (c.settings.on("fused_head")) return true;
  if (family !== undefined && patchedBy(c, family) && ligerPatches(family, "fused_linear_cross_entropy")) return true;
  const loss = c.settings.string("loss_type");
  if (loss === "chunked_nll" || c.settings.find("loss_piece_bytes") !== undefined) return true;
  if (trainer !== "sft") return false;
  return loss === "nll" ? holds("trl>=1.15", c.libraries) : holds("trl>=1.7", c.libraries);
}

/**
 * Whether state-space layers run as `mamba_ssm` has them, as on most cards that train such models. Its function multiplies by the last
 * weight itself, so that no packed one can be there.
 */
export function stateSpaceKernelsOf(
  c: ResolveContext,
  quantization: QuantizationSpec | null,
): Pick<TrainingRun, "stateSpaceKernels"> {
  const { graphs } = c.inputs;
  if (graphs === undefined || isTraced(graphs)) return {};
  const [graph] = graphs.graphs;
  const products = graph === undefined ? [] : stateSpaceProducts(graph);
  if (products.length === 0) return {};
  if (quantization !== null && !products.every((path) => staysWhole(quantization, path))) return {};
  const stated = c.keepStated("state_space_kernels");
  if (stated === undefined) c.suppose(say("assume.state-space-kernels"), "state_space_kernels");
  return { stateSpaceKernels: stated?.value !== false };
}

/** Which of Liger's layers run: all of them with its switch, unless they have switches of their own. */
export function fusedLayersOf(c: ResolveContext, family: string | undefined): NonNullable<TrainingRun["fusedLayers"]> {
  const own = c.settings.find("fused_layers")?.value;
  if (own === "norms" || own === "gates" || typeof own === "boolean") return own;
  return family !== undefined && patchedBy(c, family);
}

/** Whether Liger is switched on, and the framework hands it models of the type. */
function patchedBy({ settings, framework: { ligerFamilies } }: ResolveContext, family: string): boolean {
  return settings.on("fused_loss") && ligerFamilies?.has(family) !== false;
}

/** DeepSpeed's optimizers by the HF name with the same memory. */
const DEEPSPEED_OPTIMIZERS: Readonly<Record<string, string>> = table({
  adam: "adamw_torch_fused",
  adamw: "adamw_torch_fused",
  fusedadam: "adamw_torch_fused",
  deepspeedcpuadam: "adamw_torch_fused",
  lion: "lion_32bit",
  adagrad: "adagrad",
  sgd: "sgd",
});

/** `momentum=0.9, rank=64` as HF's `optim_args` reads it. */
function optimizerArguments(value: SettingValue | undefined): Record<string, string> {
  if (typeof value !== "string") return {};
  const pairs = value
    .replaceAll(" ", "")
    .split(",")
    .map((part) => part.split("="));
  return Object.fromEntries(pairs.flatMap(([key, text]) => (key && text !== undefined ? [[key, text]] : [])));
}
