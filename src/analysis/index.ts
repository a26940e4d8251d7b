/** Documents to linked runs, estimates, findings, hovers and edits. */
export type {
  Analyzer,
  CreateAnalyzer,
  DocumentAnalysis,
  FixContent,
  HoverContent,
  Recognition,
} from "./analyzer";
export { createAnalyzer } from "./create";
export type { AnalysisOptions } from "./options";
