/** A rank with several stages of a pipeline: what of each is kept while another one's backward runs. */
import { type Action, actionsOf, type SeveralStages } from "./schedules";

/** What a rank's stages hold as a backward, or half of one, begins, in their order. */
export interface Kept {
  /** Micro-batches that no backward has begun of. */
  readonly counts: readonly number[];
  /** Micro-batches whose inputs have gradients, the weights not yet. */
  readonly split: readonly number[];
  /** Gradients of inputs that halves of backwards have left, which go with the step (torch/distributed/pipelining/stage.py, clear_runtime_states). */
  readonly inputs: readonly number[];
  /** Whether it has gradients. */
  readonly trained: readonly boolean[];
  /** The stage whose backward comes next. */
  readonly stage: number;
  readonly does: Exclude<Action["does"], "forward">;
}

/** Stages of a rank that are followed; as a model has layers, a config may ask for thousands. */
export const MOST_STAGES = 64;

/** Steps of a schedule that are looked at; longer ones repeat what these do. */
const MOST_STEPS = 100_000;

/** What is kept of a rank's stages, the first backward's first, each once; null: torch refuses such a pipeline. */
export function keptOf(place: SeveralStages): readonly Kept[] | null {
  const actions = actionsOf(place);
  if (actions === null) return null;
  const counts = new Array<number>(place.stages).fill(0);
  const split = new Array<number>(place.stages).fill(0);
  const inputs = new Array<number>(place.stages).fill(0);
  const trained = new Array<boolean>(place.stages).fill(false);
  const found = new Map<string, Kept>();
  let steps = 0;
  for (const { stage, does } of actions) {
    if (++steps > MOST_STEPS) break;
    if (does === "forward") {
      counts[stage]!++;
      continue;
    }
    const key = `${counts} ${split} ${trained} ${stage} ${does}`;
    // The same again has more of these.
    found.set(key, {
      ...{ counts: [...counts], split: [...split], inputs: [...inputs], trained: [...trained] },
      ...{ stage, does },
    });
    if (does === "weight") split[stage]!--;
    else counts[stage]!--;
    if (does !== "input") trained[stage] = true;
    else {
      split[stage]!++;
      inputs[stage]!++;
    }
  }
  return [...found.values()];
}
