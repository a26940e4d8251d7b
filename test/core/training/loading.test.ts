import assert from "node:assert/strict";
import { estimate } from "../../../src/core/estimate";
import { type Simulation, simulate } from "../../../src/core/simulate";
import type { QuantizationSpec, TrainingRun } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun, loraSpec } from "../runs";

const CONFIG = {
  model_type: "llama",
  hidden_size: 64,
  intermediate_size: 192,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 4,
  vocab_size: 4096,
  tie_word_embeddings: false,
};

function quantized(change: Partial<QuantizationSpec>, run: Partial<TrainingRun> = {}): TrainingRun {
  return causalRun({
    model: { name: "tiny", family: "llama", config: CONFIG, source: "config.json" },
    loadDtype: "bfloat16",
    adapter: loraSpec(),
    quantization: {
      type: "nf4",
      double: false,
      prepareForKbit: false,
      computeDtype: "bfloat16",
      ...change,
    },
    ...run,
  });
}

function simulated(run: TrainingRun): Simulation {
  const result = simulate(run, graphsOf("llama"));
  assert.ok(result.ok);
  return result.simulation;
}

/** Bytes of a stream's allocations in order, with the operator that asked for each. */
function allocations(simulation: Simulation): [string, number][] {
  const loading = simulation.loading();
  assert.ok(loading);
  return Array.from(loading.events)
    .filter((event) => event >= 0)
    .map((id) => [loading.labelOf(id).operator, loading.bytes[id]!]);
}

const SQUARE = 64 * 64;

describe("loading with quantization on the fly", () => {
  it("takes the checkpoint's keys in natural order and holds one weight whole beside its packed form", () => {
    const [warm, head, embedding, gate, ...rest] = allocations(simulated(quantized({})));
    const table = 4096 * 64 * 2;
    const layer = 4 * SQUARE + 3 * 64 * 192;
    // Half a byte for each packed weight, two for tables and norms (get_total_byte_count).
    assert.deepEqual(warm, ["empty", 2 * table + layer + 5 * 128 - ((2 * table + layer + 5 * 128) % 512) + 512]);
    // `lm_head` and `model.embed_tokens` come before the layers, which begin with their norms.
    assert.deepEqual(
      [head, embedding].map((item) => item?.[1]),
      [table, table],
    );
    assert.equal(gate?.[1], 512);
    const whole = 64 * 192 * 2;
    const first = rest.slice(0, 4).map(([, bytes]) => bytes);
    // The down projection in bfloat16, its packed form, the code book, a constant for every 64 weights.
    assert.ok(
      rest.some((_, k) => rest[k]?.[0] === "to" && rest[k]?.[1] === whole && rest[k + 1]?.[1] === whole / 4),
      String(first),
    );
  });

  it("peaks one whole weight above what stays, two for LLM.int8, which comes back from the host in half precision", () => {
    for (const [type, wholes] of [
      ["nf4", 1],
      ["int8", 2],
    ] as const) {
      const config = { ...CONFIG, intermediate_size: 64 };
      const model = { name: "tiny", family: "llama", config, source: "config.json" } as const;
      const loading = simulated(quantized({ type }, { adapter: null, model })).loading();
      assert.ok(loading);
      // After the last packed weight, the values' projection, come the last norm and the buffers.
      const operators = Array.from(loading.bytes, (_, id) => loading.labelOf(id).operator);
      const later = operators.lastIndexOf("to") + 1;
      const after = Array.from(loading.bytes.slice(later)).filter((_, k) => operators[later + k] === "empty");
      const [norm] = after.splice(type === "nf4" ? 3 : 2, 1);
      assert.equal(norm, 512);
      const buffers = after.slice(type === "nf4" ? 3 : 2).reduce((sum, bytes) => sum + bytes, 0);
      assert.equal(loading.peak, loading.live - 512 - buffers + wholes * SQUARE * 2, type);
    }
  });

  it("raises one parameter after the other in prepare_model_for_kbit_training", () => {
    const loading = simulated(quantized({ prepareForKbit: true }, { adapter: null })).loading();
    assert.ok(loading);
    // The head is raised last: its old bytes beside the new.
    assert.equal(loading.peak, loading.live + 4096 * 64 * 2);
  });

  it("needs nothing beside the weights where they are stored packed, or not packed at all", () => {
    assert.equal(simulated(quantized({ prequantized: true })).loading(), null);
    assert.equal(simulated(quantized({}, { quantization: null })).loading(), null);
  });

  it("is the peak of a run whose steps are small, and says so", () => {
    const run = quantized({ prepareForKbit: true }, { microBatchSize: 1, sequenceLength: 8 });
    const result = estimate(run, graphsOf("llama"));
    assert.ok(result.ok);
    const {
      peakPhase,
      allocatedPeakBytes,
      phases,
      components,
      timeline: { points: timeline },
    } = result.estimate;
    assert.equal(peakPhase, "load");
    assert.equal(phases.find(({ phase }) => phase === "load")?.peakBytes, allocatedPeakBytes);
    assert.equal(
      components.reduce((sum, { bytes }) => sum + bytes, 0),
      allocatedPeakBytes,
    );
    assert.equal(Math.max(...timeline.map((point) => point.allocatedBytes)), allocatedPeakBytes);
    assert.deepEqual(
      timeline.map(({ at }) => at),
      timeline.map(({ at }) => at).sort((a, b) => a - b),
    );
    // A longer batch: the steps need more than loading did.
    const longer = estimate({ ...run, sequenceLength: 256 }, graphsOf("llama"));
    assert.ok(longer.ok && longer.estimate.peakPhase !== "load");
  });
});

describe("loading of runs that load alike", () => {
  const adapted = (change: Partial<TrainingRun>) => simulated(quantized({}, change)).loading();

  it("is followed once, whatever their batches are, and anew where weights, packing or adapters are others", () => {
    const first = adapted({ microBatchSize: 1 });
    assert.ok(first);
    assert.equal(adapted({ microBatchSize: 4, sequenceLength: 64, checkpointing: { useReentrant: false } }), first);
    assert.notEqual(adapted({ loadDtype: "float32" }), first);
    assert.notEqual(adapted({ adapter: loraSpec({ rank: 3 }) }), first);
    assert.notEqual(simulated(quantized({ double: true })).loading(), first);
    const model = {
      name: "other",
      family: "llama",
      config: { ...CONFIG, vocab_size: 512 },
      source: "config.json",
    } as const;
    assert.notEqual(adapted({ model }), first);
    // The rest of them has not made it forgotten.
    assert.equal(adapted({ microBatchSize: 2 }), first);
  });

  it("is followed for each batch where a weight is as large as the batch says", () => {
    const graphs = graphsOf("llama");
    const ofRows = {
      ...graphs,
      graphs: graphs.graphs.map((graph) => ({
        ...graph,
        buffers: [...graph.buffers, { name: "seen", shape: ["B", "S"], dtype: "$int64", module: "Rows" }],
      })),
    };
    const live = [1, 2].map((microBatchSize) => {
      const result = simulate(quantized({}, { microBatchSize, sequenceLength: 512 }), ofRows);
      assert.ok(result.ok);
      return result.simulation.loading()?.live ?? 0;
    });
    assert.equal(live[1]! - live[0]!, 512 * 8);
  });
});
