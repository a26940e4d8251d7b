/** What loading leaves in the pool that the steps may or may not fit into. */
import { say } from "../../words/message";
import { reservedPeak } from "../allocator/replay";
import { streamOf } from "../pool";
import { loadsWhole } from "../simulation/models";
import type { EffectRule } from "./types";

/**
 * A model that lies whole on the card before it is spread is a floor of what is reserved. Its segments go back when the parts are put into
 * one block (`defragment`), but not where these wait on the host: they are left behind then, and that smaller blocks break them up before
 * large ones come is not certain, so their whole replay is the high end.
 */
const SPREAD_LATE: EffectRule = {
  id: "spread-late",
  source:
    "deepspeed/runtime/engine.py, _configure_distributed_model; zero/partition_parameters.py, _zero_init_param; zero/stage3.py, _create_fp16_partitions_with_defragmentation",
  effects: ({ run, ledger, simulation }) => {
    const isEmptied = run.parallel.deepspeed?.offloadParam === "none";
    if (!loadsWhole(run) || isEmptied || run.expandableSegments) return [];
    const stream = streamOf(ledger, run);
    const replayed = (loaded: number): number => reservedPeak(stream, loaded, run.allocator);
    const counted = Math.max(replayed(simulation.loadedEvents), simulation.loading()?.peak ?? 0);
    const moreBytes = Math.max(0, replayed(0) - counted);
    return [{ what: say("engine.spread-late"), settleWith: "zero3_init_flag", moreBytes, lessBytes: 0 }];
  },
};

export const OF_LOADING: readonly EffectRule[] = [SPREAD_LATE];
