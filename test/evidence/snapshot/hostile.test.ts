/** Snapshots that nobody's allocator wrote: lists that hold themselves, sizes beyond any card, frames that are none. */
import { strict as assert } from "node:assert";
import { readRecording } from "../../../src/evidence/snapshot/read";
import { summarise } from "../../../src/evidence/snapshot/summary";

/** `pickle.dumps` of four allocations: of 2^53 bytes, of 2^63 at 2^70, of −5, of NaN at a text. */
const SIZES =
  "gASV4wAAAAAAAAB9lCiMCHNlZ21lbnRzlF2UjA1kZXZpY2VfdHJhY2VzlF2UXZQofZQojAZhY3Rpb26UjAVhbGxvY5SMBGFkZHKUSwGMBHNpemWUigcAAAAAAAAgjAZzdHJlYW2USwCMB3RpbWVfdXOUSwGMBmZyYW1lc5RdlHV9lChoB2gIaAmKCQAAAAAAAAAAQGgKigkAAAAAAAAAgABoC0sAaAxLAmgNXZR1fZQoaAdoCGgJSwNoCkr7////aAtLAGgMSwFoDV2UdX2UKGgHaAhoCYwBeJRoCkd/+AAAAAAAAGgNSwd1ZWF1Lg==";
/** Of one allocation that holds itself, its frames and segments a list that does, and traces that hold all traces. */
const CYCLES =
  "gASVagAAAAAAAAB9lCiMCHNlZ21lbnRzlF2UaAJhjA1kZXZpY2VfdHJhY2VzlF2UKF2UfZQojAZhY3Rpb26UjAVhbGxvY5SMBGFkZHKUSwGMBHNpemWUTQACjAZmcmFtZXOUaAKMBHNlbGaUaAZ1YWgEZXUu";

describe("a hostile snapshot", () => {
  for (const [name, text] of Object.entries({ SIZES, CYCLES }))
    it(`of ${name.toLowerCase()} is read to its end, with figures that are numbers`, () => {
      const read = readRecording(new Uint8Array(Buffer.from(text, "base64")));
      assert.ok(read.ok, JSON.stringify(read));
      const sizes = read.recording.traces.flatMap((trace) => [...trace.sizes]);
      assert.ok(
        sizes.every((size) => Number.isSafeInteger(size) && size >= 0),
        String(sizes),
      );
      for (const { peakBytes, parts } of summarise(read.recording)) {
        assert.ok(Number.isFinite(peakBytes) && peakBytes >= 0, String(peakBytes));
        assert.ok(parts.every(({ bytes }) => Number.isFinite(bytes)));
      }
    });
});
