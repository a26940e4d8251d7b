/** When the levers of frameworks and machines apply, and what they set. */
import { strict as assert } from "node:assert";
import { LEVERS, packing } from "../../../src/core/advise/levers";
import { searchPlans } from "../../../src/core/advise/search";
import type { LeverId, LeverOption } from "../../../src/core/advise/types";
import type { RolloutPace, TrainerSpec, TrainingRun } from "../../../src/core/training/run";
import { atBatch, paced } from "../../../src/core/training/trainers/pace";
import { GIB, RUN, synthetic, ZERO } from "./synthetic";

function options(id: LeverId, run: TrainingRun): readonly LeverOption[] {
  return LEVERS.filter((lever) => lever.id === id).flatMap((lever) => lever.options(run));
}

function settings(id: LeverId, run: TrainingRun): readonly string[] {
  return options(id, run).map((option) => option.settings.map(({ name, value }) => `${name}=${value}`).join(" "));
}

function on(run: TrainingRun, change: Partial<TrainingRun["parallel"]>): TrainingRun {
  return { ...run, parallel: { ...run.parallel, ...change } };
}

describe("levers", () => {
  it("fp8 wants 8-bit units and a bfloat16 model without adapters", () => {
    const hopper = { name: "H100", memoryBytes: 80 * GIB, architecture: "hopper", count: 1 };
    const run: TrainingRun = { ...RUN, device: hopper, autocast: "bfloat16", adapter: null, quantization: null };
    assert.deepEqual(settings("fp8", run), ["compute_dtype=fp8"]);
    assert.deepEqual(options("fp8", { ...run, device: { ...hopper, architecture: "ampere" } }), []);
    assert.deepEqual(options("fp8", { ...run, autocast: null, loadDtype: "float32" }), []);
    assert.equal(options("fp8", run)[0]?.run.float8?.backend, "torchao");
  });

  it("Muon replaces Adam", () => {
    assert.deepEqual(settings("muon", { ...RUN, optimizer: { name: "adamw_torch", args: {} } }), ["optimizer=muon"]);
    assert.deepEqual(options("muon", { ...RUN, optimizer: { name: "sgd", args: {} } }), []);
  });

  it("packing fills fewer rows with as many samples", () => {
    const [option] = packing(0.45).options({ ...RUN, microBatchSize: 8 });
    assert.equal(option?.run.microBatchSize, 4);
    assert.deepEqual(packing(0.45).options({ ...RUN, microBatchSize: 1 }), []);
    assert.deepEqual(packing(0.45).options({ ...RUN, microBatchSize: 8, task: "seq-cls" }), []);
  });

  it("smaller micro-batches generate as their config follows from them", () => {
    // GRPO at 8 samples, accumulated twice, learned from once.
    const generated = (pace: RolloutPace): unknown => {
      const rollout = { pace, ...paced(pace, 8, 2), generates: true, generatingBytes: 0, sleepingBytes: 0 };
      const variant = { old: rollout.scores, kl: false };
      const lengths = { scoredTokens: 9, promptLength: 9, completionLength: 9 };
      const trainer: TrainerSpec = { kind: "grpo", variant, disableDropout: false, ...lengths, rollout };
      const run = { ...RUN, microBatchSize: 8, gradientAccumulationSteps: 2, trainer };
      const next = atBatch(run, 4, 4).trainer;
      return [next?.rollout?.sequences, next?.rollout?.every, next?.rollout?.scores, next?.variant["old"]];
    };
    const once = { iterations: 1, alwaysScores: false };
    // Nothing said: what one optimizer step learns from. A number of micro-batches stays, so half as much is generated.
    assert.deepEqual(generated(once), [16, 4, false, false]);
    assert.deepEqual(generated({ ...once, steps: 2 }), [8, 2, false, false]);
    assert.deepEqual(generated({ ...once, steps: 3 }), [12, 3, true, true]);
    assert.deepEqual(generated({ ...once, sequences: 16 }), [16, 4, false, false]);
    // verl generates before every step.
    assert.deepEqual(generated({ ...once, sequences: 64, everyStep: true, alwaysScores: true }), [64, 4, true, true]);
  });

  it("pipelines have whole layers and a micro-batch per stage", () => {
    const config = { ...RUN.model.config, num_hidden_layers: 6 };
    const run = on({ ...RUN, model: { ...RUN.model, config }, gradientAccumulationSteps: 2 }, { worldSize: 8 });
    // Eight stages would have less than a layer each.
    assert.deepEqual(
      options("pipeline-parallel", run).map(({ value, run }) => [value, run.gradientAccumulationSteps]),
      [
        [2, 4],
        [4, 8],
      ],
    );
    assert.deepEqual(options("pipeline-parallel", on(run, { worldSize: 1 })), []);
  });

  it("sequence parallelism goes with tensor parallelism", () => {
    const split = on(RUN, { worldSize: 4, tensorParallel: 2 });
    assert.deepEqual(settings("sequence-parallel", split), ["sequence_parallelism=true"]);
    assert.deepEqual(settings("sequence-parallel", on(split, { sequenceParallel: true })), []);
    assert.deepEqual(settings("sequence-parallel", RUN), []);
  });

  it("experts are spread in even shares over ranks", () => {
    const config = { ...RUN.model.config, num_local_experts: 12 };
    const run = on({ ...RUN, model: { ...RUN.model, config } }, { worldSize: 8 });
    assert.deepEqual(settings("expert-parallel", run), ["expert_parallel=2", "expert_parallel=4"]);
    assert.deepEqual(options("expert-parallel", on(RUN, { worldSize: 8 })), []);
  });

  it("NVMe takes what waits in host memory", () => {
    const { deepspeed } = ZERO.parallel;
    assert.ok(deepspeed !== null);
    const cpu = on(ZERO, { deepspeed: { ...deepspeed, zeroStage: 3, offloadOptimizer: "cpu" } });
    assert.deepEqual(settings("offload-nvme", cpu), ["offload_optimizer=nvme offload_optimizer_nvme_path=/local_nvme"]);
    assert.deepEqual(options("offload-nvme", ZERO), []);
  });

  it("host memory that does not do is a reason for NVMe, and none is known of by itself", () => {
    const { deepspeed } = ZERO.parallel;
    assert.ok(deepspeed !== null);
    const run = on(ZERO, { deepspeed: { ...deepspeed, zeroStage: 3, offloadOptimizer: "cpu" } });
    const gpu = synthetic({ weights: 1, activations: 1, logits: 0.2, overhead: 0.5 });
    const estimate = (changed: TrainingRun) => {
      const host = changed.parallel.deepspeed?.offloadOptimizer === "cpu" ? 40 * GIB : 4 * GIB;
      // On the GPU a drive is as good as host memory.
      return {
        ...gpu(on(changed, { deepspeed: { ...deepspeed, zeroStage: 3, offloadOptimizer: "cpu" } })),
        host: { pinnedBytes: host, pageableBytes: 0, nvmeBytes: 44 * GIB - host },
      };
    };
    const limitBytes = 2 * gpu(run).usedPeakBytes;
    assert.deepEqual(searchPlans(run, estimate, { limitBytes }).plans, []);
    const [plan] = searchPlans(run, estimate, { limitBytes, hostLimitBytes: 32 * GIB }).plans;
    assert.deepEqual(
      plan?.steps.map(({ lever }) => lever),
      ["offload-nvme"],
    );
    assert.equal(plan?.fits, true);
  });
});
