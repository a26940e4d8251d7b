/** Receipts of trainers: random runs of TRL's losses with what PyTorch says of each, made by `capture/truth/trl_receipts.py`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { trainerGraphs } from "../../../src/core/graph/stored";
import type { FamilyGraphs, TrainerGraph } from "../../../src/core/graph/types";
import type { TrainerKind, TrainingRun } from "../../../src/core/training/run";
import { rowsOf } from "../../rows";
import { graphsOf, type Case as PlainCase, runOf, tableOf } from "../receipts/case";

/** One drawn run, in the words of the reference. */
export interface Case {
  readonly id: string;
  readonly kind: TrainerKind;
  readonly variant: Readonly<Record<string, string | boolean>>;
  readonly family: string;
  readonly model: Readonly<Record<string, unknown>>;
  readonly task: TrainingRun["task"];
  readonly attention: TrainingRun["attention"];
  readonly batch: number;
  readonly seq: number;
  /** Side of the pictures of models that read them, too. */
  readonly sizes?: { readonly I: number };
  readonly prompt?: number;
  readonly completion?: number;
  readonly scored?: number;
  readonly dtype: "float32" | "bfloat16";
  readonly amp: "bf16" | null;
  readonly checkpointing: boolean;
  readonly disable_dropout: boolean;
  /** Of one generation; absent where completions come with the data. */
  readonly sequences?: number;
  readonly every?: number;
  readonly scores?: boolean;
  readonly reference?: "model" | "adapter" | "none";
  readonly grad_accum: number;
  /** PPO's: completions scored at once, and mini-batches of an update. */
  readonly piece?: number;
  readonly mini_batches?: number;
  /** Another model in the reference's place. */
  readonly teacher?: Pick<Case, "family" | "model" | "dtype">;
  readonly lora?: { readonly r: number; readonly dropout: number; readonly target_modules: readonly string[] };
}

export interface Receipt {
  readonly case: Case;
  readonly result: { readonly peak_allocated: number; readonly params: number };
}

const ROOT = path.resolve(__dirname, "../../..");

const LOSSES = path.join(ROOT, "models", "trainers");

/** Every captured loss, by the name of its file. */
export const trainers: ReadonlyMap<string, readonly TrainerGraph[]> = new Map(
  readdirSync(LOSSES).map((name) => {
    const text = readFileSync(path.join(LOSSES, name), "utf8");
    return [name.replace(".json", ""), trainerGraphs(text, tableOf(text))];
  }),
);

/** A family's graphs with the trainers' losses of one file, as the analyzer hands them over. */
export function graphsWithTrainers(family: string, losses = "trl", beside: readonly string[] = []): FamilyGraphs {
  return { ...graphsOf(family), trainers: trainers.get(losses) ?? [], beside: beside.map(graphsOf) };
}

/** Receipts there are: the file of losses, and the trainer. What was read of a framework, and not run, has none. */
export function kinds(): (readonly [losses: string, kind: string])[] {
  const recorded = [...trainers.keys()].filter((losses) => existsSync(path.join(__dirname, losses)));
  return recorded.flatMap((losses) =>
    readdirSync(path.join(__dirname, losses)).map((name) => [losses, name.slice(0, -".jsonl".length)] as const),
  );
}

export function receiptsOf(losses: string, kind: string): Receipt[] {
  return rowsOf(__dirname, losses, `${kind}.jsonl`);
}

/** The run a case describes. */
export function trainerRunOf(c: Case): TrainingRun {
  const plain: PlainCase = {
    id: c.id,
    model: { ...c.model, model_type: c.family },
    task: c.task,
    batch: c.batch,
    seq: c.seq,
    ...(c.sizes === undefined ? {} : { image: c.sizes.I }),
    load_dtype: c.dtype,
    amp: c.amp,
    attn: c.attention,
    gradient_checkpointing: c.checkpointing,
    optim: "adamw_torch",
    grad_accum: c.grad_accum,
    ...(c.lora && { peft: { ...c.lora, alpha: 16 } }),
  };
  return {
    ...runOf(plain),
    trainer: {
      kind: c.kind,
      variant: c.reference === undefined ? c.variant : { ...c.variant, reference: c.reference },
      disableDropout: c.disable_dropout,
      scoredTokens: c.scored ?? 0,
      promptLength: c.prompt ?? 0,
      completionLength: c.completion ?? 0,
      ...(c.teacher === undefined
        ? {}
        : {
            companion: {
              model: {
                name: c.teacher.family,
                family: c.teacher.family,
                config: { ...c.teacher.model, model_type: c.teacher.family },
                source: "config.json" as const,
              },
              loadDtype: c.teacher.dtype,
            },
          }),
      ...(c.piece === undefined ? {} : { ppo: { piece: c.piece, miniBatches: c.mini_batches ?? 1 } }),
      rollout:
        c.sequences === undefined
          ? null
          : {
              sequences: c.sequences,
              every: c.every ?? 1,
              scores: c.scores === true,
              generates: false,
              generatingBytes: 0,
              sleepingBytes: 0,
            },
    },
  };
}
