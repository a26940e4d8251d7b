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
