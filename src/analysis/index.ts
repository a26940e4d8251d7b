/** Documents to linked runs, estimates, findings, hovers and edits. */
export type {
  AnalysisOptions,
  Analyzer,
  CreateAnalyzer,
  DocumentAnalysis,
  FixContent,
  HoverContent,
  Recognition,
} from "./analyzer";
export { createAnalyzer } from "./create";
