import { strict as assert } from "node:assert";
import { allowedLevers } from "../../../src/core/advise/allowed";
import { changeSize, STAY, strongest } from "../../../src/core/advise/moves";
import { searchPlans } from "../../../src/core/advise/search";
import {
  type EstimateFunction,
  LEVER_IDS,
  type LeverId,
  type Plan,
  type SearchOptions,
} from "../../../src/core/advise/types";
import type { TrainingRun } from "../../../src/core/training/run";
import { loraSpec } from "../runs";
import { bruteForce } from "./brute";
import { GIB, RUN, type Shape, slower, synthetic, ZERO } from "./synthetic";

function summary(plans: readonly Plan[]): string[] {
  return plans.map(
    (plan) =>
      `${plan.steps.map(({ lever, value }) => `${lever}=${value}`).join(" ")} ${(plan.usedPeakBytes / GIB).toFixed(3)} ×${plan.stepTimeFactor.toFixed(3)}`,
  );
}

/** Repeatable pseudo-random numbers in [0, 1). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const VARIANTS: readonly TrainingRun[] = [
  RUN,
  { ...RUN, attention: "eager", autocast: "bfloat16" },
  { ...RUN, loadDtype: "bfloat16", optimizer: { name: "adamw_torch_fused", args: {} } },
  { ...RUN, microBatchSize: 6, gradientAccumulationSteps: 5, checkpointing: { useReentrant: false } },
  { ...RUN, parallel: { ...RUN.parallel, worldSize: 4 } },
  ZERO,
  { ...RUN, model: { ...RUN.model, family: "gpt2" } },
];

const HOPPER: TrainingRun = {
  ...RUN,
  autocast: "bfloat16",
  device: { name: "NVIDIA H100 80GB HBM3", memoryBytes: 80 * GIB, architecture: "hopper", count: 1 },
};
const ADAPTED: TrainingRun = { ...HOPPER, adapter: loraSpec({ rank: 64, alpha: 64 }) };
const parallel = (run: TrainingRun, change: Partial<TrainingRun["parallel"]>): TrainingRun => ({
  ...run,
  parallel: { ...run.parallel, ...change },
});
const third = (offloadOptimizer: "none" | "cpu"): TrainingRun =>
  parallel(ZERO, {
    worldSize: 2,
    deepspeed: ZERO.parallel.deepspeed && { ...ZERO.parallel.deepspeed, zeroStage: 3, offloadOptimizer },
  });
const SHARDED: TrainingRun = parallel(RUN, {
  worldSize: 16,
  fsdp: { version: 2, sharding: "shard_grad_op", cpuOffload: false, reshardAfterForward: false, replicas: 1 },
});
/** Sixteen layers of eight experts in a framework that splits models. */
const SPLIT: TrainingRun = {
  ...parallel(RUN, { worldSize: 16 }),
  model: { ...RUN.model, config: { num_hidden_layers: 16, num_local_experts: 8 } },
  gradientAccumulationSteps: 4,
  standsFor: "Megatron-LM",
  ownCode: true,
};

/** Levers that came later, each with a run that they apply to and some that they compete with. */
const NEWER: readonly (readonly [TrainingRun, readonly LeverId[], Partial<SearchOptions>])[] = [
  [HOPPER, ["fp8", "muon", "lion-8bit", "gradient-checkpointing", "micro-batch", "fused-loss"], { rare: true }],
  [HOPPER, ["fp8", "galore", "apollo", "4-bit-optimizer", "muon", "gradient-checkpointing"], { rare: true }],
  [HOPPER, ["dora", "8-bit-base", "qlora", "lora", "offload-activations"], { rare: true }],
  [ADAPTED, ["lora-rank", "qlora", "8-bit-base", "micro-batch"], { rare: true }],
  [RUN, ["packing", "micro-batch", "gradient-checkpointing", "shorter-sequence", "lora"], { filledShare: 0.42 }],
  [SPLIT, ["tensor-parallel", "pipeline-parallel", "expert-parallel", "gradient-checkpointing", "micro-batch"], {}],
  [SPLIT, ["pipeline-parallel", "expert-parallel", "shorter-sequence", "mixed-precision"], {}],
  [SHARDED, ["fsdp", "offload-fsdp", "context-parallel", "tensor-parallel", "gradient-checkpointing"], { rare: true }],
  [third("none"), ["offload-optimizer", "offload-parameters", "offload-nvme", "micro-batch"], { rare: true }],
  [third("cpu"), ["offload-parameters", "offload-nvme", "gradient-checkpointing", "fused-loss"], { rare: true }],
];

/** A made-up run's bytes, in GiB. */
function madeUp(next: () => number): Parameters<typeof synthetic>[0] {
  return { weights: 0.5 + 8 * next(), activations: 0.2 + 3 * next(), logits: 0.1 + 2 * next(), overhead: 0.5 };
}

describe("searchPlans", () => {
  it("finds the same where peaks that are too high are told roughly", () => {
    const next = random(11);
    for (let round = 0; round < 60; round++) {
      const run = VARIANTS[round % VARIANTS.length]!;
      const shape = madeUp(next);
      const exact = synthetic(shape);
      const options: SearchOptions = { limitBytes: exact(run).usedPeakBytes * (0.25 + 0.7 * next()), maxLevers: 3 };
      const rough: EstimateFunction = (changed, enough) => {
        const found = exact(changed);
        const usedPeakBytes = found.usedPeakBytes * (0.85 + 0.15 * next());
        return enough?.(usedPeakBytes) === true ? { ...found, usedPeakBytes, isAtLeast: true } : found;
      };
      const found = searchPlans(run, rough, options, slower);
      assert.deepEqual(summary(found.plans), summary(searchPlans(run, exact, options, slower).plans), `round ${round}`);
    }
  });

  it("finds what brute force finds, on many made-up runs", () => {
    const next = random(7);
    let hard = 0;
    for (let round = 0; round < 200; round++) {
      const run = VARIANTS[round % VARIANTS.length]!;
      const shape = madeUp(next);
      const need = synthetic(shape)(run).usedPeakBytes;
      const options: SearchOptions = {
        limitBytes: need * (0.25 + 0.7 * next()),
        keepGlobalBatch: round % 5 !== 0,
        keepNumerics: round % 3 === 0,
        allowAdapters: round % 4 !== 0,
        allowPackages: round % 7 !== 0,
        maxLevers: 3,
      };
      const expected = bruteForce(run, synthetic(shape), options, slower);
      const { plans, complete } = searchPlans(run, synthetic(shape), options, slower);
      assert.equal(complete, true);
      if (expected.length === 0)
        assert.ok(
          plans.every((plan) => !plan.fits || plan.steps.length > 3),
          `round ${round}`,
        );
      else assert.deepEqual(summary(plans), summary(expected), `round ${round}`);
      if (expected.length > 1 && expected.every((plan) => plan.steps.length > 1)) hard++;
    }
    assert.ok(hard >= 10, `${hard} rounds needed two levers`);
  });

  it("finds what brute force finds with the levers that came later", () => {
    const next = random(23);
    const met = new Set<LeverId>();
    for (let round = 0; round < 130; round++) {
      const [run, levers, also] = NEWER[round % NEWER.length]!;
      const shape = madeUp(next);
      const estimate = synthetic(shape);
      const options: SearchOptions = {
        limitBytes: estimate(run).usedPeakBytes * (0.3 + 0.65 * next()),
        without: LEVER_IDS.filter((id) => !levers.includes(id)),
        maxLevers: 3,
        ...(run.parallel.deepspeed === null ? {} : { hostLimitBytes: Math.round(next() * 8 * GIB) }),
        ...also,
      };
      const expected = bruteForce(run, estimate, options, slower);
      const { plans, complete } = searchPlans(run, estimate, options, slower);
      assert.equal(complete, true);
      if (expected.length === 0)
        assert.ok(
          plans.every((plan) => !plan.fits || plan.steps.length > 3),
          `round ${round}`,
        );
      else assert.deepEqual(summary(plans), summary(expected), `round ${round}: ${levers.join(", ")}`);
      for (const { steps } of expected) for (const { lever } of steps) met.add(lever);
    }
    for (const lever of new Set(NEWER.flatMap(([, levers]) => levers))) assert.ok(met.has(lever), lever);
  });

  const SHAPE: Shape = { weights: 4.6, activations: 1.6, logits: 0.8, overhead: 0.5 };
  const limitBytes = 21 * GIB;

  it("has nothing to say of a run that fits", () => {
    const result = searchPlans(RUN, synthetic(SHAPE), { limitBytes: 999 * GIB });
    assert.deepEqual(result, { plans: [], complete: true, estimates: 1 });
  });

  it("offers the smallest change first, and only plans that fit and need all their levers", () => {
    const estimate = synthetic(SHAPE);
    const { plans } = searchPlans(RUN, estimate, { limitBytes }, slower);
    assert.ok(plans.length > 1);
    const sizes = plans.map((plan) => changeSize(plan));
    assert.deepEqual(
      sizes,
      [...sizes].sort((a, b) => a - b),
    );
    for (const plan of plans) {
      assert.ok(plan.fits && plan.usedPeakBytes <= limitBytes);
      assert.equal(plan.usedPeakBytes, estimate(plan.run).usedPeakBytes);
      assert.equal(plan.savesBytes, estimate(RUN).usedPeakBytes - plan.usedPeakBytes);
    }
  });

  it("does not call cut samples the smallest change where a plan keeps them whole", () => {
    const estimate = synthetic({ weights: 1, activations: 3, logits: 2, overhead: 0.5 });
    const run: TrainingRun = { ...RUN, microBatchSize: 1, gradientAccumulationSteps: 1, sequenceLength: 16384 };
    const only = ["shorter-sequence", "gradient-checkpointing", "fused-loss", "lora", "mixed-precision"];
    const without = LEVER_IDS.filter((id) => !only.includes(id));
    const { plans } = searchPlans(run, estimate, { limitBytes: 6 * GIB, without }, slower);
    const cut = plans.filter(({ steps }) => steps.some(({ kept }) => (kept ?? 1) <= 0.25));
    assert.ok(cut.length > 0 && cut.length < plans.length);
    assert.deepEqual(plans.slice(-cut.length), cut);
    assert.ok(changeSize(plans[0]!) > 4, "more settings than the one of the length");
  });

  it("keeps the global batch", () => {
    const { plans } = searchPlans(RUN, synthetic(SHAPE), { limitBytes: 26 * GIB, keepNumerics: true }, slower);
    const batch = plans.filter((plan) => plan.steps.some(({ lever }) => lever === "micro-batch"));
    assert.ok(batch.length > 0);
    for (const { run } of batch) assert.equal(run.microBatchSize * run.gradientAccumulationSteps, 16);
  });

  it("keeps numerics when asked to", () => {
    const { plans } = searchPlans(RUN, synthetic(SHAPE), { limitBytes: 30 * GIB, keepNumerics: true }, slower);
    assert.ok(plans.every((plan) => plan.effect === "nothing"));
  });

  it("shows the closest miss when nothing fits", () => {
    const { plans } = searchPlans(RUN, synthetic(SHAPE), { limitBytes: GIB / 2 }, slower);
    assert.equal(plans.length, 1);
    assert.equal(plans[0]?.fits, false);
    assert.ok((plans[0]?.savesBytes ?? 0) > 0);
  });

  it("takes more levers than asked for when fewer are not enough, and none to spare", () => {
    const estimate = synthetic(SHAPE);
    const all = searchPlans(RUN, estimate, { limitBytes: 3 * GIB, maxLevers: 1 }, slower).plans;
    assert.equal(all.length, 1);
    const [plan] = all;
    assert.ok(plan?.fits && plan.steps.length > 1);
    const levers = allowedLevers({ limitBytes: 0 }).filter(({ id }) => plan.steps.some(({ lever }) => lever === id));
    for (const spare of levers) {
      const move = strongest(
        STAY(RUN),
        levers.filter((lever) => lever !== spare),
      );
      assert.ok(move === null || estimate(move.run).usedPeakBytes > 3 * GIB, spare.id);
    }
  });

  it("stops at the allowed number of estimates, says so, and has the small plans by then", () => {
    const options = { limitBytes: 16 * GIB };
    const whole = searchPlans(RUN, synthetic(SHAPE), options, slower);
    const part = searchPlans(RUN, synthetic(SHAPE), { ...options, maxEstimates: 40 }, slower);
    assert.ok(part.estimates <= 40);
    assert.equal(part.complete, whole.estimates <= 40);
    assert.ok(part.plans.length > 0 && part.plans.every((plan) => plan.fits));
    assert.deepEqual(part.plans[0]?.steps, whole.plans[0]?.steps);
  });

  it("leaves what promises nothing new alone once it has enough", () => {
    const options = { limitBytes: 16 * GIB };
    const whole = searchPlans(RUN, synthetic(SHAPE), options, slower);
    const quick = searchPlans(RUN, synthetic(SHAPE), { ...options, enoughEstimates: 12 }, slower);
    assert.ok(quick.estimates < whole.estimates && !quick.complete);
    assert.ok(quick.plans.length > 0 && quick.plans.every((plan) => plan.fits));
    assert.deepEqual(quick.plans[0]?.steps, whole.plans[0]?.steps);
  });

  it("asks for few estimates", () => {
    let calls = 0;
    const estimate = synthetic(SHAPE);
    const count = (run: TrainingRun) => {
      calls++;
      return estimate(run);
    };
    const result = searchPlans(ZERO, count, { limitBytes: 12 * GIB }, slower);
    assert.equal(result.complete, true);
    assert.equal(calls, result.estimates);
    assert.ok(calls < 150, String(calls));
  });

  it("leaves out levers that the engine cannot estimate", () => {
    const estimate = synthetic(SHAPE);
    const { plans } = searchPlans(
      RUN,
      (run) => (run.quantization === null && !run.optimizer.name.includes("8bit") ? estimate(run) : null),
      { limitBytes },
      slower,
    );
    assert.ok(plans.length > 0);
    assert.ok(plans.every(({ run }) => run.quantization === null && !run.optimizer.name.includes("8bit")));
  });

  it("leaves out levers that raise the peak of this run", () => {
    const estimate = synthetic(SHAPE);
    const raised = (run: TrainingRun) => {
      const found = estimate(run);
      const extra = run.autocast === null ? 0 : 30 * GIB;
      return { ...found, usedPeakBytes: found.usedPeakBytes + extra };
    };
    const { plans } = searchPlans(RUN, raised, { limitBytes: 16 * GIB }, slower);
    assert.ok(plans.length > 0 && plans.every((plan) => plan.fits && plan.run.autocast === null));
  });

  it("survives absurd runs", () => {
    for (const run of [
      { ...RUN, microBatchSize: 2 ** 40, gradientAccumulationSteps: 3 },
      { ...RUN, microBatchSize: 0, gradientAccumulationSteps: 0, sequenceLength: 0 },
      { ...RUN, microBatchSize: Number.NaN },
    ])
      assert.ok(Array.isArray(searchPlans(run, synthetic(SHAPE), { limitBytes, maxEstimates: 60 }, slower).plans));
  });
});
