/**
 * The captured graphs against the configs people publish: a key that decides memory and that a capture never varied would
 * silently stand in a graph as a constant.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { FamilyGraphs } from "../../../src/core/graph/types";
import { graphsOf } from "../receipts/case";

interface Entry {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>> & { readonly model_type: string };
}

const MODELS = path.resolve(__dirname, "../../../models");
const published = (JSON.parse(readFileSync(path.join(MODELS, "catalogue.json"), "utf8")) as { models: Entry[] }).models;
const families = readdirSync(path.join(MODELS, "graphs")).map((file) => path.basename(file, ".json"));

/**
 * Every published Swin has two layers in its first, second and last stage (models/README.md); MobileViT's stages have the depths
 * that its code has written in it (transformers/models/mobilevit/modeling_mobilevit.py, `MobileViTEncoder`); the second version's
 * graph is asked for at the published depths alone. Donut's encoder is a Swin.
 */
const FIXED_STAGES: ReadonlySet<string> = new Set([
  "diffusers.transformer",
  "diffusers.unet",
  "swin",
  "swinv2",
  "mobilevit",
  "mobilevitv2",
  "vision-encoder-decoder",
  "donut-swin",
]);
/** Loops of as many rounds in every model: rows of the chunks of 64 positions that the delta rule goes over. */
const FIXED_LOOPS: ReadonlySet<string> = new Set(["kimi_linear"]);

/** Keys that decide no memory, or not in this task. */
const IRRELEVANT: Readonly<Record<string, readonly string[]>> = {
  "*": [
    "model_type",
    "architectures",
    "is_encoder_decoder",
    "torch_dtype",
    "max_position_embeddings",
    "vocab_size",
    "sliding_window",
    "image_size",
  ],
  // Counts of what lies beside the models of a step, which the analysis reads.
  "diffusers.unet": ["denoiser_parameters", "text_parameters"],
  "diffusers.transformer": ["denoiser_parameters", "text_parameters"],
  // Initial values and scales.
  beit: ["layer_scale_init_value"],
  "data2vec-vision": ["layer_scale_init_value"],
  gemma2: ["query_pre_attn_scalar"],
  // Attention to both sides needs no mask within its window, as attention to the left needs none.
  gemma3_text: ["query_pre_attn_scalar", "use_bidirectional_attention"],
  // By what the distances of the bias are divided.
  swinv2: ["pretrained_window_sizes"],
  // Every published one attends both ways.
  deberta: ["pos_att_type"],
  // Its class has as many heads of keys as of queries.
  persimmon: ["num_key_value_heads"],
  // The classifier has the tower of pictures alone.
  clip: ["projection_dim", "text_config"],
  // Every published one of the second generation: rotary positions, masked tokens dropped, no norm before the layers.
  esm: ["position_embedding_type", "token_dropout", "emb_layer_norm_before", "mask_token_id", "pad_token_id"],
  // The library's layers all have `intermediate_size`.
  hunyuan_v1_moe: ["moe_intermediate_size"],
  // The kinds of the layers by another name (src/core/graph/config.ts).
  nemotron_h: ["hybrid_override_pattern"],
  // Pictures are projected to the width of the text, or they do not go in.
  paligemma: ["projection_dim"],
  // The token that targets begin with.
  longt5: ["decoder_start_token_id"],
  // Global and local attention run the same operators.
  gpt_neo: ["attention_types"],
  // As many as the encoder's, in every published one.
  bart: ["decoder_attention_heads"],
  led: ["decoder_attention_heads"],
  marian: ["decoder_attention_heads"],
  mbart: ["decoder_attention_heads"],
  speech_to_text: ["decoder_attention_heads"],
  whisper: ["decoder_attention_heads"],
  // Positions by ALiBi go with attention and feed-forward one after the other, which is a graph of its own.
  falcon: ["alibi"],
  // Every published one has attention by relative positions, with keys shared and normed; the graph is of these.
  "deberta-v2": [
    "relative_attention",
    "position_biased_input",
    "norm_rel_ebd",
    "share_att_key",
    "attention_head_size",
    "pos_att_type",
  ],
  deepseek_v2: ["num_key_value_heads"],
  // As many as attention heads, in every published one: queries, keys and values come from one compressed row.
  deepseek_v3: ["num_key_value_heads"],
};

/** Numbers at which a stack ends, where no other goes on with it (Qwen3-VL's first layers, which take in features, do). */
function fixedDepths({ graphs }: FamilyGraphs): string[] {
  const found = [...JSON.stringify(graphs).matchAll(/"from":"([^"]*)","to":"([^"]*)"/g)];
  const goesOn = new Set(found.map(([, from]) => from!));
  // What runs once is no stack.
  const stacks = found.filter(([, from, to]) => Number(to) - Number(from) !== 1);
  return stacks.map(([, , to]) => to!).filter((to) => /^\d+$/.test(to) && !goesOn.has(to));
}

describe("graphs of published models", () => {
  it("repeats layers as often as the config says", () => {
    const fixed = families.filter(
      (family) => !FIXED_STAGES.has(family) && !FIXED_LOOPS.has(family) && fixedDepths(graphsOf(family)).length > 0,
    );
    assert.deepEqual(fixed, []);
  });

  it("knows every key by which a published model differs from its family's defaults", () => {
    const captured = new Set(families);
    const unknown = published.flatMap(({ name, config }) => {
      const family = config.model_type;
      if (!captured.has(family)) return [];
      const { graphs, derived, layerKind, aliases, defaults } = graphsOf(family);
      const text = JSON.stringify([graphs, Object.values(derived), layerKind, Object.entries(aliases)]);
      // Conditions name a layer's entry of `layer_types` its kind.
      const kinds = /\bkind\b/.test(text) ? ["layer_types"] : [];
      const ignored = [...kinds, ...IRRELEVANT["*"]!, ...(IRRELEVANT[family] ?? [])];
      return Object.entries(config)
        .filter(([key]) => !ignored.includes(key) && !text.includes(key))
        .filter(([key, value]) => JSON.stringify(defaults[key]) !== JSON.stringify(value))
        .map(([key]) => `${name}: ${key}`);
    });
    assert.deepEqual(unknown, []);
  });
});
