/** Sequences that ranks share under torch's context parallelism (docs/parallel.md); its sizes are held in receipts/ranks/context.jsonl. */
import { strict as assert } from "node:assert";
import { simulateFullest } from "../../src/core/stages";
import type { ParallelSpec, TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const llama = graphsOf("llama");
const base = causalRun({ autocast: "bfloat16", loadDtype: "bfloat16", sequenceLength: 512 });

function shared(change: Partial<ParallelSpec>, run: TrainingRun = base): TrainingRun {
  const parallel: ParallelSpec = {
    ...run.parallel,
    worldSize: 8,
    contextParallel: 8,
    contextRotation: "allgather",
    ...change,
  };
  return { ...run, parallel };
}

function peakOf(run: TrainingRun): number {
  const result = simulateFullest(run, llama);
  assert.ok(result.ok);
  return result.simulation.ledger.peak;
}

describe("context parallelism by torch", () => {
  it("handing keys and values on never takes more than gathering all of them", () => {
    assert.ok(peakOf(shared({ contextRotation: "alltoall" })) <= peakOf(shared({})));
  });

  it("a sequence is padded to a head and a tail for every rank", () => {
    assert.equal(peakOf(shared({}, { ...base, sequenceLength: 500 })), peakOf(shared({})));
  });

  it("heads that would be padded, and kernels other than SDPA's, are not followed", () => {
    const { config } = base.model;
    const narrow = { ...base, model: { ...base.model, config: { ...config, head_dim: 12 } } };
    assert.throws(() => simulateFullest(shared({}, narrow), llama));
    assert.equal(simulateFullest(shared({}, { ...base, attention: "flash_attention_2" }), llama).ok, false);
  });
});
