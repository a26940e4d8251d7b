"""What FSDP makes units of in a small model of each family, by the classes that its own names (`_no_split_modules`), and what stops it."""

import re


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


STOPS = {"lacksUnits": lacks_units, "lacksEmbeddings": lacks_embeddings, "embedsInUnit": embeds_in_unit}
