/** A rank's actions in torch's pipeline schedules, as `python -m capture.truth.ranks.schedules` asks torch for them. */
import assert from "node:assert/strict";
import { describe, it } from "mocha";
import { actionsOf, type SeveralStages, stagesOfRank } from "../../src/core/training/parallel/schedules";
import { rowsOf } from "../rows";

const LETTERS = { forward: "F", backward: "B", input: "I", weight: "W" } as const;

describe("torch's pipeline schedules", () => {
  for (const place of rowsOf<SeveralStages & { readonly actions: string }>(__dirname, "schedules.jsonl"))
    it(`${place.schedule}: rank ${place.rank} of ${place.ranks}, ${place.stages} stages, ${place.microBatches} micro-batches`, () => {
      const numbers = stagesOfRank(place);
      const actions = [...(actionsOf(place) ?? [])].map(({ stage, does }) => `${numbers[stage]}${LETTERS[does]}`);
      assert.equal(actions.join(" "), place.actions);
    });

  it("with a way there and a way back have two stages on a rank, and as many micro-batches as torch asks for", () => {
    const place = { rank: 0, ranks: 2, stages: 2, microBatches: 3, schedule: "dual-pipe-v" } as const;
    assert.equal(actionsOf(place), null);
    assert.equal(actionsOf({ ...place, stages: 3, schedule: "zbv-zero-bubble" }), null);
    assert.notEqual(actionsOf({ ...place, schedule: "zbv-zero-bubble" }), null);
  });
});
