/** Adapters: which, on which modules, made how. */

import {
  ADALORA_TARGETS,
  IA3_FEEDFORWARD,
  IA3_TARGETS,
  LN_TUNING_TARGETS,
  PEFT_TARGETS,
} from "../../core/training/adapters/peft-targets";
import type { AdapterSpec, AdapterType, ModelConfig, QuantizationSpec } from "../../core/training/run";
import { floatNamed } from "../../terms/dtypes";
import type { Task } from "../../terms/names";
import { quantizerOf } from "../../terms/quantizers";
import type { SettingName } from "../../terms/settings";
import { table, tables } from "../../terms/table";
import { say } from "../../words/message";
import { keyFor } from "../frameworks/defaults";
import type { Setting, SettingValue } from "../frameworks/settings";
import { holds, type Versions } from "../frameworks/versions";
import type { ResolveContext } from "./context";
import { initializationOf } from "./initialization";
import { expertsAreLayers, inFourBits } from "./quantization";

/** Adapters the engine follows, by the words of configs. */
const ADAPTERS: Readonly<Record<string, AdapterType>> = table({
  lora: "lora",
  qlora: "lora",
  true: "lora",
  dora: "dora",
  ...Object.fromEntries(
    (
      [
        "ia3",
        "vera",
        "adalora",
        "loha",
        "lokr",
        "oft",
        "boft",
        "hra",
        "miss",
        "road",
        "fourierft",
        "randlora",
        "prompt-tuning",
        "p-tuning",
        "prefix-tuning",
        "trainable-tokens",
        "ln-tuning",
      ] as const
    ).map((type) => [type, type]),
  ),
});

/** Prompts that are trained as another kind is, but for a few vectors (peft/tuners/{multitask_prompt_tuning,cpt,cartridge}/model.py). */
const LIKE: Readonly<Record<string, AdapterType>> = table({
  "multitask-prompt-tuning": "prompt-tuning",
  cpt: "prompt-tuning",
  cartridge: "prefix-tuning",
});

/** Ranks of peft's classes where they differ from LoRA's 8 (peft/tuners/<tuner>/config.py). */
const STANDARD_RANKS: Readonly<Partial<Record<AdapterType, number>>> = {
  vera: 256,
  adalora: 12,
  oft: 0,
  miss: 64,
  fourierft: 1000,
  randlora: 32,
};

/** Modules that types choose for themselves, by model type. */
const OWN_TARGETS: Readonly<Partial<Record<AdapterType, Readonly<Record<string, readonly string[] | string>>>>> =
  tables({
    adalora: ADALORA_TARGETS,
    ia3: IA3_TARGETS,
    "ln-tuning": LN_TUNING_TARGETS,
  });

/** Types that are not put on named modules. */
const WITHOUT_TARGETS: ReadonlySet<AdapterType> = new Set([
  "prompt-tuning",
  "p-tuning",
  "prefix-tuning",
  "trainable-tokens",
]);

/** @param task what peft is told; null where a trainer has a head and a loss of its own */
export function adapterOf(
  c: ResolveContext,
  quantization: QuantizationSpec | null,
  config: ModelConfig,
  task: Task | null,
): AdapterSpec | null {
  const heads = (task && TRAINED_HEADS[task]) ?? [];
  const stated = c.settings.find("adapter");
  const peft = c.settings.find("use_peft");
  const rank = c.settings.find("lora_rank");
  const standard = stated === undefined && c.trains ? c.formatDefault("adapter") : undefined;
  if (standard !== undefined && standard !== "none") {
    return adapterFrom(
      c,
      {
        name: "adapter",
        value: standard,
        from: "default",
        key: keyFor(c.inputs.format, "adapter", c.libraries)?.key ?? "adapter",
        place: null,
      },
      quantization,
      config,
      heads,
    );
  }
  const off = stated?.value === "none" || (stated === undefined && peft?.value === false);
  // A pinned adapter block without `type` still is an adapter; TRL's lora_* keys need use_peft.
  const pinnedRank = rank !== undefined && rank.from === "pin";
  const origin = stated ?? (peft?.value === true ? peft : pinnedRank ? rank : undefined);
  if (off || origin === undefined) {
    if (origin !== undefined || stated !== undefined || peft !== undefined) {
      const setting = stated ?? peft;
      if (setting !== undefined) c.keep("adapter", setting, "none");
    } else if (c.trains) c.put("adapter", "none", "default", "adapter", null);
    return null;
  }
  return adapterFrom(c, origin, quantization, config, heads);
}

interface LoraDefaults {
  readonly lora_rank: number;
  readonly lora_alpha: number;
  readonly lora_dropout: number;
}

/**
 * Defaults of the call that makes the adapter, whatever those of the trainer's arguments are (peft/tuners/lora/config.py, LoraConfig;
 * unsloth/models/llama.py, get_peft_model).
 */
const CALL_DEFAULTS: Readonly<Record<string, LoraDefaults>> = table({
  peft: { lora_rank: 8, lora_alpha: 8, lora_dropout: 0 },
  unsloth: { lora_rank: 16, lora_alpha: 16, lora_dropout: 0 },
});

function adapterFrom(
  c: ResolveContext,
  origin: Setting,
  quantization: QuantizationSpec | null,
  config: ModelConfig,
  heads: readonly string[],
): AdapterSpec | null {
  const stated = c.settings.find("adapter");
  const rank = c.settings.find("lora_rank");
  const own = CALL_DEFAULTS[c.settings.string("adapter_defaults") ?? ""];
  const standard = (name: keyof LoraDefaults, fallback: number): number =>
    own?.[name] ?? c.defaultNumber(name, fallback);
  const condition = c.settings.string("adapter_condition");
  if (condition !== undefined)
    c.suppose(say("assume.adapter-condition", { condition }), origin.key, { adapter: "none" });
  const kind = String(origin.value).toLowerCase().replaceAll("_", "-");
  const like = LIKE[kind];
  const known = origin.name === "adapter" ? (ADAPTERS[kind] ?? like) : "lora";
  // Axolotl tells `lora` and `qlora` apart by name.
  const named = c.framework.namesQlora === true && typeof stated?.value === "string";
  const type = known === undefined || known === "lora" ? loraType(c, stated) : known;
  const word = type !== "lora" ? type : named ? String(stated?.value) : inFourBits(quantization) ? "qlora" : "lora";
  c.keep("adapter", origin, known === undefined || like !== undefined ? kind : word);
  const rankValue = c.settings.number("lora_rank") ?? STANDARD_RANKS[type] ?? standard("lora_rank", 8);
  if (known === undefined)
    c.suppose(say("assume.adapter-as-lora", { adapter: kind }), origin.key, { lora_rank: String(4 * rankValue) });
  if (c.settings.on("adapter_elsewhere") && rank === undefined)
    c.suppose(say("assume.adapter-elsewhere", { rank: rankValue }), origin.key, { lora_rank: String(8 * rankValue) });
  if (like !== undefined) c.suppose(say("assume.adapter-as", { adapter: kind, type }), origin.key);
  if (type === "prefix-tuning") c.suppose(say("assume.prefix-tuning"), origin.key);
  if (rank !== undefined) c.keep("lora_rank", rank);
  else c.put("lora_rank", rankValue, "default", "lora_r", null);
  const said = c.settings.find("lora_target_modules")?.value ?? c.formatDefault("lora_target_modules") ?? null;
  const target = takenApart(said);
  if (target === null && !WITHOUT_TARGETS.has(type))
    c.suppose(say("assume.target-modules"), "adapter.target_modules", { lora_target_modules: "all-linear" });
  const whole = WHOLE_TABLES.has(String(config["model_type"])) ? (c.settings.list("adapter_whole") ?? []) : [];
  const initialization = type === "lora" || type === "dora" ? initializationOf(c, quantization !== null) : undefined;
  return {
    type,
    rank: rankValue,
    alpha: c.settings.number("lora_alpha") ?? standard("lora_alpha", rankValue),
    dropout: c.settings.number("lora_dropout") ?? standard("lora_dropout", 0),
    targetModules: WITHOUT_TARGETS.has(type) ? [] : without(whole, targetModules(target, config, type)),
    modulesToSave: [...new Set([...(c.settings.list("lora_modules_to_save") ?? []), ...heads, ...whole])],
    bias: (c.settings.string("lora_bias") ?? "none") as AdapterSpec["bias"],
    useRslora: c.settings.boolean("use_rslora") ?? false,
    ...(c.settings.on("adapter_drops") ? { drops: true as const } : {}),
    autocastAdapterDtype: c.settings.boolean("autocast_adapter_dtype") ?? !takesBaseDtype(c.libraries),
    // TRL casts what it trains beside weights of bitsandbytes to bfloat16 (trl/trainer/sft_trainer.py and its siblings).
    ...(castsAdapters(c, quantization) ? { castTo: "bfloat16" as const } : castByScript(c)),
    ...furtherFields(c, type, config),
    ...(initialization === undefined ? {} : { initialization }),
  };
}

/** Families that Unsloth has code of its own for, which trains tables whole that stand among the adapters' modules (models/loader.py). */
const WHOLE_TABLES: ReadonlySet<string> = new Set("llama mistral gemma gemma2 qwen2 qwen3".split(" "));

function without(names: readonly string[], targets: readonly string[] | string): readonly string[] | string {
  return typeof targets === "string" ? targets : targets.filter((name) => !names.includes(name));
}

/**
 * Whether peft leaves adapters in the dtype of a half-precision base: from 0.7 on, when `update_layer` saw the base layer,
 * until they were raised to float32 in 0.12. Before, they were made in float32 and moved to the device only
 * (peft/tuners/lora/{layer,model}.py, `update_layer` and `_replace_module`).
 */
function takesBaseDtype(libraries: Versions): boolean {
  return holds("peft>=0.7", libraries) && holds("peft<0.12", libraries);
}

/** LoRA or DoRA, which a switch or the type's own word turns on. */
function loraType(c: ResolveContext, stated: Setting | undefined): AdapterType {
  return c.settings.on("use_dora") || stated?.value === "dora" ? "dora" : "lora";
}

/** Modules by name ends, or a regular expression. */
function modulesOf(c: ResolveContext, name: SettingName): readonly string[] | string | undefined {
  const value = c.settings.find(name)?.value;
  if (Array.isArray(value)) return value.map(String);
  return typeof value === "string" ? value : undefined;
}

/** What a script casts the adapter's weights to (`p.data = p.data.to(…)`). */
function castByScript(c: ResolveContext): Pick<AdapterSpec, "castTo"> {
  const dtype = floatNamed(c.settings.string("adapter_dtype"));
  return dtype === undefined ? {} : { castTo: dtype };
}

/** Ranks by pattern, from JSON texts; undefined: none is stated. */
function ranksOf(texts: readonly string[] | undefined): AdapterSpec["rankPattern"] {
  const pairs = (texts ?? []).map((text) => JSON.parse(text) as readonly unknown[]);
  const ranks = pairs.flatMap(([pattern, rank]) =>
    typeof pattern === "string" && Number.isInteger(rank) && Number(rank) > 0 ? [[pattern, Number(rank)] as const] : [],
  );
  return ranks.length === 0 ? undefined : Object.fromEntries(ranks);
}

/** What the written fields of the adapter's class say beyond what all types share. */
function furtherFields(c: ResolveContext, type: AdapterType, config: ModelConfig): Partial<AdapterSpec> {
  const { settings } = c;
  const layers = settings.find("adapter_layers")?.value;
  const tokens = settings.list("adapter_token_indices")?.length;
  const fields = {
    mergedParts: mergedParts(settings.string("lora_merged_parts")?.split(","), config),
    targetParameters: settings.list("adapter_target_parameters"),
    separateExperts: expertsAreLayers(c, config["model_type"]) || undefined,
    excludeModules: modulesOf(c, "adapter_exclude_modules"),
    layersToTransform: typeof layers === "number" ? [layers] : settings.list("adapter_layers")?.map(Number),
    rankPattern: ranksOf(settings.list("adapter_ranks")),
    trainableTokens: tokens ?? (type === "trainable-tokens" ? 1 : undefined),
    feedforwardModules:
      type === "ia3"
        ? (modulesOf(c, "adapter_feedforward_modules") ?? IA3_FEEDFORWARD[String(config["model_type"])])
        : undefined,
    virtualTokens: settings.number("adapter_virtual_tokens"),
    encoderHiddenSize: settings.number("adapter_encoder_hidden_size"),
    prefixProjection: settings.boolean("adapter_prefix_projection"),
    decomposeBoth: settings.boolean("adapter_decompose_both"),
    decomposeFactor: settings.number("adapter_decompose_factor"),
    blockSize: settings.number("adapter_block_size"),
    turnsBlocks: type === "miss" && settings.string("adapter_initialization") === "bat" ? true : undefined,
    blockCount: settings.number("adapter_block_count"),
    blockShare: settings.boolean("adapter_block_share"),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Queries, keys and values of one layer, and which of them have factors. */
function mergedParts(named: readonly string[] | undefined, config: ModelConfig): AdapterSpec["mergedParts"] {
  const [heads, groups, width] = ["num_attention_heads", "num_key_value_heads", "head_dim"].map((key) => config[key]);
  if (named === undefined || typeof heads !== "number" || typeof width !== "number") return undefined;
  const shared = (typeof groups === "number" ? groups : heads) * width;
  return {
    module: "qkv",
    sizes: [heads * width, shared, shared],
    adapted: ["query", "key", "value"].map((part) => named.includes(part)),
  };
}

/**
 * Names that an option gives in one word: the program takes them apart, as peft finds no module by that text and stops
 * (peft/tuners/tuners_utils.py, inject_adapter).
 */
function takenApart(value: SettingValue): SettingValue {
  if (typeof value !== "string") return value;
  // A list in a command's text, which `fire` takes for one.
  if (/^\s*\[[\w\s.,'"-]*\]\s*$/.test(value)) return value.match(/[\w.-]+/g) ?? [];
  return /^\w+(?:,\s?\w+)+$/.test(value) ? value.split(/,\s?/) : value;
}

/** Named modules, or peft's own choice; architectures it has no choice for must name them. */
function targetModules(target: SettingValue, config: ModelConfig, type: AdapterType): readonly string[] | string {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.length === 1 && target[0] === "all-linear" ? "all-linear" : target;
  const family = String(config["model_type"]);
  return OWN_TARGETS[type]?.[family] ?? PEFT_TARGETS[family] ?? "all-linear";
}

/**
 * Heads that peft trains whole beside an adapter, by task (peft/peft_model.py: PeftModelForSequenceClassification,
 * PeftModelForTokenClassification, PeftModelForQuestionAnswering).
 */
const TRAINED_HEADS: Readonly<Partial<Record<Task, readonly string[]>>> = {
  "seq-cls": ["classifier", "score"],
  "token-cls": ["classifier", "score"],
  qa: ["qa_outputs"],
};

/** Not what Unsloth has put on the model: it stays in float32 (unsloth_zoo/training_utils.py, prepare_model_for_training). */
function castsAdapters(c: ResolveContext, quantization: QuantizationSpec | null): boolean {
  if (!c.namedTrainer || c.settings.on("use_unsloth")) return false;
  return quantizerOf(quantization?.type) !== undefined;
}
