/** The tools that a language model gets: the same report as every other surface. */
import { isAbsolute, resolve } from "node:path";
import * as z from "zod";
import type { AnalysisOptions, Analyzer } from "../analysis/analyzer";
import { type Complaint, complaintText, requestComplaint, unusedComplaint } from "../analysis/asked";
import { collect } from "../analysis/collect";
import type { FileAccess } from "../analysis/runtime";
import type { Report } from "../core/report/schema";
import { uriOf } from "../host/node";
import type { Tool, ToolResult } from "./messages";

const input = z.object({
  path: z.string().min(1).describe("Training config, or a folder whose every training config is meant"),
  device: z.string().optional().describe("GPU by name or memory size: A100-80GB, RTX 4090, 24GB"),
  devices: z.number().int().positive().optional().describe("Number of GPUs when nothing else says it"),
  set: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .optional()
    .describe("Other values for settings, by the config's key or a canonical name: { micro_batch_size: 4 }"),
});

type Input = z.infer<typeof input>;

/** What the tools work with. */
export interface ToolContext {
  readonly analyzer: Analyzer;
  readonly files: FileAccess;
  readonly cwd: string;
  readonly version: string;
}

/** The report, or why the request cannot be met as it was written. */
async function reportOn(context: ToolContext, asked: Input, plans: boolean): Promise<Report | Complaint> {
  const options: AnalysisOptions = {
    device: asked.device,
    deviceCount: asked.devices,
    set: Object.fromEntries(Object.entries(asked.set ?? {}).map(([key, value]) => [key, String(value)])),
    plans,
  };
  const early = requestComplaint(options);
  if (early !== null) return early;
  const uri = uriOf(isAbsolute(asked.path) ? asked.path : resolve(context.cwd, asked.path));
  const inputs = [{ uri, shown: asked.path }];
  const report = await collect(context.analyzer, context.files, inputs, options, context.version);
  return unusedComplaint(options.set, report.runs) ?? report;
}

/** Timeline and modules are for pictures; a model pays for every token. */
function brief(report: Report): Report {
  return {
    ...report,
    runs: report.runs.map((run) => {
      if (run.perDevice === null) return run;
      const { timeline: _timeline, modules: _modules, ...perDevice } = run.perDevice;
      return { ...run, perDevice };
    }),
  };
}

function result(report: Report | Complaint): ToolResult {
  if ("what" in report) return { text: complaintText(report), isError: true };
  const structured = brief(report);
  return { text: JSON.stringify(structured), structured, isError: report.runs.length === 0 };
}

/** `estimate_gpu_memory` and `find_fitting_config`. */
export function createTools(context: ToolContext): readonly Tool[] {
  return [
    {
      name: "estimate_gpu_memory",
      title: "Estimate GPU memory of a training run",
      description:
        "Reads a training config (Hugging Face TrainingArguments, TRL, DeepSpeed, …) and tells the peak GPU memory, what takes it, whether it fits the GPU, and which assumptions were made. Nothing is run or changed. Sizes are bytes.",
      input,
      call: async (asked) => result(await reportOn(context, asked as Input, false)),
    },
    {
      name: "find_fitting_config",
      title: "Find changes that make a training run fit",
      description:
        "Like estimate_gpu_memory, with `plans`: changes to the config ranked by the smallest change first, each with its peak memory, its cost in step time and the exact text edits. Nothing is changed; apply the edits of one plan yourself.",
      input,
      call: async (asked) => result(await reportOn(context, asked as Input, true)),
    },
  ];
}
