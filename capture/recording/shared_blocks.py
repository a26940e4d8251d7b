"""Blocks of weights that several layers use in turn, with an adapter of its own for each use (Zamba 2)."""

import torch

_LISTS = ("linear_q_adapter_list", "linear_k_adapter_list", "linear_v_adapter_list", "gate_up_proj_adapter_list")


def settle(model):
    """Leaves each layer the one adapter of every list that it uses: the block's other adapters are those of other layers, and only seen there."""
    uses = getattr(model.config, "hybrid_layer_ids", None)
    layers = getattr(getattr(model, "model", None), "layers", None)
    if not uses or layers is None:
        return
    for number, index in enumerate(uses):
        for module in layers[index].shared_transformer.modules():
            for name in _LISTS:
                if hasattr(module, name):
                    setattr(module, name, torch.nn.ModuleList([getattr(module, name)[number]]))
            if hasattr(module, "layer_dic"):
                module.layer_dic = {index: 0}


def turns(tied, stack):
    """Names of tied tensors of layers, by the layer's that has them: `stack` gives a name's list and number."""
    return {
        name: to
        for name, to in tied.items()
        if (of := stack(name)) and (at := stack(to)) and of[0] == at[0] and of[2] == at[2] and of[1] != at[1]
    }
