/** The search against brute force with the engine itself, on models and sets of levers small enough for both. */
import { strict as assert } from "node:assert";
import { fitsWithin } from "../../../src/core/advise/limits";
import { rooflineFactor, searchPlans } from "../../../src/core/advise/search";
import { LEVER_IDS, type LeverId, type SearchOptions } from "../../../src/core/advise/types";
import { estimate } from "../../../src/core/estimate";
import type { Enough, Estimate } from "../../../src/core/report/estimate";
import type { TrainingRun } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";
import { bruteForce } from "./brute";
import { ZERO } from "./synthetic";

const DEVICE = { name: "NVIDIA GeForce RTX 3090", memoryBytes: 24 * 2 ** 30, architecture: "ampere", count: 1 };

function estimated(run: TrainingRun, detail?: "peaks"): Estimate | null {
  const result = estimate(run, graphsOf(run.model.family), detail);
  return result.ok ? result.estimate : null;
}

function remembered(): (run: TrainingRun) => Estimate | null {
  const known = new Map<string, Estimate | null>();
  return (run) => {
    const key = JSON.stringify(run);
    let found = known.get(key);
    if (found === undefined) {
      found = estimated(run, "peaks");
      known.set(key, found);
    }
    return found;
  };
}

const BASE = causalRun({ device: DEVICE, microBatchSize: 12, sequenceLength: 1024, gradientAccumulationSteps: 2 });
/** Weights that count beside the batch. */
const LARGE: TrainingRun = {
  ...BASE,
  microBatchSize: 2,
  sequenceLength: 256,
  gradientAccumulationSteps: 4,
  model: {
    ...BASE.model,
    config: { ...BASE.model.config, hidden_size: 256, intermediate_size: 704, vocab_size: 16000 },
  },
};
const HOPPER: TrainingRun = {
  ...LARGE,
  autocast: "bfloat16",
  device: { ...DEVICE, architecture: "hopper" },
  model: { ...BASE.model, config: { ...BASE.model.config, hidden_size: 512, intermediate_size: 1536 } },
};
const SPLIT: TrainingRun = {
  ...LARGE,
  parallel: { ...LARGE.parallel, worldSize: 4 },
  standsFor: "Megatron-LM",
  ownCode: true,
};
const EXPERTS: TrainingRun = {
  ...SPLIT,
  model: {
    ...LARGE.model,
    family: "mixtral",
    config: { ...LARGE.model.config, model_type: "mixtral", num_local_experts: 8, num_experts_per_tok: 2 },
  },
};
const THIRD: TrainingRun = {
  ...LARGE,
  loadDtype: "bfloat16",
  parallel: {
    ...LARGE.parallel,
    worldSize: 2,
    deepspeed: ZERO.parallel.deepspeed && { ...ZERO.parallel.deepspeed, zeroStage: 3 },
  },
};

/** A run, the levers to choose from, and what else is allowed. */
const SPACES: readonly (readonly [TrainingRun, readonly LeverId[], Partial<SearchOptions>?])[] = [
  [BASE, ["micro-batch", "gradient-checkpointing", "fused-loss", "shorter-sequence"]],
  [{ ...BASE, attention: "eager" }, ["micro-batch", "attention", "gradient-checkpointing", "half-weights"]],
  [{ ...BASE, optimizer: { name: "adamw_torch", args: {} } }, ["fused-optimizer", "adafactor", "micro-batch", "lora"]],
  [{ ...BASE, autocast: "bfloat16" }, ["lora-rank", "gradient-checkpointing", "micro-batch", "fused-loss"]],
  [
    { ...BASE, microBatchSize: 7, gradientAccumulationSteps: 3 },
    ["mixed-precision", "micro-batch", "fused-loss"],
    { keepGlobalBatch: false },
  ],
  [HOPPER, ["fp8", "muon", "8-bit-optimizer", "gradient-checkpointing"], { rare: true }],
  [BASE, ["packing", "micro-batch", "fused-loss", "gradient-checkpointing"], { filledShare: 0.42 }],
  [SPLIT, ["tensor-parallel", "pipeline-parallel", "gradient-checkpointing"]],
  [EXPERTS, ["expert-parallel", "pipeline-parallel", "micro-batch"]],
  [
    THIRD,
    ["offload-nvme", "offload-optimizer", "offload-parameters", "micro-batch"],
    { rare: true, hostLimitBytes: 2e7 },
  ],
];

describe("searchPlans with the engine", () => {
  const met = new Set<LeverId>();
  for (const [run, levers, also] of SPACES)
    it(`finds what brute force finds: ${levers.join(", ")}`, () => {
      const estimator = remembered();
      const need = estimator(run)?.usedPeakBytes;
      assert.ok(need);
      for (const share of [0.95, 0.75]) {
        const options: SearchOptions = {
          limitBytes: Math.floor(need * share),
          without: LEVER_IDS.filter((id) => !levers.includes(id)),
          maxLevers: 2,
          ...also,
        };
        const { plans } = searchPlans(run, estimator, options, rooflineFactor);
        const expected = bruteForce(run, estimator, options, rooflineFactor);
        const label: string = `${share} of ${need}`;
        for (const { steps } of expected) for (const { lever } of steps) met.add(lever);
        const [best] = plans;
        if (expected.length === 0) assert.ok(best === undefined || !best.fits || best.steps.length > 2, label);
        else {
          assert.deepEqual(best?.steps, expected[0]?.steps, label);
          assert.equal(best?.usedPeakBytes, expected[0]?.usedPeakBytes, label);
        }
        for (const plan of plans) {
          const again = estimated(plan.run);
          assert.equal(again?.usedPeakBytes, plan.usedPeakBytes, label);
          assert.equal(plan.fits, again !== null && fitsWithin(again, options), label);
        }
      }
    });

  it("had plans with the newest levers to find", () => {
    for (const lever of ["fp8", "muon", "packing", "pipeline-parallel", "expert-parallel", "offload-nvme"] as const)
      assert.ok(met.has(lever), lever);
  });
});

describe("estimates of the search", () => {
  const limit = 6 * 2 ** 30;
  const run: TrainingRun = { ...BASE, microBatchSize: 64 };

  it("model the pool of the run as it is and of what fits alone; plans are what they are with every pool modelled", () => {
    const options = {
      limitBytes: limit,
      without: LEVER_IDS.filter((id) => id !== "micro-batch" && id !== "half-weights"),
    };
    const whole: TrainingRun[] = [];
    const asked = (changed: TrainingRun, enough?: Enough): Estimate | null => {
      const result = estimate(changed, graphsOf("llama"), "peaks", enough);
      if (result.ok && result.estimate.isAtLeast !== true) whole.push(changed);
      return result.ok ? result.estimate : null;
    };
    const found = searchPlans(run, asked, options);
    assert.ok(found.plans.length > 0);
    assert.ok(whole.length < found.estimates, `${whole.length} of ${found.estimates}`);
    assert.equal(whole[0], run);
    const plain = searchPlans(run, (changed) => estimated(changed, "peaks"), options);
    assert.deepEqual(found.plans, plain.plans);
  });

  it("say of what needs too much what its steps hold", () => {
    const graphs = graphsOf("llama");
    const [exact, rough] = [false, true].map((enough) => estimate(run, graphs, "peaks", () => enough));
    assert.ok(exact?.ok && rough?.ok);
    assert.deepEqual(rough.estimate.phases, exact.estimate.phases);
    assert.equal(rough.estimate.residentBytes, exact.estimate.residentBytes);
    assert.equal(rough.estimate.allocatedPeakBytes, exact.estimate.allocatedPeakBytes);
    assert.equal(rough.estimate.operators, null);
    assert.ok(rough.estimate.usedPeakBytes <= exact.estimate.usedPeakBytes);
  });
});
