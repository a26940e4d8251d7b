/** What spreading a run over ranks changes on one of them (docs/parallel.md). */
import { strict as assert } from "node:assert";
import { reservedPeak } from "../../src/core/allocator/replay";
import { type EstimateResult, estimate } from "../../src/core/estimate";
import { streamOf } from "../../src/core/pool";
import type { ComponentKind, Estimate } from "../../src/core/report/estimate";
import { simulateFullest } from "../../src/core/stages";
import type { DeepSpeedSpec, FsdpSpec, TrainingRun } from "../../src/core/training/run";
import { english } from "../english";
import { graphsOf } from "./receipts/case";
import { causalRun, loraSpec } from "./runs";

const llama = graphsOf("llama");

const ZERO: DeepSpeedSpec = {
  zeroStage: 2,
  offloadOptimizer: "none",
  offloadParam: "none",
  pinMemory: true,
  overlapComm: false,
  contiguousGradients: true,
  reduceBucketSize: 1000,
  allgatherBucketSize: 1000,
  stage3PrefetchBucketSize: 0,
  stage3ParamPersistenceThreshold: 0,
  stage3MaxLiveParameters: 1e9,
  stage3MaxReuseDistance: 0,
  subGroupSize: 1e9,
  gradAccumDtype: null,
  hpzPartitionSize: 1,
  engineDtype: "bfloat16",
};

const FSDP: FsdpSpec = { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true };

function spread(
  worldSize: number,
  change: { deepspeed?: Partial<DeepSpeedSpec>; fsdp?: Partial<FsdpSpec> },
): TrainingRun {
  const run = causalRun({ autocast: "bfloat16" });
  return {
    ...run,
    parallel: {
      ...run.parallel,
      worldSize,
      deepspeed: change.deepspeed === undefined ? null : { ...ZERO, ...change.deepspeed },
      fsdp: change.fsdp === undefined ? null : { ...FSDP, ...change.fsdp },
    },
  };
}

function of(run: TrainingRun): Estimate {
  const result: EstimateResult = estimate(run, llama);
  assert.ok(result.ok, result.ok ? "" : english(result.reason));
  return result.estimate;
}

const bytes = (of: Estimate, kind: ComponentKind): number =>
  of.components.find((component) => component.kind === kind)?.bytes ?? 0;

/** More than the parameters of the model. */
const TENSORS = 100;
/** Elements of its largest one: rows of the vocabulary by the states' width. */
const LARGEST = 1000 * 64;

/** Within the rounding of a few hundred blocks. */
function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 0.02 * expected + 4096, `${actual} is not near ${expected}`);
}

describe("parallel strategies", () => {
  const single = of(causalRun({ autocast: "bfloat16" }));
  const P = single.parameters;

  it("DDP holds every gradient twice", () => {
    const ddp = of(spread(4, {}));
    near(bytes(ddp, "communication"), 4 * P);
    near(ddp.allocatedPeakBytes - single.allocatedPeakBytes, 4 * P);
  });

  it("ZeRO-1 and 2 keep all weights and shard the optimizer", () => {
    for (const zeroStage of [1, 2] as const) {
      const zero = of(spread(8, { deepspeed: { zeroStage } }));
      near(bytes(zero, "weights"), 2 * P);
      // float32 master and two moments of the partition
      near(bytes(zero, "optimizer"), (12 * P) / 8);
    }
  });

  it("ZeRO-1 and 2 are left with the partition of the gradients and its copy in float32", () => {
    // deepspeed/runtime/zero/stage_1_and_2.py: `_clear_param_grad_only` at the end of backward, `single_grad_partition` in the step.
    for (const zeroStage of [1, 2] as const) {
      const phase = of(spread(8, { deepspeed: { zeroStage } })).phases.find(({ phase }) => phase === "optimizer")!;
      const states = 2 * P + (12 * P) / 8;
      const gradients = phase.peakBytes - states;
      assert.ok(gradients > (6 * P) / 8 && gradients < 2 * P, String(gradients));
    }
  });

  it("ZeRO-1 and 2 flatten on a card with room, and leave the segments of what they flatten in the pool", () => {
    // deepspeed/runtime/zero/stage_1_and_2.py, `flatten_on_accelerator`: the cache is emptied before a group of parameters, not after it.
    const device = { name: "generic", architecture: "unknown", memoryBytes: 80 * 2 ** 30, count: 8 } as const;
    const wide = { hidden_size: 1024, intermediate_size: 4096, num_hidden_layers: 4 };
    const on = (change: Partial<DeepSpeedSpec>, memoryBytes = device.memoryBytes, oneGroup = true): Estimate => {
      const { model, optimizer, ...run } = spread(8, { deepspeed: { zeroStage: 2, ...change } });
      return of({
        ...run,
        sequenceLength: 3072,
        model: { ...model, config: { ...model.config, ...wide } },
        optimizer: { ...optimizer, ...(oneGroup ? { oneGroup } : {}) },
        device: { ...device, memoryBytes },
      });
    };
    const beside = on({});
    const before = on({ flattensOnHost: true });
    assert.equal(beside.allocatedPeakBytes, before.allocatedPeakBytes);
    assert.ok(before.reservedPeakBytes < beside.reservedPeakBytes);
    // A card without room for both, and the Trainer's second group, before which the cache is emptied.
    assert.equal(on({}, 2 * beside.parameters).reservedPeakBytes, before.reservedPeakBytes);
    assert.equal(on({}, device.memoryBytes, false).reservedPeakBytes, before.reservedPeakBytes);
  });

  it("overlap_comm doubles the bucket of stages 1 and 2, not of stage 3", () => {
    const peak = (zeroStage: 2 | 3, overlapComm: boolean): number =>
      of(spread(8, { deepspeed: { zeroStage, overlapComm, reduceBucketSize: 1e7 } })).allocatedPeakBytes;
    near(peak(2, true) - peak(2, false), 2e7);
    assert.equal(peak(3, true), peak(3, false));
  });

  it("groups that each hold everything (MiCS) are spread as a run of one group is", () => {
    const peakOf = (ranks: number, shardRanks?: number): number =>
      of(spread(ranks, { deepspeed: { zeroStage: 3, ...(shardRanks === undefined ? {} : { shardRanks }) } }))
        .allocatedPeakBytes;
    assert.equal(peakOf(16, 4), peakOf(4));
    assert.ok(peakOf(16) < peakOf(4));
  });

  it("ZeRO-3 shards the weights, and reuse distance keeps late layers gathered", () => {
    const far = of(spread(8, { deepspeed: { zeroStage: 3 } }));
    near(bytes(far, "weights"), (2 * P) / 8);
    const kept = of(spread(8, { deepspeed: { zeroStage: 3, stage3MaxReuseDistance: 1e9 } }));
    assert.ok(bytes(kept, "communication") > bytes(far, "communication"));
  });

  it("offload moves states to the host, pinned or not, and to NVMe", () => {
    const host = of(spread(8, { deepspeed: { zeroStage: 2, offloadOptimizer: "cpu" } }));
    assert.equal(bytes(host, "optimizer"), 0);
    // Master, its gradient and a copy in 16 bits are pinned, moments are not; one gradient is on its way.
    near(host.host.pinnedBytes, (10 * P) / 8 + 2 * LARGEST);
    near(host.host.pageableBytes, (8 * P) / 8);
    const pageable = of(spread(8, { deepspeed: { offloadOptimizer: "cpu", pinMemory: false } }));
    near(pageable.host.pageableBytes, (18 * P) / 8 + 2 * LARGEST);
    const added = of({ ...spread(8, { deepspeed: { offloadOptimizer: "cpu" } }), gradientAccumulationSteps: 2 });
    near(added.host.pinnedBytes, (12 * P) / 8 + 2 * LARGEST);
    const third = of(spread(8, { deepspeed: { zeroStage: 3, offloadOptimizer: "cpu" } }));
    near(third.host.pinnedBytes, (6 * P) / 8);
    near(third.host.pageableBytes, (12 * P) / 8);
    const both = of(spread(8, { deepspeed: { zeroStage: 3, offloadOptimizer: "nvme", offloadParam: "nvme" } }));
    near(both.host.nvmeBytes, (18 * P) / 8);
    const nvme = { zeroStage: 3, offloadOptimizer: "nvme", offloadParam: "nvme", subGroupSize: 1000 } as const;
    const buffered = of(spread(8, { deepspeed: { ...nvme, nvmeBuffers: 4, nvmeElements: 5000 } }));
    assert.equal(buffered.host.pinnedBytes - both.host.pinnedBytes, 4 * 4 * 1000 + 2 * 5000);
    assert.equal(bytes(both, "weights"), 0);
  });

  it("FSDP shards in float32 and gathers a layer at a time in the compute dtype", () => {
    const sharded = of(spread(8, { fsdp: {} }));
    // Every parameter has a shard and two states of its own, each a block that is rounded up.
    const over = (actual: number, expected: number, blocks: number): void =>
      assert.ok(actual >= expected && actual <= expected + 512 * blocks, `${actual} is not near ${expected}`);
    over(bytes(sharded, "weights"), (4 * P) / 8, TENSORS);
    over(bytes(sharded, "optimizer"), (8 * P) / 8, 3 * TENSORS);
    const kept = of(spread(8, { fsdp: { sharding: "shard_grad_op", reshardAfterForward: false } }));
    assert.ok(kept.allocatedPeakBytes > sharded.allocatedPeakBytes);
  });

  it("ZeRO-3 gathers and reduces on streams of its own where communication overlaps", () => {
    const streamsOf = (overlapComm: boolean) => {
      const one = simulateFullest(
        spread(8, { deepspeed: { zeroStage: 3, overlapComm, reduceBucketSize: 1e6 } }),
        llama,
      );
      assert.ok(one.ok);
      const { ledger } = one.simulation;
      return new Set([...(ledger.streams ?? [])].map((stream, id) => `${stream} ${ledger.labelOf(id).operator}`));
    };
    assert.equal(streamsOf(false).size, 0);
    assert.ok(streamsOf(true).has("1 all_gather"));
    assert.ok([...streamsOf(true)].some((one) => one.startsWith("2 ")));
  });

  it("ZeRO-1 and 2 reduce on a stream of its own where communication overlaps", () => {
    for (const zeroStage of [1, 2] as const) {
      const reducedOn = (overlapComm: boolean) => {
        const one = simulateFullest(spread(8, { deepspeed: { zeroStage, overlapComm, reduceBucketSize: 1e6 } }), llama);
        assert.ok(one.ok);
        const { ledger } = one.simulation;
        const of = (id: number) => ledger.labelOf(id).operator;
        return new Set([...(ledger.streams ?? [])].flatMap((stream, id) => (of(id) === "cat" ? [stream] : [])));
      };
      assert.ok(reducedOn(true).has(2));
      assert.ok(!reducedOn(false).has(2));
    }
  });

  it("FSDP's streams have pools of their own: what is gathered and reduced lies in no hole of the model's", () => {
    for (const version of [1, 2] as const) {
      const run = spread(8, { fsdp: { version } });
      const one = simulateFullest(run, llama);
      assert.ok(one.ok);
      const { ledger } = one.simulation;
      const { streams } = ledger;
      assert.ok(streams);
      const of = (operator: string) =>
        new Set([...streams].filter((_, id) => ledger.labelOf(id).operator === operator));
      assert.deepEqual([...of("all_gather")], [1]);
      assert.deepEqual([...of("reduce_scatter")], [2]);
      assert.deepEqual(
        [...of("addmm"), ...of("mm")].filter((stream) => stream !== 0),
        [],
      );
      assert.ok(reservedPeak(streamOf(ledger, run)) > reservedPeak(ledger));
    }
  });

  it("a 4-bit base is sharded as it is packed; its constants are whole on every rank", () => {
    const quantization = { type: "nf4", double: false, prepareForKbit: false, computeDtype: "bfloat16" } as const;
    const adapter = loraSpec({ rank: 4, alpha: 8, autocastAdapterDtype: false });
    const base = (run: TrainingRun): number =>
      bytes(of({ ...run, loadDtype: "bfloat16", adapter, quantization }), "weights");
    const whole = base(spread(1, {}));
    // A float32 constant per 64 weights, a code book of 16 per layer, each rounded up to 512 bytes.
    const linears = P - 2 * 1000 * 64;
    const constants = linears / 16;
    for (const run of [spread(8, { deepspeed: { zeroStage: 3 } }), spread(8, { fsdp: {} })]) {
      const sharded = base(run);
      assert.ok(sharded >= constants + (whole - constants) / 10, String(sharded));
      assert.ok(sharded <= 1.3 * constants + (whole - constants) / 4 + 512 * TENSORS, `${sharded} of ${whole}`);
    }
  });

  it("hybrid sharding spreads the states over one copy's ranks", () => {
    const eight = of(spread(8, { fsdp: {} }));
    const hybrid = of(spread(16, { fsdp: { sharding: "hybrid_shard", replicas: 2 } }));
    near(bytes(hybrid, "optimizer"), bytes(eight, "optimizer"));
    near(bytes(hybrid, "weights"), bytes(eight, "weights"));
  });

  it("components add up to the peak for every strategy", () => {
    for (const run of [spread(2, {}), spread(8, { deepspeed: { zeroStage: 3 } }), spread(8, { fsdp: {} })]) {
      const result = of(run);
      assert.equal(
        result.components.reduce((sum, component) => sum + component.bytes, 0),
        result.allocatedPeakBytes,
      );
    }
  });
});
