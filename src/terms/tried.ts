/**
 * Settings of which other values are tried: by the hover of a key, by the panel's controls. One row a setting; what is on offer, what
 * holds where nothing says it and what is said of it follow from the row.
 */
import type { SettingName } from "./settings";

/** Groups of the panel's controls, in its order. */
export type ControlGroup = "data" | "precision" | "savers" | "optimizer" | "adapters" | "parallel" | "offload";

export interface TriedRow {
  /** Of a number other values may be typed, too. */
  readonly kind: "number" | "word";
  /** Values on offer, spelled as `--set` takes them. */
  readonly values: readonly string[];
  /** What holds where nothing says it. */
  readonly otherwise?: string;
  /** Where the panel has a control for it. */
  readonly group?: ControlGroup;
  /** A hover tries powers of two around the present number instead: how many below and above, and the least one. */
  readonly around?: { readonly below: number; readonly above: number; readonly least?: number };
  /** What one step costs is said of so many of it. */
  readonly per?: number;
  /** People choose it to save memory: what the present value saves is worth saying. */
  readonly saves?: true;
  /** Settings that are parts of it, or that switch its block: their hovers try this one. */
  readonly of?: readonly SettingName[];
  /** No hover tries it. */
  readonly panelOnly?: true;
}

const SWITCH = { kind: "word", values: ["false", "true"], otherwise: "false" } as const;
const PLACES = {
  kind: "word",
  values: ["none", "cpu", "nvme"],
  otherwise: "none",
  group: "offload",
  saves: true,
} as const;

export const TRIED = {
  micro_batch_size: {
    kind: "number",
    values: ["1", "2", "4", "8", "16"],
    group: "data",
    around: { below: 3, above: 1 },
    per: 1,
  },
  sequence_length: {
    kind: "number",
    values: ["1024", "2048", "4096", "8192"],
    group: "data",
    around: { below: 2, above: 2, least: 64 },
    per: 1024,
    of: ["packing"],
  },
  gradient_accumulation_steps: {
    kind: "number",
    values: ["1", "2", "4", "8"],
    otherwise: "1",
    group: "data",
    around: { below: 2, above: 2 },
  },
  target_length: { kind: "number", values: ["128"], around: { below: 2, above: 2 } },
  image_size: { kind: "number", values: ["224", "384"] },
  compute_dtype: {
    kind: "word",
    values: ["fp32", "bf16", "fp16"],
    otherwise: "fp32",
    group: "precision",
    of: ["bf16", "fp16", "bf16_block", "fp16_block"],
  },
  load_dtype: { kind: "word", values: ["float32", "bfloat16"], otherwise: "float32", saves: true },
  gradient_checkpointing: { ...SWITCH, group: "savers", saves: true, of: ["gradient_checkpointing_kwargs"] },
  use_reentrant: SWITCH,
  fused_loss: { ...SWITCH, group: "savers", saves: true },
  attention: {
    kind: "word",
    values: ["eager", "sdpa", "flash_attention_2"],
    otherwise: "sdpa",
    group: "savers",
    saves: true,
  },
  label_smoothing: { kind: "word", values: ["0", "0.1"], otherwise: "0" },
  // As the Hugging Face Trainer spells them, the most used first.
  optimizer: {
    kind: "word",
    values: ["adamw_torch", "adamw_torch_fused", "adamw_bnb_8bit", "paged_adamw_8bit", "adafactor", "lion_8bit", "sgd"],
    group: "optimizer",
    saves: true,
    of: ["deepspeed_optimizer"],
  },
  max_grad_norm: { kind: "word", values: ["0", "1"], otherwise: "1" },
  adapter: { kind: "word", values: ["none", "lora", "dora"], otherwise: "none", group: "adapters", panelOnly: true },
  // peft's own rank (peft/tuners/lora/config.py)
  lora_rank: {
    kind: "number",
    values: ["8", "16", "32", "64"],
    otherwise: "8",
    group: "adapters",
    around: { below: 2, above: 2 },
    per: 8,
    of: ["adapter", "use_peft"],
  },
  lora_target_modules: { kind: "word", values: ["all-linear"], saves: true },
  quantization: {
    kind: "word",
    values: ["none", "int8", "nf4"],
    otherwise: "none",
    group: "adapters",
    saves: true,
    of: ["load_in_4bit", "load_in_8bit"],
  },
  world_size: { kind: "number", values: ["1", "2", "4", "8"], group: "parallel", around: { below: 2, above: 2 } },
  zero_stage: {
    kind: "word",
    values: ["0", "1", "2", "3"],
    otherwise: "0",
    group: "parallel",
    saves: true,
    of: ["deepspeed"],
  },
  fsdp: {
    kind: "word",
    values: ["none", "shard_grad_op", "full_shard"],
    otherwise: "none",
    group: "parallel",
    panelOnly: true,
  },
  overlap_comm: SWITCH,
  reduce_bucket_size: { kind: "number", values: ["50000000", "200000000", "500000000"], otherwise: "500000000" },
  offload_optimizer: { ...PLACES, of: ["offload_optimizer_block"] },
  offload_param: { ...PLACES, of: ["offload_param_block"] },
} as const satisfies { readonly [Name in SettingName]?: TriedRow };

/** A setting of which other values are tried. */
export type TriedName = keyof typeof TRIED;

/** Of which the cost of a step is told, in words of its own (`hover.per-<name>`). */
export type CountedName = {
  [Name in TriedName]: (typeof TRIED)[Name] extends { readonly per: number } ? Name : never;
}[TriedName];

export const TRIED_ROWS: readonly (readonly [TriedName, TriedRow])[] = Object.entries(TRIED) as [TriedName, TriedRow][];
