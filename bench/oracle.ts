/**
 * Cases with known peaks: one JSON object a line, `{ case, result }`, where the result came from PyTorch itself on fake
 * CUDA tensors or from a real card. A case becomes the documents a person would have written.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Where the cases are when nobody says: beside the project. */
const BESIDE = join(__dirname, "..", "..", "shared", "oracle", "dev.jsonl");

export interface OracleCase {
  readonly id: string;
  readonly model: Readonly<Record<string, unknown>> & { readonly model_type: string };
  readonly task?: string;
  readonly batch: number;
  readonly seq?: number;
  readonly target_seq?: number;
  readonly image?: number;
  readonly load_dtype?: string;
  readonly amp?: "bf16" | "fp16" | null;
  readonly attn?: string;
  readonly gradient_checkpointing?: boolean;
  readonly use_reentrant?: boolean;
  readonly optim?: string;
  readonly grad_accum?: number;
  readonly max_grad_norm?: number;
  readonly peft?: {
    readonly r: number;
    readonly alpha?: number;
    readonly dropout?: number;
    readonly target_modules: readonly string[] | string;
    readonly dora?: boolean;
  } | null;
  readonly quant?: { readonly type: string; readonly double: boolean } | null;
  readonly kbit_prep?: boolean;
}

export interface KnownPeak {
  readonly case: OracleCase;
  readonly result: {
    readonly peak_allocated: number;
    readonly peak_reserved: number;
    readonly peak_phase: string;
    readonly params: number;
    /** Seconds the measurement took. */
    readonly seconds: number;
  };
}

/** File of known peaks: the argument, VRAM_LENS_ORACLE, or the one beside the project; undefined when none is there. */
export function resultsFile(argument: string | undefined): string | undefined {
  const file = argument ?? process.env["VRAM_LENS_ORACLE"] ?? BESIDE;
  return existsSync(file) ? file : undefined;
}

/** Cases that have a result. */
export function readKnownPeaks(file: string): readonly KnownPeak[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line))
    .filter((row) => row.result.error === undefined);
}

/** A flat YAML map; JSON values are YAML. */
function yaml(entries: Readonly<Record<string, unknown>>, indent = ""): string {
  return Object.entries(entries)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${indent}${key}: ${JSON.stringify(value)}\n`)
    .join("");
}

/** The documents of a case, by file name: `train.yaml`, `.vramlens.yaml`, `model/config.json`. */
export function documentsOf(one: OracleCase): Readonly<Record<string, string>> {
  const momentum = one.optim === "sgd_momentum";
  const train = yaml({
    output_dir: "out",
    per_device_train_batch_size: one.batch,
    gradient_accumulation_steps: one.grad_accum ?? 1,
    gradient_checkpointing: one.gradient_checkpointing === true,
    gradient_checkpointing_kwargs: one.use_reentrant === undefined ? undefined : { use_reentrant: one.use_reentrant },
    optim: momentum ? "sgd" : (one.optim ?? "adamw_torch_fused"),
    optim_args: momentum ? "momentum=0.9" : undefined,
    max_grad_norm: one.max_grad_norm ?? 1,
    bf16: one.amp === "bf16",
    fp16: one.amp === "fp16",
    learning_rate: 2e-5,
  });
  const { peft, quant } = one;
  const pins = yaml(
    {
      model: "./model",
      task: one.task ?? "causal-lm",
      dtype: one.load_dtype ?? "bfloat16",
      attention: one.attn ?? "sdpa",
      libraries: { torch: "2.11", transformers: "5.17", peft: "0.21" },
      sequence_length: one.seq,
      target_length: one.target_seq,
      image_size: one.task === "image-cls" ? (one.image ?? 224) : undefined,
      adapter: peft
        ? {
            type: "lora",
            r: peft.r,
            alpha: peft.alpha ?? 16,
            dropout: peft.dropout ?? 0,
            target_modules: peft.target_modules,
            use_dora: peft.dora ?? false,
          }
        : undefined,
      quantization: quant
        ? { type: quant.type, double: quant.double, prepare_for_kbit: one.kbit_prep === true }
        : undefined,
    },
    "    ",
  );
  return {
    "train.yaml": train,
    ".vramlens.yaml": `runs:\n  - match: "train.yaml"\n${pins}`,
    "model/config.json": JSON.stringify(one.model, null, 1),
  };
}
