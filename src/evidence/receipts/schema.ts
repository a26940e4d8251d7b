/**
 * A receipt: what one rank of a run took of one card, as it was measured. docs/receipts.md says it for writers; the JSON Schema
 * (`schemas/receipt.schema.json`) is made from this one. Sizes are integer bytes. Fields are added, never renamed.
 */
import * as z from "zod/mini";
import { PHASES } from "../../core/report/estimate";

const bytes = z.int().check(z.minimum(0));
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** Peaks since the one before was read (`torch.cuda.reset_peak_memory_stats`). */
const peaks = z.object({
  /** `torch.cuda.max_memory_allocated` */
  allocatedBytes: bytes,
  /** `torch.cuda.max_memory_reserved` */
  reservedBytes: bytes,
  /** What the driver shows for this process (NVML), or of the whole card where it shows no processes; null: nobody asked. */
  usedBytes: z.optional(z.nullable(bytes)),
});

export const receiptSchema = z.object({
  schema: z.literal("vram-lens/receipt/1"),
  /** When it was written: ISO 8601, UTC. */
  when: z.string(),
  /** Program and version that wrote it. */
  writer: z.optional(z.string()),
  run: z.object({
    /** The configs and scripts of the run, relative to the folder that holds `.vramlens`, with forward slashes. */
    documents: z.array(
      z.object({
        path: z.string(),
        /** SHA-256 of the file's bytes when the run began, in hexadecimal. */
        sha256: z.optional(z.string()),
      }),
    ),
    /** What was set, by canonical name (`micro_batch_size`, `sequence_length`), as far as the writer knows it. */
    settings: z.optional(z.record(z.string(), scalar)),
    /** Name of the model: a hub id, or what its class is called. */
    model: z.optional(z.nullable(z.string())),
    /** Program and arguments, without the interpreter. Not exported. */
    command: z.optional(z.array(z.string())),
  }),
  card: z.object({
    /** As the driver says it. */
    name: z.string(),
    /** What the driver says that the card has. */
    totalBytes: bytes,
    /** Compute capability (`9.0`) or the architecture's name (`gfx942`). */
    capability: z.optional(z.nullable(z.string())),
    driver: z.optional(z.nullable(z.string())),
    /** MIG slice or partition; null: the whole card. */
    slice: z.optional(z.nullable(z.string())),
  }),
  /** By package (`torch`, `cuda`, `transformers`, `python`), as the package says it. */
  versions: z.record(z.string(), z.string()),
  world: z.object({ size: z.int().check(z.minimum(1)), rank: z.int().check(z.minimum(0)) }),
  /** `PYTORCH_ALLOC_CONF` or `PYTORCH_CUDA_ALLOC_CONF` as it was set; empty: not set. */
  allocatorSettings: z.optional(z.string()),
  phases: z.array(z.extend(peaks, { phase: z.enum(PHASES) })),
  /** Of the whole run. */
  peak: peaks,
  /** What this process takes of the card beside PyTorch's pool: the driver's figure less what was reserved just then. */
  overheadBytes: z.optional(z.nullable(bytes)),
  /** What other processes had of the card when the run began. */
  othersBytes: z.optional(z.nullable(bytes)),
  /** Optimizer steps that were measured. */
  steps: z.int().check(z.minimum(0)),
  outcome: z.optional(z.enum(["finished", "stopped", "out-of-memory"])),
});

export type Receipt = z.infer<typeof receiptSchema>;
