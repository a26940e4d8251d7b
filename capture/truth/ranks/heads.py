"""Sequences that ranks share by exchanging tokens for heads around attention: DeepSpeed's own module (runtime/sequence_parallel/ulysses_sp.py)."""

import functools


def prepare(model, degree, rows):
    """Puts the exchange around the attention that the model runs, as `register_with_transformers` does, over the first ranks."""
    import torch
    from deepspeed.runtime.sequence_parallel import ulysses_sp
    from deepspeed.sequence import layer
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    # Collectives by torch's own names: DeepSpeed's ask for a backend that it has set up.
    ulysses_sp.dist = layer.dist = torch.distributed
    config = model.config.get_text_config()
    name = config._attn_implementation
    around = ulysses_sp.UlyssesSPAttentionHF(
        attn=ALL_ATTENTION_FUNCTIONS[name],
        batch_size=rows,
        attn_head_count=config.num_attention_heads,
        attn_head_size=getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
        kv_head_count=config.num_key_value_heads,
        num_hidden_layers=config.num_hidden_layers,
        process_group=torch.distributed.new_group(range(degree)),
        seq_length_is_variable=True,
    )
    around.core_attn_implementation = name

    @functools.wraps(around.forward)
    def exchanged(module, query, key, value, attention_mask, *args, **kwargs):
        return around(module, query, key, value, None, *args, **kwargs)

    ALL_ATTENTION_FUNCTIONS[name] = exchanged


def shared(case, degree):
    """One rank's part of a batch (UlyssesSPDataLoaderAdapter): tokens, their positions, and labels that are shifted already."""
    import torch

    rows, tokens = case["batch"], case["seq"] // degree
    part = torch.zeros(rows, tokens, dtype=torch.long, device="cuda")
    positions = torch.zeros(rows, tokens, dtype=torch.long, device="cuda")
    labels = torch.zeros(rows, tokens, dtype=torch.long, device="cuda")
    mask = torch.ones(rows, tokens, dtype=torch.long, device="cuda")
    return {"input_ids": part, "attention_mask": mask, "position_ids": positions, "labels": labels, "shift_labels": labels}
