/** What a run's keys do to memory that nothing is computed from. */
import { say } from "../../words/message";
import { uncountedDirections, uncountedKeys } from "../linking/uncounted";
import type { ResolveContext } from "./context";

/** Says which keys are not counted, with the way they move the memory where that is known. */
export function supposeUncounted(c: ResolveContext): void {
  const uncounted = uncountedKeys(c.inputs);
  if (uncounted.length === 0) return;
  const may = uncountedDirections(c.inputs);
  const keys = uncounted.map((key) => (may[key] === undefined ? key : `${key} ${may[key] === "more" ? "↑" : "↓"}`));
  c.suppose(say("assume.uncounted", { keys: keys.join(", ") }), uncounted[0]!);
}
