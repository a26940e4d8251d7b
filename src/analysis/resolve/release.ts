/** Whose models are counted where the run is on an earlier release of transformers. */
import { isOfRelease } from "../../core/graph/config";
import { factsOf } from "../../core/graph/facts";
import type { Task } from "../../terms/names";
import type { ResolveContext } from "./context";

/** The release whose models the newest ones stand in for: of the run's task and attention nothing was recorded of it. */
export function releaseStoodFor({ inputs }: ResolveContext, task: Task, attention: string): string | undefined {
  const { graphs } = inputs;
  if (graphs?.askedOf === undefined || isOfRelease(graphs, task, attention)) return undefined;
  return `transformers ${graphs.askedOf}`;
}

/**
 * Whether a family's experts are linear layers of their own, which whatever packs or adapts linear layers finds: until transformers 5, whose
 * conversion_mapping.py stores them together.
 */
export function hasSeparateExperts(family: string, isBefore: (release: string) => boolean): boolean {
  return factsOf(family).convertedExperts !== undefined && isBefore("5.0");
}
