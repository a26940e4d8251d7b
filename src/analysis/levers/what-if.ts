/** From tried values to edits: what the panel's what-if says becomes what the files say. */
import type { SettingChange } from "../../formats/types";
import type { RunAnalysis } from "../run-analysis";
import { type EditsResult, editsFor } from "./edits";

/**
 * Edits that make the run's files say the values of `set`, all or none.
 *
 * @param set values by canonical name, as a person types them
 */
export function whatIfEdits(analysis: RunAnalysis, set: Readonly<Record<string, string>>): EditsResult {
  const changes = Object.entries(set).map(([name, text]): SettingChange => ({ name, value: typed(text) }));
  return editsFor(analysis.inputs, analysis.base.resolution, changes);
}

/** Numbers and truth values are written as such, not as strings. */
function typed(text: string): SettingChange["value"] {
  const plain = text.trim();
  if (plain === "true" || plain === "false") return plain === "true";
  return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : plain;
}
