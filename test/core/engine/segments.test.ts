import assert from "node:assert/strict";
import { type Simulation, simulate } from "../../../src/core/simulate";
import type { CheckpointingSpec } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";

function simulated(checkpointing: CheckpointingSpec | null): Simulation {
  const result = simulate(causalRun({ checkpointing }), graphsOf("llama"));
  assert.ok(result.ok);
  return result.simulation;
}

/** What the first forward leaves for its backward. */
function kept(checkpointing: CheckpointingSpec | null): number {
  const { ledger } = simulated(checkpointing);
  const forward = ledger.phaseList.findIndex(({ phase }) => phase === "forward");
  const at = (index: number): number => ledger.phaseList[index]!.before;
  return at(forward + 1) - at(forward);
}

const LAYERS = 12;
/** The hidden states of the batch. */
const INPUT = 4 * 64 * 64 * 4;

for (const useReentrant of [true, false])
  describe(`layers checkpointed together, ${useReentrant ? "" : "not "}reentrant`, () => {
    it("keep the input of each segment only", () => {
      const single = kept({ useReentrant });
      for (const layersTogether of [2, 3, 5, LAYERS])
        assert.equal(
          single - kept({ useReentrant, layersTogether }),
          (LAYERS - Math.ceil(LAYERS / layersTogether)) * INPUT,
          String(layersTogether),
        );
    });

    it("recompute a whole segment at once: all layers in one peak as without checkpointing", () => {
      const peak = (checkpointing: CheckpointingSpec | null): number => simulated(checkpointing).ledger.peak;
      const [none, all, two, one] = [
        null,
        { useReentrant, layersTogether: LAYERS },
        { useReentrant, layersTogether: 2 },
        { useReentrant },
      ].map(peak);
      assert.ok(one! < two! && two! < all!);
      assert.ok(Math.abs(all! - none!) < 0.1 * none!, `${all} ${none}`);
    });

    it("count the first layers of a stage with Megatron's block method", () => {
      const between = (firstLayers: number): number => kept({ useReentrant, firstLayers });
      assert.equal(between(LAYERS), kept({ useReentrant }));
      assert.equal(between(0), kept(null));
      const step = between(3) - between(4);
      assert.ok(step > 0);
      // A scalar's block more or less at the seam between both kinds of layers.
      assert.ok(Math.abs(between(0) - between(LAYERS) - LAYERS * step) <= LAYERS * 512);
    });
  });
