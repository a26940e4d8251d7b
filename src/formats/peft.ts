/**
 * peft's config classes: the adapter each stands for and its fields by canonical name. Python calls, saved
 * `adapter_config.json` files and pins read them through this table. Source: peft/tuners/<tuner>/config.py (0.21).
 */

import type { SettingName } from "../terms/settings";
import { table } from "../terms/table";
import { EFFECT, memory } from "./effects";
import type { KeySpec } from "./types";

/** A field that several classes have. */
interface Field {
  readonly name: SettingName;
  readonly type: KeySpec["type"];
  readonly effect: string;
  readonly min?: number;
}

const field = (name: SettingName, type: KeySpec["type"], effect: string, min?: number): Field => ({
  name,
  type,
  effect,
  ...(min === undefined ? {} : { min }),
});

/** Fields by the name the classes use. */
const FIELDS: Readonly<Record<string, Field>> = table({
  r: field("lora_rank", "integer", EFFECT.rank, 0),
  lora_alpha: field("lora_alpha", "number", EFFECT.alpha),
  alpha: field("lora_alpha", "number", EFFECT.alpha),
  lora_dropout: field("lora_dropout", "number", EFFECT.dropout, 0),
  target_modules: field("lora_target_modules", "any", EFFECT.targets),
  target_parameters: field(
    "adapter_target_parameters",
    "any",
    "Parameters that get low-rank factors of their own: experts that are stored together.",
  ),
  exclude_modules: field("adapter_exclude_modules", "any", "Modules left out although they are named."),
  layers_to_transform: field("adapter_layers", "any", "Layers that get an adapter; all when absent."),
  modules_to_save: field("lora_modules_to_save", "any", EFFECT.toSave),
  bias: field("lora_bias", "string", "Which biases are trained."),
  feedforward_modules: field("adapter_feedforward_modules", "any", "Modules whose input is scaled, not their output."),
  num_virtual_tokens: field(
    "adapter_virtual_tokens",
    "integer",
    "Trained vectors before every sequence: they take the room of as many tokens.",
    1,
  ),
  encoder_hidden_size: field(
    "adapter_encoder_hidden_size",
    "integer",
    "Width of the network that makes the vectors.",
    1,
  ),
  prefix_projection: field("adapter_prefix_projection", "boolean", "A network makes the prefix of all layers: large."),
  token_indices: field(
    "adapter_token_indices",
    "any",
    "Rows of the embedding that are trained; a copy of the table is made.",
  ),
  decompose_both: field("adapter_decompose_both", "boolean", "Both Kronecker factors may be low-rank."),
  decompose_factor: field("adapter_decompose_factor", "integer", "Splits widths into Kronecker factors."),
  oft_block_size: field("adapter_block_size", "integer", "Width of the blocks that are turned.", 0),
  boft_block_size: field("adapter_block_size", "integer", "Width of the blocks that are turned.", 0),
  boft_block_num: field("adapter_block_count", "integer", "Blocks of a layer, where their width is 0.", 0),
  init_lora_weights: field(
    "adapter_initialization",
    "any",
    "How the factors start: made from the weights (PiSSA, OLoRA, LoftQ), each is taken apart in float32 before training.",
  ),
  block_share: field("adapter_block_share", "boolean", "One rotation for all blocks."),
});

interface PeftClass {
  readonly callee: string;
  /** `peft_type` of a saved config. */
  readonly saved: string;
  /** Canonical type of the adapter. */
  readonly type: string;
  /** Fields that decide memory, beside those every class on modules has. */
  readonly fields: readonly string[];
  /** Fields under a name of the class's own. */
  readonly renamed?: Readonly<Record<string, string>>;
}

const ON_MODULES = ["target_modules", "exclude_modules", "layers_to_transform", "modules_to_save"];

const row = (
  callee: string,
  saved: string,
  type: string,
  fields: readonly string[],
  renamed: Readonly<Record<string, string>> = {},
): PeftClass => ({ callee, saved, type, fields, renamed });

/** LoRA's own class is read by the formats that know its further switches. */
const PEFT_CLASSES: readonly PeftClass[] = [
  row("IA3Config", "IA3", "ia3", [...ON_MODULES, "feedforward_modules"]),
  row("VeraConfig", "VERA", "vera", [...ON_MODULES, "r", "bias"], { vera_dropout: "lora_dropout" }),
  row("AdaLoraConfig", "ADALORA", "adalora", [...ON_MODULES, "lora_alpha", "lora_dropout", "bias"], { init_r: "r" }),
  row("LoHaConfig", "LOHA", "loha", [...ON_MODULES, "r", "alpha"]),
  row("LoKrConfig", "LOKR", "lokr", [...ON_MODULES, "r", "alpha", "decompose_both", "decompose_factor"]),
  row("OFTConfig", "OFT", "oft", [...ON_MODULES, "r", "oft_block_size", "block_share", "bias"]),
  row("BOFTConfig", "BOFT", "boft", [...ON_MODULES, "boft_block_size", "boft_block_num", "bias"]),
  row("PromptTuningConfig", "PROMPT_TUNING", "prompt-tuning", ["num_virtual_tokens"]),
  row("PromptEncoderConfig", "P_TUNING", "p-tuning", ["num_virtual_tokens", "encoder_hidden_size"]),
  row("PrefixTuningConfig", "PREFIX_TUNING", "prefix-tuning", [
    "num_virtual_tokens",
    "encoder_hidden_size",
    "prefix_projection",
  ]),
  row("TrainableTokensConfig", "TRAINABLE_TOKENS", "trainable-tokens", ["token_indices"]),
  row("LNTuningConfig", "LN_TUNING", "ln-tuning", ["target_modules", "exclude_modules", "modules_to_save"]),
  // What follows is not simulated as it runs; the analysis says so.
  ...["FourierFT", "HRA", "VBLoRA", "MiSS", "C3A", "RandLora", "Road", "Shira"].map((name) =>
    row(`${name}Config`, name.toUpperCase(), name.toLowerCase(), [...ON_MODULES, "r"]),
  ),
];

/** Fields of LoRA's class that the adapter's other classes share, beside those its formats list themselves. */
export const LORA_FIELDS: Readonly<Record<string, string>> = table({
  target_parameters: "target_parameters",
  exclude_modules: "exclude_modules",
  layers_to_transform: "layers_to_transform",
  trainable_token_indices: "token_indices",
  init_lora_weights: "init_lora_weights",
});

/** `[field as written, canonical name]` of a class. */
function writtenFields({ fields, renamed = {} }: PeftClass): readonly (readonly [string, Field])[] {
  const own = fields.map((name) => [name, FIELDS[name]!] as const);
  return [...own, ...Object.entries(renamed).map(([written, name]) => [written, FIELDS[name]!] as const)];
}

function key(prefix: string, written: string, { name, type, effect, min }: Field): KeySpec {
  return memory(`${prefix}.${written}`, name, type, effect, { nullable: true, ...(min === undefined ? {} : { min }) });
}

/** Calls of the classes as Python formats find them, with the prefix of their keywords. */
export const PEFT_CALLS: readonly (readonly [RegExp, string])[] = PEFT_CLASSES.map(
  ({ callee, type }) => [new RegExp(`(?:^|\\.)${callee}$`), `${type}.`] as const,
);

/** Keywords of the classes; the call itself names the adapter. */
export const PEFT_CALL_KEYS: readonly KeySpec[] = [
  ...PEFT_CLASSES.flatMap((entry) => [
    memory(`${entry.type}.call`, "adapter", "boolean", EFFECT.adapter, { means: { true: entry.type } }),
    ...writtenFields(entry).map(([written, spec]) => key(entry.type, written, spec)),
  ]),
  ...Object.entries(LORA_FIELDS).map(([written, name]) => key("lora", written, FIELDS[name]!)),
];

/** Canonical settings of a saved adapter's config by field, or undefined for a type that is not known. */
export function savedAdapter(
  peftType: string,
): { readonly type: string; readonly names: Readonly<Record<string, SettingName>> } | undefined {
  const entry = PEFT_CLASSES.find(({ saved }) => saved === peftType.toUpperCase());
  if (entry === undefined) return undefined;
  return {
    type: entry.type,
    names: Object.fromEntries(writtenFields(entry).map(([name, { name: to }]) => [name, to])),
  };
}

/** Adapter types a pin may name. */
export const PINNED_ADAPTERS: readonly string[] = ["lora", "dora", ...PEFT_CLASSES.map(({ type }) => type), "none"];

/** Fields a pin may state, with their canonical names. */
export const PINNED_FIELDS: Readonly<Record<string, SettingName>> = Object.fromEntries(
  Object.entries(FIELDS)
    .filter(
      ([name]) =>
        !["r", "alpha", "lora_alpha", "lora_dropout", "target_modules", "modules_to_save", "bias"].includes(name),
    )
    .map(([name, { name: to }]) => [name, to]),
);

/** What a field a pin may state does. */
export function pinnedEffect(name: string): string {
  return FIELDS[name]!.effect;
}

/** Types of the fields a pin may state. */
export function pinnedType(name: string): KeySpec["type"] {
  return FIELDS[name]!.type;
}
