/** torchtune's losses over pieces of every sequence: what compiled code keeps, and what the keys say. */
import { strict as assert } from "node:assert";
import { type Simulation, simulate } from "../../src/core/simulate";
import type { ChunkedLossSpec } from "../../src/core/training/run";
import { TINY_LLAMA } from "../analysis/memory-runtime";
import { resolveFiles } from "../analysis/resolve-run";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

function simulated(chunkedLoss: ChunkedLossSpec | null): Simulation {
  const result = simulate(causalRun({ loadDtype: "bfloat16", chunkedLoss }), graphsOf("llama"));
  assert.ok(result.ok);
  return result.simulation;
}

function kept(chunkedLoss: ChunkedLossSpec | null): number {
  const { phaseList } = simulated(chunkedLoss).ledger;
  const forward = phaseList.findIndex(({ phase }) => phase === "forward");
  return phaseList[forward + 1]!.before - phaseList[forward]!.before;
}

const LOGITS = 4 * 64 * 1000;

describe("chunked losses", () => {
  it("keep half-precision logits when compiled, their log-softmax in float32 otherwise", () => {
    for (const keepsLogits of [true, false]) {
      const [eager, compiled] = [false, true].map((compiled) => kept({ chunks: 8, compiled, keepsLogits }));
      const sums = 8 * 512;
      assert.ok(Math.abs(eager! - compiled! - 2 * LOGITS) <= 2 * sums + 8 * 2 * 512, `${eager} ${compiled}`);
    }
  });

  it("make one piece's gradient at a time", () => {
    const peak = (chunks: number): number => simulated({ chunks, compiled: true, keepsLogits: true }).ledger.peak;
    assert.ok(peak(1) - peak(8) > LOGITS);
    assert.equal(simulated({ chunks: 8, compiled: true, keepsLogits: true }).ledger.live, simulated(null).ledger.live);
  });

  it("agree with PyTorch over pieces of whole logits, as axolotl cuts them", () => {
    const config = {
      model_type: "llama",
      hidden_size: 256,
      intermediate_size: 512,
      num_hidden_layers: 3,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      vocab_size: 32000,
      tie_word_embeddings: false,
    };
    // Peaks of axolotl/monkeypatch/loss/chunked.py with a piece's loss as inductor compiles it: logits, labels, a number per row.
    for (const [microBatchSize, sequenceLength, half, peak] of [
      [4, 512, false, 843_294_720],
      [1, 1024, false, 475_400_704],
      [2, 333, true, 215_160_832],
    ] as const) {
      const run = causalRun({
        model: { name: "tiny", family: "llama", source: "config.json", config },
        microBatchSize,
        sequenceLength,
        ...(half ? { loadDtype: "bfloat16" } : { autocast: "bfloat16" }),
        optimizer: { name: "adamw_torch", args: {} },
        chunkedLoss: { chunks: 8, compiled: true, keepsLogits: true, whole: true },
      });
      const result = simulate(run, graphsOf("llama"));
      assert.ok(result.ok);
      assert.equal(result.simulation.ledger.peak, peak, `${microBatchSize} x ${sequenceLength}`);
    }
  });

  it("are named by torchtune's recipes", async () => {
    const of = async (lines: string): Promise<ChunkedLossSpec | null | undefined> => {
      const recipe = `model:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\nbatch_size: 2\ndtype: bf16\n${lines}`;
      const pins = 'runs:\n  - match: "*.yaml"\n    model: ./model\n    sequence_length: 64\n';
      const files = { "r.yaml": recipe, ".vramlens.yaml": pins, "model/config.json": JSON.stringify(TINY_LLAMA) };
      return (await resolveFiles(files, "r.yaml")).run?.chunkedLoss;
    };
    const chunked = "loss:\n  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss\n";
    assert.deepEqual(await of(chunked), { chunks: 8, compiled: false, keepsLogits: true, rounds: true });
    const linear =
      "loss:\n  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\n  num_output_chunks: 4\ncompile: true\n";
    assert.deepEqual(await of(linear), { chunks: 4, compiled: true, keepsLogits: false });
    assert.equal(await of("loss:\n  _component_: torch.nn.CrossEntropyLoss\n"), undefined);
  });
});
