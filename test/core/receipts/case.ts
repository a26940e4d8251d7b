/** Receipts: random training runs with what PyTorch says of each, made by `capture/receipts.py`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { FamilyGraphs } from "../../../src/core/graph/types";
import type { DType, TrainingRun } from "../../../src/core/training/run";
import { causalRun } from "../runs";

/** One drawn run, in the words of the reference. */
export interface Case {
  readonly id: string;
  readonly model: Readonly<Record<string, unknown>> & { readonly model_type: string };
  readonly task?: TrainingRun["task"];
  readonly batch: number;
  readonly seq?: number;
  readonly target_seq?: number;
  readonly image?: number;
  readonly load_dtype?: DType;
  readonly amp?: "bf16" | "fp16" | null;
  readonly attn?: TrainingRun["attention"];
  readonly gradient_checkpointing?: boolean;
  readonly use_reentrant?: boolean;
  readonly optim?: string;
  readonly optim_args?: Readonly<Record<string, string>>;
  readonly grad_accum?: number;
  readonly max_grad_norm?: number;
  readonly peft?: {
    readonly r: number;
    readonly alpha?: number;
    readonly dropout?: number;
    readonly dora?: boolean;
    readonly target_modules: readonly string[] | string;
    readonly modules_to_save?: readonly string[];
    readonly autocast_adapter_dtype?: boolean;
  };
  readonly quant?: { readonly type: "nf4" | "fp4"; readonly double: boolean };
  readonly kbit_prep?: boolean;
}

/** What PyTorch says, in bytes and elements. */
export interface Result {
  readonly peak_allocated: number;
  readonly peak_reserved: number;
  readonly peak_phase: string;
  readonly phase_peaks: Readonly<Record<string, number>>;
  readonly params: number;
  readonly trainable: number;
}

export interface Receipt {
  readonly case: Case;
  readonly result: Result;
}

const ROOT = path.resolve(__dirname, "../../..");

/** All receipts of one family, or of one kind of ways to train (`ways/…`). */
export function receiptsOf(file: string): Receipt[] {
  const text = readFileSync(path.join(__dirname, `${file}.jsonl`), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Receipt);
}

/** Families with receipts and graphs. */
export function families(): string[] {
  return readdirSync(__dirname)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => name.slice(0, -".jsonl".length))
    .filter((family) => existsSync(graphFile(family)));
}

/** Files of receipts by way of training (`capture/ways.py`). */
export function waysOfTraining(): string[] {
  return readdirSync(path.join(__dirname, "ways")).map((name) => `ways/${path.basename(name, ".jsonl")}`);
}

function graphFile(family: string): string {
  return path.join(ROOT, "models", "graphs", `${family}.json`);
}

const loaded = new Map<string, FamilyGraphs>();

/** The captured graphs of a family, read once. */
export function graphsOf(family: string): FamilyGraphs {
  let graphs = loaded.get(family);
  if (graphs === undefined) {
    graphs = JSON.parse(readFileSync(graphFile(family), "utf8")) as FamilyGraphs;
    loaded.set(family, graphs);
  }
  return graphs;
}

const AUTOCAST = { bf16: "bfloat16", fp16: "float16" } as const;

/** Classes of torch.optim whose name in lower case means another optimizer to the Trainer. */
const TORCH_NAMES: Readonly<Record<string, string>> = { adafactor: "adafactor_torch" };

function optimizerOf({ optim = "adamw_torch_fused", optim_args: args = {} }: Case): TrainingRun["optimizer"] {
  if (optim === "sgd_momentum") return { name: "sgd", args: { momentum: "0.9" } };
  const [, torch] = /^torch\.optim\.(.+)$/.exec(optim) ?? [];
  if (torch === undefined) return { name: optim, args };
  const name = torch.toLowerCase();
  return { name: TORCH_NAMES[name] ?? name, args };
}

/** The run a case describes. */
export function runOf(c: Case): TrainingRun {
  return causalRun({
    model: { name: c.id, family: c.model.model_type, config: c.model, source: "config.json" },
    task: c.task ?? "causal-lm",
    microBatchSize: c.batch,
    sequenceLength: c.seq ?? 0,
    targetLength: c.target_seq ?? c.seq ?? 0,
    imageSize: c.image ?? 224,
    gradientAccumulationSteps: c.grad_accum ?? 1,
    loadDtype: c.load_dtype ?? "bfloat16",
    autocast: c.amp ? AUTOCAST[c.amp] : null,
    attention: c.attn ?? "sdpa",
    checkpointing: c.gradient_checkpointing ? { useReentrant: c.use_reentrant ?? false } : null,
    optimizer: optimizerOf(c),
    maxGradNorm: c.max_grad_norm ?? 1,
    adapter: c.peft
      ? {
          type: c.peft.dora ? "dora" : "lora",
          rank: c.peft.r,
          alpha: c.peft.alpha ?? 16,
          dropout: c.peft.dropout ?? 0,
          targetModules: c.peft.target_modules,
          modulesToSave: c.peft.modules_to_save ?? [],
          bias: "none",
          useRslora: false,
          autocastAdapterDtype: c.peft.autocast_adapter_dtype ?? true,
        }
      : null,
    quantization: c.quant
      ? { type: c.quant.type, double: c.quant.double, prepareForKbit: c.kbit_prep ?? false, computeDtype: "bfloat16" }
      : null,
  });
}
