/** LLaMA-Factory: YAML or JSON, and the same arguments as flags of `llamafactory-cli train`. */

import { floatNamed } from "../../terms/dtypes";
import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { removing, renaming } from "../fix";
import { hasGroup, hasKeys, hasWith, NOT_RECOGNISED, passes, type Recognition, runs } from "../recognition";
import { count, schemaFormat, type View } from "../schema";
import { problem } from "../table";
import type { FormatProblem, LocatedSetting } from "../types";
import { LLAMA_FACTORY_KEYS, LLAMA_FACTORY_V1_KEYS, OTHER_LLAMA_FACTORY_KEYS } from "./keys";

const OWN_MARKS = [
  "finetuning_type",
  "cutoff_len",
  "template",
  "stage",
  "lora_target",
  "neat_packing",
  "quantization_bit",
  "export_dir",
  "infer_backend",
  "disable_gradient_checkpointing",
];
const V1_MARKS = [
  "dist_config",
  "peft_config",
  "kernel_config",
  "quant_config",
  "init_config",
  "train_dataset",
  "model_class",
  "sample_backend",
  "optim_config",
];

function recogniseData({ map }: View): Recognition {
  if (
    count(map, [
      "base_model",
      "actor_rollout_ref",
      "tuner_type",
      "train_type",
      "sft_type",
      "rlhf_type",
      "dataset_mixture",
      "dataset_mixer",
    ]) > 0
  )
    return NOT_RECOGNISED;
  const own = count(map, OWN_MARKS);
  if (count(map, ["model_name_or_path"]) > 0 && own > 0)
    return {
      confidence: Math.min(0.98, 0.86 + 0.06 * own),
      because: hasWith("model_name_or_path", own, "LLaMA-Factory"),
    };
  if (own >= 3 && count(map, ["finetuning_type", "cutoff_len"]) > 0)
    return { confidence: 0.85, because: hasKeys(own, "LLaMA-Factory") };
  return NOT_RECOGNISED;
}

/**
 * Weights come in the dtype of the products, and trained ones are raised to float32, unless the run says otherwise or
 * ZeRO-3 keeps them as loaded (llamafactory/model/patcher.py, patch_config; llamafactory/model/adapter.py, init_adapter).
 */
function makeLoading(d: Deriving): void {
  const tuning = d.stated.find(({ key, node }) => key === "finetuning_type" && node.kind === "scalar");
  const kind = tuning?.node.kind === "scalar" ? tuning.node.value : undefined;
  const asLoaded = d.has("load_dtype", "deepspeed");
  const layered = d.said("use_badam", true) !== undefined;
  const products = d.stated.find(({ name, value }) => (name === "bf16" || name === "fp16") && value === true);
  if (kind === "full" && !asLoaded && !layered) d.make(tuning, "load_dtype", "float32");
  if (kind !== "full" && !asLoaded) d.make(products, "load_dtype", floatNamed(products?.name ?? undefined));
  if (kind === "freeze") {
    // llamafactory/hparams/finetuning_args.py, FreezeArguments.freeze_trainable_layers: 2 unless stated.
    d.make(tuning, "trained_layers", d.number("freeze_trainable_layers") ?? 2);
    if (!asLoaded) d.make(tuning, "trained_dtype", "float32");
  }
}

/**
 * Megatron's layers and optimizer, by the degrees that only they have (llamafactory/hparams/training_args.py, `McaTrainingArguments`):
 * half-precision weights and main gradients in float32. Whether a run is on them.
 */
function makeMegatron(d: Deriving): boolean {
  const told = ["tensor_parallel", "pipeline_parallel", "expert_parallel"] as const;
  const degree = told.map((name) => d.numeric(name)).find((stated) => Number(stated?.value) > 1);
  if (degree === undefined) return false;
  d.make(degree, "model_code", "mcore");
  d.make(degree, "load_dtype", floatNamed(d.said("fp16", true) === undefined ? "bf16" : "fp16"));
  return true;
}

function derive(d: Deriving): void {
  if (!d.has("packing")) d.make(d.said("lf_stage", "pt"), "packing", true);
  if (!makeMegatron(d)) makeLoading(d);
  // LLaMA-Factory stores 4-bit blocks in the compute dtype and quantizes the scales too.
  const bits = d.said("quantization", "nf4");
  d.make(bits, "bnb_4bit_quant_storage", "bfloat16");
  if (!d.has("double_quantization")) d.make(bits, "double_quantization", true);
  // llamafactory/model/model_utils/unsloth.py loads with it.
  d.make(d.said("use_unsloth", true), "quantizing_loader", "unsloth");
  // llamafactory/model/adapter.py (_setup_lora_tuning)
  const rounds = d.find("pissa_iterations")?.value ?? 16;
  d.make(
    d.said("pissa_init", true),
    "adapter_initialization",
    rounds === -1 ? "pissa" : `pissa_niter_${String(rounds)}`,
  );
  const granularity = d.find("recompute_granularity");
  if (typeof granularity?.value === "string") d.make(granularity, "gradient_checkpointing", true);
}

function isOn({ node }: LocatedSetting): boolean {
  return node.kind === "scalar" && (node.value === true || node.value === "true" || node.value === "True");
}

function check(settings: readonly LocatedSetting[]): readonly FormatProblem[] {
  const problems: FormatProblem[] = [];
  const tuning = settings.find((setting) => setting.key === "finetuning_type");
  const bits = settings.find((setting) => setting.name === "quantization_bit" && setting.value !== null);
  if (bits !== undefined && tuning !== undefined && tuning.value === "none")
    problems.push(problem("quantized-full", "error", bits.keySpan, "quantized-full"));
  const on = (key: string) => settings.find((setting) => setting.key === key && isOn(setting));
  const fp8 = on("fp8");
  if (fp8 !== undefined && bits !== undefined)
    problems.push(
      problem("fp8-quantized", "error", fp8.keySpan, "fp8-quantized", {}, [{ ...removing(fp8), safe: false }]),
    );
  const projected = on("use_galore") ?? on("use_apollo");
  const deepspeed = settings.find((setting) => setting.name === "deepspeed" && setting.value !== null);
  if (projected !== undefined && deepspeed !== undefined)
    problems.push(problem("galore-deepspeed", "error", projected.keySpan, "galore-deepspeed", { key: projected.key }));
  const pure = on("pure_bf16");
  // The file is only named here: the examples' own names say the stage.
  if (pure !== undefined && typeof deepspeed?.value === "string" && /(?:z|zero)[-_]?(?:stage)?3/i.test(deepspeed.value))
    problems.push(
      problem("pure-bf16-zero3", "error", pure.keySpan, "pure-bf16-zero3", {}, [renaming(pure.keySpan, "bf16")]),
    );
  const redundant = settings.find((setting) => setting.name === "hf_gradient_checkpointing" && setting.value === true);
  if (redundant !== undefined)
    problems.push(
      problem("checkpointing-already-on", "hint", redundant.keySpan, "checkpointing-already-on", {}, [
        removing(redundant),
      ]),
    );
  return problems;
}

const SHARED = { id: "llama-factory", keys: LLAMA_FACTORY_KEYS, derive, check } as const;

export const llamaFactory = schemaFormat({
  ...SHARED,
  views: (document) => dataView(document, ["yaml", "json"], true),
  recognise: recogniseData,
  unknownKeys: { parents: [""], known: OTHER_LLAMA_FACTORY_KEYS },
});

export const llamaFactoryV1 = schemaFormat({
  id: "llama-factory",
  keys: LLAMA_FACTORY_V1_KEYS,
  views: (document) => dataView(document, ["yaml", "json"], true),
  recognise({ map }) {
    const v1 = count(map, V1_MARKS);
    const known = v1 > 1 || count(map, ["micro_batch_size", "cutoff_len", "template"]) > 0;
    return v1 > 0 && known && count(map, ["model"]) > 0
      ? { confidence: 0.93, because: hasGroup("LLaMA-Factory v1") }
      : NOT_RECOGNISED;
  },
});

export const llamaFactoryShell = schemaFormat({
  ...SHARED,
  carrier: "shell",
  views: shellViews,
  recognise(view) {
    const command = view.words.slice(0, 24).join(" ");
    if (/llamafactory|llama_factory|LLaMA-Factory/.test(command) && view.map.entries.length > 2)
      return { confidence: 0.97, because: runs("LLaMA-Factory") };
    const own = count(view.map, OWN_MARKS);
    if (
      own >= 3 &&
      count(view.map, ["finetuning_type", "cutoff_len"]) > 0 &&
      count(view.map, ["tuner_type", "train_type"]) === 0
    )
      return { confidence: 0.93, because: passes(own, "LLaMA-Factory") };
    return NOT_RECOGNISED;
  },
});
