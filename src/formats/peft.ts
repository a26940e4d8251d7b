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
  /** Fields where the class was not read. */
  readonly fields?: readonly string[];
  /** Fields under a name of the class's own, or that change nothing in it (`null`). */
  readonly renamed?: Readonly<Record<string, string | null>>;
}

/** What the classes themselves say of their fields. */
const CAPTURED: Readonly<Record<string, object>> = table(captured.fields);

type Renamed = NonNullable<PeftClass["renamed"]>;

/** A class whose fields were read; how factors start takes memory in none of them but MiSS. */
const read = (callee: string, saved: string, type: string, renamed: Renamed = {}): PeftClass => ({
  callee,
  saved,
  type,
  renamed: { init_weights: null, ...renamed },
});

const unread = (callee: string, saved: string, type: string, fields: readonly string[]): PeftClass => ({
  callee,
  saved,
  type,
  fields,
});

const ON_MODULES = ["target_modules", "exclude_modules", "layers_to_transform", "modules_to_save", "r"];

/** Methods on modules whose classes have the name of the method, and are not simulated as they run; the analysis says so. */
const NOT_FOLLOWED =
  "VBLoRA C3A Shira Adamss Beft Deft Delora Frod Glora Gralora Hira Lily OSF " +
  "Peanut Poly Psoft Pvera Shadow Supertuning TinyLora UniLora WaveFT XLora";

/** LoRA's own class is read by the formats that know its further switches. */
const PEFT_CLASSES: readonly PeftClass[] = [
  // of the fork that comes with DoRA (NVlabs/DoRA, peft/src/peft/tuners/dora.py)
  unread("DoraConfig", "DORA", "dora", [...ON_MODULES, "lora_alpha", "lora_dropout", "bias"]),
  read("IA3Config", "IA3", "ia3"),
  read("VeraConfig", "VERA", "vera", { vera_dropout: "lora_dropout" }),
  // What it has of LoRA's class and does not use (peft/tuners/adalora/config.py).
  read("AdaLoraConfig", "ADALORA", "adalora", {
    init_r: "r",
    r: null,
    init_lora_weights: null,
    target_parameters: null,
  }),
  read("LoHaConfig", "LOHA", "loha"),
  read("LoKrConfig", "LOKR", "lokr"),
  read("OFTConfig", "OFT", "oft"),
  read("BOFTConfig", "BOFT", "boft"),
  read("HRAConfig", "HRA", "hra"),
  // `MissConfig` of 0.21 was `MiSSConfig` and `BoneConfig`.
  ...["Miss", "MiSS", "Bone"].map((name) =>
    read(`${name}Config`, name.toUpperCase(), "miss", { miss_dropout: "lora_dropout", init_weights: "init_weights" }),
  ),
  read("RoadConfig", "ROAD", "road"),
  read("FourierFTConfig", "FOURIERFT", "fourierft", { n_frequency: "r" }),
  read("RandLoraConfig", "RANDLORA", "randlora", { randlora_dropout: "lora_dropout" }),
  read("PromptTuningConfig", "PROMPT_TUNING", "prompt-tuning"),
  read("PromptEncoderConfig", "P_TUNING", "p-tuning"),
  read("PrefixTuningConfig", "PREFIX_TUNING", "prefix-tuning"),
  read("TrainableTokensConfig", "TRAINABLE_TOKENS", "trainable-tokens", { target_modules: null }),
  read("LNTuningConfig", "LN_TUNING", "ln-tuning"),
  ...NOT_FOLLOWED.split(" ").map((name) => unread(`${name}Config`, name.toUpperCase(), name.toLowerCase(), ON_MODULES)),
  unread("AdaptionPromptConfig", "ADAPTION_PROMPT", "adaption-prompt", ON_MODULES),
  unread("MultitaskPromptTuningConfig", "MULTITASK_PROMPT_TUNING", "multitask-prompt-tuning", ["num_virtual_tokens"]),
  unread("CPTConfig", "CPT", "cpt", ["num_virtual_tokens"]),
  unread("CartridgeConfig", "CARTRIDGE", "cartridge", ["num_virtual_tokens"]),
];

/** Fields of LoRA's class that the adapter's other classes share, beside those its formats list themselves. */
export const LORA_FIELDS: Readonly<Record<string, string>> = table({
  target_parameters: "target_parameters",
  exclude_modules: "exclude_modules",
  layers_to_transform: "layers_to_transform",
  trainable_token_indices: "token_indices",
  init_lora_weights: "init_lora_weights",
});

/** `[field as written, canonical name]` of a class: those that its release has, under their own names. */
function writtenFields({ type, fields, renamed = {} }: PeftClass): readonly (readonly [string, Field])[] {
  const has = (name: string) => fields?.includes(name) ?? CAPTURED[`${type}.${name}`] !== undefined;
  const own = Object.entries(FIELDS).filter(([name]) => has(name) && renamed[name] === undefined);
  const others = Object.entries(renamed).flatMap(([written, name]) =>
    name === null ? [] : [[written, FIELDS[name]!] as const],
  );
  return [...own, ...others];
}

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
