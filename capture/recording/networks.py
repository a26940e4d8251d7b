"""Graphs of networks that a library builds by name (torchvision, timm): one file a network, with batch, side and classes as names.

A network of `transformers` follows the keys of its config; one of these is a function's name, so what its graph has to explain is how
sizes follow the batch, the picture's side and the number of classes. Each is captured at points of different sizes and in the dtype
regimes of `run.py`, as families are.
"""

import contextlib
import gc
import random

from . import environment  # noqa: F401  (before torch is used)
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .checkpointing import noting
from .graphs import flat
from vram_lens.tracing.layers import functions
from .record import trace
from vram_lens.tracing.regimes import REGIMES, Capture, described
from vram_lens.tracing.write import graph

GRIDS = tuple(f"{form}({side},{n})" if form else f"{side}//{n}" for side in ("I",) for n in (2, 4, 8, 16, 32) for form in ("ceil_div", ""))
"""Sides of the grids that a network halves a picture to, by how it rounds."""

FLOAT32 = REGIMES[1]
POINTS = (FLOAT32, FLOAT32, FLOAT32, *(r for r in REGIMES if r is not FLOAT32 and not r.norms))


def torchvision_net(name, labels, side):
    import torchvision

    fixed = {"image_size": side} if name.startswith("vit_") else {}
    return getattr(torchvision.models, name)(num_classes=labels, **fixed)


def timm_net(name, labels, side):
    import timm

    fixed = {"img_size": side} if name.startswith(("vit_", "deit", "swin")) else {}
    return timm.create_model(name, num_classes=labels, **fixed)


BUILDERS = {"torchvision": torchvision_net, "timm": timm_net}
LICENSES = {"torchvision": "BSD-3-Clause", "timm": "Apache-2.0"}

NETS = {
    "torchvision": {
        "alexnet": ("alexnet",),
        "vgg": ("vgg11", "vgg11_bn", "vgg13", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"),
        "resnet": ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "wide_resnet50_2", "resnext50_32x4d", "resnext101_32x8d"),
        "densenet": ("densenet121", "densenet169", "densenet201"),
        "mobilenet": ("mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large"),
        "mnasnet": ("mnasnet0_5", "mnasnet1_0"),
        "shufflenet": ("shufflenet_v2_x1_0",),
        "squeezenet": ("squeezenet1_0", "squeezenet1_1"),
        "efficientnet": (
            "efficientnet_b0",
            "efficientnet_b1",
            "efficientnet_b2",
            "efficientnet_b3",
            "efficientnet_b4",
            "efficientnet_v2_s",
            "efficientnet_v2_m",
        ),
        "convnext": ("convnext_tiny", "convnext_small", "convnext_base", "convnext_large"),
        "regnet": ("regnet_x_400mf", "regnet_y_400mf", "regnet_y_1_6gf", "regnet_y_8gf"),
        "vit": ("vit_b_16", "vit_b_32", "vit_l_16"),
        "swin": ("swin_t", "swin_s", "swin_b"),
    },
    "timm": {
        "resnet": ("resnet18", "resnet34", "resnet50", "resnet101", "resnet50d", "resnext50_32x4d"),
        "convnext": ("convnext_tiny", "convnext_small", "convnext_base", "convnextv2_tiny", "convnextv2_base"),
        "vit": (
            "vit_tiny_patch16_224",
            "vit_small_patch16_224",
            "vit_base_patch16_224",
            "vit_base_patch32_224",
            "vit_large_patch16_224",
            "deit_small_patch16_224",
            "deit_base_patch16_224",
            "deit3_base_patch16_224",
        ),
        "efficientnet": ("efficientnet_b0", "efficientnet_b3", "tf_efficientnet_b0", "tf_efficientnetv2_s"),
        "mobilenet": ("mobilenetv3_large_100",),
        "swin": ("swin_tiny_patch4_window7_224", "swin_base_patch4_window7_224"),
        "regnet": ("regnety_008",),
    },
}
"""Networks by library and line: those of a line share blocks, and stand in one file."""

# Sides that a network's code takes: whole patches, whole windows; others take any.
PATCHES = {"vit_b_32": 32, "vit_base_patch32_224": 32}


def step_of(name):
    """The number that a picture's side must be a multiple of."""
    return PATCHES.get(name, 16 if name.startswith(("vit_", "deit")) else 1)


def side_of(name):
    """The one side that a network is captured for: windows of seven, which are not shifted where one covers the grid."""
    return 224 if name.startswith("swin") else None


def sides_of(name):
    """A side for every point, different ones where the network takes them."""
    step, only = step_of(name), side_of(name)
    if only:
        return [only] * len(POINTS)
    return [step * (96 // step + 2 * k + 1) for k in range(len(POINTS))] if step > 1 else [97 + 37 * k for k in range(len(POINTS))]


def built(library, name, labels, side, dtype):
    """The network on the fake device; one whose code reads its own sizes off tensors is built on the host first."""
    torch.set_default_dtype(dtype)
    try:
        with torch.device("cuda"):
            return BUILDERS[library](name, labels, side)
    finally:
        torch.set_default_dtype(torch.float32)


def to_fake(model, dtype):
    """The same network with its tensors on the fake device."""
    for module in model.modules():
        for name, p in module._parameters.items():
            if p is not None:
                module._parameters[name] = torch.nn.Parameter(
                    torch.empty(p.shape, dtype=dtype if p.is_floating_point() else p.dtype, device="cuda")
                )
        for name, b in module._buffers.items():
            if b is not None:
                module._buffers[name] = torch.empty(b.shape, dtype=dtype if b.is_floating_point() else b.dtype, device="cuda")
    return model


def on_device(library, name, labels, side, dtype, mode):
    try:
        with mode:
            return built(library, name, labels, side, dtype)
    except Exception:
        model = BUILDERS[library](name, labels, side)
        with mode:
            return to_fake(model, dtype)


def units_of(library, name):
    """
    Paths of the modules that the library's own switch has recomputed in backward (timm: `set_grad_checkpointing`,
    models/_manipulate.py). A network without the switch, or that refuses it, has none.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    side = sides_of(name)[0]
    model = on_device(library, name, 10, side, torch.float32, mode)
    units = set()
    try:
        model.set_grad_checkpointing(True)
    except (AttributeError, AssertionError):
        return []
    with mode, noting(model, units), torch.no_grad():
        model(torch.zeros(2, 3, side, side, device="cuda"))
    model.set_grad_checkpointing(False)
    return [path for path, module in model.named_modules() if module in units]


def capture(library, name, sizes, labels, regime):
    """One capture of a network and the cross-entropy of its classes."""
    gc.disable()
    try:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        model = on_device(library, name, labels, sizes["I"], regime.load, mode)
        with mode:
            model.requires_grad_(False)
            model.train()
            b, side = sizes["B"], sizes["I"]
            batch = {
                "pixel_values": torch.zeros(b, 3, side, side, device="cuda", dtype=torch.float32 if regime.amp else regime.load),
                "labels": torch.zeros(b, dtype=torch.long, device="cuda"),
            }

            def run():
                logits = model(batch["pixel_values"])
                return {"loss": torch.nn.functional.cross_entropy(logits, batch["labels"]), "logits": logits}

            with torch.autocast("cuda", dtype=regime.amp) if regime.amp else contextlib.nullcontext():
                recorded = trace(model, batch, run)
        parameters, buffers, _ = described(model)
        c = Capture(
            recorded,
            {"num_labels": labels},
            sizes,
            parameters,
            buffers,
            main_input="pixel_values",
            spelled=".*",
        )
        c.function = functions(c.trace, c.spelled)
        c.load, c.states, c.raised = regime.load, regime.amp or regime.load, bool(regime.norms)
        c.trace = None
        c.settings = {"num_labels": labels}
        c.env = flat(c.config) | {
            term: eval(term.replace("I", str(side)), {"__builtins__": {}, "ceil_div": lambda x, y: -(-x // y)}) for term in GRIDS
        }
        return c
    finally:
        gc.collect()


def conditions(name):
    """What a config and a run must say for a network's graph."""
    step, only = step_of(name), side_of(name)
    return [f"architecture == '{name}'", *([f"I == {only}"] if only else [f"I % {step} == 0"] if step > 1 else [])]


def network(library, name):
    """The graph of one network."""
    r = random.Random(f"{library} {name}")
    batches = r.sample(range(2, 30), len(POINTS))  # in no proportion to the sides, which would explain each other
    points = [
        capture(library, name, {"B": b, "I": side}, r.randint(11, 900), regime) for b, side, regime in zip(batches, sides_of(name), POINTS)
    ]
    made = graph(points, "image-cls", "none", conditions(name), ["B", "I", "num_labels", *GRIDS], ["num_labels"])
    units = units_of(library, name)
    return made | ({"units": units} if units else {})


def line(library, name, graphs):
    """The file's content of one line of networks."""
    versions = {
        library: __import__(library).__version__.split("+")[0],
        "torch": torch.__version__.split("+")[0],
        "license": LICENSES[library],
    }
    return {
        "family": f"{library}.{name}",
        "captured": versions,
        "defaults": {"num_labels": 1000, "num_channels": 3, "image_size": 224},
        "derived": {},
        "layerKind": None,
        "aliases": {},
        "head": None,
        "graphs": graphs,
    }


def write(folder, libraries=None, lines=None, log=print):
    """Writes the files of all lines, or of those that are named; networks that could not be captured are left out, and told."""
    from ..storing.stored import shortest

    for library, name in [
        (library, name)
        for library, of in NETS.items()
        for name in of
        if (not libraries or library in libraries) and (not lines or name in lines)
    ]:
        graphs = []
        for net in NETS[library][name]:
            try:
                graphs.append(network(library, net))
            except Exception as error:  # the others go on
                log(f"{library}/{net}: {type(error).__name__}: {str(error)[:300]}")
        if graphs:
            (folder / f"{library}.{name}.json").write_text(shortest(line(library, name, graphs)))
            log(f"{library}.{name}: {len(graphs)} networks")


def parameters_of(library, name, labels):
    model = on_device(library, name, labels, 224, torch.float32, FakeTensorMode(allow_non_fake_inputs=True))
    return sum(p.numel() for p in model.parameters())


def entries():
    """Catalogue entries: names as scripts write them behind the library's, with parameters as PyTorch counts them."""
    for library, lines in NETS.items():
        for name, nets in lines.items():
            for net in nets:
                count = parameters_of(library, net, 1000)
                yield {
                    "name": f"{library}/{net}",
                    "task": "image-cls",
                    "license": LICENSES[library].lower(),
                    "stated": f"{count / 1e6:.3g}M",
                    "parameters": count,
                    "config": {"model_type": f"{library}.{name}", "architecture": net, "image_size": 224, "num_labels": 1000},
                }
