/** Micro-batches that leave something behind are folded, too: the same event stream, without running every layer. */
import { strict as assert } from "node:assert";
import { Ledger } from "../../src/core/engine/ledger";
import { simulate } from "../../src/core/simulate";
import type { TrainingRun } from "../../src/core/training/run";
import { sameEvents } from "./events";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const llama = graphsOf("llama");
const fsdp = { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true } as const;
const sharded = { ...causalRun({}).parallel, worldSize: 8, fsdp };

function deep(layers: number, change: Partial<TrainingRun>): TrainingRun {
  const { model } = causalRun({});
  return causalRun({
    autocast: "bfloat16",
    loop: { holds: "outputs" },
    ...change,
    model: { ...model, config: { ...model.config, num_hidden_layers: layers } },
  });
}

/** Allocations that are carried out, not played. */
function carriedOut(run: TrainingRun): number {
  const { allocate } = Ledger.prototype;
  let count = 0;
  Ledger.prototype.allocate = function (...given) {
    count++;
    return allocate.apply(this, given);
  };
  try {
    assert.ok(simulate(run, llama).ok);
  } finally {
    Ledger.prototype.allocate = allocate;
  }
  return count;
}

describe("micro-batches of loops that name results beyond them", () => {
  for (const [name, change] of Object.entries({
    "whose outputs stay": {},
    "whose loss stays": { loop: { holds: "loss" }, gradientAccumulationSteps: 3 },
    "whose batch stays": { loop: { holds: "nothing" }, checkpointing: { useReentrant: true } },
    "whose gradients go after the next forward": {
      loop: { holds: "outputs", zerosLate: true },
      gradientAccumulationSteps: 2,
      checkpointing: { useReentrant: false },
    },
    "under FSDP2": { parallel: sharded },
    "under FSDP2, reduced with the last one": { parallel: sharded, gradientAccumulationSteps: 3 },
    "under FSDP1": { parallel: { ...sharded, fsdp: { ...fsdp, version: 1 } } },
    "under FSDP1, reduced with the last one": {
      parallel: { ...sharded, fsdp: { ...fsdp, version: 1 } },
      gradientAccumulationSteps: 3,
      loop: { holds: "loss", zerosLate: true },
    },
  } satisfies Readonly<Record<string, Partial<TrainingRun>>>)) {
    it(`${name}: the same events`, () => void sameEvents(deep(12, change), llama));

    it(`${name}: layers between cost what their parameters cost`, () => {
      const at = (layers: number): number => carriedOut(deep(layers, change));
      const each = (at(24) - at(12)) / 12;
      const whole = (at(12) / 12) * 0.5;
      assert.ok(each < whole, `${each} allocations for a layer more`);
    });
  }

  it("a cache that outputs keep is made by every layer", () =>
    void sameEvents(deep(12, { keepsCache: "copies" }), llama));
});
