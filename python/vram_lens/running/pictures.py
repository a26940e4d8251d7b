"""Pictures, weights and metrics that a script would download: nothing is fetched, what is on this machine is used.

`torchvision`'s data sets that have a `download` have equal pictures of their own size where they are not here; published weights of
`torchvision`, `timm` and `torch.hub` leave a model as it was made; a metric of `evaluate` counts nothing.
"""

import functools
import inspect

import torch

from ..sentences import say

DIGITS, SMALL, PHOTO = (28, 28), (32, 32, 3), (480, 640, 3)

ARRAYS = {
    **dict.fromkeys(("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "QMNIST"), ("targets", DIGITS, 60_000, 10_000)),
    **dict.fromkeys(("CIFAR10", "CIFAR100"), ("targets", SMALL, 50_000, 10_000)),
    "SVHN": ("labels", (3, 32, 32), 73_257, 26_032),
    "STL10": ("labels", (3, 96, 96), 5_000, 8_000),
}
"""Data sets that are arrays (torchvision/datasets/mnist.py, cifar.py, svhn.py, stl10.py): where their classes are, the sides of one, and how
many there are to train and to test with, which scripts split by number."""

PHOTOS = {
    **dict.fromkeys(("Food101", "Flowers102", "OxfordIIITPet", "StanfordCars", "FGVCAircraft", "DTD", "Country211", "Places365"), PHOTO),
    **dict.fromkeys(("Caltech101", "Caltech256", "SUN397", "RenderedSST2", "GTSRB"), PHOTO),
    "EuroSAT": (64, 64, 3),
    "PCAM": (96, 96, 3),
}
"""Data sets of files, whose items are a picture and a class."""


class Unknown(dict):
    """The state of a published model: nobody knows its values, so who loads it stays as it is."""


def torchvision_data(datasets, rows, notes):
    """Data sets of a package `torchvision.datasets` are not downloaded."""
    busy = []
    for name in (*ARRAYS, *PHOTOS):
        kind = getattr(datasets, name, None)
        if kind is not None and "__init__" in vars(kind):
            kind.__init__ = _without_download(kind, rows, notes, busy)


def _without_download(kind, rows, notes, busy):
    made = kind.__init__
    takes = inspect.signature(made).parameters

    @functools.wraps(made)
    def init(self, *given, **more):
        bound = inspect.signature(made).bind(self, *given, **more).arguments
        more = {**bound.pop("kwargs", {}), **bound}
        more.pop("self")
        inherited = next((one for one in type(self).__mro__ if one.__name__ in ARRAYS or one.__name__ in PHOTOS), kind)
        if "download" in takes or "download" in more:
            more["download"] = False
        if busy:  # a class above the one that is made
            return made(self, **more)
        busy.append(self)
        try:
            made(self, **more)
        except (RuntimeError, OSError, ImportError):
            notes.add(say("equal-pictures", name=inherited.__name__))
            _filled(self, inherited.__name__, more, rows)
        finally:
            busy.pop()
        return None

    return init


def _filled(self, name, given, rows):
    from torchvision.datasets import VisionDataset

    of_transforms = {key: given[key] for key in ("transform", "target_transform") if key in given}
    VisionDataset.__init__(self, given.get("root"), **of_transforms)
    self.train, self.split = given.get("train", True), given.get("split", "train")
    if name in PHOTOS:
        self.__class__ = _of_photos(type(self), PHOTOS[name], rows)
        return
    classes, sides, trained, tested = ARRAYS[name]
    rows = trained if self.train and self.split == "train" else tested
    if sides == DIGITS:
        self.data, labels = torch.zeros(rows, *sides, dtype=torch.uint8), torch.zeros(rows, dtype=torch.int64)
    else:
        import numpy as np

        self.data = np.zeros((rows, *sides), dtype=np.uint8)
        labels = [0] * rows if classes == "targets" else np.zeros(rows, dtype=np.int64)
    setattr(self, classes, labels)


def _of_photos(kind, sides, rows):
    from PIL import Image

    def item(self, index):
        if not 0 <= index < rows:
            raise IndexError(index)
        picture = Image.new("RGB", (sides[1], sides[0]))
        of_picture, of_class = self.transform, self.target_transform
        return of_picture(picture) if of_picture else picture, of_class(0) if of_class else 0

    return type(kind.__name__, (kind,), {"__getitem__": item, "__len__": lambda self: rows})


def weights(notes):
    """Published weights that `torch.hub` would fetch leave a model as it was made."""
    load, hub = torch.nn.Module.load_state_dict, torch.hub.load_state_dict_from_url

    @functools.wraps(load)
    def loaded(self, state_dict, *given, **more):
        if isinstance(state_dict, Unknown):
            return torch.nn.modules.module._IncompatibleKeys([], [])
        return load(self, state_dict, *given, **more)

    @functools.wraps(hub)
    def from_url(url, *given, **more):
        notes.add(say("no-values", name=url.rsplit("/", 1)[-1]))
        return Unknown()

    torch.nn.Module.load_state_dict, torch.hub.load_state_dict_from_url = loaded, from_url


def torchvision_weights(api, notes):
    """`torchvision.models._api`: weights by name are not fetched."""

    def state(self, *given, **more):
        notes.add(say("no-values", name=self))
        return Unknown()

    api.WeightsEnum.get_state_dict = state


def timm_weights(builder, notes):
    """`timm.models._builder`: a network that is asked for with its weights is made without them."""

    def load(model, *given, **more):
        notes.add(say("no-values", name=type(model).__name__))

    builder.load_pretrained = load


class Metric:
    """A metric that counts nothing: steps are made before it is asked."""

    def add_batch(self, *given, **more):
        pass

    add = add_batch

    def compute(self, *given, **more):
        return {}


def metrics(evaluate, notes):
    """`evaluate.load` of a metric whose code is not on this machine."""
    loaded = evaluate.load

    @functools.wraps(loaded)
    def load(path, *given, **more):
        try:
            return loaded(path, *given, **more)
        except (OSError, ValueError, ImportError):
            notes.add(say("no-metric", name=path))
            return Metric()

    evaluate.load = load
