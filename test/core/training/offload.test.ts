/** Saved tensors in host memory: what leaves the device, what the host gets, and that folding changes nothing. */
import assert from "node:assert/strict";
import { simulate } from "../../../src/core/simulate";
import type { TrainingRun } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";

function simulated(change: Partial<TrainingRun>, fold = true) {
  const result = simulate(causalRun({ microBatchSize: 8, sequenceLength: 512, ...change }), graphsOf("llama"), fold);
  assert.ok(result.ok);
  return result.simulation;
}

/** 12 layers of 8 × 512 tokens of 64 float32 numbers. */
const INPUTS = 12 * 8 * 512 * 64 * 4;

describe("activations in host memory", () => {
  it("sends the layers' inputs and nothing else with checkpointing", () => {
    const kept = simulated({ checkpointing: { useReentrant: false } });
    for (const useReentrant of [false, true]) {
      const sent = simulated({ checkpointing: { useReentrant, offloads: true } });
      // Positions and the mask's parts are positional in no layer of this family.
      assert.equal(sent.host.pinned, INPUTS);
      assert.ok(sent.ledger.peak < kept.ledger.peak);
    }
    assert.equal(kept.host.pinned, 0);
  });

  it("sends every saved activation, but parameters and what is small", () => {
    const kept = simulated({});
    const sent = simulated({ offloadsActivations: "each" });
    assert.ok(sent.ledger.peak < kept.ledger.peak / 2);
    assert.ok(sent.host.pinned > kept.ledger.peak / 2);
    // What two operators save stays on the device with TRL.
    const once = simulated({ offloadsActivations: "once" });
    assert.ok(once.ledger.peak > sent.ledger.peak && once.ledger.peak < kept.ledger.peak);
    assert.ok(once.host.pinned < sent.host.pinned);
    const both = simulated({ checkpointing: { useReentrant: false }, offloadsActivations: "once" });
    assert.ok(both.host.pinned >= INPUTS && both.host.pinned < once.host.pinned);
  });

  it("leaves the head and the loss on the device with torchtune, which switches its hooks off there", () => {
    const { model } = causalRun({});
    const wider = { ...model, config: { ...model.config, vocab_size: 3000 } };
    for (const chunkedLoss of [null, { chunks: 4, compiled: true, keepsLogits: true }]) {
      const [narrow, wide] = [model, wider].map((model) =>
        simulated({ model, chunkedLoss, offloadsActivations: "each" }),
      );
      assert.equal(narrow?.host.pinned, wide?.host.pinned);
    }
    const [narrow, wide] = [model, wider].map((model) => simulated({ model, offloadsActivations: "once" }));
    assert.ok(wide!.host.pinned > narrow!.host.pinned);
  });

  it("is the same with and without folding", () => {
    const changes: Partial<TrainingRun>[] = [
      { offloadsActivations: "each" },
      { offloadsActivations: "once" },
      { checkpointing: { useReentrant: false, offloads: true, everyNLayers: 2 } },
      { checkpointing: { useReentrant: true, everyNLayers: 3, firstLayer: 2 } },
    ];
    for (const change of changes) {
      const folded = simulated(change);
      const whole = simulated(change, false);
      assert.equal(folded.ledger.peak, whole.ledger.peak);
      assert.equal(folded.ledger.events.length, whole.ledger.events.length);
      assert.equal(folded.host.pinned, whole.host.pinned);
    }
  });

  it("keeps what unselected layers save", () => {
    const all = simulated({ checkpointing: { useReentrant: false } }).ledger.peak;
    const half = simulated({ checkpointing: { useReentrant: false, everyNLayers: 2 } }).ledger.peak;
    const none = simulated({}).ledger.peak;
    assert.ok(all < half && half < none);
    const late = simulated({ checkpointing: { useReentrant: false, everyNLayers: 2, firstLayer: 1 } }).ledger.peak;
    assert.ok(Math.abs(late - half) < (none - all) / 10);
  });
});
