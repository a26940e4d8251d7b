/** Whose models are counted where the run is on an earlier release of transformers. */
import { isOfRelease } from "../../core/graph/config";
import type { Task } from "../../terms/names";
import type { ResolveContext } from "./context";

/** The release whose models the newest ones stand in for: of the run's task and attention nothing was recorded of it. */
export function releaseStoodFor({ inputs }: ResolveContext, task: Task, attention: string): string | undefined {
  const { graphs } = inputs;
  if (graphs?.askedOf === undefined || isOfRelease(graphs, task, attention)) return undefined;
  return `transformers ${graphs.askedOf}`;
}
