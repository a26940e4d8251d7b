"""One stage of a pipeline under torch's own schedules: the first embeds, the last has norm, head and loss, as torchtitan splits models."""

import copy

import torch


class Whole(torch.nn.Module):
    """What another stage has in this place."""

    def forward(self, states, *_, **__):
        return states


class Part(torch.nn.Module):
    """Layers `first` to `end` of a causal model, with its ends where they are this stage's."""

    def __init__(self, whole, first, end):
        super().__init__()
        # Another stage of the same rank has the same modules.
        model, base = alike(whole), alike(whole.model)
        model.model = base
        model.config = base.config = copy.deepcopy(whole.config)
        self.starts, self.ends = first == 0, end == len(base.layers)
        base.layers = torch.nn.ModuleList(list(base.layers)[first:end])
        model.config.num_hidden_layers = end - first
        if not self.ends:
            base.norm = Whole()
            model.lm_head = None
        if not self.starts:
            base.embed_tokens = None
        self.model = model

    def forward(self, given):
        given = {"input_ids": given} if self.starts else {"inputs_embeds": given}
        states = self.model.model(**given, use_cache=False).last_hidden_state
        return self.model.lm_head(states) if self.ends else states


def alike(module):
    """The module with a list of children of its own."""
    twin = copy.copy(module)
    twin._modules = module._modules.copy()
    return twin


def bounds(layers, stages):
    """Layers of each stage: the first ones have one more where they do not divide."""
    each, more = divmod(layers, stages)
    ends = [0]
    for stage in range(stages):
        ends.append(ends[-1] + each + (stage < more))
    return list(zip(ends, ends[1:]))


SCHEDULES = {
    "1F1B": "Schedule1F1B",
    "GPipe": "ScheduleGPipe",
    "Interleaved1F1B": "ScheduleInterleaved1F1B",
    "LoopedBFS": "ScheduleLoopedBFS",
    "InterleavedZeroBubble": "ScheduleInterleavedZeroBubble",
    "ZBVZeroBubble": "ScheduleZBVZeroBubble",
    "DualPipeV": "ScheduleDualPipeV",
}
# Schedules whose ranks have a stage of the way there and one of the way back.
FOLDED = ("ZBVZeroBubble", "DualPipeV")


def numbers(ranks):
    """The stages of a rank."""
    rank, world, each = ranks.get("stage", 0), ranks["world"], ranks.get("stages", 1)
    if ranks["schedule"] in FOLDED:
        return [rank, 2 * world - 1 - rank]
    return [rank + number * world for number in range(each)]


def scheduled(case, parts, mesh, vocabulary):
    """A rank's stages in their schedule, with one micro-batch's sizes told, as shapes cannot be asked for across a fake group."""
    from torch.distributed import pipelining

    ranks = case["ranks"]
    rows, tokens = case["batch"], case["seq"]
    dtype = torch.bfloat16 if case["bf16"] else next(parts[0].parameters()).dtype
    width = parts[0].model.config.hidden_size
    states = torch.empty(rows, tokens, width, dtype=dtype, device="meta")
    ids = torch.empty(rows, tokens, dtype=torch.long, device="meta")
    logits = torch.empty(rows, tokens, vocabulary, dtype=dtype, device="meta")
    stages = [
        pipelining.PipelineStage(
            part,
            number,
            ranks["world"] * len(parts),
            torch.device("cuda"),
            input_args=(ids if part.starts else states,),
            output_args=(logits if part.ends else states,),
            group=mesh.get_group("pp"),
        )
        for number, part in zip(numbers(ranks), parts)
    ]

    def loss(output, labels):
        return torch.nn.functional.cross_entropy(output.flatten(0, 1).float(), labels.flatten(0, 1))

    kind = getattr(pipelining, SCHEDULES[ranks["schedule"]])
    given = stages if len(stages) > 1 else stages[0]
    return kind(given, case["grad_accum"], loss_fn=loss, scale_grads=False)
