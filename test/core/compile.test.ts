/** `torch.compile`: what the partitioner keeps and inductor allocates, against the code it generates (capture/truth/compiled.py). */
import assert from "node:assert/strict";
import { estimate } from "../../src/core/estimate";
import type { Estimate } from "../../src/core/report/estimate";
import { simulate } from "../../src/core/simulate";
import type { AdapterSpec, TrainingRun } from "../../src/core/training/run";
import { rowsOf } from "../rows";
import { graphsOf } from "./receipts/case";
import { causalRun, loraSpec } from "./runs";

/** One generated program: bytes beside parameters and batch at the end of forward, and the most of either half. */
interface Receipt {
  readonly case: {
    readonly family: string;
    readonly task: TrainingRun["task"];
    readonly dtype: TrainingRun["loadDtype"];
    readonly attention: TrainingRun["attention"];
    readonly amp: string | null;
    readonly checkpointing?: boolean;
    readonly lora?: { readonly r: number; readonly dropout: number; readonly target_modules: readonly string[] };
    readonly sizes: { readonly B: number; readonly S?: number; readonly T?: number; readonly I?: number };
    readonly model: Readonly<Record<string, unknown>>;
  };
  readonly mask: boolean;
  readonly truth: { readonly saved: number; readonly forward: number; readonly backward: number };
}

const RECEIPTS = rowsOf<Receipt>(__dirname, "compiled", "generated.jsonl");

function adapterOf(lora: Receipt["case"]["lora"]): AdapterSpec | null {
  if (lora === undefined) return null;
  return loraSpec({ rank: lora.r, dropout: lora.dropout, targetModules: lora.target_modules });
}

function runOf({ case: given, mask }: Receipt): TrainingRun {
  const { family, task, dtype, amp, sizes } = given;
  return causalRun({
    model: { name: "tiny", family, source: "config.json", config: { model_type: family, ...given.model } },
    task,
    microBatchSize: sizes.B,
    sequenceLength: sizes.S ?? 0,
    targetLength: sizes.T ?? 0,
    imageSize: sizes.I ?? 0,
    loadDtype: dtype,
    autocast: amp === null ? null : "bfloat16",
    attention: given.attention,
    adapter: adapterOf(given.lora),
    checkpointing: given.checkpointing === true ? { useReentrant: false } : null,
    compiled: "model",
    // Other frameworks' code is not traced with masks.
    ...(mask ? {} : { ownCode: true as const }),
  });
}

/** Bytes beside what was there before the first step's forward. */
function halves(run: TrainingRun): { saved: number; forward: number; backward: number } {
  const result = simulate(run, graphsOf(run.model.family));
  assert.ok(result.ok);
  const phases = result.simulation.ledger.phaseList.filter(({ step }) => step === 1);
  const [forward, backward] = ["forward", "backward"].map((name) => phases.find(({ phase }) => phase === name));
  assert.ok(forward && backward);
  const { before } = forward;
  return { saved: backward.before - before, forward: forward.peak - before, backward: backward.peak - before };
}

function of(change: Partial<TrainingRun>): Estimate {
  const result = estimate(causalRun(change), graphsOf("llama"), "peaks");
  assert.ok(result.ok);
  return result.estimate;
}

describe("compiled models", () => {
  for (const receipt of RECEIPTS) {
    const { family, dtype, amp, attention, lora, checkpointing } = receipt.case;
    const kind = checkpointing && "checkpointed";
    const name = [family, dtype, amp, attention, lora && `LoRA ${lora.dropout}`, kind, receipt.mask && "masks"];
    it(`keep what inductor's program keeps: ${name.filter(Boolean).join(", ")}`, () => {
      const own = halves(runOf(receipt));
      const { saved, forward, backward } = receipt.truth;
      const off = (a: number, b: number): number => Math.abs(a / b - 1);
      // Dropout before a low-rank product: which of its masks are kept is not followed.
      const within = (lora?.dropout ?? 0) > 0 ? 0.1 : 0.06;
      const [most, generated] = [Math.max(own.forward, own.backward), Math.max(forward, backward)];
      if (checkpointing !== true) {
        assert.ok(off(own.saved, saved) < within, `kept ${own.saved}, generated ${saved}`);
        assert.ok(off(most, generated) < within, `at most ${most}, generated ${generated}`);
        return;
      }
      // What is computed again is put where backward first reads it, which is not followed: up to what eager code holds.
      const { compiled: _, ...plain } = runOf(receipt);
      const eager = halves(plain);
      assert.ok(off(most, generated) < 0.16, `at most ${most}, generated ${generated}`);
      assert.ok(generated < 1.01 * Math.max(eager.forward, eager.backward));
    });
  }

  it("have a band that reaches up to what eager code needs", () => {
    const [eager, compiled] = [of({ attention: "eager" }), of({ attention: "eager", compiled: "model" })];
    assert.ok(compiled.allocatedPeakBytes < eager.allocatedPeakBytes);
    assert.ok(compiled.band.highBytes >= eager.allocatedPeakBytes);
    assert.ok(compiled.band.lowBytes < eager.band.lowBytes);
  });

  it("hand over gradients when all of backward has run: beside those accumulated so far", () => {
    const big = { microBatchSize: 1, sequenceLength: 8, gradientAccumulationSteps: 3 };
    const peaks = (["layers", "model"] as const).map((compiled) => of({ ...big, compiled }).phases);
    const [layers, model] = peaks.map((phases) => phases.find(({ phase }) => phase === "backward")!.peakBytes);
    assert.ok(layers && model);
    const weights = of(big).parameters * 4;
    assert.ok(model - layers > weights / 2, `${model} ${layers} ${weights}`);
  });

  it("gain nothing from saved tensors that wait on the host: all of them go at once and come back at once", () => {
    const plain = of({ compiled: "model" });
    assert.equal(of({ compiled: "model", offloadsActivations: "once" }).allocatedPeakBytes, plain.allocatedPeakBytes);
    const eager = of({ offloadsActivations: "once" });
    assert.equal(of({ compiled: "layers", offloadsActivations: "once" }).allocatedPeakBytes, eager.allocatedPeakBytes);
  });

  it("are counted as eager in a loop of one's own, with a band that reaches down to one graph", () => {
    const loop = { holds: "loss" } as const;
    const [eager, compiled, graph] = [of({ loop }), of({ loop, compiled: "model" }), of({ compiled: "model" })];
    assert.equal(compiled.allocatedPeakBytes, eager.allocatedPeakBytes);
    const less = eager.band.lowBytes - compiled.band.lowBytes;
    assert.ok(less > 0 && Math.abs(less - (eager.allocatedPeakBytes - graph.allocatedPeakBytes)) <= 2 ** 20, `${less}`);
  });

  it("do the same whether equal layers are run or copied", () => {
    for (const change of [{}, { autocast: "bfloat16" as const }, { gradientAccumulationSteps: 2 }]) {
      const run = causalRun({ ...change, compiled: "model" });
      const [folded, whole] = [true, false].map((fold) => simulate(run, graphsOf("llama"), fold));
      assert.ok(folded?.ok && whole?.ok);
      assert.equal(folded.simulation.ledger.peak, whole.simulation.ledger.peak);
      assert.equal(folded.simulation.ledger.live, whole.simulation.ledger.live);
    }
  });
});
