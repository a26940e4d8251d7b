/** From tried values to edits: what the panel's what-if says becomes what the files say. */

import type { SettingChange } from "../../formats/types";
import { settingName } from "../../terms/settings";
import type { RunAnalysis, Variant } from "../estimate/run-analysis";
import { type EditsResult, editsFor } from "./edits";

/**
 * Edits that make the run's files say the values of `set`, all or none.
 *
 * @param set values by canonical name, as a person types them
 */
export function whatIfEdits(analysis: RunAnalysis, set: Readonly<Record<string, string>>): EditsResult {
  const changes = Object.entries(set).flatMap(([key, text]): SettingChange[] => {
    const name = settingName(key);
    return name === undefined ? [] : [{ name, value: typed(text) }];
  });
  return editsFor(analysis.inputs, analysis.base.resolution, changes);
}

/**
 * The run as its files would say it with the tried values, places as the files have them now; where no file can say them,
 * the run with them put on top.
 */
export async function triedVariant(analysis: RunAnalysis, set: Readonly<Record<string, string>>): Promise<Variant> {
  const varied = analysis.vary(set);
  const written = Object.keys(set).length === 0 ? undefined : whatIfEdits(analysis, set);
  const said =
    written === undefined || "refused" in written ? undefined : (await analysis.reread(written.edits))?.vary({});
  return said === undefined ? varied : { ...said, resolution: { ...varied.resolution, run: said.resolution.run } };
}

/** Numbers and truth values are written as such, not as strings. */
function typed(text: string): SettingChange["value"] {
  const plain = text.trim();
  if (plain === "true" || plain === "false") return plain === "true";
  return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : plain;
}
