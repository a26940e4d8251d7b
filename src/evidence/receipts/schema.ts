/**
 * A receipt: what one rank of a run took of one card, as it was measured. docs/receipts.md says it for writers; the JSON Schema
 * (`schemas/receipt.schema.json`) is made from this one. Sizes are integer bytes. Fields are added, never renamed.
 */
import * as z from "zod";
import { PHASES } from "../../core/report/estimate";

const bytes = z.number().int().min(0);
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** Peaks since the one before was read (`torch.cuda.reset_peak_memory_stats`). */
const peaks = z.object({
  /** `torch.cuda.max_memory_allocated` */
  allocatedBytes: bytes,
  /** `torch.cuda.max_memory_reserved` */
  reservedBytes: bytes,
  /** What the driver shows for this process (NVML), or of the whole card where it shows no processes; null: nobody asked. */
  usedBytes: bytes.nullable().optional(),
});

export const receiptSchema = z.object({
  schema: z.literal("vram-lens/receipt/1"),
  /** When it was written: ISO 8601, UTC. */
  when: z.string(),
  /** Program and version that wrote it. */
  writer: z.string().optional(),
  run: z.object({
    /** The configs and scripts of the run, relative to the folder that holds `.vramlens`, with forward slashes. */
    documents: z.array(
      z.object({
        path: z.string(),
        /** SHA-256 of the file's bytes when the run began, in hexadecimal. */
        sha256: z.string().optional(),
      }),
    ),
    /** What was set, by canonical name (`micro_batch_size`, `sequence_length`), as far as the writer knows it. */
    settings: z.record(z.string(), scalar).optional(),
    /** Name of the model: a hub id, or what its class is called. */
    model: z.string().nullable().optional(),
    /** Program and arguments, without the interpreter. Not exported. */
    command: z.array(z.string()).optional(),
  }),
  card: z.object({
    /** As the driver says it. */
    name: z.string(),
    /** What the driver says that the card has. */
    totalBytes: bytes,
    /** Compute capability (`9.0`) or the architecture's name (`gfx942`). */
    capability: z.string().nullable().optional(),
    driver: z.string().nullable().optional(),
    /** MIG slice or partition; null: the whole card. */
    slice: z.string().nullable().optional(),
  }),
  /** By package (`torch`, `cuda`, `transformers`, `python`), as the package says it. */
  versions: z.record(z.string(), z.string()),
  world: z.object({ size: z.number().int().min(1), rank: z.number().int().min(0) }),
  /** `PYTORCH_ALLOC_CONF` or `PYTORCH_CUDA_ALLOC_CONF` as it was set; empty: not set. */
  allocatorSettings: z.string().optional(),
  phases: z.array(peaks.extend({ phase: z.enum(PHASES) })),
  /** Of the whole run. */
  peak: peaks,
  /** What this process takes of the card beside PyTorch's pool: the driver's figure less what was reserved just then. */
  overheadBytes: bytes.nullable().optional(),
  /** What other processes had of the card when the run began. */
  othersBytes: bytes.nullable().optional(),
  /** Optimizer steps that were measured. */
  steps: z.number().int().min(0),
  outcome: z.enum(["finished", "stopped", "out-of-memory"]).optional(),
});

export type Receipt = z.infer<typeof receiptSchema>;
