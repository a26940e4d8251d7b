/** What one GPU of a group that shares a model holds (docs/parallel.md, "Model parallelism"). */
import { strict as assert } from "node:assert";
import { estimate } from "../../src/core/estimate";
import type { ComponentKind, Estimate } from "../../src/core/report/estimate";
import { simulateRoles } from "../../src/core/stages";
import type { ParallelSpec, TrainingRun } from "../../src/core/training/run";
import { english } from "../english";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

const llama = graphsOf("llama");

function of(run: TrainingRun, graphs = llama): Estimate {
  const result = estimate(run, graphs);
  assert.ok(result.ok, result.ok ? "" : english(result.reason));
  return result.estimate;
}

const base = causalRun({ autocast: "bfloat16", gradientAccumulationSteps: 4 });
const spread = (change: Partial<ParallelSpec>, run = base): TrainingRun => ({
  ...run,
  parallel: { ...run.parallel, ...change },
});
const bytes = (estimate: Estimate, kind: ComponentKind): number =>
  estimate.components.find((component) => component.kind === kind)?.bytes ?? 0;

function near(actual: number, expected: number, share = 0.03): void {
  assert.ok(Math.abs(actual - expected) <= share * expected + 8192, `${actual} is not near ${expected}`);
}

const one = of(base);
/** A framework with layers of its own, which split the vocabulary, too. */
const frameworks = { ...base, standsFor: "Megatron-LM", ownCode: true as const };

describe("model parallelism", () => {
  it("tensor parallelism is the same model with its heads, its width inside and its vocabulary divided", () => {
    const { config } = base.model;
    const rank = of({
      ...base,
      model: {
        ...base.model,
        config: {
          ...config,
          head_dim: 16,
          num_attention_heads: 2,
          num_key_value_heads: 1,
          intermediate_size: 88,
          vocab_size: 500,
        },
      },
    });
    const two = of(spread({ worldSize: 2, tensorParallel: 2 }, frameworks));
    near(two.allocatedPeakBytes, rank.allocatedPeakBytes);
    near(bytes(two, "weights"), bytes(one, "weights") / 2);
  });

  it("transformers' plan splits linear layers, leaves the embedding whole", () => {
    const config = { ...base.model.config, tie_word_embeddings: false };
    const run = { ...base, autocast: null, model: { ...base.model, config } };
    const [whole, split] = [of(run), of(spread({ worldSize: 2, tensorParallel: 2 }, run))];
    const { hidden_size: hidden, vocab_size: vocabulary } = base.model.config as Record<string, number>;
    const embedding = 4 * hidden! * vocabulary!;
    near(bytes(split, "weights") - embedding, (bytes(whole, "weights") - embedding) / 2);
    // A tied head is the embedding, which is then split, too.
    const tiedRun = { ...run, model: { ...base.model, config: { ...config, tie_word_embeddings: true } } };
    const tied = of(spread({ worldSize: 2, tensorParallel: 2 }, tiedRun));
    near(bytes(tied, "weights"), bytes(split, "weights") - embedding, 0.05);
    assert.equal(tied.assumptions.filter(({ settleWith }) => settleWith === "tensor_parallel").length, 0);
  });

  it("sequence parallelism splits the residual stream, too", () => {
    const whole = of(spread({ worldSize: 2, tensorParallel: 2 }, frameworks));
    const split = of(spread({ worldSize: 2, tensorParallel: 2, sequenceParallel: true }, frameworks));
    near(split.allocatedPeakBytes, one.allocatedPeakBytes / 2);
    assert.ok(bytes(split, "activations") < bytes(whole, "activations"));
  });

  it("distributed tensors gather the sequence before columns, scatter it behind rows, and make the loss in steps", () => {
    const sequencePlan = {
      columns: ["q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "lm_head"],
      rows: ["o_proj", "down_proj", "embed_tokens"],
    };
    const split = { worldSize: 2, tensorParallel: 2, sequenceParallel: true };
    const ledgerOf = (change: Partial<ParallelSpec>) => {
      const roles = simulateRoles(spread(change, frameworks), llama);
      assert.ok(Array.isArray(roles));
      return roles[0]!.simulation.ledger;
    };
    const ledger = ledgerOf({ ...split, sequencePlan });
    const { firstEvent: begin } = ledger.phaseList.find(({ phase }) => phase === "forward")!;
    const { firstEvent: end } = ledger.phaseList.find(({ phase }) => phase === "backward")!;
    const made = ledger.events.slice(begin, end).filter((event) => event >= 0);
    const { num_hidden_layers: layers, hidden_size: width } = base.model.config as Record<string, number>;
    const stream = 2 * base.microBatchSize * base.sequenceLength * width!;
    // One for attention's three, one for the two of the feed-forward layer, one for the head; as many sums, and the embedding's.
    for (const operator of ["all_gather_into_tensor", "reduce_scatter_tensor"]) {
      const blocks = made.filter((event) => ledger.labelOf(event).operator === operator);
      assert.equal(blocks.length, 2 * layers! + 1, operator);
      // Norms give float32 here, products half of it; the first sum is the embedding's.
      for (const block of blocks.slice(1))
        near(ledger.bytes[block]!, operator.startsWith("all") ? 2 * stream : stream / 2, 0);
    }
    // Zeros, powers and their sum beside what forward kept: torch's own has one beside it.
    const logits = (change: Partial<ParallelSpec>) => {
      const own = ledgerOf(change);
      let [live, most] = [0, 0];
      const seen = new Set<number>();
      for (const event of own.events)
        if (event < 0) live -= seen.delete(~event) ? own.bytes[~event]! : 0;
        else if (own.labelOf(event).kind === "logits-and-loss") {
          seen.add(event);
          live += own.bytes[event]!;
          most = Math.max(most, live);
        }
      return most;
    };
    const rows = base.microBatchSize * base.sequenceLength * Number(base.model.config["vocab_size"]);
    assert.ok(logits({ ...split, splitsLogits: true }) - logits(split) >= 4 * (rows / 2) * 0.99);
  });

  it("context parallelism gives each GPU its part of the sequence", () => {
    const split = of(spread({ worldSize: 2, contextParallel: 2 }));
    const half = of({ ...base, sequenceLength: base.sequenceLength / 2 });
    // The gradients' buckets of the two copies come on top.
    near(split.allocatedPeakBytes - bytes(split, "communication"), half.allocatedPeakBytes);
  });

  it("context parallelism splits the evaluation's tokens, too", () => {
    const evaluation = {
      batchSize: 8,
      sequenceLength: base.sequenceLength,
      targetLength: 0,
      keeps: "loss",
      accumulationSteps: null,
      batches: 2,
      concatenates: true,
    } as const;
    const evaluated = (estimate: Estimate): number =>
      estimate.phases.find(({ phase }) => phase === "evaluation")?.peakBytes ?? 0;
    const split = of(spread({ worldSize: 2, contextParallel: 2 }, { ...base, evaluation }));
    const half = of({ ...base, evaluation: { ...evaluation, sequenceLength: base.sequenceLength / 2 } });
    near(evaluated(split) - bytes(split, "communication"), evaluated(half));
  });

  it("a pipeline cuts what it is given into micro-batches of its own", () => {
    const stages = { worldSize: 2, pipelineParallel: 2, pipelineSchedule: "1f1b" } as const;
    const cut = of(
      spread({ ...stages, pipelineMicroBatch: 1 }, { ...base, microBatchSize: 4, gradientAccumulationSteps: 1 }),
    );
    const given = of(spread(stages, { ...base, microBatchSize: 1, gradientAccumulationSteps: 4 }));
    assert.equal(cut.allocatedPeakBytes, given.allocatedPeakBytes);
  });

  it("a pipeline's first stage keeps the activations of the micro-batches that wait", () => {
    const stages = (steps: number) =>
      of(spread({ worldSize: 4, pipelineParallel: 4 }, { ...base, gradientAccumulationSteps: steps }));
    const quarter = of({
      ...base,
      model: { ...base.model, config: { ...base.model.config, num_hidden_layers: 3, tie_word_embeddings: true } },
    });
    near(bytes(stages(1), "weights"), bytes(quarter, "weights"));
    assert.ok(stages(4).allocatedPeakBytes > stages(1).allocatedPeakBytes);
    // No more wait than there are stages.
    assert.equal(stages(16).allocatedPeakBytes, stages(8).allocatedPeakBytes);
    assert.equal(stages(4).parameters, one.parameters);
  });

  it("the last stage has a head of its own where it is the embedding's matrix", () => {
    const last = (tied: boolean) => {
      const { model } = base;
      const config = { ...model.config, vocab_size: 100_000, tie_word_embeddings: tied };
      const roles = simulateRoles(
        spread({ worldSize: 2, pipelineParallel: 2 }, { ...base, model: { ...model, config } }),
        llama,
      );
      assert.ok(Array.isArray(roles));
      return roles.find(({ role }) => role === "last")?.simulation.ledger.peak;
    };
    assert.equal(last(true), last(false));
  });

  it("expert parallelism divides the experts", () => {
    const mixtral = graphsOf("mixtral");
    const run: TrainingRun = {
      ...base,
      model: {
        ...base.model,
        family: "mixtral",
        config: { ...base.model.config, model_type: "mixtral", num_local_experts: 8, num_experts_per_tok: 2 },
      },
    };
    const all = of(run, mixtral);
    const half = of(spread({ worldSize: 2, expertParallel: 2 }, run), mixtral);
    assert.ok(bytes(half, "weights") < 0.65 * bytes(all, "weights"));
    assert.equal(half.parameters, all.parameters);
  });

  it("Megatron's experts are split over ranks of their own, whole on each where nothing else is said to it", () => {
    const mixtral = graphsOf("mixtral");
    const config = { ...base.model.config, model_type: "mixtral", num_local_experts: 8, num_experts_per_tok: 2 };
    const run: TrainingRun = { ...base, model: { ...base.model, family: "mixtral", config } };
    const mainParameters = { dtype: "bfloat16", gradientDtype: "float32", sharded: true } as const;
    const states = (change: Partial<ParallelSpec>): number => {
      const result = of(spread({ worldSize: 4, mainParameters, ...change }, run), mixtral);
      assert.equal(result.parameters, of(run, mixtral).parameters);
      return bytes(result, "weights") + bytes(result, "gradients");
    };
    const [shared, whole] = [{ tensorParallel: 2 }, { tensorParallel: 2, expertTensorParallel: 1 }].map(states);
    const { hidden_size: hidden, intermediate_size: wide, num_hidden_layers: layers } = base.model.config;
    const experts = 8 * 3 * Number(hidden) * Number(wide) * Number(layers);
    // bfloat16 weights and float32 gradients of the half that tensor parallelism no longer takes.
    assert.ok(Math.abs((whole! - shared!) / ((2 + 4) * (experts / 2)) - 1) < 0.01, `${whole! - shared!}`);
    // Two ranks for experts, two of tensor parallelism: as large as both split by either.
    assert.equal(states({ tensorParallel: 2, expertParallel: 2, expertTensorParallel: 1 }), shared);
    // Both: a quarter.
    assert.ok(states({ tensorParallel: 2, expertParallel: 2 }) < shared!);
    const undivided = estimate(
      spread({ worldSize: 4, mainParameters, tensorParallel: 2, expertParallel: 4 }, run),
      mixtral,
    );
    assert.ok(!undivided.ok && /degrees/.test(english(undivided.reason)));
  });

  it("splits matrices that have as many elements as the residual stream", () => {
    // 64 tokens of width 64, and queries of 64 x 64.
    const states = (degree: number, sequenceLength: number): number => {
      const run = { ...base, microBatchSize: 1, sequenceLength };
      const result = of(spread({ worldSize: degree, tensorParallel: degree }, run));
      return bytes(result, "weights") + bytes(result, "gradients") + bytes(result, "optimizer");
    };
    assert.equal(states(2, 64), states(2, 96));
    const [half, whole] = [states(2, 64), states(1, 64)];
    assert.ok(half < 0.55 * whole, `${half} of ${whole}`);
  });

  it("leaves a model without experts as it is where those would be whole", () => {
    const mainParameters = { dtype: "bfloat16", gradientDtype: "float32", sharded: true } as const;
    const change = { worldSize: 2, tensorParallel: 2, mainParameters };
    const peak = (more: Partial<ParallelSpec>): number => of(spread({ ...change, ...more })).allocatedPeakBytes;
    assert.equal(peak({ expertTensorParallel: 1 }), peak({}));
  });

  it("a pipeline divides the layers of a family that has its own name for their number", () => {
    const gpt2 = graphsOf("gpt2");
    for (const layers of [{ n_layer: 8 }, { num_hidden_layers: 8 }]) {
      const config = { model_type: "gpt2", n_head: 4, n_embd: 64, vocab_size: 500, ...layers };
      const run: TrainingRun = { ...base, model: { ...base.model, family: "gpt2", config } };
      const all = of(run, gpt2);
      const half = of(spread({ worldSize: 2, pipelineParallel: 2 }, run), gpt2);
      assert.ok(half.allocatedPeakBytes < all.allocatedPeakBytes);
      assert.equal(half.parameters, all.parameters);
    }
  });

  it("says that another code stands in by a wider band", () => {
    const two = of(spread({ worldSize: 2, tensorParallel: 2 }));
    const width = ({ band }: Estimate) => band.highBytes / band.lowBytes;
    assert.ok(width(two) > width(one));
  });

  it("says what it does not follow", () => {
    const reason = (change: Partial<ParallelSpec>): string => {
      const result = estimate(spread({ worldSize: 4, ...change }), llama);
      return result.ok ? "" : english(result.reason);
    };
    assert.match(reason({ tensorParallel: 3 }), /degrees/);
    assert.match(reason({ worldSize: 8, tensorParallel: 8 }), /heads/);
    assert.match(reason({ expertParallel: 2 }), /expert/);
    const fsdp = { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true } as const;
    assert.match(reason({ expertParallel: 2, fsdp }), /sharding/);
    const result = estimate({ ...spread({ worldSize: 2, pipelineParallel: 2 }), task: "seq2seq-lm" }, llama);
    assert.ok(!result.ok && /encoder/.test(english(result.reason)));
  });

  it("keeps components adding up to the peak", () => {
    for (const change of [{ tensorParallel: 2 }, { pipelineParallel: 2 }, { contextParallel: 2 }]) {
      const result = of(spread({ worldSize: 2, ...change }));
      assert.equal(
        result.components.reduce((sum, component) => sum + component.bytes, 0),
        result.allocatedPeakBytes,
      );
    }
  });
});

describe("main parameters", () => {
  const main = (change: object, worldSize = 1) =>
    of(
      spread({
        worldSize,
        mainParameters: { dtype: "bfloat16", gradientDtype: "float32", sharded: false, ...change },
      }),
    );
  const P = one.parameters;

  it("hold 18 bytes a parameter: weights, gradient buffer, float32 copy and two moments", () => {
    const whole = main({});
    near(bytes(whole, "weights"), 2 * P);
    near(bytes(whole, "gradients"), 4 * P);
    near(bytes(whole, "optimizer"), 12 * P);
  });

  it("shard the copy and the moments over the data-parallel ranks", () => {
    const sharded = main({ sharded: true }, 4);
    near(bytes(sharded, "gradients"), 4 * P);
    near(bytes(sharded, "optimizer"), (12 * P) / 4);
  });

  it("with half-precision gradients take a float32 copy of the shard's while stepping", () => {
    const half = main({ gradientDtype: "bfloat16" });
    const step = half.phases.find(({ phase }) => phase === "optimizer")?.peakBytes ?? 0;
    near(step, (2 + 2 + 12 + 4) * P);
  });
});
