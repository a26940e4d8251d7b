import { strict as assert } from "node:assert";
import { searchPlans } from "../../../src/core/advise/search";
import { STAGES, type Stage, stagedPlan, stageEffect } from "../../../src/core/advise/stages";
import { LEVER_IDS, type LeverId } from "../../../src/core/advise/types";
import { planTitle, planWhy } from "../../../src/core/advise/words";
import type { TrainingRun } from "../../../src/core/training/run";
import { GIB, RUN, slower, synthetic, ZERO } from "./synthetic";

const SHAPE = { weights: 4.6, activations: 1.6, logits: 0.8, overhead: 0.5 };

describe("stagedPlan", () => {
  it("stops at the first stage that fits", () => {
    const stages = stagedPlan(RUN, synthetic(SHAPE), { limitBytes: 26 * GIB }, slower);
    assert.deepEqual(
      stages.map(({ id }) => id),
      ["essentials"],
    );
    assert.equal(stages[0]?.fits, true);
  });

  it("adds up: what the items free is what the stage ends with", () => {
    for (const run of [RUN, ZERO, { ...RUN, attention: "eager" as const }])
      for (const gib of [4, 8, 12, 18]) {
        let used = synthetic(SHAPE)(run).usedPeakBytes;
        const stages = stagedPlan(run, synthetic(SHAPE), { limitBytes: gib * GIB }, slower);
        for (const stage of stages) {
          for (const item of stage.items) {
            used -= item.freesBytes;
            assert.ok(item.freesBytes > 0);
            assert.equal(synthetic(SHAPE)(item.run).usedPeakBytes, used);
          }
          assert.equal(stage.usedPeakBytes, used);
          assert.equal(stage.fits, used <= gib * GIB);
        }
        assert.deepEqual(
          stages.map(({ id }) => STAGES.indexOf(id)),
          stages.map(({ id }) => STAGES.indexOf(id)).sort(),
        );
        assert.ok(stages.slice(0, -1).every(({ fits }) => !fits));
      }
  });

  it("lowers the micro-batch at most once, and in the early stages only where that settles it", () => {
    for (const gib of [4, 8, 12, 15, 18, 22, 26]) {
      const stages = stagedPlan(RUN, synthetic(SHAPE), { limitBytes: gib * GIB }, slower);
      const lowered = stages.flatMap((stage) =>
        stage.items.filter(({ step }) => step.lever === "micro-batch").map(() => stage),
      );
      assert.ok(lowered.length <= 1);
      for (const stage of lowered) assert.ok(stage.fits || stage.id === "advanced");
    }
  });

  it("changes the method only in the last stage", () => {
    const stages = stagedPlan(RUN, synthetic(SHAPE), { limitBytes: 4 * GIB }, slower);
    for (const stage of stages.slice(0, -1)) assert.notEqual(stageEffect(stage), "method");
  });

  /** DeepSpeed's third stage on a machine: what is offloaded takes 40 GiB of the host, none where it is on a drive. */
  const { deepspeed } = ZERO.parallel;
  const third = (offloadOptimizer: "none" | "cpu" | "nvme"): TrainingRun => ({
    ...ZERO,
    parallel: { ...ZERO.parallel, deepspeed: deepspeed && { ...deepspeed, zeroStage: 3, offloadOptimizer } },
  });
  const offloading = (changed: TrainingRun) => {
    const { offloadOptimizer = "none" } = changed.parallel.deepspeed ?? {};
    // On the GPU a drive is as good as host memory.
    const seen = offloadOptimizer === "nvme" ? third("cpu") : changed;
    const pinnedBytes = offloadOptimizer === "cpu" ? 40 * GIB : 0;
    const used = synthetic(SHAPE)(seen);
    return { ...used, host: { pinnedBytes, pageableBytes: 0, nvmeBytes: offloadOptimizer === "nvme" ? 40 * GIB : 0 } };
  };
  const leversOf = (stages: readonly Stage[]) => stages.flatMap(({ items }) => items.map(({ step }) => step.lever));

  it("sends to a drive at once what the host has no room for, or leaves it where it is", () => {
    const run = third("none");
    const limitBytes = offloading(third("cpu")).usedPeakBytes;
    const without = LEVER_IDS.filter((id) => !["offload-optimizer", "offload-nvme"].includes(id));
    const plan = (hostLimitBytes: number, ...more: LeverId[]) =>
      stagedPlan(run, offloading, { limitBytes, hostLimitBytes, without: [...without, ...more] }, slower);
    assert.deepEqual(leversOf(plan(64 * GIB)), ["offload-optimizer"]);
    assert.deepEqual(leversOf(plan(32 * GIB)), ["offload-optimizer", "offload-nvme"]);
    assert.equal(plan(32 * GIB).at(-1)?.fits, true);
    assert.deepEqual(leversOf(plan(32 * GIB, "offload-nvme")), []);
  });

  it("frees the host of a run that fits the GPU", () => {
    const run = third("cpu");
    const stages = stagedPlan(run, offloading, { limitBytes: 999 * GIB, hostLimitBytes: 32 * GIB }, slower);
    assert.deepEqual(leversOf(stages), ["offload-nvme"]);
    assert.deepEqual(stagedPlan(run, offloading, { limitBytes: 999 * GIB }, slower), []);
  });

  it("shards no further than fitting asks for", () => {
    const limitBytes = 27 * GIB;
    const without = LEVER_IDS.filter((id) => id !== "zero-stage");
    const [stage] = stagedPlan(ZERO, synthetic(SHAPE), { limitBytes, without }, slower);
    assert.equal(stage?.fits, true);
    assert.ok(Number(stage.items[0]?.step.value) < 3);
  });

  it("has nothing to say of a run that fits, or that cannot be estimated", () => {
    const fits = stagedPlan(RUN, synthetic(SHAPE), { limitBytes: 999 * GIB });
    assert.deepEqual(fits, []);
    assert.deepEqual(
      stagedPlan(RUN, () => null, { limitBytes: GIB }),
      [],
    );
  });
});

describe("words", () => {
  it("name every lever in both languages, with nothing left to fill in", () => {
    for (const lever of LEVER_IDS)
      for (const language of ["en", "zh-cn"]) {
        const plan = { steps: [{ lever, value: 4 }], run: RUN };
        for (const text of [planTitle(plan, language), planWhy(plan, language)]) {
          assert.ok(text.length > 3 && !/[{}!！]/.test(text), text);
          assert.equal(
            /[\u4e00-\u9fff]/.test(text),
            language === "zh-cn" && !/^FlashAttention-2$|^Adafactor$/.test(text),
          );
        }
      }
  });

  it("joins the levers of a plan", () => {
    const { plans } = searchPlans(RUN, synthetic(SHAPE), { limitBytes: 12 * GIB, keepNumerics: false }, slower);
    assert.ok(plans.some((plan) => planTitle(plan, "en").includes(" + ")));
    assert.equal(
      planTitle({ steps: [{ lever: "micro-batch", value: 2 }], run: { ...RUN, gradientAccumulationSteps: 8 } }, "en"),
      "Micro-batch 2 × accumulation 8",
    );
  });
});
