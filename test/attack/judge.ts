/** What must hold of every answer, whatever was asked. */
import type { DocumentAnalysis } from "../../src/analysis/analyzer";

/** Words of a program that failed, which are no sentence for a person. */
const FAULT =
  /by a mistake of its own|undefined|\bNaN\b|Infinity|\[object |is not a function|is not iterable|Cannot (?:read|set|convert|access)|Maximum call stack|Invalid array length|Invalid string length|\bnull \(reading/;

/** Numbers that may be negative: differences and places of a clock. */
const SIGNED = /^(?:effectBytes|savesBytes|lessBytes|moreBytes|change|delta)/;

function visit(value: unknown, path: string, found: string[], asked: string): void {
  if (typeof value === "number") {
    const name = path.slice(path.lastIndexOf(".") + 1).replace(/\[\d+\]$/, "");
    if (!Number.isFinite(value)) found.push(`${path} is ${value}`);
    else if (value < 0 && /[bB]ytes|count|parameters/i.test(name) && !SIGNED.test(name))
      found.push(`${path} is ${value}`);
    else if (/Bytes$/.test(name) && !Number.isSafeInteger(value)) found.push(`${path} is ${value}, no number of bytes`);
  } else if (typeof value === "string") {
    // What was asked for may be shown; what a program says when it fails may not.
    const own = asked === "" ? value : value.replaceAll(asked, "");
    if (FAULT.test(own.replace(/`[^`]*`|"[^"]*"/g, ""))) found.push(`${path}: ${value.slice(0, 200)}`);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) visit(item, `${path}[${index}]`, found, asked);
  } else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value)) visit(item, `${path}.${key}`, found, asked);
}

/**
 * What is wrong with an analysis; empty when nothing is.
 *
 * @param asked the value that was written, which messages repeat
 */
export function faultsOf(analysis: DocumentAnalysis, asked = ""): readonly string[] {
  const found: string[] = [];
  const { runs, errors } = analysis.report;
  for (const run of runs) {
    // Settings repeat what the document says.
    const { settings: _settings, model: _model, id: _id, documents: _documents, ...judged } = run;
    visit({ ...judged, plans: run.plans.map(({ edits: _edits, ...plan }) => plan) }, run.id, found, asked);
    const perDevice = run.perDevice;
    if (perDevice !== null) {
      const sum = perDevice.components.reduce((total, { bytes }) => total + bytes, 0);
      if (sum !== perDevice.allocatedPeakBytes)
        found.push(`${run.id}: components are ${sum} of ${perDevice.allocatedPeakBytes}`);
    }
    if (perDevice === null && run.verdict !== "unknown") found.push(`${run.id}: ${run.verdict} without an estimate`);
  }
  visit(errors, "errors", found, asked);
  return found;
}
