/** The tools that a language model gets, answered by the same analysis as every other surface. */
import { isAbsolute, resolve } from "node:path";
import type { Analyzer } from "../analysis/analyzer";
import { collect } from "../analysis/collect";
import { type Complaint, requestComplaint, unusedComplaint } from "../analysis/linking/asked";
import type { AnalysisOptions } from "../analysis/options";
import { complaintText } from "../analysis/pins/complaints";
import type { FileAccess } from "../analysis/runtime";
import type { Report } from "../core/report/schema";
import { type ToolInput, toolInput } from "../core/report/tool-schema";
import { shownToModel, TOOLS, type ToolName, toolAnswer, triedValues } from "../core/report/tools";
import { uriOf } from "../host/node";
import type { Tool, ToolResult } from "./messages";

/** What the tools work with. */
export interface ToolContext {
  readonly analyzer: Analyzer;
  readonly files: FileAccess;
  readonly cwd: string;
  readonly version: string;
}

/** The report, or why the request cannot be met as it was written. */
async function reportOn(context: ToolContext, asked: ToolInput, plans: boolean): Promise<Report | Complaint> {
  const options: AnalysisOptions = {
    device: asked.device,
    deviceCount: asked.devices,
    set: triedValues(asked),
    plans,
  };
  const early = requestComplaint(options);
  if (early !== null) return early;
  const uri = uriOf(isAbsolute(asked.path) ? asked.path : resolve(context.cwd, asked.path));
  const inputs = [{ uri, shown: asked.path }];
  const report = await collect(context.analyzer, context.files, inputs, options, context.version);
  return unusedComplaint(options.set, report.runs) ?? report;
}

function result(name: ToolName, path: string, report: Report | Complaint): ToolResult {
  return "what" in report
    ? { text: shownToModel(complaintText(report, LOCALE)), isError: true }
    : toolAnswer(name, report, path);
}

/** Tools are asked by models, in English. */
const LOCALE = "en";

const TITLES: Readonly<Record<ToolName, string>> = {
  estimate_gpu_memory: "Estimate GPU memory of a training run",
  find_fitting_config: "Find changes that make a training run fit",
};

/** `estimate_gpu_memory` and `find_fitting_config`. */
export function createTools(context: ToolContext): readonly Tool[] {
  return (["estimate_gpu_memory", "find_fitting_config"] as const).map((name) => ({
    name,
    title: TITLES[name],
    description: TOOLS[name],
    input: toolInput,
    call: async (input) => {
      const asked = toolInput.parse(input);
      return result(name, asked.path, await reportOn(context, asked, name === "find_fitting_config"));
    },
  }));
}
