"""A checkpoint as the Trainer has it written: the whole model's and the optimizer's state, gathered for the first rank.

What asks the ranks for their keys gets its own from each, so states of FSDP1's pieces are left out: other ranks hold other pieces.
Writing to disk is left out, too: what is written lies in host memory by then.
"""

import torch
import torch.distributed as dist


def prepare():
    """Objects of other ranks are this rank's."""

    def gathered(into, own, group=None):
        into[:] = [own] * len(into)

    dist.all_gather_object = gathered
    # Tensors without data are what they are compared with.
    torch.equal = lambda *_: True


def fsdp2(model, optimizer, _):
    """`Accelerator.get_state_dict`, `save_fsdp_optimizer` (accelerate/utils/fsdp_utils.py)."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_optimizer_state_dict

    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True, cpu_offload=True)
    yield lambda: get_model_state_dict(model, options=options)
    yield lambda: get_optimizer_state_dict(model, optimizer, options=options)


def fsdp1(model, optimizer, original):
    """The same of flat parameters."""
    from torch.distributed.fsdp import FullOptimStateDictConfig, FullStateDictConfig, FullyShardedDataParallel, StateDictType

    states = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    moments = FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=True)

    def within(ask):
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT, states, moments):
            return ask()

    yield lambda: within(model.state_dict)
    if not original:
        yield lambda: within(lambda: FullyShardedDataParallel.optim_state_dict(model, optimizer))


def save(ranks, model, optimizer, ledger):
    """Both, the model first, each let go before the other."""
    ledger.phase = "saving"
    for ask in {"fsdp1": fsdp1, "fsdp2": fsdp2}[ranks["kind"]](model, optimizer, ranks.get("original", True)):
        ask()
