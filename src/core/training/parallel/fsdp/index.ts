/** FSDP in both of its versions. */
import type { TrainingRun } from "../../run";
import type { Strategy } from "../strategy";
import { FlatSharding } from "./flat";
import { FullyShard } from "./fully-shard";

/** Ranks that one copy of the model is spread over. */
function shardRanks({ fsdp: spec, worldSize }: TrainingRun["parallel"]): number {
  return Math.max(1, Math.floor(worldSize / (spec?.replicas ?? 1)));
}

export function fsdp({
  parallel,
  loadDtype,
  autocast,
  float8,
  quantization,
  adapter,
  checkpointing,
  gradientAccumulationSteps,
}: TrainingRun): Strategy {
  const spec = parallel.fsdp!;
  const ranks = spec.sharding === "no_shard" ? 1 : shardRanks(parallel);
  if (spec.version === 1 || spec.sharding === "no_shard")
    return new FlatSharding(spec, {
      ranks,
      load: loadDtype,
      compute: autocast,
      checkpointsUnits: checkpointing?.wrapped === true,
      accumulates: gradientAccumulationSteps > 1,
    });
  return new FullyShard(spec, {
    ranks,
    load: loadDtype,
    compute: spec.autocastsAround === true ? null : autocast,
    // A quantized base is left alone; peft raises its adapters. Recipes of layers alone raise nothing.
    raises: spec.groups !== "layers" && (quantization === null || adapter?.autocastAdapterDtype === true),
    eightBits: float8?.gathers === true,
  });
}
