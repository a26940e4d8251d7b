/** Every uncertainty of the registry has a run that it widens, and a plain run has none. */
import { strict as assert } from "node:assert";
import { estimate, poolOf } from "../../src/core/estimate";
import type { FamilyGraphs } from "../../src/core/graph/types";
import { simulateFullest } from "../../src/core/stages";
import { standIn } from "../../src/core/stand-in";
import type { DeepSpeedSpec, TrainingRun } from "../../src/core/training/run";
import { UNCERTAINTIES } from "../../src/core/uncertainty";
import { CLAIMS } from "../../src/core/uncertainty/coverage";
import { english } from "../english";
import { graphsOf, runOf } from "./receipts/case";
import { causalRun, loraSpec } from "./runs";
import { graphsWithTrainers, receiptsOf, trainerRunOf } from "./trainers/receipts";

interface Widened {
  readonly run: TrainingRun;
  readonly graphs: FamilyGraphs;
}

const llama = graphsOf("llama");

/** A run of a family on its own graphs. */
const of = (
  config: Readonly<Record<string, unknown>> & { model_type: string },
  change: Partial<TrainingRun>,
): Widened => ({
  run: causalRun({
    model: {
      name: "tiny",
      family: config.model_type,
      source: "config.json",
      config: { num_hidden_layers: 2, ...config },
    },
    ...change,
  }),
  graphs: graphsOf(config.model_type),
});

/** DeepSpeed's stage 3 around a model that was not built in parts, which wait on the host. */
const LATE: DeepSpeedSpec = {
  zeroStage: 3,
  offloadOptimizer: "none",
  offloadParam: "cpu",
  pinMemory: true,
  overlapComm: true,
  contiguousGradients: true,
  reduceBucketSize: 1e6,
  allgatherBucketSize: 5e8,
  stage3PrefetchBucketSize: 5e6,
  stage3ParamPersistenceThreshold: 1e5,
  stage3MaxLiveParameters: 1e9,
  stage3MaxReuseDistance: 1e6,
  subGroupSize: 1e9,
  gradAccumDtype: null,
  hpzPartitionSize: 1,
  loadsWhole: true,
  engineDtype: "bfloat16",
};

/** A run whose model lies whole on the card first. */
function late(deepspeed: Partial<DeepSpeedSpec>): Widened {
  const { run, graphs } = of(
    { model_type: "llama", hidden_size: 1024, intermediate_size: 4096, num_hidden_layers: 8 },
    {},
  );
  return { run: { ...run, parallel: { ...run.parallel, worldSize: 8, deepspeed: { ...LATE, ...deepspeed } } }, graphs };
}

const SMALL = { hidden_size: 48, num_attention_heads: 6, intermediate_size: 96, vocab_size: 200 };

const EXPERTS = {
  ...SMALL,
  model_type: "qwen3_moe",
  moe_intermediate_size: 32,
  num_key_value_heads: 2,
  head_dim: 16,
  num_experts: 4,
  num_experts_per_tok: 2,
};

const DEBERTA = {
  ...SMALL,
  model_type: "deberta",
  pos_att_type: "c2p|p2c",
  relative_attention: true,
  position_biased_input: false,
  type_vocab_size: 0,
};

const DBRX = {
  model_type: "dbrx",
  d_model: 64,
  n_heads: 4,
  n_layers: 2,
  vocab_size: 300,
  ffn_config: { ffn_hidden_size: 256, moe_num_experts: 8, moe_top_k: 2 },
  attn_config: { kv_n_heads: 2 },
};

/** Logits that are picked from, as wide as a card would mind. */
function picked(): Widened {
  const receipt = receiptsOf("trl-1.9", "dpo").find(({ case: c }) => c.id === "dpo-0");
  assert.ok(receipt !== undefined);
  const run = trainerRunOf(receipt.case);
  const model = { ...run.model, config: { ...run.model.config, vocab_size: 60_000 } };
  return { run: { ...run, model }, graphs: graphsWithTrainers(receipt.case.family, "trl-1.9", []) };
}

/** A weight that is decomposed beside little else. */
function decomposed(): Widened {
  const model = { ...SMALL, model_type: "llama", num_key_value_heads: 6, hidden_size: 768, intermediate_size: 3072 };
  const peft = { type: "lora", r: 4, target_modules: ["up_proj"], init_lora_weights: "pissa" } as const;
  return { run: runOf({ id: "pissa", model, batch: 1, seq: 8, load_dtype: "float16", peft }), graphs: llama };
}

const trainer: TrainingRun["trainer"] = {
  kind: "grpo",
  variant: { loss: "dapo", kl: false, level: "token", old: false, reference: "none" },
  disableDropout: false,
  headInFloat32: true,
  scoredTokens: 16,
  promptLength: 16,
  completionLength: 16,
};

const RUNS: Readonly<Record<string, () => Widened>> = {
  "exchanged-rows": () => {
    const { parallel } = causalRun({});
    const mainParameters = { dtype: "bfloat16", gradientDtype: "float32", sharded: true } as const;
    const spread = { ...parallel, worldSize: 2, expertParallel: 2, mainParameters };
    return of(EXPERTS, { microBatchSize: 4, sequenceLength: 2048, parallel: spread });
  },
  "combined-experts": () => {
    const { model, parallel } = causalRun({});
    const fsdp = { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true } as const;
    const code = "torchtitan.qwen3_moe";
    const spread = { ...parallel, worldSize: 4, expertParallel: 2, pipelineParallel: 2, fsdp };
    const config = { ...EXPERTS, num_hidden_layers: 2 };
    const run = causalRun({ model: { ...model, family: EXPERTS.model_type, code, config }, parallel: spread });
    return { run, graphs: graphsOf(code) };
  },
  "reentrant-replicas": () => {
    const parallel = { ...causalRun({}).parallel, worldSize: 4, inOneProcess: { keepsAutocast: false } };
    return { run: causalRun({ parallel, checkpointing: { useReentrant: true } }), graphs: llama };
  },
  "missing-kernels": () => ({
    run: causalRun({}),
    graphs: { ...llama, kernels: { packages: ["fused"], module: "self_attn" } },
  }),
  "adapted-experts": () => of(EXPERTS, { adapter: loraSpec({ dropout: 0.1, targetModules: ["up_proj"] }) }),
  "mixed-dtypes": () => of(DEBERTA, { task: "seq-cls", attention: "eager", loadDtype: "bfloat16" }),
  data: () => of(DBRX, { loadDtype: "bfloat16" }),
  "transformer-engine": () => ({
    run: causalRun({
      autocast: "bfloat16",
      float8: { backend: "transformer-engine", recipe: "tensorwise", keeps: "head", cachesWeights: false },
    }),
    graphs: llama,
  }),
  cudnn: () =>
    of({ model_type: "resnet" }, { task: "image-cls", imageSize: 384, microBatchSize: 8, sequenceLength: 0 }),
  cusolver: decomposed,
  "spread-late": () => late({}),
  "batch-before": () => ({
    run: causalRun({ loop: { holds: "outputs", variesLengths: true }, sequenceLength: 32 }),
    graphs: llama,
  }),
  "raised-head": () => ({ run: causalRun({ trainer, sequenceLength: 32 }), graphs: graphsWithTrainers("llama") }),
  beside: () => ({ run: causalRun({ beside: { elements: 1000, dtype: "float32" } }), graphs: llama }),
  "own-loss": () => ({ run: causalRun({ lossNotFollowed: true }), graphs: llama }),
  "fused-pieces": () => ({ run: causalRun({ fusedLoss: true, fusedPieceBytes: 1e9 }), graphs: llama }),
  scatter: picked,
  "recomputed-modules": () => ({ run: causalRun({ recomputesModules: true }), graphs: llama }),
  compiled: () => ({ run: causalRun({ compiled: "model" }), graphs: llama }),
  relative: () => ({ run: causalRun({ model: { ...causalRun({}).model, family: "unheard-of" } }), graphs: llama }),
  branch: () =>
    of({ model_type: "gemma4_unified_text", num_hidden_layers: 6, attention_k_eq_v: false, attention_bias: true }, {}),
  "own-code": () => ({ run: causalRun({ standsFor: "megatron" }), graphs: llama }),
};

/** Ids of the rules that have something to say of a run. */
function uncertain({ run, graphs }: Widened): readonly string[] {
  const result = simulateFullest(standIn(run, graphs), graphs);
  const made = estimate(run, graphs, "peaks");
  assert.ok(result.ok && made.ok, made.ok ? "" : english(made.reason));
  const { simulation } = result;
  const pool = (): number => poolOf(run, simulation.ledger, simulation.loadedEvents);
  const facts = { run, graphs, simulation, ledger: simulation.ledger, pool };
  return UNCERTAINTIES.filter((rule) =>
    "effects" in rule ? rule.effects(facts).length > 0 : rule.widened(made.estimate, facts) !== null,
  ).map(({ id }) => id);
}

describe("uncertainties", () => {
  for (const { id, source } of UNCERTAINTIES)
    it(`${id} is said of a run, with its source`, () => {
      const widened = RUNS[id];
      assert.ok(widened !== undefined, `no run of ${id}`);
      const { run, graphs } = widened();
      assert.ok(uncertain({ run, graphs }).includes(id));
      assert.ok(source.length > 10);
    });

  it("have names of their own, and none is there of a plain run", () => {
    assert.equal(new Set(UNCERTAINTIES.map(({ id }) => id)).size, UNCERTAINTIES.length);
    assert.deepEqual(uncertain({ run: causalRun({}), graphs: llama }), []);
  });

  it("say nothing of segments that go back when the parts are put into one block", () => {
    assert.ok(!uncertain(late({ offloadParam: "none" })).includes("spread-late"));
  });

  it("leave room for what none explains, where figures of such runs needed it", () => {
    const wide = (change: Partial<TrainingRun>): readonly number[] => {
      const made = estimate(causalRun(change), llama, "peaks");
      assert.ok(made.ok);
      const { band, usedPeakBytes, allocatedPeakBytes } = made.estimate;
      return [(allocatedPeakBytes - band.lowBytes) / usedPeakBytes, (band.highBytes - usedPeakBytes) / usedPeakBytes];
    };
    const [down = 0, up = 0] = wide({});
    const [loopDown = 0, loopUp = 0] = wide({ loop: { holds: "nothing" } });
    const room = CLAIMS["own-code"];
    assert.ok(room.down > 0 && Math.abs(down - loopDown - room.down) < 1e-6);
    assert.ok(room.up > 0 && Math.abs(up - loopUp - room.up) < 1e-6);
  });
});
