"""Packages that earlier trainers import and nothing here runs: modules whose every name is there and does nothing."""

import importlib.machinery
import importlib.metadata
import importlib.util
import sys
import types
from unittest.mock import MagicMock


class Nothing(types.ModuleType):
    def __init__(self, name):
        super().__init__(name)
        self.__spec__ = importlib.machinery.ModuleSpec(name, None)
        self.__path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()


def answer_old_questions():
    """TRL before 0.29 asks transformers whether a package is there and takes any answer but False for yes; since 5 the answer is a pair."""
    import transformers.utils.import_utils as utils

    if tuple(int(part) for part in importlib.metadata.version("trl").split(".")[:2]) >= (0, 29):
        return
    install("weave", "weave.trace", "weave.trace.context")
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    # Before 0.22 it looks for a table that 5 renamed.
    auto.MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES = auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    answer = utils._is_package_available
    utils._is_package_available = lambda name, return_version=False: answer(name, return_version) if return_version else answer(name)[0]
    importlib.import_module("trl.import_utils")
    utils._is_package_available = answer


def install(*names):
    for name in names:
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = Nothing(name)


def package(*names):
    """Packages of which only modules below are wanted: found, and their own code is not run."""
    for name in names:
        spec = importlib.util.find_spec(name)
        module = types.ModuleType(name)
        module.__spec__, module.__path__ = spec, spec.submodule_search_locations
        sys.modules[name] = module
