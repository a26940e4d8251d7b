/**
 * The losses of TRL's trainers against PyTorch: allocated peaks of random runs agree to the byte with two steps of the
 * trainer's own `_compute_loss` on fake CUDA tensors.
 */
import assert from "node:assert/strict";
import { knows } from "../../src/core/engine/ops/table";
import { simulate } from "../../src/core/simulate";
import type { DeepSpeedSpec, TrainingRun } from "../../src/core/training/run";
import { causalRun, loraSpec } from "./runs";
import { graphsWithTrainers, kinds, type Receipt, receiptsOf, trainerRunOf, trainers } from "./trainers/receipts";

const ZERO_2: DeepSpeedSpec = {
  zeroStage: 2,
  offloadOptimizer: "none",
  offloadParam: "none",
  pinMemory: false,
  overlapComm: false,
  contiguousGradients: true,
  reduceBucketSize: 50_000,
  allgatherBucketSize: 50_000,
  stage3PrefetchBucketSize: 0,
  stage3ParamPersistenceThreshold: 0,
  stage3MaxLiveParameters: 0,
  stage3MaxReuseDistance: 0,
  subGroupSize: 1_000_000_000,
  gradAccumDtype: null,
  hpzPartitionSize: 1,
  engineDtype: "bfloat16",
};

function compare(receipts: string, { case: c, result }: Receipt): string | null {
  const simulated = simulate(trainerRunOf(c), graphsWithTrainers(c.family, receipts));
  if (!simulated.ok) return `${c.id}: ${simulated.reason}`;
  const { ledger } = simulated.simulation;
  return ledger.peak === result.peak_allocated
    ? null
    : `${c.id}: allocated ${ledger.peak} instead of ${result.peak_allocated} (${ledger.peak - result.peak_allocated})`;
}

describe("trainers of TRL", () => {
  it("use operators the engine knows", () => {
    const unknown = [...trainers.values()]
      .flat()
      .flatMap(({ trainer, main }) =>
        main.body.flatMap((instruction) =>
          "op" in instruction && !knows(instruction.op) ? [`${trainer}: ${instruction.op}`] : [],
        ),
      );
    assert.deepEqual([...new Set(unknown)], []);
  });

  for (const kind of kinds())
    it(`${kind} as PyTorch`, () => {
      const own = receiptsOf(kind);
      assert.ok(own.length > 0);
      assert.deepEqual(
        own.map((receipt) => compare(kind, receipt)).filter((line) => line !== null),
        [],
      );
    });

  /** DPO of a small llama with a reference model, changed. */
  function peakOf(change: Partial<TrainingRun>): number {
    const run = trainerRunOf({
      id: "llama",
      kind: "dpo",
      variant: { loss: "sigmoid", reference: "model" },
      family: "llama",
      model: {
        hidden_size: 256,
        intermediate_size: 512,
        num_hidden_layers: 4,
        num_attention_heads: 4,
        vocab_size: 1000,
      },
      task: "causal-lm",
      attention: "sdpa",
      batch: 1,
      seq: 32,
      scored: 16,
      dtype: "bfloat16",
      amp: "bf16",
      checkpointing: true,
      disable_dropout: true,
      grad_accum: 1,
    });
    const simulated = simulate({ ...run, ...change }, graphsWithTrainers("llama"));
    assert.ok(simulated.ok, simulated.ok ? "" : simulated.reason);
    return simulated.simulation.ledger.peak;
  }

  const variant = (reference: string): Partial<TrainingRun> => {
    const trainer = {
      kind: "dpo",
      disableDropout: true,
      scoredTokens: 16,
      promptLength: 0,
      completionLength: 0,
    } as const;
    return { trainer: { ...trainer, variant: { loss: "sigmoid", reference } } };
  };

  it("keep no copy beside an adapter, whatever the run kept without it", () => {
    const adapter = loraSpec();
    assert.equal(peakOf({ adapter, ...variant("model") }), peakOf({ adapter, ...variant("adapter") }));
    assert.ok(peakOf({}) > peakOf(variant("none")));
  });

  it("keep the copy whole, in the engine's dtype, below ZeRO-3", () => {
    const parallel: TrainingRun["parallel"] = {
      ...causalRun({}).parallel,
      worldSize: 4,
      deepspeed: { ...ZERO_2, engineDtype: "bfloat16" },
    };
    const [own, without] = [peakOf({ parallel }), peakOf({ parallel, ...variant("none") })];
    const weights = 2 * (2 * 1000 * 256 + 4 * (4 * 256 * 256 + 3 * 256 * 512 + 2 * 256) + 256);
    assert.ok(Math.abs(own - without - weights) < 0.05 * weights, `${own - without} for ${weights}`);
  });
});
