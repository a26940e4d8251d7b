/**
 * The engine against PyTorch: random runs whose peaks `capture/truth/receipts.py` took from PyTorch on fake CUDA tensors.
 * Allocated peaks agree to the byte. Reserved peaks do too, but for the order in which things die together (a hash map
 * of cached casts, a graph taken down), which may open or spare a segment.
 */
import assert from "node:assert/strict";
import { reservedPeak } from "../../src/core/allocator/replay";
import { simulate } from "../../src/core/simulate";
import { english } from "../english";
import { families, graphsOf, type Receipt, receiptsOf, runOf, waysOfTraining } from "./receipts/case";

const MIB = 1 << 20;

/** Two segments of small blocks, or one of large ones, or 1 %. */
function reservedTolerance(bytes: number): number {
  return Math.max(20 * MIB, bytes / 100);
}

interface Outcome {
  /** What is wrong, or null. */
  readonly wrong: string | null;
  readonly sameReserved: boolean;
}

/** What tells the first event at which the streams part, in the folder of a file of receipts. */
const PARTING = "python -m capture.truth.parting --oracle ORACLE.py FILE";

function compare({ case: c, result }: Receipt): Outcome {
  const simulated = simulate(runOf(c), graphsOf(c.model.model_type));
  if (!simulated.ok) return { wrong: `${c.id}: ${english(simulated.reason)}`, sameReserved: false };
  const { ledger, loadedEvents, parameters, trainableParameters } = simulated.simulation;
  const reserved = reservedPeak(ledger, loadedEvents);
  const step = (number: number): number =>
    Math.max(
      0,
      ...ledger.phaseList.filter((p) => p.phase === "optimizer" && p.step === number).map(({ peak }) => peak),
    );
  const checks: readonly [string, number, number, number][] = [
    ["allocated", ledger.peak, result.peak_allocated, 0],
    // Steps that allocate nothing leave no phase in PyTorch's record; its loop over states keeps one scalar (512 B) alive.
    ...[1, 2].flatMap((number): [string, number, number, number][] => {
      const theirs = result.phase_peaks[`step${number}`];
      return theirs === undefined ? [] : [[`step ${number}`, step(number), theirs, 512]];
    }),
    ["reserved", reserved, result.peak_reserved, reservedTolerance(result.peak_reserved)],
    // PyTorch counts two packed weights as one element.
    ["parameters", parameters, c.quant === undefined ? result.params : parameters, 0],
    ["trained parameters", trainableParameters, result.trainable, 0],
  ];
  const wrong = checks.filter(([, ours, theirs, tolerance]) => Math.abs(ours - theirs) > tolerance);
  return {
    wrong:
      wrong.length === 0
        ? null
        : `${c.id}: ${wrong.map(([name, ours, theirs]) => `${name} ${ours} instead of ${theirs}`).join(", ")}; ${PARTING} ${c.id}`,
    sameReserved: reserved === result.peak_reserved,
  };
}

describe("receipts", () => {
  const outcomes: Outcome[] = [];

  for (const family of families())
    it(`${family} as PyTorch`, () => {
      const own = receiptsOf(family).map(compare);
      assert.ok(own.length > 0);
      outcomes.push(...own);
      assert.deepEqual(
        own.map(({ wrong }) => wrong).filter((line) => line !== null),
        [],
      );
    });

  for (const way of waysOfTraining())
    it(`${way} as PyTorch`, () => {
      const own = receiptsOf(way).map(compare);
      assert.ok(own.length > 0);
      assert.deepEqual(
        own.map(({ wrong }) => wrong).filter((line) => line !== null),
        [],
      );
    });

  it("nearly all agree on reserved bytes exactly", () => {
    const same = outcomes.filter(({ sameReserved }) => sameReserved).length;
    assert.ok(same >= outcomes.length * 0.9, `${same} of ${outcomes.length}`);
  });
});
