import assert from "node:assert/strict";
import type { Ledger } from "../../../src/core/engine/ledger";
import { estimate } from "../../../src/core/estimate";
import { type Simulation, simulate } from "../../../src/core/simulate";
import type { DeviceSpec, Float8Spec, TrainingRun } from "../../../src/core/training/run";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";

const LAYERS = 12;
const TOKENS = 4 * 64;
const [HIDDEN, WIDE, KEYS] = [64, 176, 32];
/** Elements of a layer's linear weights, and of the tensors they read. */
const WEIGHTS = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEYS + 3 * HIDDEN * WIDE;

function run(spec: Partial<Float8Spec> | null, change: Partial<TrainingRun> = {}): TrainingRun {
  return causalRun({
    autocast: "bfloat16",
    ...(spec === null
      ? {}
      : {
          float8: { backend: "transformer-engine", recipe: "tensorwise", keeps: "head", cachesWeights: false, ...spec },
        }),
    ...change,
  });
}

function simulated(of: TrainingRun): Simulation {
  const result = simulate(of, graphsOf("llama"));
  assert.ok(result.ok);
  return result.simulation;
}

/** What a forward leaves for its backward. */
function kept(simulation: Simulation): number {
  const { ledger } = simulation;
  const forward = ledger.phaseList.findIndex(({ phase }) => phase === "forward");
  const at = (index: number): number => ledger.phaseList[index]!.before;
  return at(forward + 1) - at(forward);
}

const card = (architecture: string): DeviceSpec => ({ name: "card", memoryBytes: 80e9, architecture, count: 1 });

/** How often an operator allocated. */
function allocations(ledger: Ledger, operator: string): number {
  return Array.from({ length: ledger.count }, (_, id) => ledger.labelOf(id).operator).filter(
    (name) => name === operator,
  ).length;
}

/** Every allocation is rounded to 512 bytes. */
const SLACK = LAYERS * 40 * 512;

describe("8-bit products of Transformer Engine", () => {
  it("keep both layouts of every weight and one of every input where autocast keeps half-precision ones", () => {
    const own = kept(simulated(run({})));
    const plain = kept(simulated(run(null)));
    // Autocast: a cast for each of q, k, v, gate and up; what o and down read is in half precision anyway, but only attention
    // keeps it for itself. In 8 bits each of the seven has its own. Weights take two bytes either way.
    const inputs = 2 * TOKENS * (5 * HIDDEN + WIDE);
    const inputs8 = TOKENS * (6 * HIDDEN + WIDE);
    const expected = LAYERS * (inputs8 - inputs);
    assert.ok(Math.abs(own - plain - expected) <= SLACK, `${own - plain} ${expected}`);
  });

  it("make no transposed copies on Blackwell", () => {
    const hopper = kept(simulated(run({}, { device: card("hopper") })));
    const blackwell = kept(simulated(run({}, { device: card("blackwell") })));
    assert.ok(Math.abs(hopper - blackwell - LAYERS * WEIGHTS) <= SLACK, String(hopper - blackwell));
  });

  it("keep the weights' copies between micro-batches where Megatron runs them", () => {
    const [cached, own] = [true, false].map((cachesWeights) => simulated(run({ cachesWeights })));
    assert.ok(cached && own);
    const resident = ({ ledger }: Simulation): number => ledger.phaseList[0]!.peak;
    assert.equal(resident(cached) - resident(own), 2 * LAYERS * WEIGHTS);
    assert.ok(Math.abs(kept(own) - kept(cached) - 2 * LAYERS * WEIGHTS) <= SLACK);
  });

  it("bring a workspace and histories of their own, and a band as wide as the copies", () => {
    const resident = (of: TrainingRun): number => simulated(of).ledger.phaseList[0]!.peak;
    const histories = LAYERS * 7 * (1024 * 3 + 1024 * 2) * 4;
    assert.equal(resident(run({}, { device: card("hopper") })) - resident(run(null)), 32 * 2 ** 20 + 1024 + histories);
    const [own, plain] = [run({}), run(null)].map((of) => estimate(of, graphsOf("llama")));
    assert.ok(own?.ok && plain?.ok);
    assert.ok(own.estimate.assumptions.some(({ settleWith }) => settleWith === "fp8_recipe"));
    const width = ({ highBytes, lowBytes }: { highBytes: number; lowBytes: number }): number => highBytes - lowBytes;
    assert.ok(width(own.estimate.band) > width(plain.estimate.band) + LAYERS * WEIGHTS);
  });
});

describe("8-bit products of torchao", () => {
  it("make nothing between an operand and its 8-bit copy in compiled code", () => {
    const [eager, compiled] = [{}, { compiled: "model" as const }].map((how) =>
      simulated(run({ backend: "torchao" }, how)),
    );
    assert.ok(eager && compiled);
    for (const [operator, there] of [
      ["abs", false],
      ["amax", false],
      ["_scaled_mm", true],
      ["contiguous", true],
    ] as const) {
      assert.ok(eager.ledger.labelsOf(operator) !== null, operator);
      assert.equal(compiled.ledger.labelsOf(operator) !== null, there, operator);
    }
  });

  it("gather their weights in 8 bits where FSDP is told to, and make no copies of them then", () => {
    const fsdp = { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true } as const;
    const parallel = { ...run({}, {}).parallel, worldSize: 4, fsdp };
    const [whole, eighth] = [false, true].map(
      (gathers) => simulated(run({ backend: "torchao", gathers }, { parallel, autocast: "bfloat16" })).ledger,
    );
    assert.ok(whole && eighth);
    // Layers are gathered most often, the ends of the model once a pass.
    const gathered = (ledger: Ledger): number => {
      const times = new Map<number, number>();
      for (let id = 0; id < ledger.count; id++)
        if (ledger.labelOf(id).operator === "all_gather")
          times.set(ledger.bytes[id]!, (times.get(ledger.bytes[id]!) ?? 0) + 1);
      return [...times].sort((one, other) => other[1] - one[1])[0]![0];
    };
    // Norms stay as they are.
    assert.ok(Math.abs(gathered(whole) / gathered(eighth) - 2) < 0.05, `${gathered(whole)} ${gathered(eighth)}`);
    assert.ok(eighth.peak <= whole.peak, `${eighth.peak} ${whole.peak}`);
  });

  it("leave the layers that are named or misaligned as they are", () => {
    const products = (keeps: Float8Spec["keeps"], change: Partial<TrainingRun> = {}): number =>
      allocations(simulated(run({ backend: "torchao", keeps }, change)).ledger, "_scaled_mm");
    // Two steps with an equal micro-batch: 3 products each; 7 linear layers, no multiple of 16 in the head.
    assert.equal(products("none"), 2 * 3 * 7 * LAYERS);
    assert.equal(products("head"), 2 * 3 * 7 * LAYERS);
    assert.equal(products("first-and-last"), 2 * 3 * (7 * LAYERS - 1));
    const model = {
      ...causalRun({}).model,
      config: { ...causalRun({}).model.config, vocab_size: 1024, tie_word_embeddings: false },
    };
    assert.equal(products("none", { model }) - products("head", { model }), 2 * 3);
  });
});
