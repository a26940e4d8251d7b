/** What other values of a setting come to: the run's files are read again as they would say them. */
import type { MessageId } from "../../words/message";
import type { RunAnalysis, Variant } from "../estimate/run-analysis";
import { whatIfEdits } from "../levers/what-if";
import type { Curve } from "./curves";

/** A value and the run with it. */
export interface Tried {
  readonly value: string;
  readonly variant: Variant;
  /** The same with its breakdown. */
  readonly whole: () => Variant;
}

/** Values that the files have no way to say: nobody can choose them here. */
const UNSAYABLE: ReadonlySet<MessageId> = new Set<MessageId>([
  "refused.no-word",
  "refused.range",
  "refused.no-argument",
]);

/** The run with each value of a curve; values that no file can say, and those that the engine cannot do, are left out. */
export async function tryCurve(analysis: RunAnalysis, curve: Curve): Promise<readonly Tried[]> {
  const tried: Tried[] = [];
  for (const value of curve.values(analysis.base)) {
    const found = await tryValue(analysis, curve, value);
    if (found?.variant.estimate !== undefined) tried.push(found);
  }
  return tried;
}

/**
 * The run with one value. A key may decide more than its setting, and another key may decide with it, so that only the edited
 * files tell what a value comes to; where none of ours can hold it (a count of a scheduler's), it is put on top of the run.
 */
async function tryValue(analysis: RunAnalysis, curve: Curve, value: string): Promise<Tried | undefined> {
  const { base } = analysis;
  if (value === curve.now(base)) return { value, variant: base, whole: () => base };
  const set = { [curve.override]: value };
  const written = whatIfEdits(analysis, set);
  if ("refused" in written) {
    if (UNSAYABLE.has(written.refused.id)) return undefined;
    return { value, variant: analysis.vary(set, "peaks"), whole: () => analysis.vary(set) };
  }
  const again = written.edits.length === 0 ? undefined : await analysis.reread(written.edits);
  if (again === undefined) return undefined;
  analysis.spend(again);
  // Another key has the last word.
  if (curve.now(again.base) !== value) return undefined;
  return { value, variant: again.base, whole: () => again.vary({}) };
}
