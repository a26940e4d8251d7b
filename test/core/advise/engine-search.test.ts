/** The search against brute force with the engine itself, on models and sets of levers small enough for both. */
import { strict as assert } from "node:assert";
import { rooflineFactor, searchPlans } from "../../../src/core/advise/search";
import { LEVER_IDS, type LeverId, type SearchOptions } from "../../../src/core/advise/types";
import { estimate } from "../../../src/core/estimate";
import type { Estimate } from "../../../src/core/report/estimate";
import type { TrainingRun } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";
import { bruteForce } from "./brute";

const GRAPHS = graphsOf("llama");
const DEVICE = { name: "NVIDIA GeForce RTX 3090", memoryBytes: 24 * 2 ** 30, architecture: "ampere", count: 1 };

function remembered(): (run: TrainingRun) => Estimate | null {
  const known = new Map<string, Estimate | null>();
  return (run) => {
    const key = JSON.stringify(run);
    let found = known.get(key);
    if (found === undefined) {
      const result = estimate(run, GRAPHS, "peaks");
      found = result.ok ? result.estimate : null;
      known.set(key, found);
    }
    return found;
  };
}

const BASE = causalRun({ device: DEVICE, microBatchSize: 12, sequenceLength: 1024, gradientAccumulationSteps: 2 });
const SPACES: readonly (readonly [TrainingRun, readonly LeverId[]])[] = [
  [BASE, ["micro-batch", "gradient-checkpointing", "fused-loss", "shorter-sequence"]],
  [{ ...BASE, attention: "eager" }, ["micro-batch", "attention", "gradient-checkpointing", "half-weights"]],
  [{ ...BASE, optimizer: { name: "adamw_torch", args: {} } }, ["fused-optimizer", "adafactor", "micro-batch", "lora"]],
  [{ ...BASE, autocast: "bfloat16" }, ["lora-rank", "gradient-checkpointing", "micro-batch", "fused-loss"]],
  [{ ...BASE, microBatchSize: 7, gradientAccumulationSteps: 3 }, ["mixed-precision", "micro-batch", "fused-loss"]],
];

describe("searchPlans with the engine", () => {
  for (const [index, [run, levers]] of SPACES.entries())
    it(`finds what brute force finds: ${levers.join(", ")}`, () => {
      const estimator = remembered();
      const need = estimator(run)?.usedPeakBytes;
      assert.ok(need);
      for (const share of [0.9, 0.7]) {
        const options: SearchOptions = {
          limitBytes: Math.floor(need * share),
          keepGlobalBatch: index !== 4,
          without: LEVER_IDS.filter((id) => !levers.includes(id)),
          maxLevers: 2,
        };
        const { plans } = searchPlans(run, estimator, options, rooflineFactor);
        const expected = bruteForce(run, estimator, options, rooflineFactor);
        const label: string = `${share} of ${need}`;
        const [best] = plans;
        if (expected.length === 0) assert.ok(best === undefined || !best.fits || best.steps.length > 2, label);
        else {
          assert.deepEqual(best?.steps, expected[0]?.steps, label);
          assert.equal(best?.usedPeakBytes, expected[0]?.usedPeakBytes, label);
        }
        for (const plan of plans) {
          const again = estimate(plan.run, GRAPHS);
          assert.ok(again.ok && again.estimate.usedPeakBytes === plan.usedPeakBytes, label);
          assert.equal(plan.fits, again.estimate.usedPeakBytes <= options.limitBytes, label);
        }
      }
    });
});
