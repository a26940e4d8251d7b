"""
What each rank does under torch's own pipeline schedules, as the engine's own are tested by (`test/core/schedules.jsonl`).

usage: python -m capture.truth.ranks.schedules > test/core/schedules.jsonl
"""

import json
import types

from torch.distributed.pipelining import schedules

KINDS = {
    "interleaved": schedules.ScheduleInterleaved1F1B,
    "looped-bfs": schedules.ScheduleLoopedBFS,
    "interleaved-zero-bubble": schedules.ScheduleInterleavedZeroBubble,
    "zbv-zero-bubble": schedules.ScheduleZBVZeroBubble,
    "dual-pipe-v": schedules.ScheduleDualPipeV,
}
DOES = {"FORWARD": "F", "FULL_BACKWARD": "B", "BACKWARD_INPUT": "I", "BACKWARD_WEIGHT": "W"}
PLACES = ((2, 2, 4), (3, 2, 6), (4, 2, 8), (4, 2, 12), (3, 3, 6))


def of(kind, ranks, stages, micro_batches, rank):
    """Its actions, each with the number of the stage among all."""
    rounds = max(1, micro_batches // ranks)
    place = types.SimpleNamespace(
        pp_group_size=ranks,
        n_local_stages=stages,
        _stages=[None] * stages,
        _n_microbatches=micro_batches,
        num_stages=ranks * stages,
        microbatches_per_round=micro_batches // rounds,
    )
    actions = KINDS[kind]._calculate_single_rank_operations(place, rank)
    flat = [part for action in actions if action is not None for part in (action.sub_actions or [action])]
    return " ".join(f"{part.stage_index}{DOES[part.computation_type.name]}" for part in flat)


def main():
    for kind in KINDS:
        for ranks, stages, micro_batches in PLACES:
            if stages != 2 and kind in ("zbv-zero-bubble", "dual-pipe-v"):
                continue
            for rank in {0, 1, ranks - 1}:
                place = {"schedule": kind, "ranks": ranks, "stages": stages, "microBatches": micro_batches, "rank": rank}
                print(json.dumps({**place, "actions": of(kind, ranks, stages, micro_batches, rank)}))


if __name__ == "__main__":
    main()
