/** The paged cache of continuous batching, against PagedAttentionMemoryHandler of transformers 5.17. */
import assert from "node:assert/strict";
import { PAGED_DEFAULTS, type PagedModel, pagedPool } from "../../../src/core/training/generation/paged";

const GIB = 2 ** 30;
const LLAMA: PagedModel = {
  layers: 16,
  hidden: 2048,
  vocabulary: 128256,
  heads: 32,
  keyValueHeads: 8,
  headWidth: 64,
  elementBytes: 2,
  kinds: [16],
  masks: 0,
};
/** 22 layers look at a window, 4 at everything: thirteen groups of two. */
const GEMMA: PagedModel = {
  layers: 26,
  hidden: 1152,
  vocabulary: 262144,
  heads: 4,
  keyValueHeads: 1,
  headWidth: 256,
  elementBytes: 2,
  kinds: [22, 4],
  masks: 0,
};

function whole(pool: ReturnType<typeof pagedPool>): number {
  return pool.cacheBytes + pool.staticBytes + pool.activationBytes;
}

describe("paged key-value caches", () => {
  it("take the card's share in whole blocks, by the handler's own polynomial", () => {
    const free = 60 * GIB;
    const flash = pagedPool(LLAMA, PAGED_DEFAULTS, free, 0);
    assert.deepEqual([flash.cacheBytes, whole(flash)], [53729034240, 57979840512]);
    const masked = pagedPool({ ...LLAMA, masks: 1 }, PAGED_DEFAULTS, free, 0);
    assert.deepEqual([masked.cacheBytes, whole(masked)], [35727081472, 57971251200]);
  });

  it("follow the stated share, blocks and batches", () => {
    const free = 14 * GIB;
    const half = pagedPool(LLAMA, { ...PAGED_DEFAULTS, share: 0.5, batchTokens: 1024 }, free, 0);
    assert.deepEqual([half.cacheBytes, whole(half)], [6979321856, 7510736896]);
    const stated = pagedPool(GEMMA, { ...PAGED_DEFAULTS, blocks: 64, batchTokens: 1024 }, free, 0);
    assert.deepEqual([stated.cacheBytes, whole(stated)], [33554432, 1113309184]);
    const kinds = pagedPool({ ...GEMMA, masks: 2 }, { ...PAGED_DEFAULTS, batchTokens: 512 }, free, 0);
    assert.deepEqual([kinds.cacheBytes, whole(kinds)], [5301600256, 13527998464]);
  });

  it("hold what the sequences need where the card is not known", () => {
    const pool = pagedPool(LLAMA, PAGED_DEFAULTS, null, 1000);
    assert.equal(pool.cacheBytes, 2 * 16 * 8 * 64 * 2 * 1024);
  });
});
