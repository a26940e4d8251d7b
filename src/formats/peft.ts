/**
 * peft's config classes: the adapter each stands for and its fields by canonical name. Python calls, saved
 * `adapter_config.json` files and pins read them through this table. Defaults are in `peft-fields.json`, read from peft/tuners/<tuner>/config.py.
 */

import { type SettingName, settingRow } from "../terms/settings";
import { table } from "../terms/table";
import type { EffectId } from "../words/message";
import { memory } from "./effects";
import type { Field as Captured } from "./fields";
import captured from "./peft-fields.json";
import type { KeySpec } from "./types";

/** A field that several classes have. */
interface Field {
  readonly name: SettingName;
  readonly effect: EffectId;
  readonly min?: number;
}

const field = (name: SettingName, effect: EffectId, min?: number): Field => ({
  name,
  effect,
  ...(min === undefined ? {} : { min }),
});

/** Fields by the name the classes use. */
const FIELDS: Readonly<Record<string, Field>> = table({
  r: field("lora_rank", "rank", 0),
  lora_alpha: field("lora_alpha", "alpha"),
  alpha: field("lora_alpha", "alpha"),
  lora_dropout: field("lora_dropout", "dropout", 0),
  target_modules: field("lora_target_modules", "targets"),
  target_parameters: field("adapter_target_parameters", "lora_target_parameters"),
  exclude_modules: field("adapter_exclude_modules", "exclude_modules"),
  layers_to_transform: field("adapter_layers", "layers_to_transform"),
  modules_to_save: field("lora_modules_to_save", "to-save"),
  bias: field("lora_bias", "bias"),
  feedforward_modules: field("adapter_feedforward_modules", "feedforward_modules"),
  num_virtual_tokens: field("adapter_virtual_tokens", "num_virtual_tokens", 1),
  encoder_hidden_size: field("adapter_encoder_hidden_size", "encoder_hidden_size", 1),
  prefix_projection: field("adapter_prefix_projection", "prefix_projection"),
  token_indices: field("adapter_token_indices", "token_indices"),
  decompose_both: field("adapter_decompose_both", "decompose_both"),
  decompose_factor: field("adapter_decompose_factor", "decompose_factor"),
  oft_block_size: field("adapter_block_size", "oft_block_size", 0),
  boft_block_size: field("adapter_block_size", "oft_block_size", 0),
  boft_block_num: field("adapter_block_count", "boft_block_num", 0),
  init_lora_weights: field("adapter_initialization", "init_lora_weights"),
  init_weights: field("adapter_initialization", "init_lora_weights"),
  block_share: field("adapter_block_share", "block_share"),
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

/** Methods on modules whose classes have the name of the method. */
const NOT_FOLLOWED =
  "VBLoRA C3A Shira Adamss Beft Deft Delora Frod Glora Gralora Hira Lily OSF " +
  "Peanut Poly Psoft Pvera Shadow Supertuning TinyLora UniLora WaveFT XLora";

/** LoRA's own class is read by the formats that know its further switches. */
const PEFT_CLASSES: readonly PeftClass[] = [
  // of the fork that comes with DoRA (NVlabs/DoRA, peft/src/peft/tuners/dora.py)
  row("DoraConfig", "DORA", "dora", [...ON_MODULES, "r", "lora_alpha", "lora_dropout", "bias"]),
  row("IA3Config", "IA3", "ia3", [...ON_MODULES, "feedforward_modules"]),
  row("VeraConfig", "VERA", "vera", [...ON_MODULES, "r", "bias"], { vera_dropout: "lora_dropout" }),
  row("AdaLoraConfig", "ADALORA", "adalora", [...ON_MODULES, "lora_alpha", "lora_dropout", "bias"], { init_r: "r" }),
  row("LoHaConfig", "LOHA", "loha", [...ON_MODULES, "r", "alpha"]),
  row("LoKrConfig", "LOKR", "lokr", [...ON_MODULES, "r", "alpha", "decompose_both", "decompose_factor"]),
  row("OFTConfig", "OFT", "oft", [...ON_MODULES, "r", "oft_block_size", "block_share", "bias"]),
  row("BOFTConfig", "BOFT", "boft", [...ON_MODULES, "boft_block_size", "boft_block_num", "bias"]),
  row("HRAConfig", "HRA", "hra", [...ON_MODULES, "r"]),
  // `MissConfig` of 0.21 was `MiSSConfig` and `BoneConfig`.
  ...["Miss", "MiSS", "Bone"].map((name) =>
    row(`${name}Config`, name.toUpperCase(), "miss", [...ON_MODULES, "r", "init_weights"], {
      miss_dropout: "lora_dropout",
    }),
  ),
  row("RoadConfig", "ROAD", "road", ON_MODULES),
  row("FourierFTConfig", "FOURIERFT", "fourierft", ON_MODULES, { n_frequency: "r" }),
  row("RandLoraConfig", "RANDLORA", "randlora", [...ON_MODULES, "r"], { randlora_dropout: "lora_dropout" }),
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
  ...NOT_FOLLOWED.split(" ").map((name) =>
    row(`${name}Config`, name.toUpperCase(), name.toLowerCase(), [...ON_MODULES, "r"]),
  ),
  row("AdaptionPromptConfig", "ADAPTION_PROMPT", "adaption-prompt", [...ON_MODULES, "r"]),
  row("MultitaskPromptTuningConfig", "MULTITASK_PROMPT_TUNING", "multitask-prompt-tuning", ["num_virtual_tokens"]),
  row("CPTConfig", "CPT", "cpt", ["num_virtual_tokens"]),
  row("CartridgeConfig", "CARTRIDGE", "cartridge", ["num_virtual_tokens"]),
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

/** What the classes themselves say of their fields. */
const CAPTURED: Readonly<Record<string, object>> = table(captured.fields);

function key(prefix: string, written: string, { name, effect, min }: Field): KeySpec {
  const { default: standard, defaultsBy }: Captured = CAPTURED[`${prefix}.${written}`] ?? {};
  return memory(`${prefix}.${written}`, name, effect, {
    ...(min === undefined ? {} : { min }),
    ...(standard === undefined ? {} : { default: standard }),
    ...(defaultsBy === undefined ? {} : { defaultsBy }),
  });
}

/** Calls of the classes as Python formats find them, with the prefix of their keywords. */
export const PEFT_CALLS: readonly (readonly [RegExp, string])[] = PEFT_CLASSES.map(
  ({ callee, type }) => [new RegExp(`(?:^|\\.)${callee}$`), `${type}.`] as const,
);

/** Keywords of the classes; the call itself names the adapter. */
export const PEFT_CALL_KEYS: readonly KeySpec[] = [
  ...PEFT_CLASSES.flatMap((entry) => [
    memory(`${entry.type}.call`, "adapter", "adapter", { means: { true: entry.type } }),
    ...writtenFields(entry).map(([written, spec]) => key(entry.type, written, spec)),
  ]),
  ...Object.entries(LORA_FIELDS).map(([written, name]) => key("lora", written, FIELDS[name]!)),
];

/** Adapters by the `peft_type` of their configs, whose case does not matter. */
const TYPES: Readonly<Record<string, string>> = table(
  Object.fromEntries(
    [["LORA", "lora"] as const, ...PEFT_CLASSES.map(({ saved, type }) => [saved, type] as const)].flatMap(
      ([saved, type]) => [
        [saved, type],
        [saved.toLowerCase(), type],
      ],
    ),
  ),
);

/** A `peft_config` that stands beside TrainingArguments, as it is handed to `peft.get_peft_config`. */
export const PEFT_CONFIG_KEYS: readonly KeySpec[] = [
  // TrainingArguments themselves take no such key: it is written into no file that lacks it.
  memory("peft_type", "adapter", "string", "adapter", { means: TYPES, unwritten: true }),
  memory("r", "lora_rank", "rank", { min: 0 }),
  memory("num_virtual_tokens", "adapter_virtual_tokens", "num_virtual_tokens"),
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
export const PINNED_ADAPTERS: readonly string[] = ["lora", ...PEFT_CLASSES.map(({ type }) => type), "none"];

/** Fields a pin may state, with their canonical names. */
export const PINNED_FIELDS: Readonly<Record<string, SettingName>> = Object.fromEntries(
  Object.entries(FIELDS)
    .filter(
      ([name]) =>
        !["r", "alpha", "lora_alpha", "lora_dropout", "target_modules", "modules_to_save", "bias"].includes(name),
    )
    .map(([name, { name: to }]) => [name, to]),
);

/** What a field a pin may state does, by the id of its words. */
export function pinnedFieldEffect(name: string): EffectId {
  return FIELDS[name]!.effect;
}

/** Types of the fields a pin may state. */
export function pinnedType(name: string): KeySpec["type"] {
  return settingRow(FIELDS[name]!.name).type;
}
