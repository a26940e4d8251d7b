/** Activations in host memory cost time where the copies take longer than the computation hides. */
import { strict as assert } from "node:assert";
import { stepTime } from "../../../src/core/cost/step-time";
import type { TrainingRun } from "../../../src/core/training/run";
import { llama, measured } from "./runs";

describe("stepTime of offloaded activations", () => {
  const timeOf = (run: TrainingRun) => stepTime(run, measured(run));
  const checkpointing = { useReentrant: false };
  const plain = timeOf(llama({ checkpointing }));
  const inputs = timeOf(llama({ checkpointing: { ...checkpointing, offloads: true } }));
  const all = timeOf(llama({ offloadsActivations: "once" }));
  const road = (time: typeof plain) => time?.demands.find(({ road: name }) => name === "host")?.bytes ?? 0;

  it("hides the inputs of layers behind their computation", () => {
    assert.ok(plain && inputs && inputs.low < 1.05 * plain.low);
    // Two bytes, to the host and back, for each token and layer, and for the rotary tables.
    const rows = 2 * 2 * 4 * 2048 * 32 * 4096;
    assert.ok(road(inputs) >= (2 * rows) / 2 && road(inputs) < 1.2 * rows, String(road(inputs) / rows));
  });

  it("waits for everything that backward needs", () => {
    assert.ok(all && inputs && road(all) > 5 * road(inputs) && all.high > inputs.high);
  });
});
