/**
 * What runs beside the training step against PyTorch: random runs that evaluate, whose peaks `capture/truth/phases.py` took from
 * the Trainer's own evaluation loop on fake CUDA tensors. Allocated peaks agree to the byte.
 */
import assert from "node:assert/strict";
import { simulate } from "../../src/core/simulate";
import type { TrainingRun } from "../../src/core/training/run";
import { english } from "../english";
import { rowsOf } from "../rows";
import { type Case, evaluationOf, graphsOf, type Receipt, runOf } from "./receipts/case";

interface PhaseCase extends Case {
  readonly checkpointing?: {
    readonly every_n_layers: number;
    readonly offload?: boolean;
    readonly selective?: boolean;
    readonly layers_together?: number;
  };
  readonly generate?: {
    readonly batch: number;
    readonly prompt: number;
    readonly new_tokens: number;
    readonly beams: number;
    readonly sample: boolean;
  };
}

interface PhaseReceipt extends Receipt {
  readonly case: PhaseCase;
}

function receipts(name: string): PhaseReceipt[] {
  return rowsOf(__dirname, "phases", `${name}.jsonl`);
}

function evaluatingRun(c: PhaseCase): TrainingRun {
  const run = runOf(c);
  return { ...run, ...evaluationOf(c, run) };
}

function generatingRun(c: PhaseCase): TrainingRun {
  const { batch, prompt, new_tokens, beams, sample } = c.generate!;
  return {
    ...runOf(c),
    generation: {
      batchSize: batch,
      promptLength: prompt,
      newTokens: new_tokens,
      beams,
      samples: sample,
      cache: "dynamic",
    },
  };
}

function checkpointingRun(c: PhaseCase): TrainingRun {
  const { every_n_layers: everyNLayers, offload = false, selective = false, layers_together } = c.checkpointing!;
  const checkpointing = { useReentrant: c.use_reentrant ?? false, everyNLayers, offloads: offload };
  const chosen = selective ? { selective: { recomputes: [] } } : {};
  return { ...runOf(c), checkpointing: { ...checkpointing, ...chosen, layersTogether: layers_together ?? 1 } };
}

/** Highest peak of a phase in the simulation. */
function peakOf(run: TrainingRun, phase: string): number {
  const simulated = simulate(run, graphsOf(run.model.family));
  assert.ok(simulated.ok, simulated.ok ? "" : english(simulated.reason));
  const peaks = simulated.simulation.ledger.phaseList.filter((entry) => entry.phase === phase).map(({ peak }) => peak);
  return Math.max(...peaks);
}

describe("phases beside the step", () => {
  it("leaves nothing of what it generates behind", () => {
    const live = (run: TrainingRun): number => {
      const simulated = simulate(run, graphsOf(run.model.family));
      assert.ok(simulated.ok, simulated.ok ? "" : english(simulated.reason));
      return simulated.simulation.ledger.live;
    };
    for (const { case: c } of receipts("generation").slice(0, 4))
      assert.equal(live(generatingRun(c)), live(runOf(c)), c.id);
  });

  it("evaluates as the Trainer", () => {
    const wrong = receipts("evaluation").flatMap(({ case: c, result }) => {
      const peak = peakOf(evaluatingRun(c), "evaluation");
      const expected = result.phase_peaks["evaluation"];
      return peak === expected ? [] : [`${c.id}: ${peak} instead of ${expected} (${JSON.stringify(c.eval)})`];
    });
    assert.deepEqual(wrong, []);
  });

  it("checkpoints every nth layer, chosen operators, and keeps inputs in host memory as transformers", () => {
    const off = receipts("checkpointing").map(({ case: c, result }) => {
      const run = checkpointingRun(c);
      const peaks = [true, false].map((fold) => {
        const simulated = simulate(run, graphsOf(run.model.family), fold);
        assert.ok(simulated.ok);
        return simulated.simulation.ledger.peak;
      });
      assert.equal(peaks[0], peaks[1], c.id);
      return { id: c.id, off: (peaks[0] ?? 0) / result.peak_allocated - 1 };
    });
    // One reentrant run whose inputs come back from the host is 1.1 % above PyTorch.
    assert.deepEqual(
      off.filter((one) => Math.abs(one.off) > 0.012),
      [],
    );
    assert.ok(off.filter((one) => one.off === 0).length >= 0.95 * off.length);
  });

  it("generates as transformers", () => {
    // Positions that a family counts in its own way are a few integers more or less.
    const tolerance = 0.002;
    const all = receipts("generation").map(({ case: c, result }) => {
      const expected = result.phase_peaks["generation"] ?? 0;
      return { c, off: peakOf(generatingRun(c), "generation") / expected - 1 };
    });
    const wrong = all.filter(({ off }) => Math.abs(off) > tolerance).map(({ c, off }) => `${c.id}: ${off}`);
    assert.deepEqual(wrong, []);
    assert.ok(all.filter(({ off }) => off === 0).length >= 0.8 * all.length);
  });
});
