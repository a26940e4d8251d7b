"""One stage of a pipeline under torch's own schedules: the first embeds, the last has norm, head and loss, as torchtitan splits models."""

import torch


class Whole(torch.nn.Module):
    """What another stage has in this place."""

    def forward(self, states, *_, **__):
        return states


class Part(torch.nn.Module):
    """Layers `first` to `end` of a causal model, with its ends where they are this stage's."""

    def __init__(self, model, first, end):
        super().__init__()
        base = model.model
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


def bounds(layers, stages):
    """Layers of each stage: the first ones have one more where they do not divide."""
    each, more = divmod(layers, stages)
    ends = [0]
    for stage in range(stages):
        ends.append(ends[-1] + each + (stage < more))
    return list(zip(ends, ends[1:]))


SCHEDULES = {"1F1B": "Schedule1F1B", "GPipe": "ScheduleGPipe"}


def scheduled(case, part, mesh, vocabulary):
    """The stage in its schedule, with one micro-batch's sizes told, as shapes cannot be asked for across a fake group."""
    from torch.distributed import pipelining

    ranks = case["ranks"]
    rows, tokens = case["batch"], case["seq"]
    dtype = torch.bfloat16 if case["bf16"] else next(part.parameters()).dtype
    width = part.model.config.hidden_size
    states = torch.empty(rows, tokens, width, dtype=dtype, device="meta")
    ids = torch.empty(rows, tokens, dtype=torch.long, device="meta")
    logits = torch.empty(rows, tokens, vocabulary, dtype=dtype, device="meta")
    stage = pipelining.PipelineStage(
        part,
        ranks.get("stage", 0),
        ranks["world"],
        torch.device("cuda"),
        input_args=(ids if part.starts else states,),
        output_args=(logits if part.ends else states,),
        group=mesh.get_group("pp"),
    )

    def loss(output, labels):
        return torch.nn.functional.cross_entropy(output.flatten(0, 1).float(), labels.flatten(0, 1))

    kind = getattr(pipelining, SCHEDULES[ranks["schedule"]])
    return kind(stage, case["grad_accum"], loss_fn=loss, scale_grads=False)
