"""What the libraries' code says of every captured family, beside its graph: src/core/graph/family-facts.json.

usage: LD_PRELOAD=fakecuda.so python -m capture.facts.family_facts

Each fact is asked of small models of the tasks that were captured, of their modeling files (read as syntax trees), or of peft's own
tables. Families without a graph, whose relative stands in, are asked what their classes say.
"""

import ast
import importlib.metadata
import inspect
import sys
import textwrap

from ..families.every_family import FAMILIES  # (environment before torch and transformers)
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ..recording.embedders import branch
from ..recording.environment import class_for, implementation
from ..recording.graphs import point
from ..recording.run import make_config
from ..storing.stored import content_of
from ..truth.receipts import ROOT
from .data import save
from .fsdp_units import STOPS, ends_of, units_of

OUT = ROOT / "src" / "core" / "graph" / "family-facts.json"


def tree_of(source):
    return ast.parse(textwrap.dedent(source))


def switches_cache_off(cls):
    """The forward sets `use_cache = False` where labels are given."""
    for node in ast.walk(tree_of(inspect.getsource(cls.forward))):
        if isinstance(node, ast.If) and "labels is not None" in ast.unparse(node.test):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Assign) and ast.unparse(inner) == "use_cache = False":
                    return True
    return False


def counts_from_padding(module):
    """Positions start behind the padding's id, in a table of weights as long as the config's positions."""
    source = inspect.getsource(module)
    if "create_position_ids_from_input_ids(" not in source.replace("def create_position_ids_from_input_ids(", ""):
        return False
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("Embedding")
        and node.args
        and ast.unparse(node.args[0]).endswith("max_position_embeddings")
        and any(keyword.arg == "padding_idx" for keyword in node.keywords)
        for node in ast.walk(ast.parse(source))
    )


def reads_dropout_from_module(module):
    """The kernel of attention is given the rate of a module (`self.dropout.p`), which `disable_dropout_in_model` sets to zero."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "p" and isinstance(node.value, ast.Attribute) and "dropout" in node.value.attr
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Attribute)
    )


def pools_without_head(module):
    """The class of texts' or pictures' classes leaves out the pooler (`add_pooling_layer=False`) that the class without a head has."""
    classes = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ClassDef)]
    has_pooler = any(one.name.endswith("Pooler") for one in classes)
    by_itself = any(
        argument.arg == "add_pooling_layer" and getattr(default, "value", None) is True
        for one in classes
        for function in ast.walk(one)
        if isinstance(function, ast.FunctionDef)
        for argument, default in zip(function.args.args[::-1], function.args.defaults[::-1])
    )
    left_out = any(
        isinstance(node, ast.keyword) and node.arg == "add_pooling_layer" and getattr(node.value, "value", None) is False
        for head in classes
        if head.name.endswith(("ForSequenceClassification", "ForImageClassification"))
        for node in ast.walk(head)
    )
    return has_pooler and by_itself and left_out


def stores_experts_transposed(module):
    """Experts' matrices have their inputs before their outputs (`use_experts_implementation(is_transposed=True)`)."""
    return any(
        isinstance(node, ast.keyword) and node.arg == "is_transposed" and getattr(node.value, "value", None) is True
        for node in ast.walk(ast.parse(inspect.getsource(module)))
    )


def calls_packed_projections(module):
    """A quantized model calls the projection whose weight others multiply by, less its bias (`hasattr(self.config, "_is_quantized")`)."""
    return any(
        "_is_quantized" in ast.unparse(node.test)
        and any(
            isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) and ast.unparse(inner.right).endswith(".bias")
            for statement in node.body
            for inner in ast.walk(statement)
        )
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.If)
    )


def text_sides():
    """`model_type` of the text side that AutoModelForCausalLM loads alone, by that of the whole model."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as causal

    sides = {}
    for family, name in causal.items():
        own = getattr(transformers, name, None) if isinstance(name, str) else None
        side = getattr(getattr(own, "config_class", None), "model_type", None)
        if side not in (None, family) and "text_config" in getattr(transformers.CONFIG_MAPPING[family], "sub_configs", {}):
            sides[family] = side
    return sides


def converted_experts():
    """Names of experts' single matrices with the parameter that holds them, by `model_type`, as peft converts targets."""
    from peft.utils import transformers_weight_conversion as peft_code

    patterns, names = peft_code._MODEL_TO_CONVERSION_PATTERN, peft_code._MOE_TARGET_MODULE_MAPPING
    fused = peft_code._MOE_FUSED_TARGETS
    return {family: names[pattern] for family, pattern in patterns.items() if names.get(pattern) and fused.get(pattern)}


def of_pictures(config, pairs):
    """
    What a config's class gives the sides of a model that reads pictures of any size (patches, merged before they are tokens), how long
    texts beside pictures may be that are compared with them (`pairs`), and whether a part that reads, sees and hears stands beside
    parts that speak.
    """
    vision, text = getattr(config, "vision_config", None), getattr(config, "text_config", None)
    merged = getattr(vision, "spatial_merge_size", None) or getattr(config, "spatial_merge_size", None)
    facts = {
        "anySize": merged
        and hasattr(vision, "patch_size")
        and not hasattr(config, "audio_config")
        and {"patch": vision.patch_size, "merged": merged},
        "textPositions": pairs and getattr(text, "max_position_embeddings", None),
        "speaks": "thinker_config" in getattr(type(config), "sub_configs", {}),
    }
    return {name: found for name, found in facts.items() if found}


def pictures(compared):
    """Those facts by `model_type`, from every config that its class makes alone."""
    import transformers

    for family in transformers.CONFIG_MAPPING:
        try:
            config = transformers.CONFIG_MAPPING[family]()
        except Exception:  # a class that needs arguments says nothing without them
            continue
        yield family, of_pictures(config, family in compared)


def layer_classes(model):
    """Classes of the repeated layers: what stands in lists of modules that lie in no other list's element."""
    found, inside = set(), ()
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.ModuleList) and not name.startswith(inside):
            found |= {type(element).__name__ for element in module}
            inside += (f"{name}.",)
    return found


def model_of(family, graph):
    """The model that a stored graph was captured of, in small."""
    settings, _ = point(FAMILIES[family], graph["task"], branch(family, graph), 0)
    config = make_config(family, settings)
    with FakeTensorMode(allow_non_fake_inputs=True), torch.device("cuda"):
        return class_for(graph["task"], config).from_config(config, **implementation(family, graph["attention"]))


def of_modules(own, modules):
    """Facts that the code says, of the model's own module and of all that its parts come from."""
    facts = {
        "callsPackedProjections": calls_packed_projections(own),
        "countsFromPadding": counts_from_padding(own),
        "dropoutFromModule": reads_dropout_from_module(own),
        "pools": pools_without_head(own),
        "transposedExperts": any(stores_experts_transposed(module) for module in modules),
    }
    return {name: True for name, holds in facts.items() if holds}


def uses_cache(config_class):
    """`use_cache` of a config class where it needs no arguments."""
    try:
        return getattr(config_class(), "use_cache", None)
    except ValueError:  # a pair of two models has no sides by itself
        return None


def of_captured(family, graphs):
    """Facts of a captured family, from a small model of each of its tasks."""
    modules, kept, cacheless, layers = set(), set(), set(), set()
    ends = {}
    stopped = {name: set() for name in STOPS}
    for task in sorted({graph["task"] for graph in graphs}):
        model = model_of(family, next(graph for graph in graphs if graph["task"] == task))
        modules |= {sys.modules[type(part).__module__] for part in model.modules() if "transformers.models" in type(part).__module__}
        layers |= layer_classes(model)
        if found := ends_of(model):
            ends[task] = found
        for name, stops in STOPS.items():
            stopped[name] |= {task} if stops(model) else set()
        kept |= set(getattr(model, "_keep_in_fp32_modules", None) or [])
        off = uses_cache(type(model.config)) is False  # as its config's class has it (MPT)
        cacheless |= {task} if off or switches_cache_off(type(model)) else set()
    # A class that names none wraps nothing (accelerate/utils/dataclasses.py, set_auto_wrap_policy).
    unsplit = {} if getattr(model, "_no_split_modules", None) else {"unsplit": True}
    together, loose = units_of(graphs, lambda graph: model_of(family, graph))
    lists = {
        "cacheless": cacheless,
        "keptInFloat32": kept,
        "layers": layers,
        "keptTogether": together,
        "looseLayers": loose,
        **stopped,
    }
    return (
        of_modules(sys.modules[type(model).__module__], modules)
        | unsplit
        | {name: sorted(found) for name, found in lists.items() if found}
        | ({"ends": ends} if ends else {})
    )


def of_class(family):
    """Facts of a family without a graph, which its relative stands in for: what its own classes say."""
    import transformers

    try:
        model = transformers.MODEL_MAPPING.get(transformers.CONFIG_MAPPING[family], None)
    except ValueError:  # the mapping names a class that the library does not have
        return {}
    module = sys.modules.get(getattr(model, "__module__", ""))
    if not isinstance(model, type) or module is None:
        return {}
    classes = [one for _, one in inspect.getmembers(module, inspect.isclass) if one.__module__ == module.__name__]
    kept = {name for one in classes for name in getattr(one, "_keep_in_fp32_modules", None) or []}
    return of_modules(module, {module}) | ({"keptInFloat32": sorted(kept)} if kept else {})


def main():
    import transformers

    facts, compared = {}, set()
    for family in FAMILIES:
        file = ROOT / "models" / "graphs" / f"{family}.json"
        if file.exists():
            graphs = content_of(file.read_text())["graphs"]
            facts[family] = of_captured(family, graphs)
            compared |= {family} if any(graph["task"] == "contrastive" for graph in graphs) else set()
    for family in transformers.CONFIG_MAPPING:
        if family not in facts and (found := of_class(family)):
            facts[family] = found
    for name, found in (("textSide", text_sides()), ("convertedExperts", converted_experts())):
        for family, value in found.items():
            facts.setdefault(family, {})[name] = value
    for family, found in pictures(compared):
        if found:
            facts[family] = facts.get(family, {}) | found
    source = " and ".join(f"{name} {importlib.metadata.version(name)}" for name in ("transformers", "peft"))
    about = "What the libraries' code says of families beside their graphs; a fact that does not hold is left out."
    save(OUT, about, source, "family_facts", families=dict(sorted(facts.items())))
    print(len(facts), "families")


if __name__ == "__main__":
    main()
