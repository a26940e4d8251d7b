/** What a person chose outside the documents: editor settings, flags of a command. */
import type { ReportFinding } from "../core/report/schema";

/** What the person chose outside the documents (editor settings or command-line flags). */
export interface AnalysisOptions {
  /** Device by catalogue name, alias or size (`RTX 4090`, `A100-80GB`, `24GB`); undefined = not chosen. */
  readonly device?: string | undefined;
  /** The same, but a pin or a directive wins over it: what an editor setting says for every config. */
  readonly defaultDevice?: string | undefined;
  /** Number of devices when nothing else says it. */
  readonly deviceCount?: number | undefined;
  /** Whether receipts of the card say what context and libraries take (default true). */
  readonly learns?: boolean | undefined;
  /** Overrides by canonical name or format key (`--set micro_batch_size=4`). */
  readonly set?: Readonly<Record<string, string>> | undefined;
  /** Severity by finding code; `off` removes it. */
  readonly severity?: Readonly<Record<string, ReportFinding["severity"] | "off">> | undefined;
  /** Share of usable memory kept free by plans, 0..1 (default 0.1). */
  readonly reserve?: number | undefined;
  /** What plans may do. */
  readonly allow?: PlanAllowance | undefined;
  /** Language of messages: `en` or `zh-cn`. */
  readonly locale?: string | undefined;
  /** Whether plans are searched (they cost more than the estimate). */
  readonly plans?: boolean | undefined;
  /** Asked before each estimate: whether nobody wants the answer any more. The analysis then ends with `Stopped`. */
  readonly stopped?: (() => boolean) | undefined;
  /** Whether the report's first run also gets its guide: the plan in stages, and how far the run could go. */
  readonly guide?: boolean | undefined;
}

/** What plans may do; the defaults are what most people want. */
export interface PlanAllowance {
  /** Smaller micro-batches are made up for by accumulation (default true). */
  readonly keepGlobalBatch?: boolean | undefined;
  /** Only plans that compute the same (default false). */
  readonly keepNumerics?: boolean | undefined;
  /** LoRA and QLoRA on a full fine-tune (default true). */
  readonly adapters?: boolean | undefined;
  /** Plans that need another package (default true). */
  readonly packages?: boolean | undefined;
}
