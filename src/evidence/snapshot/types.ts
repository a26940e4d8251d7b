/** A memory snapshot or a profiler's trace, as columns: what the allocator did, and what was there at the end. */

/** A place in source. */
export interface Place {
  /** With forward slashes; empty for what no file is known of. */
  readonly file: string;
  readonly line: number;
  readonly name: string;
}

export type Action = "alloc" | "free" | "segment-alloc" | "segment-free" | "oom" | "snapshot" | "other";

/** Actions by their number in the columns. */
export const ACTIONS: readonly Action[] = [
  "alloc",
  "free",
  "segment-alloc",
  "segment-free",
  "oom",
  "snapshot",
  "other",
];

/** What one device's allocator did, in order. */
export interface Trace {
  readonly device: number;
  readonly actions: Uint8Array;
  readonly addresses: Float64Array;
  readonly sizes: Float64Array;
  /** Places in `Recording.stacks`. */
  readonly stacks: Int32Array;
  /** Microseconds; NaN where they were not recorded. */
  readonly times: Float64Array;
}

/** The trace of a device whose entries are still to be written. */
export function emptyTrace(device: number, length: number): Trace {
  return {
    device,
    actions: new Uint8Array(length),
    addresses: new Float64Array(length),
    sizes: new Float64Array(length),
    stacks: new Int32Array(length),
    times: new Float64Array(length),
  };
}

export interface Block {
  readonly address: number;
  readonly size: number;
  /** What the tensor asked for; 0: not known. */
  readonly requested: number;
  readonly state: "allocated" | "awaiting-free" | "free";
  readonly stack: number;
}

export interface Segment {
  readonly device: number;
  readonly address: number;
  readonly size: number;
  readonly stream: number;
  readonly small: boolean;
  readonly expandable: boolean;
  readonly blocks: readonly Block[];
}

export interface Recording {
  readonly kind: "snapshot" | "profile";
  readonly places: readonly Place[];
  /** Places by number, innermost first; the first stack is the empty one. */
  readonly stacks: readonly Int32Array[];
  readonly traces: readonly Trace[];
  /** At the end; empty for a profile. */
  readonly segments: readonly Segment[];
  /** What the file's writer said about the allocator (`PYTORCH_CUDA_ALLOC_CONF`), by name. */
  readonly settings: Readonly<Record<string, string>>;
}

export type RecordingRead =
  | { readonly ok: true; readonly recording: Recording }
  | {
      readonly ok: false;
      /** `other`: data that is no recording of memory. */
      readonly why: "code" | "broken" | "large" | "other";
      readonly what: string;
      readonly at: number;
    };
