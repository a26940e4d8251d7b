/**
 * Text generated on sharded models against the libraries: receipts of `python -m capture.truth.ranks --kind fsdp1-generated fsdp2-generated`,
 * which calls `generate` as TRL's trainers and Seq2SeqTrainer do, on fake CUDA tensors.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "mocha";
import { simulate } from "../../src/core/simulate";
import { FlatSharding } from "../../src/core/training/parallel/fsdp/flat";
import { type Case, graphsOf, receiptsOf, runOf } from "./receipts/case";

interface Generated extends Case {
  readonly generate: {
    readonly batch: number;
    readonly prompt: number;
    readonly new_tokens: number;
    /** The whole model is, as Seq2SeqTrainer has it; absent: what no layer has, as TRL. */
    readonly summons?: "all";
  };
}

const { summon } = FlatSharding.prototype;

function peakOf(c: Generated): number {
  const { batch, prompt, new_tokens, summons = "outside" } = c.generate;
  FlatSharding.prototype.summon = function (torch) {
    return summon.call(this, torch, summons);
  };
  const generation = { batchSize: batch, promptLength: prompt, newTokens: new_tokens, beams: 1, samples: false };
  const run = { ...runOf(c), generation: { ...generation, cache: "dynamic" as const } };
  const simulated = simulate(run, graphsOf(c.model.model_type));
  assert.ok(simulated.ok, c.id);
  const { phaseList } = simulated.simulation.ledger;
  return Math.max(...phaseList.filter(({ phase }) => phase === "generation").map(({ peak }) => peak));
}

describe("text generated on sharded models", () => {
  afterEach(() => {
    FlatSharding.prototype.summon = summon;
  });

  for (const kind of ["fsdp1-generated", "fsdp2-generated"])
    for (const { case: one, result } of receiptsOf(`ranks/${kind}`))
      it(one.id, () => {
        const c = one as Generated;
        const off = peakOf(c) / result.phase_peaks["generation"]! - 1;
        // Masks, of eager attention and of windows, are a block more there or here.
        const masks = c.attn === "eager" || Boolean(c.model["sliding_window"]);
        assert.ok(Math.abs(off) <= (masks ? 0.055 : 0.008), `${(100 * off).toFixed(2)} %`);
      });
});
