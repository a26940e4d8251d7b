/** Which values a hover tries for each setting: the curve that answers "what happens if I change this?". */

import { PEFT_TARGETS } from "../../core/training/adapters/peft-targets";
import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import type { MessageId } from "../../words/message";
import type { Variant } from "../run-analysis";

export interface Curve {
  /** Message id of the row's label. */
  readonly label: MessageId;
  /** The setting that the values override. */
  readonly override: SettingName;
  /** Values to try, the present one among them; empty when there is nothing to compare. */
  readonly values: (variant: Variant) => readonly string[];
  /** The present value, spelled as in `values`. */
  readonly now: (variant: Variant) => string;
}

/** Powers of two around a number, the number itself among them. */
export function around(
  value: number,
  below: number,
  above: number,
  least = 1,
  most = Number.POSITIVE_INFINITY,
): string[] {
  const values = new Set<number>([value]);
  let power = 2 ** Math.floor(Math.log2(Math.max(1, value)));
  if (power === value) power /= 2;
  for (let step = 0; step < below && power >= least; step++, power /= 2) values.add(power);
  power = 2 ** Math.ceil(Math.log2(Math.max(1, value)));
  if (power === value) power *= 2;
  for (let step = 0; step < above && power <= most; step++, power *= 2) values.add(power);
  return [...values].sort((a, b) => a - b).map(String);
}

const resolved =
  (name: SettingName, fallback: string) =>
  (variant: Variant): string =>
    String(variant.resolution.resolved.get(name)?.value ?? fallback);

const number =
  (name: SettingName, fallback: number) =>
  (variant: Variant): number =>
    Number(variant.resolution.resolved.get(name)?.value ?? fallback);

const choices = (label: MessageId, override: SettingName, values: readonly string[], now: Curve["now"]): Curve => ({
  label,
  override,
  values: (variant) => {
    const present = now(variant);
    return values.includes(present) ? values : [present, ...values];
  },
  now,
});

const onOff = (label: MessageId, override: SettingName, now: Curve["now"]): Curve =>
  choices(label, override, ["false", "true"], now);

const OPTIMIZERS = ["adamw_torch_fused", "adamw_torch", "adamw_bnb_8bit", "adafactor", "sgd"];

function limitOf(variant: Variant): number {
  const config = variant.resolution.run?.model.config;
  const limit = Number(config?.["max_position_embeddings"] ?? config?.["n_positions"]);
  return Number.isFinite(limit) && limit > 0 ? limit : Number.POSITIVE_INFINITY;
}

const precision: Curve = choices(
  "curve.compute_dtype",
  "compute_dtype",
  ["fp32", "bf16", "fp16"],
  resolved("compute_dtype", "fp32"),
);

/** What peft takes for this architecture when nothing is named. */
function peftChoice(variant: Variant): readonly string[] {
  const names = PEFT_TARGETS[variant.resolution.run?.model.family ?? ""];
  return names === undefined ? [] : [typeof names === "string" ? names : names.join(",")];
}

function targets(variant: Variant): string {
  const modules = variant.resolution.run?.adapter?.targetModules ?? [];
  return typeof modules === "string" ? modules : modules.join(",");
}

/** Curves by canonical name. */
export const CURVES: Readonly<Record<string, Curve>> = table({
  micro_batch_size: {
    label: "curve.micro_batch_size",
    override: "micro_batch_size",
    values: (variant) => around(number("micro_batch_size", 1)(variant), 3, 1),
    now: resolved("micro_batch_size", "1"),
  },
  sequence_length: {
    label: "curve.sequence_length",
    override: "sequence_length",
    values: (variant) => around(number("sequence_length", 1)(variant), 2, 2, 64, limitOf(variant)),
    now: resolved("sequence_length", "1"),
  },
  gradient_accumulation_steps: {
    label: "curve.gradient_accumulation_steps",
    override: "gradient_accumulation_steps",
    values: (variant) => around(number("gradient_accumulation_steps", 1)(variant), 2, 2),
    now: resolved("gradient_accumulation_steps", "1"),
  },
  gradient_checkpointing: onOff(
    "curve.gradient_checkpointing",
    "gradient_checkpointing",
    resolved("gradient_checkpointing", "false"),
  ),
  use_reentrant: onOff("curve.use_reentrant", "use_reentrant", (variant) =>
    String(variant.resolution.run?.checkpointing?.useReentrant ?? false),
  ),
  bf16: precision,
  fp16: precision,
  compute_dtype: precision,
  load_dtype: choices("curve.load_dtype", "load_dtype", ["float32", "bfloat16"], resolved("load_dtype", "float32")),
  optimizer: choices("curve.optimizer", "optimizer", OPTIMIZERS, resolved("optimizer", "adamw_torch_fused")),
  max_grad_norm: choices("curve.max_grad_norm", "max_grad_norm", ["0", "1"], resolved("max_grad_norm", "1")),
  fused_loss: onOff("curve.fused_loss", "fused_loss", (variant) => String(variant.resolution.run?.fusedLoss ?? false)),
  attention: choices(
    "curve.attention",
    "attention",
    ["eager", "sdpa", "flash_attention_2"],
    resolved("attention", "sdpa"),
  ),
  zero_stage: choices("curve.zero_stage", "zero_stage", ["0", "1", "2", "3"], resolved("zero_stage", "0")),
  offload_optimizer: choices(
    "curve.offload_optimizer",
    "offload_optimizer",
    ["none", "cpu", "nvme"],
    resolved("offload_optimizer", "none"),
  ),
  offload_param: choices(
    "curve.offload_param",
    "offload_param",
    ["none", "cpu", "nvme"],
    resolved("offload_param", "none"),
  ),
  world_size: {
    label: "curve.world_size",
    override: "world_size",
    values: (variant) => around(number("world_size", 1)(variant), 2, 2),
    now: resolved("world_size", "1"),
  },
  lora_rank: {
    label: "curve.lora_rank",
    override: "lora_rank",
    values: (variant) => around(number("lora_rank", 16)(variant), 2, 2),
    now: resolved("lora_rank", "16"),
  },
  lora_target_modules: {
    label: "curve.lora_target_modules",
    override: "lora_target_modules",
    values: (variant) => [...new Set([...peftChoice(variant), targets(variant), "all-linear"])],
    now: targets,
  },
  quantization: choices(
    "curve.quantization",
    "quantization",
    ["none", "nf4", "int8"],
    resolved("quantization", "none"),
  ),
  overlap_comm: onOff("curve.overlap_comm", "overlap_comm", (variant) =>
    String(variant.resolution.run?.parallel.deepspeed?.overlapComm ?? false),
  ),
  reduce_bucket_size: {
    label: "curve.reduce_bucket_size",
    override: "reduce_bucket_size",
    values: (variant) => {
      const now = variant.resolution.run?.parallel.deepspeed?.reduceBucketSize ?? 500_000_000;
      return [...new Set([50_000_000, 200_000_000, 500_000_000, now])].sort((a, b) => a - b).map(String);
    },
    now: (variant) => String(variant.resolution.run?.parallel.deepspeed?.reduceBucketSize ?? 500_000_000),
  },
  image_size: {
    label: "curve.image_size",
    override: "image_size",
    values: (variant) => [...new Set([224, 384, variant.resolution.run?.imageSize ?? 224])].map(String),
    now: (variant) => String(variant.resolution.run?.imageSize ?? 224),
  },
  target_length: {
    label: "curve.target_length",
    override: "target_length",
    values: (variant) => around(variant.resolution.run?.targetLength || 128, 2, 2),
    now: (variant) => String(variant.resolution.run?.targetLength || 128),
  },
  label_smoothing: choices("curve.label_smoothing", "label_smoothing", ["0", "0.1"], (variant) =>
    String(variant.resolution.run?.labelSmoothing ?? 0),
  ),
});

/** The switch of a block stands for the thing it switches. */
export const ALIASES: Readonly<Record<string, string>> = table({
  load_in_4bit: "quantization",
  load_in_8bit: "quantization",
  use_peft: "lora_rank",
  adapter: "lora_rank",
  offload_optimizer_block: "offload_optimizer",
  offload_param_block: "offload_param",
  gradient_checkpointing_kwargs: "gradient_checkpointing",
  deepspeed: "zero_stage",
  deepspeed_optimizer: "optimizer",
  bf16_block: "bf16",
  fp16_block: "fp16",
  packing: "sequence_length",
});
