/** Activations in host memory cost time where the copies take longer than the computation hides. */
import { strict as assert } from "node:assert";
import { stepTime } from "../../../src/core/cost/step-time";
import { COUNTS, llama } from "./runs";

describe("stepTime of offloaded activations", () => {
  const checkpointing = { useReentrant: false };
  const plain = stepTime(llama({ checkpointing }), COUNTS);
  const inputs = stepTime(llama({ checkpointing: { ...checkpointing, offloads: true } }), COUNTS);
  const all = stepTime(llama({ offloadsActivations: "once" }), COUNTS);
  const road = (time: typeof plain) => time?.demands.find(({ road: name }) => name === "host")?.bytes ?? 0;

  it("hides the inputs of layers behind their computation", () => {
    assert.ok(plain && inputs && inputs.low === plain.low);
    // Two bytes, to the host and back, for each token and layer.
    assert.equal(road(inputs), 2 * 2 * 4 * 2048 * 2 * 32 * 4096);
  });

  it("waits for everything that backward needs", () => {
    assert.ok(all && inputs && road(all) > 5 * road(inputs) && all.high > inputs.high);
  });
});
