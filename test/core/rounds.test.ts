/** Leaving rounds of loops inside layers out and putting them back gives the same event stream as running every round. */
import { strict as assert } from "node:assert";
import type { TrainingRun } from "../../src/core/training/run";
import { sameEvents } from "./events";
import { graphsOf } from "./receipts/case";
import { causalRun, loraSpec } from "./runs";

/** Small models with a loop over positions or over chunks of 64, and tokens that give it a few rounds and many. */
const MODELS: readonly {
  readonly config: Readonly<Record<string, unknown>> & { readonly model_type: string };
  readonly lengths: readonly number[];
  readonly lora: string;
}[] = [
  {
    config: { model_type: "mamba", hidden_size: 24, state_size: 4, num_hidden_layers: 3, vocab_size: 90 },
    lengths: [5, 7, 8, 40],
    lora: "in_proj",
  },
  {
    config: { model_type: "falcon_mamba", hidden_size: 24, state_size: 4, num_hidden_layers: 3, vocab_size: 90 },
    lengths: [8, 45],
    lora: "in_proj",
  },
  {
    config: {
      model_type: "recurrent_gemma",
      hidden_size: 32,
      lru_width: 32,
      intermediate_size: 48,
      num_hidden_layers: 4,
      num_attention_heads: 4,
      num_key_value_heads: 1,
      vocab_size: 90,
      attention_window_size: 2048,
    },
    lengths: [6, 8, 45],
    lora: "linear_x",
  },
  {
    config: {
      model_type: "qwen3_next",
      hidden_size: 32,
      intermediate_size: 48,
      moe_intermediate_size: 16,
      shared_expert_intermediate_size: 16,
      num_experts: 4,
      num_experts_per_tok: 2,
      num_hidden_layers: 4,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 8,
      linear_num_key_heads: 2,
      linear_num_value_heads: 4,
      linear_key_head_dim: 8,
      linear_value_head_dim: 8,
      vocab_size: 90,
    },
    lengths: [1100],
    lora: "q_proj",
  },
];

const WAYS: Readonly<Record<string, (lora: string) => Partial<TrainingRun>>> = {
  "in float32, two micro-batches a step": () => ({ gradientAccumulationSteps: 2 }),
  "under autocast": () => ({ autocast: "bfloat16" }),
  "in bfloat16, checkpointed": () => ({ loadDtype: "bfloat16", checkpointing: { useReentrant: false } }),
  "under autocast, checkpointed the reentrant way": () => ({
    autocast: "float16",
    checkpointing: { useReentrant: true },
  }),
  "with LoRA": (lora) => ({ adapter: loraSpec({ targetModules: [lora], dropout: 0.1 }), autocast: "bfloat16" }),
};

describe("folding rounds of loops inside layers", () => {
  for (const { config, lengths, lora } of MODELS)
    for (const [name, way] of Object.entries(WAYS))
      it(`${config.model_type}, ${name}`, () => {
        const graphs = graphsOf(config.model_type);
        for (const sequenceLength of lengths) {
          const run = causalRun({ ...way(lora), sequenceLength, microBatchSize: 2 });
          const model = { ...run.model, family: config.model_type, config };
          const { folded, whole } = sameEvents({ ...run, model }, graphs);
          if (sequenceLength === Math.max(...lengths))
            assert.ok(folded.labelCount < whole.labelCount, `${folded.labelCount} of ${whole.labelCount} allocations`);
        }
      });
});
