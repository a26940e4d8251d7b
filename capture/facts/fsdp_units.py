"""What FSDP makes units of in a small model of each family, by the classes that its own names (`_no_split_modules`), and what stops it."""

import re

import torch


def numbered(path):
    """The path with `{i}` for every number."""
    return re.sub(r"(?<=\.)\d+(?=\.|$)", "{i}", path)


def names_of(model):
    return set(getattr(model, "_no_split_modules", None) or ())


def wrapped_modules(model):
    names = names_of(model)
    return {
        path: module for path, module in model.named_modules() if type(module).__name__ in names and any(True for _ in module.parameters())
    }


def layers_of(graph):
    """Paths of the layers that a graph repeats."""
    names = {parameter["name"] for parameter in graph["parameters"]}
    return {numbered(name[: name.index("{i}") + len("{i}")]) for name in names if "{i}" in name}


def units_of(graphs, model_of):
    """Paths of the modules that FSDP wraps, and of the layers that it does not, from a small model of every branch that has layers of its own."""
    together, repeated = set(), set()
    for graph in graphs:
        layers = layers_of(graph)
        if layers <= repeated and together:
            continue
        model = model_of(graph)
        if not names_of(model):
            continue
        together |= {numbered(path) for path in wrapped_modules(model)}
        repeated |= layers & {numbered(path) for path, _ in model.named_modules()}
    return together - repeated, repeated - together


def lacks_units(model):
    """It names a class that it has no module of: accelerate finds nothing to wrap (accelerate/utils/dataclasses.py, set_auto_wrap_policy)."""
    return not names_of(model) <= {type(module).__name__ for module in model.modules()}


def lacks_embeddings(model):
    """`get_input_embeddings` raises, which accelerate's FSDP2 asks (accelerate/utils/fsdp_utils.py, fsdp2_prepare_model)."""
    try:
        model.get_input_embeddings()
    except NotImplementedError:
        return True
    return False


def embeds_in_unit(model):
    """The input embeddings stand inside of a unit, where accelerate's FSDP2 shards them once more, which torch refuses."""
    if lacks_embeddings(model):
        return False
    embeddings = model.get_input_embeddings()
    return any(module is not embeddings and embeddings in set(module.modules()) for module in wrapped_modules(model).values())


def final_norm(model):
    """Path of the last norm among the direct children of the base model (accelerate/utils/fsdp_utils.py, _find_final_norm), or none."""
    prefix = model.base_model_prefix
    base = getattr(model, prefix, None) if prefix else model
    children = base.named_children() if isinstance(base, torch.nn.Module) else ()
    norms = [name for name, module in children if "Norm" in type(module).__name__]
    return ".".join(filter(None, (prefix, norms[-1]))) if norms else None


def norm_by_weights(model, embeddings):
    """The same as it looks from the weights' names alone: the last one with a weight beside the input embeddings' table."""
    root = embeddings.split(".")[0]
    norms = [
        path
        for path, module in model.named_modules()
        if "Norm" in type(module).__name__ and path.split(".")[:-1] == [root] and any(True for _ in module.parameters(recurse=False))
    ]
    return norms[-1] if norms else None


def first_table(model):
    """The first module that looks rows up, which is one of positions where a tower comes before the text."""
    return next((module for module in model.modules() if isinstance(module, torch.nn.Embedding)), None)


def ends_of(model):
    """Modules that accelerate's FSDP2 shards by themselves and that cannot be told from the weights' names; "" for a norm that it misses."""
    if lacks_embeddings(model):
        return {}
    embeddings = model.get_input_embeddings()
    path = next(path for path, module in model.named_modules() if module is embeddings)
    norm = final_norm(model)
    if embeddings is not first_table(model):
        return {"embedding": path, "norm": norm or ""}
    return {} if norm == norm_by_weights(model, path) else {"norm": norm or ""}


STOPS = {"lacksUnits": lacks_units, "lacksEmbeddings": lacks_embeddings, "embedsInUnit": embeds_in_unit}
