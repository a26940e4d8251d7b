/** Cases of `capture/truth/verify.py` and `capture/truth/media_receipts.py` as runs: what they say and the peak PyTorch allocated. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import type { DType } from "../../src/core/engine/dtype";
import { NotModelled } from "../../src/core/engine/not-modelled";
import { simulate } from "../../src/core/simulate";
import type { Part } from "../../src/core/training/parts";
import type { TrainingRun } from "../../src/core/training/run";
import { rowsOf } from "../rows";
import { graphsOf } from "./receipts/case";
import { causalRun, loraSpec } from "./runs";

/** Ids of what is said where PyTorch raises. */
const REFUSALS: Readonly<Record<string, string>> = {
  "Trying to backward through the graph a second time": "engine.backward-twice",
};

export interface VerifiedCase {
  readonly id: string;
  readonly family: string;
  readonly task: TrainingRun["task"];
  readonly attention: TrainingRun["attention"] | "none";
  readonly model: Readonly<Record<string, unknown>>;
  readonly sizes: Readonly<Partial<Record<"B" | "S" | "T" | "I" | "A" | "C", number>>>;
  readonly dtype: DType;
  readonly amp: "bf16" | "fp16" | null;
  readonly checkpointing: boolean;
  readonly use_reentrant?: boolean;
  readonly lora?: {
    readonly r: number;
    readonly dropout: number;
    readonly target_modules: readonly string[] | string;
    /** The head that peft trains whole for the task it was told. */
    readonly modules_to_save?: readonly string[];
  };
  readonly frozen?: readonly Part[];
}

export function runOf(c: VerifiedCase): TrainingRun {
  const { lora, sizes } = c;
  return causalRun({
    model: {
      name: c.id,
      family: c.family,
      source: "config.json",
      config: { model_type: c.family, ...c.model, ...(c.sizes.C === undefined ? {} : { num_labels: 1 }) },
    },
    task: c.task,
    microBatchSize: sizes.B ?? 1,
    sequenceLength: sizes.S ?? 0,
    targetLength: sizes.T ?? 0,
    imageSize: sizes.I ?? 0,
    audioSamples: sizes.A ?? 0,
    ...(sizes.C === undefined ? {} : { choices: sizes.C }),
    loadDtype: c.dtype,
    autocast: c.amp === null ? null : c.amp === "bf16" ? "bfloat16" : "float16",
    attention: c.attention === "none" ? "sdpa" : c.attention,
    checkpointing: c.checkpointing ? { useReentrant: c.use_reentrant ?? false } : null,
    optimizer: { name: "adamw_torch", args: {} },
    adapter:
      lora === undefined
        ? null
        : loraSpec({
            rank: lora.r,
            dropout: lora.dropout,
            targetModules: typeof lora.target_modules === "string" ? lora.target_modules : [...lora.target_modules],
            modulesToSave: [...(lora.modules_to_save ?? [])],
          }),
    ...(c.frozen === undefined ? {} : { frozenParts: c.frozen }),
  });
}

interface Verified {
  readonly case: VerifiedCase;
  readonly truth?: number;
  /** How what PyTorch raises begins. */
  readonly error?: string;
}

/** One test a line of the folder's files: allocated peaks agree to the byte, and what PyTorch refuses has none. */
export function agrees(folder: string): void {
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".jsonl"))) {
    for (const { case: c, truth, error } of rowsOf<Verified>(folder, file)) {
      if (error !== undefined) {
        it(`${c.id}: ${error}`, () => {
          assert.throws(
            () => simulate(runOf(c), graphsOf(c.family)),
            (thrown) => thrown instanceof NotModelled && thrown.reason.id === REFUSALS[error],
          );
        });
        continue;
      }
      it(`${c.id}: ${c.task} of ${c.family} in ${c.dtype}`, () => {
        const result = simulate(runOf(c), graphsOf(c.family));
        assert.ok(result.ok);
        assert.equal(result.simulation.ledger.peak, truth);
      });
    }
  }
}
