/**
 * The report every surface shows (schema `vram-lens/report/1`): zod schemas and the types derived from them.
 * Fields are added, never renamed, within a schema version.
 */
import * as z from "zod";
import { COMPONENT_KINDS, PHASES } from "./estimate";

const bytes = z.number().int();
const position = z.object({ line: z.number().int().min(0), character: z.number().int().min(0) });
/** Zero-based line and UTF-16 character, as in LSP. */
const rangeSchema = z.object({ start: position, end: position });
const componentKind = z.enum(COMPONENT_KINDS);
const phase = z.enum(PHASES);

const settingSchema = z.object({
  name: z.string(),
  value: z.union([z.string(), z.number(), z.boolean(), z.null()]),
  key: z.string(),
  uri: z.string(),
  range: rangeSchema.optional(),
  from: z.enum(["document", "linked", "auto", "default", "pin", "assumed"]),
});

const textEditSchema = z.object({ uri: z.string(), range: rangeSchema, newText: z.string() });

const findingSchema = z.object({
  code: z.string(),
  severity: z.enum(["error", "warning", "information", "hint"]),
  message: z.string(),
  uri: z.string(),
  range: rangeSchema.optional(),
  help: z.string(),
  related: z.array(z.object({ uri: z.string(), range: rangeSchema, message: z.string() })).optional(),
});

export const planSchema = z.object({
  title: z.string(),
  levers: z.array(z.string()),
  usedPeakBytes: bytes,
  savesBytes: bytes,
  stepTimeFactor: z.number(),
  /** What it gains and costs, as every surface says it: `−15.5 GiB · −24 % time · same results`. */
  says: z.string(),
  edits: z.array(textEditSchema),
  /** Whether the plan fits the chosen device. */
  fits: z.boolean().optional(),
  /** Whether the optimisation itself changes (numerics or method), or only how it is computed. */
  changes: z.enum(["nothing", "numerics", "method"]).optional(),
  /** What the plan needs besides the files: packages by name, host memory, GPUs. */
  needs: z.array(z.string()).optional(),
  why: z.string().optional(),
});

const effect = z.enum(["nothing", "numerics", "method"]);

/** One part of the plan in stages; the stages before it are in place. */
const stageSchema = z.object({
  id: z.enum(["essentials", "optimised", "advanced"]),
  items: z.array(
    z.object({
      lever: z.string(),
      title: z.string(),
      why: z.string(),
      freesBytes: bytes,
      /** Time for the same tokens, against the run before this item. */
      stepTimeFactor: z.number(),
      changes: effect,
      /** Packages and host memory that it needs. */
      needs: z.array(z.string()),
    }),
  ),
  /** After this stage and those before it. */
  usedPeakBytes: bytes,
  fits: z.boolean(),
  stepTimeFactor: z.number(),
  /** Values by canonical name that this stage and those before it ask for, and the edits that write them. */
  set: z.record(z.string(), z.string()),
  edits: z.array(textEditSchema),
});

const reached = z.object({ value: z.number().int(), usedPeakBytes: bytes });

/** How far the run could go as it is, with the share `reserve` kept free; null where nothing fits or the question means nothing. */
const limitsSchema = z.object({
  reserve: z.number(),
  microBatch: reached.nullable(),
  /** In steps of 64 tokens. */
  sequence: reached.nullable(),
  smallestDevice: z.object({ name: z.string(), memoryBytes: bytes, usedPeakBytes: bytes }).nullable(),
  /** Of a sharded run, counted in doublings of its GPUs. */
  devices: reached.nullable(),
});

/** A verdict on a card. */
const judged = z.enum(["fits", "tight", "does-not-fit"]);

export const comparedSchema = z.object({
  name: z.string(),
  count: z.number().int(),
  kind: z.enum(["card", "slice", "several"]),
  memoryBytes: bytes,
  usableBytes: bytes,
  usedPeakBytes: bytes,
  fits: z.boolean(),
  verdict: judged.optional(),
  largestBatch: z.number().int().nullable(),
  /** Tokens per second of all its cards over those of the chosen GPU (of the first line when none is chosen). */
  relativeSpeed: z.number().nullable(),
});

/** The used peak over two settings at once; null where there is no estimate. */
export const sweepSchema = z.object({
  /** Settings by canonical name with the values tried, the present ones among them; columns and rows. */
  columns: z.object({ name: z.string(), values: z.array(z.string()), now: z.string() }),
  rows: z.object({ name: z.string(), values: z.array(z.string()), now: z.string() }),
  /** By row, then by column. */
  cells: z.array(
    z.array(
      z.object({ usedPeakBytes: bytes, verdict: z.enum(["fits", "tight", "does-not-fit", "unknown"]) }).nullable(),
    ),
  ),
});

export const guideSchema = z.object({ stages: z.array(stageSchema), limits: limitsSchema });

const assumptionSchema = z.object({ id: z.string(), what: z.string(), settleWith: z.string(), effectBytes: bytes });

export const runSchema = z.object({
  id: z.string(),
  documents: z.array(z.string()),
  formats: z.array(z.string()),
  model: z
    .object({
      name: z.string(),
      family: z.string(),
      parameters: z.number().int(),
      trainableParameters: z.number().int(),
      source: z.enum(["config.json", "catalogue", "trace", "assumed"]),
    })
    .nullable(),
  devices: z.object({
    name: z.string().nullable(),
    memoryBytes: bytes.nullable(),
    /** What a process can use of it: physical memory less the driver's own reserve. */
    usableBytes: bytes.nullable().optional(),
    count: z.number().int(),
    source: z.enum(["pin", "setting", "config", "detected", "none"]),
  }),
  settings: z.array(settingSchema),
  perDevice: z
    .object({
      allocatedPeakBytes: bytes,
      reservedPeakBytes: bytes,
      usedPeakBytes: bytes,
      band: z.object({ lowBytes: bytes, highBytes: bytes, coverage: z.number() }),
      peakPhase: phase,
      rank: z.number().int(),
      components: z.array(
        z.object({
          kind: componentKind,
          bytes,
          origins: z.array(
            z.object({
              uri: z.string(),
              key: z.string(),
              range: rangeSchema,
              /** What stands in the script where the key is a place in a call; absent where the key itself does. */
              written: z.string().optional(),
            }),
          ),
        }),
      ),
      modules: z.array(z.object({ module: z.string(), kind: componentKind, bytes })).optional(),
      phases: z.array(z.object({ phase, peakBytes: bytes })),
      /** Times that unused segments go back to the driver where the pool has no room to grow as far as it would. */
      releases: z.number().int().optional(),
      /** Reserved bytes when batches padded to their longest sample differ in length, and with expandable segments. */
      padded: z
        .object({
          reservedBytes: bytes,
          expandableBytes: bytes,
          /** Present where the device has less: whether the steps go through in it, and how often unused segments go back. */
          pressed: z.object({ served: z.boolean(), releases: z.number().int() }).optional(),
        })
        .optional(),
      /** Key-value cache of the text that the run generates, at its longest; absent where it generates none. */
      keyValueCacheBytes: bytes.optional(),
      timeline: z
        .array(
          z.object({
            at: z.number(),
            phase,
            allocatedBytes: bytes,
            /** `allocatedBytes` by component kind, in the order of the kinds of `components`' enum. */
            alive: z.array(bytes).optional(),
            /** Of `allocatedBytes`, what each of `timelineModules` holds. */
            modules: z.array(bytes).optional(),
          }),
        )
        .optional(),
      /** Paths of the modules that hold the most at some point of the step, largest first. */
      timelineModules: z.array(z.string()).optional(),
    })
    .nullable(),
  /** What the run was measured at, by the newest receipt of it; the fullest of its ranks. */
  measured: z
    .object({
      uri: z.string(),
      when: z.string(),
      card: z.string(),
      ranks: z.number().int(),
      allocatedBytes: bytes,
      reservedBytes: bytes,
      usedBytes: bytes.nullable(),
      /** The files were others then. */
      changed: z.boolean(),
      /** Where estimate and measurement part first; absent where they agree. */
      differs: z.object({ phase, measuredBytes: bytes, estimatedBytes: bytes }).optional(),
    })
    .optional(),
  host: z.object({
    pinnedBytes: bytes,
    pageableBytes: bytes,
    nvmeBytes: bytes,
    /** RAM that one GPU's process may use, where the pins say how much a machine has. */
    limitBytes: bytes.optional(),
    /** One machine: what its ranks keep in its memory while they train, what they copy while weights are loaded, and files mapped once for all. */
    machine: z
      .object({
        ranks: z.number().int(),
        trainingBytes: bytes,
        /** Of that, batches that the loader's processes made ahead. */
        loaderBytes: bytes,
        loadingBytes: bytes.nullable(),
        mappedBytes: bytes,
        /** Where the larger of the first two lies, where the pins say what the machine has. */
        tiers: z.array(z.object({ tier: z.enum(["near", "far", "cxl", "beyond"]), bytes })).readonly(),
      })
      .optional(),
  }),
  time: z
    .object({
      stepSeconds: z.object({ low: z.number(), high: z.number() }),
      /** Of those, what is generated between steps takes. */
      generationSeconds: z.object({ low: z.number(), high: z.number() }).optional(),
      bound: z.enum(["compute", "memory", "interconnect", "host"]),
      relativeTo: z.string().nullable(),
      /** Bytes per second that a step demands of each road, against the card's peak; roads nothing takes are left out. */
      demands: z
        .array(
          z.object({
            road: z.enum(["memory", "interconnect", "host"]),
            bytesPerStep: bytes,
            askedPerSecond: bytes,
            availablePerSecond: bytes,
          }),
        )
        .optional(),
      /** Of a run that takes more than its card has: what a step would migrate in memory that moves by itself, and times its step. */
      managed: z
        .object({
          overBytes: bytes,
          bytesPerStep: z.object({ low: bytes, high: bytes }),
          slower: z.object({ low: z.number(), high: z.number() }),
        })
        .optional(),
    })
    .nullable(),
  verdict: z.enum(["fits", "tight", "does-not-fit", "unknown"]),
  /**
   * The verdict in words, in the report's language: what every surface shows, so that no two word or round it differently.
   * All but `verdict` are empty without an estimate.
   */
  statement: z.object({
    /** `Does not fit` */
    verdict: z.string(),
    /** `34.0 GiB (32.3–35.1) of 23.5 usable on RTX 4090, peak in backward` */
    detail: z.string(),
    /** `34.0 GiB (32.3–35.1) of 23.5 usable` */
    need: z.string(),
    /** `peak in backward` */
    peak: z.string(),
    /** `10.5 GiB over`, `3.1 GiB spare`, or without a GPU `fits from H100 (80.0 GiB) on` */
    room: z.string(),
    /** `34.0 / 23.5 GiB` */
    short: z.string(),
    /** What the band claims: `97 % of measured runs of this kind lay in their bands`. */
    claim: z.optional(z.string()),
    /** What is counted for code that was not captured: `transformers' code stands in for litgpt's`. */
    standsIn: z.optional(z.string()),
  }),
  /** Common cards and whether this run fits each, smallest first; given with every estimate. */
  fitsOn: z
    .array(
      z.object({
        name: z.string(),
        memoryBytes: bytes,
        usableBytes: bytes.optional(),
        /** The peak there: context and libraries are those of the card. */
        usedPeakBytes: bytes.optional(),
        fits: z.boolean(),
        verdict: judged.optional(),
      }),
    )
    .optional(),
  /** Keys of the run's documents that change memory and that the estimate leaves out; absent: none. */
  notCounted: z.array(z.string()).optional(),
  /** Whether each of them likely needs more memory than the estimate says, or less; those that may do either are not in it. */
  notCountedMay: z.record(z.string(), z.enum(["more", "less"])).optional(),
  assumptions: z.array(assumptionSchema),
  /** Releases that the estimate is of; `stated`: a file says so, else the newest known one is assumed. */
  releases: z.array(z.object({ library: z.string(), version: z.string(), stated: z.boolean() })).optional(),
  findings: z.array(findingSchema),
  plans: z.array(planSchema),
  /** Asked for by `vram-lens plan` and by the panel: the plan in stages, and how far the run could go. */
  guide: guideSchema.optional(),
});

export const reportSchema = z.object({
  schema: z.literal("vram-lens/report/1"),
  version: z.string(),
  runs: z.array(runSchema),
  errors: z.array(
    z.object({
      uri: z.string(),
      message: z.string(),
      range: rangeSchema.optional(),
      /** `too-large`: the file looks like a config and is longer than what is read. */
      code: z.string().optional(),
    }),
  ),
  /** Files of an asked folder that look like configs and could not be read, and why. */
  skipped: z.array(z.object({ uri: z.string(), message: z.string(), range: rangeSchema.optional() })).optional(),
});

export type Range = z.infer<typeof rangeSchema>;
export type ReportSetting = z.infer<typeof settingSchema>;
export type ReportEdit = z.infer<typeof textEditSchema>;
export type ReportFinding = z.infer<typeof findingSchema>;
export type ReportPlan = z.infer<typeof planSchema>;
export type ReportStage = z.infer<typeof stageSchema>;
export type ReportGuide = z.infer<typeof guideSchema>;
export type ReportCompared = z.infer<typeof comparedSchema>;
export type ReportSweep = z.infer<typeof sweepSchema>;
export type ReportAssumption = z.infer<typeof assumptionSchema>;
export type ReportRun = z.infer<typeof runSchema>;
export type Report = z.infer<typeof reportSchema>;
