/** Levers on how much is in memory at a time: micro-batch and length. */

import { atBatch } from "../../training/trainers/pace";
import type { Lever } from "../types";
import { halves, learnsFromText, lever, one, set } from "./build";

/** Beyond this no batch is meant seriously, and listing divisors would take noticeable time. */
const LARGEST_BATCH = 2 ** 20;

const SHORTEST_SEQUENCE = 256;

/** Divisors of `product` below `from`, largest first. */
export function divisorsBelow(product: number, from: number): number[] {
  const found: number[] = [];
  if (product > LARGEST_BATCH) return halves(from, 1).filter((value) => product % value === 0);
  for (let small = 1; small * small <= product; small++)
    if (product % small === 0) found.push(small, ...(small * small === product ? [] : [product / small]));
  return found.filter((divisor) => divisor < from).sort((a, b) => b - a);
}

/** Every whole number from `from - 1` down to 1; only halves of it when there would be too many. */
function below(from: number): number[] {
  return from > 1024 ? halves(from, 1) : Array.from({ length: Math.max(0, from - 1) }, (_, index) => from - 1 - index);
}

/** Smaller micro-batches whose accumulation keeps the global batch. */
export const MICRO_BATCH: Lever = lever("micro-batch", "nothing", (run) => {
  const product = run.microBatchSize * run.gradientAccumulationSteps;
  return divisorsBelow(product, run.microBatchSize).map((batch) => ({
    value: batch,
    run: atBatch(run, batch, product / batch),
    settings: [set("micro_batch_size", batch), set("gradient_accumulation_steps", product / batch)],
  }));
});

/** Smaller micro-batches with everything else as it is: the global batch shrinks with them. */
export const SMALLER_BATCH: Lever = lever("micro-batch", "method", (run) =>
  below(run.microBatchSize).map((batch) => ({
    value: batch,
    run: atBatch(run, batch, run.gradientAccumulationSteps),
    settings: [set("micro_batch_size", batch)],
  })),
);

/**
 * Samples laid end to end instead of padded: as many of them a step fill fewer rows.
 *
 * @param filled mean share of a row that a sample fills
 */
export function packing(filled: number): Lever {
  return lever("packing", "method", (run) => {
    const rows = Math.max(1, Math.ceil(run.microBatchSize * filled));
    return run.task === "causal-lm" && learnsFromText(run) && rows < run.microBatchSize
      ? one(rows, { ...run, microBatchSize: rows }, set("packing", true), set("micro_batch_size", rows))
      : [];
  });
}

/** Not where prompts and completions have lengths of their own. */
export const SHORTER_SEQUENCE: Lever = lever("shorter-sequence", "method", (run) =>
  (run.trainer?.rollout == null ? halves(run.sequenceLength, SHORTEST_SEQUENCE) : []).map((length) => ({
    value: length,
    run: { ...run, sequenceLength: length },
    settings: [set("sequence_length", length)],
    kept: length / run.sequenceLength,
  })),
);
