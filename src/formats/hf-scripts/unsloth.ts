/**
 * What Unsloth's loaders say by themselves: weights in the half precision of the card, its own kind of checkpointing, which sends
 * the layers' inputs to the host, and vLLM beside training. Source: unsloth/models/{loader,llama,vision}.py (`from_pretrained`,
 * `get_peft_model`, `fast_inference`), unsloth_zoo/gradient_checkpointing.py.
 */

import type { Entry, LocatedNode, PythonCall, PythonModule } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import type { LocatedSetting } from "../types";
import { at, keyword, listed, placed, plain, said as saidBy, scalar } from "./called";
import { callsBefore } from "./training";

/** The class of Unsloth's (`Fast…Model`, `FastSentenceTransformer`) whose method a call is; undefined: it is none. */
function unslothClass(callee: string, method: string): string | undefined {
  const [name = "", called] = callee.split(".").slice(-2);
  const isOwn = name.startsWith("Fast") && (name.endsWith("Model") || name.endsWith("Transformer"));
  return isOwn && called === method ? name : undefined;
}

const loads = ({ callee }: PythonCall): boolean => unslothClass(callee, "from_pretrained") !== undefined;

/** Whether a call loads a model with Unsloth, or adapts one. */
export function isUnsloth(callee: string): boolean {
  return ["from_pretrained", "get_peft_model"].some((method) => unslothClass(callee, method) !== undefined);
}

/** Whether TRL's classes are replaced by Unsloth's, which take arguments of their own besides (unsloth/models/rl.py). */
export function replacesTrl({ imports }: Pick<PythonModule, "imports">): boolean {
  return imports.some((name) => /^unsloth(?:\.|$)/.test(name));
}

/** Whether a call puts Unsloth's adapters on a model. */
export function unslothAdapts(callee: string): boolean {
  return unslothClass(callee, "get_peft_model") !== undefined;
}

/** What a loader does where it is told nothing. */
interface Loader {
  readonly inFourBits: boolean;
  /** Whether modules of its list stay in half precision where it packs. */
  readonly skips: boolean;
  readonly checkpoints: "unsloth" | false;
  /** Modules with adapters; "scoped": by the parts of the model that are chosen. */
  readonly targets: readonly string[] | "all-linear" | "scoped";
}

/** unsloth/models/{sentence_transformer,vision,llama}.py, `from_pretrained` and `get_peft_model`. */
const LOADERS: Readonly<Record<string, Loader>> = table({
  FastSentenceTransformer: {
    inFourBits: false,
    skips: false,
    checkpoints: false,
    targets: ["query", "key", "value", "dense"],
  },
  FastLanguageModel: { inFourBits: true, skips: true, checkpoints: "unsloth", targets: "all-linear" },
});
const ANY: Loader = { inFourBits: true, skips: true, checkpoints: "unsloth", targets: "scoped" };

function loaderOf({ callee }: PythonCall): Loader {
  return LOADERS[callee.split(".").at(-2) ?? ""] ?? ANY;
}

/** Most float32 logits of one piece of its loss; less where half of the card's free memory is less (fused_losses/cross_entropy_loss.py). */
const LOSS_BYTES = 4 * 2 ** 30;

/** Parts of a model and of its layers that adapters are put on, with the words in the names of their modules. */
const SCOPES = [
  ["finetune_vision_layers", "vision|image|visual|patch"],
  ["finetune_language_layers", "language|text"],
] as const;
const WITHIN = [
  ["finetune_attention_modules", "self_attn|attention|attn|mixer"],
  ["finetune_mlp_modules", "mlp|feed_forward|ffn|dense|mixer"],
] as const;

/** vLLM's cache sleeps while the policy trains (unsloth_zoo/vllm_utils.py, `load_vllm`). */
const STANDBY = /environ\["UNSLOTH_VLLM_STANDBY"\]$/;

function asksForStandby(value: LocatedNode): boolean {
  return value.kind === "scalar" && String(value.value) !== "0";
}

type Said = (name: SettingName, value: string | number | boolean, entry?: Entry) => LocatedSetting;

function plainOf(entry: Entry | undefined): string | number | boolean | null | undefined {
  return plain(entry?.value);
}

/** Names in a list of texts; undefined: it is none. */
function namesOf(entry: Entry | undefined): readonly string[] | undefined {
  if (entry?.value.kind !== "list") return undefined;
  return entry.value.items.flatMap((item) => (item.kind === "scalar" ? [String(item.value)] : []));
}

/** The pattern that chosen parts and modules make (unsloth_zoo/peft_utils.py, `get_peft_regex`). */
function scoped(call: PythonCall, names: readonly string[] | undefined): string {
  const chosen = (rows: readonly (readonly [string, string])[]): string =>
    rows.flatMap(([name, words]) => (plainOf(keyword(call, name)) === false ? [] : [words])).join("|");
  const [parts, modules] = [chosen(SCOPES), chosen(WITHIN)];
  const leaf = names === undefined ? "\\w+" : `(?:${names.join("|")})`;
  const ofLayers = `(?:model\\.layers\\.\\d+\\.(?:${modules})\\.${leaf})`;
  const named = `(?:.*?(?:${parts}).*?(?:${modules}).*?${leaf})`;
  return plainOf(keyword(call, "finetune_language_layers")) === false ? named : `${named}|${ofLayers}`;
}

/** Modules that Unsloth trains whole where they stand among the adapters' (unsloth/models/llama.py, `get_peft_model`). */
const WHOLE = new Set(["embed_tokens", "lm_head"]);

/** Settings of a script that loads its model with Unsloth; none where it does not. */
export function unslothSettings(python: PythonModule): readonly LocatedSetting[] {
  const before = callsBefore(python);
  const load = before.find(loads);
  if (load === undefined) return [];
  const adapts = before.find(({ callee }) => unslothAdapts(callee));
  const said: Said = (name, value, entry) => (entry === undefined ? at(name, load, value) : saidBy(name, entry, value));
  const standard = loaderOf(load);
  const dtype = plainOf(keyword(load, "dtype"));
  const checkpoints = keyword(adapts, "use_gradient_checkpointing") ?? keyword(load, "use_gradient_checkpointing");
  const kind = plainOf(checkpoints) ?? standard.checkpoints;
  const share = keyword(load, "gpu_memory_utilization");
  const generates = plainOf(keyword(load, "fast_inference")) === true;
  const standby = python.assignments.entries.findLast(({ key, value }) => STANDBY.test(key) && asksForStandby(value));
  const whole = keyword(load, "full_finetuning");
  const other = ["load_in_4bit", "load_in_8bit", "load_in_16bit", "full_finetuning", "load_in_fp8"].some(
    (name) => keyword(load, name) !== undefined && plainOf(keyword(load, name)) !== false,
  );
  return [
    said("use_unsloth", true),
    said("double_quantization", true),
    ...(standard.skips ? [said("quantizing_loader", "unsloth")] : []),
    said("autocast_adapter_dtype", true),
    said("loss_piece_bytes", LOSS_BYTES),
    ...(plainOf(keyword(load, "load_in_4bit")) === false ? [] : [said("packs_experts", true)]),
    ...(typeof dtype === "string" ? [] : [said("load_dtype", "bfloat16")]),
    ...(standard.inFourBits && keyword(load, "load_in_4bit") === undefined && !other
      ? [said("load_in_4bit", true)]
      : []),
    ...(kind === false
      ? [said("gradient_checkpointing", false, checkpoints)]
      : [said("gradient_checkpointing", true, checkpoints), said("use_reentrant", true, checkpoints)]),
    ...(kind === "unsloth" ? [said("offload_activations", "legacy", checkpoints)] : []),
    // `get_peft_model` has no effect there (unsloth/models/llama.py, UNSLOTH_ENABLE_FULL_FINETUNING).
    ...(plainOf(whole) === true ? [said("adapter", "none", whole)] : []),
    ...(adapts === undefined ? [] : adapted(adapts)),
    ...(generates
      ? [
          said("use_vllm", true, keyword(load, "fast_inference")),
          said("vllm_mode", "colocate", keyword(load, "fast_inference")),
          said("engine_shares_weights", true, keyword(load, "fast_inference")),
          ...(standby === undefined
            ? []
            : [said("vllm_enable_sleep_mode", true, standby), said("engine_standby", true, standby)]),
          // The loader's own default (unsloth/models/loader.py).
          said("vllm_gpu_memory_utilization", Number(plainOf(share) ?? 0.5), share),
        ]
      : []),
  ];
}

/** What adapters are put on. */
function adapted(call: PythonCall): readonly LocatedSetting[] {
  const { targets } = loaderOf(call);
  const stated = keyword(call, "target_modules");
  const names = namesOf(stated);
  const keySpan = stated?.keySpan ?? call.calleeSpan;
  const key = stated?.key ?? call.callee;
  const at = (name: SettingName, value: string | readonly string[]): LocatedSetting[] =>
    typeof value === "string"
      ? [placed(name, key, keySpan, scalar(value, keySpan), value)]
      : listed(
          name,
          key,
          value.map((text) => ({ at: keySpan, text })),
        );
  const narrows = [...SCOPES, ...WITHIN].some(([name]) => plainOf(keyword(call, name)) === false);
  if (targets === "scoped" && (narrows || stated === undefined || plainOf(stated) === "all-linear"))
    return at("lora_target_modules", scoped(call, names));
  if (stated === undefined) return at("lora_target_modules", targets);
  const whole = (names ?? []).filter((name) => WHOLE.has(name));
  if (names === undefined || whole.length === 0 || targets !== "all-linear") return [];
  return at("adapter_whole", whole);
}
