/** Bytes of the segment that the CUDA caching allocator asks the driver for when a request finds no free block. */

const MIB = 2 ** 20;

/** Requests up to this lie in small segments. */
export const SMALL_LIMIT_BYTES = MIB;
export const SMALL_SEGMENT_BYTES = 2 * MIB;
/** Requests from here on have segments of their own. */
export const LARGE_LIMIT_BYTES = 10 * MIB;
export const LARGE_SEGMENT_BYTES = 20 * MIB;
/** What such segments are rounded up to. */
export const SEGMENT_ROUND_BYTES = 2 * MIB;

/** `get_allocation_size` of c10/cuda/CUDACachingAllocator.cpp: what "Tried to allocate" says. */
export function segmentBytes(requestBytes: number): number {
  if (requestBytes <= SMALL_LIMIT_BYTES) return SMALL_SEGMENT_BYTES;
  if (requestBytes < LARGE_LIMIT_BYTES) return LARGE_SEGMENT_BYTES;
  return Math.ceil(requestBytes / SEGMENT_ROUND_BYTES) * SEGMENT_ROUND_BYTES;
}

/** What 1.0 rounded requests above a MiB up to: they had segments of their own. */
const OLD_ROUND_BYTES = 128 * 2 ** 10;

/** `round_size` and `alloc_size` of PyTorch 1.0 (c10/cuda/CUDACachingAllocator.cpp, kRoundLarge): what its "Tried to allocate" says. */
export function oldSegmentBytes(requestBytes: number): number {
  return Math.ceil(Math.max(requestBytes, SMALL_LIMIT_BYTES) / OLD_ROUND_BYTES) * OLD_ROUND_BYTES;
}
