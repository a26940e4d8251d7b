/** The runs of `effects.jsonl`: one and another value of a setting. */
import assert from "node:assert/strict";
import { ALL_SEEDS } from "../attack/format-seeds";
import { formatsOf, withKey } from "../attack/numbers";
import type { Files } from "./answers";
import { TINY_LLAMA, uri } from "./memory-runtime";

export type EffectRow = { readonly setting: string } & (
  | { readonly seed: string; readonly path: string; readonly key: string; readonly value: string }
  | {
      readonly main: string;
      readonly model?: keyof typeof MODELS;
      readonly files?: Files;
      readonly one: Files;
      readonly other: Files;
    }
);

/** Configs of the models, in small. */
const MODELS = {
  llama: TINY_LLAMA,
  mixtral: {
    ...TINY_LLAMA,
    model_type: "mixtral",
    architectures: ["MixtralForCausalLM"],
    num_local_experts: 4,
    num_experts_per_tok: 2,
  },
  gpt2: { model_type: "gpt2", n_layer: 2, n_embd: 64, n_head: 2, vocab_size: 512, n_positions: 128 },
  t5: { model_type: "t5", d_model: 64, d_ff: 128, d_kv: 16, num_layers: 2, num_heads: 4, vocab_size: 512 },
  llava: {
    model_type: "llava",
    text_config: TINY_LLAMA,
    vision_config: {
      ...{ model_type: "clip_vision_model", hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2 },
      ...{ num_attention_heads: 4, image_size: 56, patch_size: 14 },
    },
  },
};

/** Both runs of a row: their files, and the document that is analysed. */
export function runsOf(row: EffectRow): readonly [one: Files, other: Files, main: string] {
  if (!("seed" in row)) {
    const model = row.model && { "model/config.json": JSON.stringify(MODELS[row.model]) };
    const files = { ...model, ...row.files };
    return [{ ...files, ...row.one }, { ...files, ...row.other }, row.main];
  }
  const { files, main } = ALL_SEEDS[row.seed]!;
  const text = files[row.path]!;
  const changed = formatsOf(uri(row.path), text)
    .filter(({ keys }) => keys.some(({ key }) => key === row.key))
    .map((format) => withKey(uri(row.path), text, format, row.key, row.value))
    .find((one) => one !== undefined);
  assert.ok(changed, `${row.key} cannot be written into ${row.path}`);
  return [files, { ...files, [row.path]: changed }, main];
}
