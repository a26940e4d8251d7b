/**
 * The cheap first look: could this document be a training config? Decides only whether the language server is worth
 * starting; the server's own recognition decides everything else. Errs on the side of yes.
 */

/** Language ids whose documents are looked at; `activationEvents` and the client's selector list the same. */
export const LANGUAGES = [
  "yaml",
  "json",
  "jsonc",
  "json5",
  "hjson",
  "toml",
  "python",
  "shellscript",
  "makefile",
  "dockerfile",
  "plaintext",
] as const;

/** Plain text counts only under these endings (editors without TOML or HJSON support open them so). */
const PLAIN_ENDINGS = /\.(toml|hjson|json5|ya?ml|jsonc?|slurm|sbatch|gin)$/i;

/** Names that only training configs have. */
const NAMES =
  /(^|\/)(\.vramlens\.ya?ml|accelerate[\w.-]{0,80}\.ya?ml|adapter_config\.json|axolotl[\w.-]{0,80}\.ya?ml)$/i;

/** Words that training configs and launchers have and little else does. */
const CONTENT = new RegExp(
  [
    "vramlens",
    "per_(device|gpu)_train_batch_size",
    "train_(micro_)?batch_size",
    "gradient_accumulation(_steps|_fusion)?\\b",
    "gradient[-_]checkpointing",
    "zero_optimization",
    "micro[-_]batch[-_]size",
    "global[-_]batch[-_]size",
    "TrainingArguments",
    "(SFT|DPO|GRPO|KTO|ORPO|PPO|RLOO|Reward)Config",
    "LoraConfig|lora_rank|lora_r\\b|lora_alpha",
    "BitsAndBytesConfig|load_in_[48]bit",
    "from_pretrained",
    "distributed_type|fsdp_config|mixed_precision",
    "accelerate(\\s+|\\.commands\\.)launch|torchrun|torch\\.distributed|deepspeed",
    "model_name_or_path|pretrained_model_name_or_path",
    "base_model\\s*:|sequence_len\\s*:",
    "finetuning_type|train_type|swift\\s+(sft|rlhf|pt)",
    "_component_\\s*:",
    "max_seq_len(gth)?\\b",
    "(tensor|pipe|pipeline|model)[-_](model[-_])?parallel",
    "(local_batch_size|batch_size_per_(device|gpu|replica))\\b",
    "output_dir\\b|merge_file\\b|torchtitan",
    "trainer\\s*:[\\s\\S]{0,400}(precision|devices|strategy)\\s*:",
    "ActorRolloutRef|actor_rollout_ref|openrlhf",
    "network_(dim|module)\\b|sd_trainer|max_resolution",
    "nnUNet|ultralytics|detectron2|mmengine|train_dataloader",
  ].join("|"),
);

/** What the look needs of a document. */
export interface Sniffable {
  /** Path of the URI. */
  readonly path: string;
  readonly languageId: string;
  /** The beginning of the text; called only when the name does not settle it. */
  readonly head: () => string;
}

/** Lines of a document that are looked at. */
export const HEAD_LINES = 3000;

/** Whether the document may be a training config. */
export function mayBeConfig(document: Sniffable): boolean {
  if (!(LANGUAGES as readonly string[]).includes(document.languageId)) return false;
  if (document.languageId === "plaintext" && !PLAIN_ENDINGS.test(document.path)) return false;
  return NAMES.test(document.path) || namesDeepspeed(document.path) || CONTENT.test(document.head());
}

/** `ds_config_zero3.json`, `deepspeed-stage2.hjson`. */
function namesDeepspeed(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const at = name.search(/ds|deepspeed|zero/i);
  return /\.h?json$/i.test(name) && at >= 0 && /config|zero|stage|offload/i.test(name.slice(at + 2));
}
