/** A recording of memory from the bytes of a file: a snapshot's pickle, or a profiler's JSON. */
import { readProfile } from "./profile";
import { readSnapshot } from "./snapshot";
import type { RecordingRead } from "./types";

const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/** A JSON text begins with a brace or a bracket; protocol 0 of a pickle, with `(` or a letter. */
function isJson(bytes: Uint8Array): boolean {
  const first = bytes.subarray(0, 64).find((byte) => !SPACES.has(byte));
  return first === 0x7b || first === 0x5b;
}

/** Never throws, and executes nothing of the file. What is no pickle from its first byte on is no recording, not a damaged one. */
export function readRecording(bytes: Uint8Array): RecordingRead {
  if (!isJson(bytes)) {
    const read = readSnapshot(bytes);
    return !read.ok && read.why === "broken" && read.at === 0 ? { ...read, why: "other" } : read;
  }
  // An empty list of protocol 2 begins with `]` after its header; `{` and `[` alone are JSON's.
  return readProfile(new TextDecoder("utf-8").decode(bytes));
}
