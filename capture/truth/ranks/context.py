"""Sequences split over ranks as torch's `context_parallel` splits them, around what the Trainer prepares for it."""

import contextlib

import torch


def prepare(ranks):
    """Keys and values go around as they are told to (`Accelerator._prepare_cp`)."""
    from torch.distributed.tensor.experimental._attention import set_rotate_method

    set_rotate_method(ranks.get("rotate", "allgather"))
    # The library puts its own in the place of what goes by this name.
    torch.nn.functional.scaled_dot_product_attention.__name__ = "scaled_dot_product_attention"


@contextlib.contextmanager
def split(mesh, batch):
    """`Trainer._prepare_context_parallel_inputs`: labels are shifted, positions made, and all of it is cut in place."""
    from torch.distributed.tensor.experimental import context_parallel

    labels = torch.nn.functional.pad(batch["labels"], (0, 1), value=-100)
    batch["shift_labels"] = labels[:, 1:].contiguous()
    del labels
    ids = batch["input_ids"]
    batch["position_ids"] = torch.arange(ids.size(1), device=ids.device).expand(ids.size(0), -1)
    names = [name for name in ("input_ids", "labels", "shift_labels", "attention_mask", "position_ids") if name in batch]
    buffers = [batch[name] for name in names]
    del ids
    with context_parallel(mesh["cp"], buffers=buffers, buffer_seq_dims=[1] * len(buffers), no_restore_buffers=set(buffers)):
        del buffers
        yield
