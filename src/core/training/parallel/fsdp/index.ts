/** FSDP in both of its versions. */
import type { TrainingRun } from "../../run";
import type { Strategy } from "../strategy";
import { flatParameters } from "./flat";
import { FullyShard } from "./fully-shard";

/** Ranks that one copy of the model is spread over. */
function shardRanks({ fsdp: spec, worldSize }: TrainingRun["parallel"]): number {
  return Math.max(1, Math.floor(worldSize / (spec?.replicas ?? 1)));
}

export function fsdp({ parallel, loadDtype, autocast, float8, quantization }: TrainingRun): Strategy {
  const spec = parallel.fsdp!;
  const ranks = shardRanks(parallel);
  if (spec.version === 1 || spec.sharding === "no_shard") return flatParameters(spec, ranks, loadDtype, autocast);
  return new FullyShard(spec, {
    ranks,
    load: loadDtype,
    compute: autocast,
    keepsLoaded: quantization !== null,
    eightBits: float8?.gathers === true,
  });
}
