/** What the search concludes from estimates of other runs is what the engine says of the run itself, to the byte. */
import { strict as assert } from "node:assert";
import { PeakBounds, predictedPeak } from "../../../src/core/advise/bounds";
import { estimate } from "../../../src/core/estimate";
import type { Estimate } from "../../../src/core/report/estimate";
import type { FsdpSpec, TrainingRun } from "../../../src/core/training/run";
import { english } from "../../english";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";

const GRAPHS = graphsOf("llama");
const BASE = causalRun({ microBatchSize: 4, sequenceLength: 256, gradientAccumulationSteps: 2 });
const FSDP: FsdpSpec = { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true };

const KINDS: readonly Partial<TrainingRun>[] = [
  {},
  { loadDtype: "bfloat16" },
  { parallel: { ...BASE.parallel, worldSize: 2 } },
  { parallel: { ...BASE.parallel, worldSize: 2, fsdp: FSDP }, autocast: "bfloat16" },
];
const PASSES: readonly Partial<TrainingRun>[] = [
  { microBatchSize: 1, gradientAccumulationSteps: 8 },
  { checkpointing: { useReentrant: false } },
  { fusedLoss: true, fusedLayers: true },
  { sequenceLength: 64, attention: "eager" },
];
const OPTIMIZERS = ["adamw_torch", "adafactor", "adamw_bnb_8bit", "paged_adamw_8bit", "lion_8bit", "galore_adamw"];

function of(run: TrainingRun): Estimate {
  const result = estimate(run, GRAPHS, "peaks");
  assert.ok(result.ok, result.ok ? "" : english(result.reason));
  return result.estimate;
}

describe("bounds of peaks", () => {
  for (const [index, kind] of KINDS.entries())
    it(`an optimizer's step and a pass are put together to the byte: ${index}`, () => {
      const base = { ...BASE, ...kind };
      const bounds = new PeakBounds();
      const learn = (run: TrainingRun) => bounds.learn(run, of(run));
      for (const pass of PASSES) learn({ ...base, ...pass });
      for (const name of OPTIMIZERS) learn({ ...base, optimizer: { name, args: {} } });
      for (const pass of PASSES)
        for (const name of OPTIMIZERS) {
          const run = { ...base, ...pass, optimizer: { name, args: {} } };
          const actual = of(run);
          const used = actual.allocatedPeakBytes + actual.usedPeakBytes - actual.reservedPeakBytes;
          assert.equal(bounds.atLeast(run), used, `${JSON.stringify(pass)} ${name}`);
        }
    });

  it("know weights and gradients under an optimizer that was never tried: no more than the engine says, and not all of it", () => {
    const bounds = new PeakBounds();
    bounds.learn(BASE, of(BASE));
    for (const pass of PASSES)
      for (const name of OPTIMIZERS.filter((one) => one !== BASE.optimizer.name)) {
        const run = { ...BASE, ...pass, optimizer: { name, args: {} } };
        const actual = of(run);
        const least = bounds.atLeast(run);
        const used = actual.allocatedPeakBytes + actual.usedPeakBytes - actual.reservedPeakBytes;
        assert.ok(least > 0.5 * used && least <= used, `${JSON.stringify(pass)} ${name}: ${least} of ${used}`);
      }
    assert.equal(bounds.atLeast({ ...BASE, loadDtype: "bfloat16" }), 0);
  });

  it("say nothing of what they do not know, or of optimizers that step in backward", () => {
    const bounds = new PeakBounds();
    assert.equal(bounds.atLeast(BASE), 0);
    const lomo = { ...BASE, optimizer: { name: "adalomo", args: {} } };
    bounds.learn(lomo, of(lomo));
    assert.equal(bounds.atLeast(lomo), 0);
  });

  it("predict one change as it is, and several not above the largest", () => {
    const now = of(BASE);
    const singles = PASSES.map((pass) => of({ ...BASE, ...pass }));
    for (const single of singles) {
      const peak = Math.max(...single.phases.filter(({ phase }) => phase !== "clip").map(({ peakBytes }) => peakBytes));
      const exact = peak + single.usedPeakBytes - single.reservedPeakBytes;
      assert.ok(Math.abs(predictedPeak(now, [single]) - exact) <= 0.001 * exact);
    }
    assert.ok(predictedPeak(now, singles) <= Math.min(...singles.map((single) => predictedPeak(now, [single]))));
  });
});
