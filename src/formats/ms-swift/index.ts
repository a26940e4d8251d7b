/** ms-swift: YAML and JSON given to `--config`, and the same arguments as flags of `swift sft` and `megatron sft`. */

import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { LAUNCHER_OPTIONS } from "../launchers/options";
import { hasKeys, hasWith, NOT_RECOGNISED, runs } from "../recognition";
import { count, schemaFormat, type View } from "../schema";
import type { DocumentLink } from "../types";
import accepted from "./accepted.json";
import { MS_SWIFT_KEYS, SHIPPED_DEEPSPEED } from "./keys";

const MARKS = [
  "tuner_type",
  "train_type",
  "sft_type",
  "rlhf_type",
  "tuner_backend",
  "template_type",
  "model_id_or_path",
  "model_author",
  "model_name",
  "split_dataset_ratio",
  "train_dataset_sample",
  "val_dataset_sample",
  "check_dataset_strategy",
  "custom_train_dataset_path",
  "dataset_test_ratio",
  "external_plugins",
  "freeze_vit",
  "freeze_llm",
  "quant_bits",
  "attn_impl",
  "colocate_groups",
  "lora_dropout_p",
  "dataset_num_proc",
  "lazy_tokenize",
];
/** Keys of LLaMA-Factory, axolotl and TRL, whose files share some names with ours. */
const OTHERS = [
  "finetuning_type",
  "cutoff_len",
  "base_model",
  "sequence_len",
  "actor_rollout_ref",
  "dataset_mixture",
  "dataset_name",
];

function runsMegatron(words: readonly string[]): boolean {
  const at = words.findIndex((word) => /(?:^|\/)megatron$/.test(word));
  const named = at >= 0 && /^(?:sft|pt|rlhf)$/.test(words[at + 1] ?? "");
  // What the command starts by itself (swift/cli/main.py).
  return named || words.some((word) => /_megatron[./](?:sft|pt|rlhf)(?:\.py)?$/.test(word));
}

function derive(d: Deriving, { map, words }: View): void {
  const deepspeed = d.find("deepspeed");
  const shipped = typeof deepspeed?.value === "string" ? SHIPPED_DEEPSPEED[deepspeed.value] : undefined;
  const place = shipped?.offload ? "cpu" : "none";
  if (shipped !== undefined) {
    d.make(deepspeed, "zero_stage", shipped.stage);
    d.make(deepspeed, "offload_optimizer", place);
    if (shipped.stage === 3) d.make(deepspeed, "offload_param", place);
  }
  // Of both kinds of checkpointing FSDP's stays (swift/arguments/sft_args.py, _check_fsdp2_compatibility).
  d.make(d.said("fsdp_activation_checkpointing", true), "gradient_checkpointing", false);
  // Old releases named the model by its registered type.
  const type = d.find("model_type");
  if (count(map, ["model", "model_id_or_path"]) === 0) d.make(type, "model", type?.value);
  makePacked(d);
  makeLossOfTokens(d);
  if (runsMegatron(words)) makeMegatron(d);
}

/**
 * Bits alone pack nothing from 3.0 on, and bitsandbytes quantizes its scales, too (swift/arguments/base_args/quant_args.py:
 * `get_quantization_config`, `bnb_4bit_use_double_quant`); what other packages do is not counted.
 */
function makePacked(d: Deriving): void {
  const bits = d.stated.findLast(({ name, value }) => name === "quantization_bit" && value !== null);
  const method = d.stated.findLast(({ name, value }) => name === "quantization_method" && value !== null);
  if (bits === undefined) return;
  if (method === undefined && bits.key === "quant_bits") {
    d.make(bits, "quantization", "none");
    return;
  }
  if (method !== undefined && method.value !== "bnb") d.made.push({ ...method, name: null, uncounted: true });
  if (!d.has("double_quantization")) d.make(bits, "double_quantization", true);
}

/** Scales with weights other than 0 and 1 (swift/loss_scale/config); any of them may stand in a chain (`last_round+hermes`). */
const WEIGHING: ReadonlySet<string> = new Set(["react", "hermes", "qwen", "agentflan", "alpha_umi"]);

/**
 * A loss of each token takes the labels from the model, and with them any fused loss that it has (swift/trainers/seq2seq_trainer.py,
 * compute_loss). Scales of 0 and 1 become labels, others only where `is_binary_loss_scale` says so (swift/template/base.py).
 */
function makeLossOfTokens(d: Deriving): void {
  const binary = d.stated.findLast(({ key }) => key === "is_binary_loss_scale")?.value === false;
  const weighs = (value: unknown): boolean =>
    typeof value === "string" && !binary && value.split("+").some((name) => WEIGHING.has(name));
  const split = d.stated.findLast(({ name, value }) => name === "context_parallel" && Number(value) > 1);
  const said = d.stated.findLast(({ name, value }) => name === "loss_of_tokens" && (value === true || weighs(value)));
  d.make(said ?? split, "loss_of_tokens", true);
}

/**
 * What Megatron-SWIFT does unless it is told otherwise: every weight is trained, in the checkpoint's half precision, and the
 * optimizer is spread over the data-parallel ranks (swift/megatron/arguments/megatron_args.py: `tuner_type`, `bf16` of
 * `torch_dtype`, `use_distributed_optimizer`).
 */
function makeMegatron(d: Deriving): void {
  const model = d.find("model");
  d.make(model, "model_code", "mcore");
  if (!d.has("adapter")) d.make(model, "adapter", "none");
  if (!d.has("compute_dtype", "bf16", "fp16", "load_dtype")) d.make(model, "compute_dtype", "bf16");
  // Megatron itself takes the degree of tensor parallelism.
  if (!d.has("expert_tensor_parallel")) d.make(model, "expert_tensor_parallel", 1);
  const spread = d.find("distributed_optimizer");
  if (spread?.value !== false) d.make(model && (spread ?? model), "zero_stage", 1);
}

/** The words of shipped DeepSpeed configs are no files. */
function keepLink(link: DocumentLink): boolean {
  return link.kind !== "engine" || SHIPPED_DEEPSPEED[link.target] === undefined;
}

const SHARED = {
  id: "ms-swift",
  keys: MS_SWIFT_KEYS,
  unknownKeys: { parents: [""], known: new Set([...accepted.names, ...LAUNCHER_OPTIONS]) },
  derive,
  keepLink,
} as const;

export const msSwift = schemaFormat({
  ...SHARED,
  views: (document) => dataView(document, ["yaml", "json"]),
  recognise({ map }) {
    if (count(map, OTHERS) > 0) return NOT_RECOGNISED;
    const marks = count(map, MARKS);
    const named =
      count(map, ["model", "model_type", "model_id_or_path"]) > 0 &&
      count(map, ["dataset", "cached_dataset", "custom_train_dataset_path"]) > 0;
    const strong =
      count(map, ["tuner_type", "train_type", "sft_type", "rlhf_type", "model_id_or_path", "train_dataset_sample"]) > 0;
    if (named && (strong || marks >= 2))
      return {
        confidence: Math.min(0.97, 0.88 + 0.03 * marks),
        because: hasWith("model", marks, "ms-swift"),
      };
    return strong && marks >= 2 ? { confidence: 0.86, because: hasKeys(marks, "ms-swift") } : NOT_RECOGNISED;
  },
});

export const msSwiftShell = schemaFormat({
  ...SHARED,
  carrier: "shell",
  views: shellViews,
  recognise(view) {
    const command = view.words.slice(0, 16).join(" ");
    if (
      /(?:^|[\s/])(?:swift|megatron)\s{1,20}(?:sft|pt|rlhf|export|infer|rollout|deploy|eval|sample)(?:\s|$)/.test(
        command,
      ) ||
      /swift[/.]cli[/.]|swift\.llm|ms-swift/.test(command)
    ) {
      return { confidence: /\s(?:sft|pt|rlhf)(?:\s|$)|cli/.test(command) ? 0.98 : 0.6, because: runs("ms-swift") };
    }
    const strong = count(view.map, ["tuner_type", "train_type", "sft_type", "rlhf_type"]);
    return strong > 0 && count(view.map, MARKS) >= 2 ? { confidence: 0.9, because: runs("ms-swift") } : NOT_RECOGNISED;
  },
});
