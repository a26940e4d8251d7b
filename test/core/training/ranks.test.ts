/** Ranks by patterns of names: the first that ends a path, found without trying all of them. */
import { strict as assert } from "node:assert";
import { rankOf, untried } from "../../../src/core/training/adapters/ranks";
import { matchesPattern } from "../../../src/terms/pattern";
import { loraSpec } from "../runs";

const PATHS = [
  "model.layers.0.self_attn.q_proj",
  "model.layers.11.self_attn.q_proj",
  "model.layers.1.mlp.down_proj",
  "model.layers.1.mlp.x1_proj",
  "model.embed_tokens",
  "lm_head",
  "q_proj",
  "",
];

/** Keys whose last letters are what they say, and those whose are not. */
const KEYS = [
  "q_proj",
  "layers.1.self_attn.q_proj",
  "layers\\.1\\.mlp\\.down_proj",
  ".*mlp.*",
  "down_pro.",
  "up_proj|down_proj",
  "x\\d_proj",
  "(?:lm_)head",
  "(?:up|down|x1)_proj",
  "[|]x|down_proj",
  "[]|(]?q_proj",
  "\\(|q_proj",
  "(?i)LM_HEAD",
  "embed_token[s]",
  "embed_tokens?",
  "x1_pro\\x6a",
  "head",
  "(q|k)_proj$",
  "[",
  "",
];

/** The rank by trying every key in order (peft/utils/other.py, get_pattern_key). */
function tried(ranks: Readonly<Record<string, number>>, path: string): number | undefined {
  return Object.entries(ranks).find(([key]) => matchesPattern(`(?:.*\\.)?(?:${key})`, path, "full"))?.[1];
}

describe("ranks of modules", () => {
  it("are those of the first key that ends a path, in every order of the keys", () => {
    for (let turn = 0; turn < KEYS.length; turn++) {
      const keys = [...KEYS.slice(turn), ...KEYS.slice(0, turn)];
      for (const order of [keys, keys.toReversed()]) {
        const rankPattern = Object.fromEntries(order.map((key, place) => [key, 100 + place]));
        for (const path of PATHS)
          assert.equal(
            rankOf(loraSpec({ rank: 8, rankPattern }), path),
            tried(rankPattern, path) ?? 8,
            `${order} ${path}`,
          );
      }
    }
  });

  it("of thousands of keys are found at once, and those that end alike beyond what is tried are counted", () => {
    const many = (key: (index: number) => string) =>
      Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [key(index), 1 + index] as const));
    const apart = many((index) => `[a-z]+\\.(?:\\d|x)*\\.y${index}`);
    const alike = many((index) => `z{${index}}`);
    assert.equal(untried(apart), 0);
    assert.equal(rankOf(loraSpec({ rankPattern: apart }), "model.1.y2999"), 3000);
    assert.equal(untried(alike), 3000 - 256);
    assert.equal(rankOf(loraSpec({ rank: 8, rankPattern: alike }), "z".repeat(2999)), 8);
  });
});
