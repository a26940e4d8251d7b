/** Sizes of key-value caches, by kind. */
import assert from "node:assert/strict";
import { type CacheShape, cacheBytes } from "../../../src/core/training/generation/cache";

const FULL: CacheShape = {
  heads: 8,
  keyWidth: 128,
  valueWidth: 128,
  window: null,
  keyDtype: "bfloat16",
  valueDtype: "bfloat16",
};
const PER_TOKEN = 2 * 8 * 128 * 2;

describe("key-value cache", () => {
  it("grows with the tokens, up to the window of sliding layers", () => {
    assert.equal(cacheBytes([FULL], { kind: "dynamic" }, 4, 1000), 4 * 1000 * PER_TOKEN);
    const sliding = { ...FULL, window: 256 };
    assert.equal(cacheBytes([FULL, sliding], { kind: "dynamic" }, 1, 1000), (1000 + 256) * PER_TOKEN);
    assert.equal(cacheBytes([sliding], { kind: "dynamic" }, 1, 100), 100 * PER_TOKEN);
  });

  it("is made for the longest sequence when it is static", () => {
    assert.equal(cacheBytes([FULL], { kind: "static", tokens: 4096 }, 2, 10), 2 * 4096 * PER_TOKEN);
  });

  it("comes in pages", () => {
    assert.equal(cacheBytes([FULL], { kind: "paged", page: 16 }, 3, 33), 3 * 48 * PER_TOKEN);
  });

  it("keeps the newest tokens as they are when it is quantized", () => {
    const kind = { kind: "quantized", bits: 4, group: 64, residual: 128 } as const;
    const old = (PER_TOKEN / 2) * (0.5 + 4 / 64);
    assert.equal(cacheBytes([FULL], kind, 1, 1128), 128 * PER_TOKEN + 1000 * old);
    assert.equal(cacheBytes([FULL], kind, 1, 100), 100 * PER_TOKEN);
  });

  it("may hold keys wider than values, in another dtype", () => {
    const latent = { ...FULL, keyWidth: 192, keyDtype: "float32" as const };
    assert.equal(cacheBytes([latent], { kind: "dynamic" }, 1, 10), 10 * 8 * (192 * 4 + 128 * 2));
  });
});
