/** Leaving layers out and putting them back gives the same event stream as running every layer. */
import { strict as assert } from "node:assert";
import { planAcrossKinds, planFolding } from "../../src/core/engine/folding/plan";
import type { GenerationSpec, TrainingRun } from "../../src/core/training/run";
import { sameEvents } from "./events";
import { graphsOf } from "./receipts/case";
import { causalRun } from "./runs";

describe("folding layers", () => {
  const llama = graphsOf("llama");
  const variants: Readonly<Record<string, Partial<TrainingRun>>> = {
    float32: {},
    "bfloat16 under autocast, accumulated": {
      loadDtype: "float32",
      autocast: "bfloat16",
      gradientAccumulationSteps: 3,
    },
    checkpointing: { checkpointing: { useReentrant: false }, autocast: "float16" },
    "reentrant checkpointing": { checkpointing: { useReentrant: true }, autocast: "float16" },
    "eager attention in bfloat16": { attention: "eager", loadDtype: "bfloat16" },
    "LoRA with dropout": {
      loadDtype: "bfloat16",
      adapter: {
        type: "lora",
        rank: 4,
        alpha: 8,
        dropout: 0.1,
        targetModules: ["q_proj", "v_proj"],
        modulesToSave: [],
        bias: "none",
        useRslora: false,
        autocastAdapterDtype: true,
      },
    },
    Adafactor: { optimizer: { name: "adafactor", args: {} } },
    ...Object.fromEntries(
      ["galore_adamw_layerwise", "galore_adafactor_layerwise", "apollo_adamw_layerwise"].map((name) => [
        name,
        { loadDtype: "bfloat16", optimizer: { name, args: {} } },
      ]),
    ),
    "offloaded activations under checkpointing": {
      loadDtype: "bfloat16",
      checkpointing: { useReentrant: false },
      offloadsActivations: "each",
      model: { ...causalRun({}).model, config: { ...causalRun({}).model.config, num_hidden_layers: 20 } },
    },
    "fused loss": { fusedLoss: true, loadDtype: "bfloat16" },
  };
  for (const [name, change] of Object.entries(variants))
    it(`llama, ${name}`, () => sameEvents(causalRun(change), llama));

  const fsdp = { version: 2, sharding: "full_shard", cpuOffload: false, reshardAfterForward: true } as const;
  const sharded = { ...causalRun({}).parallel, worldSize: 8, fsdp };
  const shardedRuns: Readonly<Record<string, Partial<TrainingRun>>> = {
    "one micro-batch": {},
    "gradients of several micro-batches": { gradientAccumulationSteps: 4 },
    "checkpointed, of several micro-batches": {
      gradientAccumulationSteps: 2,
      checkpointing: { useReentrant: false },
    },
    "checkpointed by the reentrant kind": { checkpointing: { useReentrant: true } },
    "kept gathered": { parallel: { ...sharded, fsdp: { ...fsdp, reshardAfterForward: false } } },
    "spread over fewer after forward": { parallel: { ...sharded, fsdp: { ...fsdp, reshardAfterForward: 2 } } },
    "reduced in float32 by layers, of several micro-batches": {
      gradientAccumulationSteps: 3,
      parallel: { ...sharded, fsdp: { ...fsdp, groups: "layers", reduceDtype: "float32" } },
    },
  };
  for (const [name, change] of Object.entries(shardedRuns))
    it(`llama under FSDP2, ${name}`, () =>
      void sameEvents(causalRun({ autocast: "bfloat16", parallel: sharded, ...change }), llama));

  for (const [name, change] of Object.entries({
    "one micro-batch": {},
    "of several micro-batches": { gradientAccumulationSteps: 3 },
    checkpointed: { checkpointing: { useReentrant: true }, gradientAccumulationSteps: 2 },
    "kept gathered": { parallel: { ...sharded, fsdp: { ...fsdp, version: 1, reshardAfterForward: false } } },
    "gathered ahead": { parallel: { ...sharded, fsdp: { ...fsdp, version: 1, backwardPrefetch: "before" } } },
    "of flat parameters": { parallel: { ...sharded, fsdp: { ...fsdp, version: 1, flatOptimizer: true } } },
  } satisfies Readonly<Record<string, Partial<TrainingRun>>>))
    it(`llama under FSDP1, ${name}`, () =>
      void sameEvents(
        causalRun({ autocast: "bfloat16", parallel: { ...sharded, fsdp: { ...fsdp, version: 1 } }, ...change }),
        llama,
      ));

  it("gemma2 alternates two kinds of layers", () => {
    const run = causalRun({});
    const config = {
      ...run.model.config,
      model_type: "gemma2",
      num_hidden_layers: 26,
      head_dim: 16,
      sliding_window: 32,
    };
    sameEvents({ ...run, model: { ...run.model, family: "gemma2", config } }, graphsOf("gemma2"));
  });

  for (const checkpointing of [null, { useReentrant: false }])
    it(`gemma3 has one full layer in six${checkpointing === null ? "" : ", checkpointed"}`, () => {
      const run = causalRun({ checkpointing, autocast: "bfloat16" });
      const layer_types = Array.from({ length: 34 }, (_, k) => (k % 6 === 5 ? "full_attention" : "sliding_attention"));
      const config = {
        ...run.model.config,
        model_type: "gemma3_text",
        num_hidden_layers: 34,
        head_dim: 16,
        sliding_window: 32,
        layer_types,
      };
      sameEvents({ ...run, model: { ...run.model, family: "gemma3_text", config } }, graphsOf("gemma3_text"));
    });

  it("t5 repeats two stacks", () => {
    const run = causalRun({ task: "seq2seq-lm", targetLength: 24 });
    const config = {
      model_type: "t5",
      d_model: 64,
      d_ff: 128,
      num_heads: 4,
      d_kv: 16,
      num_layers: 9,
      num_decoder_layers: 11,
      vocab_size: 500,
    };
    sameEvents({ ...run, model: { ...run.model, family: "t5", config } }, graphsOf("t5"));
  });
});

/** A model of some encoder's family, twelve layers deep. */
function encoder(name: string, more: Partial<TrainingRun> = {}): void {
  const run = causalRun({ task: "masked-lm", ...more });
  const config = {
    model_type: name,
    vocab_size: 500,
    embedding_size: 16,
    hidden_size: 64,
    intermediate_size: 128,
    num_attention_heads: 4,
    num_hidden_layers: 12,
  };
  sameEvents({ ...run, model: { ...run.model, family: name, config } }, graphsOf(name));
}

describe("folding layers of encoders", () => {
  for (const checkpointing of [null, { useReentrant: false }])
    it(`what a loop's variable still names goes a round later${checkpointing ? ", with checkpointing" : ""}`, () =>
      encoder("megatron-bert", { attention: "eager", autocast: "bfloat16", checkpointing }));

  it("one layer called again and again adds its gradients up", () => encoder("albert"));

  it("one layer called again and again is cast once under autocast", () => encoder("albert", { autocast: "bfloat16" }));
});

/** Texts of 32 tokens generated for 2 prompts of 24, at the end of a run. */
function generating(more: Partial<GenerationSpec>): GenerationSpec {
  return { batchSize: 2, promptLength: 24, newTokens: 32, beams: 1, samples: true, cache: "dynamic", ...more };
}

describe("folding layers of generation", () => {
  const run = causalRun({ loadDtype: "bfloat16" });
  const config = { ...run.model.config, num_hidden_layers: 24, head_dim: 16, sliding_window: 32 };
  const models: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    llama: { ...config, sliding_window: undefined },
    // Every layer's window is its own, whichever of them are run.
    gemma2: config,
    gemma3_text: {
      ...config,
      layer_types: Array.from({ length: 24 }, (_, k) => (k % 6 === 5 ? "full_attention" : "sliding_attention")),
    },
    // One layer in four keeps keys and values: the others do nothing between two tokens.
    qwen3_next: {
      ...config,
      sliding_window: undefined,
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 32,
    },
  };
  const ways: Readonly<Record<string, Partial<GenerationSpec>>> = {
    "token by token": {},
    "by beams": { beams: 2, samples: false },
    "in a cache of one size": { cache: "static" },
  };
  for (const [family, own] of Object.entries(models))
    for (const [way, more] of Object.entries(ways))
      it(`${family}, ${way}`, () => {
        const model = { ...run.model, family, config: { ...own, model_type: family } };
        const made = { ...run, model, generation: generating(more) };
        const { folded, whole } = sameEvents(made, graphsOf(family));
        assert.ok(folded.effort < whole.effort, `${folded.effort} of ${whole.effort}`);
      });
});

describe("planFolding", () => {
  it("leaves nothing out of a short stack", () => {
    assert.equal(planFolding(["a", "a", "a", "a", "a"]), null);
  });

  it("copies the third of equal layers", () => {
    assert.deepEqual(planFolding(new Array(32).fill("a")), { from: 2, to: 2, copies: 27 });
  });

  it("runs one layer after the copies where the last one does what the others do", () => {
    const plan = { from: 2, to: 2, copies: 28, beforeEnd: true };
    assert.deepEqual(planFolding(new Array(32).fill("a"), true), plan);
  });

  it("finds alternating kinds after an irregular start", () => {
    const plan = planFolding(["x", ...new Array(12).fill(["a", "b"]).flat()]);
    assert.deepEqual(plan, { from: 5, to: 6, copies: 7 });
  });

  it("works on the longest run when the end is irregular", () => {
    assert.deepEqual(planFolding([...new Array(20).fill("a"), "z"]), { from: 2, to: 2, copies: 15 });
  });
});

describe("planAcrossKinds", () => {
  it("is not needed for one kind", () => {
    assert.equal(planAcrossKinds(new Array(32).fill("a"), new Array(32).fill("full")), null);
  });

  it("runs every kind next to the layer that is copied", () => {
    const kinds = Array.from({ length: 34 }, (_, k) => (k % 6 === 5 ? "full" : "sliding"));
    assert.deepEqual(planAcrossKinds(new Array(34).fill("a"), kinds), { from: 2, to: 2, copies: 26, kinds: true });
  });

  it("leaves nothing out where a kind would not be run", () => {
    assert.equal(planAcrossKinds(new Array(8).fill("a"), ["x", "s", "s", "s", "s", "s", "s", "s"]), null);
  });
});
